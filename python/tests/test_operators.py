"""Every operator that Plinth recomputes: its entries are enough to compute it anew."""

import torch
import torch.nn as nn
import torch.nn.functional as F

import plinth_capture as pc
import recompute
from fixture import TOKENS, CaptureTest, model


def has(name):
    """Whether this torch has a function, so that the test asks no more than the version gives."""
    value = torch
    for part in name.split("."):
        value = getattr(value, part, None)
    return value is not None


class Calls(nn.Module):
    """Runs a function where a model would."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


class Operators(CaptureTest):
    count = 0

    def check(self, net, *inputs, want, tolerance=2e-6, level="operator"):
        """Captures, recomputes, and compares the names of the operators that were found."""
        self.count += 1
        if not isinstance(net, nn.Module):
            net = Calls(net)
        cap = self.captured(net, *inputs, name=str(self.count), level=level, full=True)
        seen = recompute.check(self, cap, tolerance)
        self.assertEqual(seen, want)
        return cap

    def setUp(self):
        super().setUp()
        torch.manual_seed(5)
        self.x = torch.randn(2, 3, 4)

    def test_products(self):
        x, w, b = self.x, torch.randn(5, 4), torch.randn(5)
        self.check(lambda x: (F.linear(x, w, b), F.linear(x, w), F.linear(x, bias=b, weight=w)), x, want={"linear": 3})
        m = x.transpose(1, 2)
        self.check(
            lambda x: (
                x @ m,
                torch.matmul(x, m),
                x.matmul(m),
                torch.bmm(x, m),
                torch.mm(x[0], m[0]),
                torch.matmul(input=x, other=m),
                x[0, 0] @ w.t(),
                torch.mv(w, x[0, 0]),
            ),
            x,
            want={"matmul": 8},
        )
        self.check(
            lambda x: (
                torch.addmm(b, x[0], w.t()),
                torch.addmm(b, x[0], w.t(), beta=0.5, alpha=2.0),
                torch.baddbmm(torch.ones(2, 3, 3), x, m, alpha=3.0),
            ),
            x,
            want={"matmul": 3},
        )

    def test_convolutions(self):
        x1, x2 = torch.randn(2, 4, 9), torch.randn(2, 4, 7, 8)
        w1, w2, b = torch.randn(6, 2, 3), torch.randn(6, 4, 3, 2), torch.randn(6)
        self.check(
            lambda x: (
                F.conv1d(x, w1, b, groups=2),
                F.conv1d(x, w1, None, 2, 1, 2, 2),
                F.conv1d(x[0], w1, groups=2),
                F.conv1d(x, w1, b, padding="same", groups=2),
            ),
            x1,
            want={"conv1d": 4},
        )
        self.check(
            lambda x: (
                F.conv2d(x, w2, b, stride=(2, 1), padding=(1, 0), dilation=(1, 2)),
                torch.conv2d(x, w2, padding="valid"),
            ),
            x2,
            want={"conv2d": 2},
        )
        even = nn.Conv1d(4, 6, 4, padding="same")
        cap = self.check(
            nn.Sequential(even, nn.Conv1d(6, 6, 3, groups=3, stride=2)), x1, want={"conv1d": 2}, level="module"
        )
        self.assertEqual(cap.find("0:out0@0").attributes["padding_end"], [2])
        self.check(
            nn.Sequential(nn.Conv2d(4, 6, 3, padding=1), nn.Conv2d(6, 2, (1, 3), bias=False)),
            x2,
            want={"conv2d": 2},
            level="module",
        )
        reflect = nn.Conv1d(4, 6, 3, padding=1, padding_mode="reflect")
        self.check(reflect, x1, want={}, level="module")  # pads by other means, so the module is no operator
        self.check(reflect, x1, want={"conv1d": 1})

    def test_norms(self):
        x, w, b = self.x, torch.randn(4), torch.randn(4)
        self.check(
            lambda x: (F.layer_norm(x, (4,), w, b, 1e-3), F.layer_norm(x, (3, 4)), torch.layer_norm(x, (4,), w)),
            x,
            want={"layer_norm": 3},
        )
        norm = nn.LayerNorm((3, 4), eps=0.1)
        nn.init.normal_(norm.weight)
        self.check(
            nn.Sequential(norm, nn.LayerNorm(4, elementwise_affine=False)), x, want={"layer_norm": 2}, level="module"
        )
        if has("nn.RMSNorm"):
            self.check(lambda x: (F.rms_norm(x, (4,), w, 1e-3), F.rms_norm(x, (3, 4))), x, want={"rms_norm": 2})
            self.check(
                nn.Sequential(nn.RMSNorm(4), nn.RMSNorm((3, 4), eps=0.1)), x, want={"rms_norm": 2}, level="module"
            )

    def test_norms_of_other_packages_by_their_class_names(self):
        def norm(name, offset=0.0, **fields):
            def forward(self, hidden_states):
                y = hidden_states * torch.rsqrt(hidden_states.pow(2).mean(-1, keepdim=True) + list(fields.values())[0])
                return y * (self.weight + offset)

            module = type(name, (nn.Module,), {"forward": forward})()
            module.weight = nn.Parameter(torch.randn(4))
            for key, value in fields.items():
                setattr(module, key, value)
            return module

        nets = [
            norm("LlamaRMSNorm", variance_epsilon=0.1),
            norm("T5LayerNorm", variance_epsilon=0.2),
            norm("GemmaRMSNorm", 1.0, eps=0.3),
        ]
        cap = self.check(nn.Sequential(*nets), self.x, want={"rms_norm": 3}, level="module")
        self.assertEqual(cap.find("2:out0@0").attributes, {"normalized_shape": [4], "eps": 0.3, "weight_offset": 1.0})
        self.check(norm("MyNorm", eps=0.1), self.x, want={}, level="module")

    def test_softmax(self):
        self.check(
            lambda x: (
                x.softmax(-1),
                F.softmax(x, dim=1),
                torch.softmax(x, 0),
                x.log_softmax(2),
                F.log_softmax(x, dim=-1),
                torch.log_softmax(x, 1),
            ),
            self.x,
            want={"softmax": 3, "log_softmax": 3},
        )
        self.check(
            nn.Sequential(nn.Softmax(-1), nn.LogSoftmax(1)),
            self.x,
            want={"softmax": 1, "log_softmax": 1},
            level="module",
        )

    def test_attention(self):
        if not has("nn.functional.scaled_dot_product_attention"):
            self.skipTest("torch %s has no scaled_dot_product_attention" % torch.__version__)
        attend = F.scaled_dot_product_attention
        q, k, v = torch.randn(2, 4, 5, 8), torch.randn(2, 4, 6, 8), torch.randn(2, 4, 6, 3)
        mask = torch.rand(5, 6) > 0.3
        mask[:, 0] = True
        self.check(
            lambda q: (
                attend(q, k, v),
                attend(q, k, v, mask),
                attend(q, k, v, torch.randn(2, 1, 5, 6)),
                attend(q, k, v, is_causal=True),
                attend(q, k, v, scale=0.3),
            ),
            q,
            want={"attention": 5},
            tolerance=4e-6,
        )
        if "enable_gqa" in (attend.__doc__ or ""):
            self.check(
                lambda q: attend(q, k[:, :2], v[:, :2], enable_gqa=True), q, want={"attention": 1}, tolerance=4e-6
            )

    def test_attention_of_torch_as_a_module_and_in_its_parts(self):
        for batch_first in (False, True):
            net = nn.MultiheadAttention(8, 2, batch_first=batch_first)
            nn.init.normal_(net.in_proj_bias)
            x = torch.randn(5, 5, 8)
            mask = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
            want = {"multihead_attention": 1}

            class Uses(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.attention = net

                def forward(self, x, hidden):
                    return self.attention(x, x + 1, x * 2, hidden, True, mask)

            padding = torch.zeros(5, 5, dtype=torch.bool)
            padding[1, 4] = True
            cap = self.check(Uses(), x, padding, want=want, level="module", tolerance=4e-6)
            self.count += 1
            parts = self.captured(Uses(), x, padding, name=str(self.count), level="operator", full=True)
            seen = recompute.check(self, parts, 4e-6)
            self.assertEqual(seen["softmax"], 1)
            self.assertEqual((seen["matmul"], seen["linear"]), (2, 4))  # three projections in, one out
            self.assertEqual(cap.find("attention:in8@0").more["port_name"], "key_padding_mask")

    def test_elements(self):
        x, y = self.x, torch.rand(2, 3, 4) + 0.5
        self.check(
            lambda x: (
                F.gelu(x),
                F.gelu(x, approximate="tanh"),
                F.silu(x),
                F.relu(x),
                torch.relu(x),
                x.sigmoid(),
                torch.sigmoid(x),
                x.tanh(),
                F.softplus(x, 2.0, 1.0),
                x.exp(),
                y.log(),
                y.sqrt(),
                y.rsqrt(),
                x.erf(),
                x.sin(),
                x.cos(),
                x.abs(),
                -x,
                y.reciprocal(),
                x.square(),
            ),
            x,
            want={
                "gelu": 2,
                "silu": 1,
                "relu": 2,
                "sigmoid": 2,
                "tanh": 1,
                "softplus": 1,
                "exp": 1,
                "log": 1,
                "sqrt": 1,
                "rsqrt": 1,
                "erf": 1,
                "sin": 1,
                "cos": 1,
                "abs": 1,
                "neg": 1,
                "reciprocal": 1,
                "square": 1,
            },
        )
        self.check(
            nn.Sequential(nn.GELU(), nn.GELU("tanh"), nn.SiLU(), nn.Sigmoid(), nn.Tanh(), nn.ReLU(), nn.Softplus()),
            x,
            want={"gelu": 2, "silu": 1, "sigmoid": 1, "tanh": 1, "relu": 1, "softplus": 1},
            level="module",
        )
        quick = type("QuickGELUActivation", (nn.Module,), {"forward": lambda self, x: x * torch.sigmoid(1.702 * x)})
        self.check(quick(), x, want={"gelu": 1}, level="module")

    def test_arithmetic(self):
        x, y = self.x, torch.rand(3, 4) + 0.5
        self.check(
            lambda x: (
                x + y,
                x + 1,
                1 + x,
                torch.add(x, y, alpha=0.5),
                x.add(y),
                x - y,
                1 - x,
                x - 2,
                torch.sub(x, y),
                torch.rsub(x, y),
                x * y,
                2 * x,
                x.mul(3),
                torch.mul(x, y),
                x / y,
                x / 2,
                torch.div(x, y),
                torch.true_divide(x, y),
            ),
            x,
            want={"add": 5, "sub": 5, "mul": 4, "div": 4},
        )
        # Torch computes this one as a reciprocal and a product.
        self.check(lambda x: 2 / x, y, want={"reciprocal": 1, "mul": 1})

        def in_place(x):
            z = x.clone()
            z += y
            z -= 1
            z *= y
            z /= 2
            return z.add_(x).mul_(2).sub_(y)

        self.check(in_place, x, want={"add": 2, "sub": 2, "mul": 2, "div": 1})

    def test_tables_and_order(self):
        table = torch.randn(7, 4)
        self.check(
            lambda i: (F.embedding(i, table), F.embedding(i, table, padding_idx=1), torch.embedding(table, i)),
            torch.tensor([[1, 2], [6, 0]]),
            want={"embedding": 3},
        )
        self.check(nn.Embedding(7, 4, padding_idx=0), torch.tensor([1, 6]), want={"embedding": 1}, level="module")
        limited = nn.Embedding(7, 4, max_norm=1.0)
        self.check(limited, torch.tensor([1, 6]), want={}, level="module")
        self.check(
            lambda x: (torch.sort(x), x.sort(1, True), torch.argsort(x, 0), torch.sort(x, stable=True, dim=0)),
            self.x,
            want={"sort": 4},
        )
        self.check(
            lambda x: (torch.topk(x, 2), x.topk(2, 1, False), torch.topk(x, k=1, dim=0)), self.x, want={"top_k": 3}
        )
        self.check(
            lambda x: (x.argmax(), torch.argmax(x, 1), x.argmax(-1, True), torch.argmax(x, dim=0)),
            self.x,
            want={"sampling": 4},
        )

    def test_sums_and_pieces(self):
        x = self.x
        self.check(
            lambda x: (
                x.sum(),
                x.sum(-1),
                torch.sum(x, (0, 2), keepdim=True),
                x.mean(),
                x.mean(dim=1),
                torch.mean(x, -1, True),
                x.cumsum(-1),
                torch.cumsum(x, dim=0),
                torch.cat([x, x * 2], -1),
                torch.cat((torch.zeros(0), x)),
                torch.concat([x, x], dim=1),
                torch.index_select(x, 1, torch.tensor([2, 0])),
            ),
            x,
            want={"sum": 3, "mean": 3, "cumsum": 2, "mul": 1, "cat": 3, "index_select": 1},
        )

    def test_what_picks(self):
        mask, index = torch.rand(self.x.shape) > 0.5, torch.zeros(self.x.shape, dtype=torch.int64)
        y = torch.randn(self.x.shape)
        self.check(
            lambda x: (
                torch.where(mask, x, y), x.where(mask, y), x.masked_fill(mask, -1e4), x.masked_fill(mask, float("-inf")),
                torch.minimum(x, y), torch.max(x, y), x.max(-1), x.min(0, keepdim=True), x.max(), x.amin((0, 1)),
                x.clamp(-1, 1), torch.clip(x, max=0.5), x.gather(-1, index), torch.stack([x, y], -1),
                x.repeat_interleave(2, -2), F.dropout(x, 0.5, False),
            ),
            self.x,
            want={"where": 2, "masked_fill": 2, "minimum": 1, "maximum": 1, "max": 1, "min": 1, "amax": 1, "amin": 1,
                  "clamp": 2, "gather": 1, "stack": 1, "repeat_interleave": 1, "dropout": 1},
        )  # fmt: skip

    def test_activations_with_numbers_and_powers(self):
        self.check(
            lambda x: (
                F.leaky_relu(x), F.leaky_relu(x, 0.3), F.elu(x, 0.5), F.hardtanh(x), F.relu6(x), F.hardsigmoid(x),
                F.hardswish(x), F.mish(x), x.abs().log1p(), x.expm1(), x**2, x.pow(3), 2.0**x, x.abs().pow(x),
                torch.outer(x.flatten(), x.flatten()), F.group_norm(x, 1),
            ),
            self.x,
            want={"leaky_relu": 2, "elu": 1, "hardtanh": 2, "hardsigmoid": 1, "hardswish": 1, "mish": 1, "abs": 2,
                  "log1p": 1, "expm1": 1, "pow": 4, "outer": 1, "group_norm": 1},
        )  # fmt: skip

    def test_batch_norm(self):
        net = nn.Sequential(nn.BatchNorm1d(3), nn.BatchNorm1d(3, affine=False, eps=0.1)).eval()
        nn.init.normal_(net[0].running_mean)
        nn.init.normal_(net[0].weight)
        self.check(net, self.x, want={"batch_norm": 2}, level="module")
        mean, variance, w = torch.randn(3), torch.rand(3) + 0.5, torch.randn(3)
        self.check(
            lambda x: (F.batch_norm(x, mean, variance, w, w * 1, False, 0.1, 0.2), F.batch_norm(x, mean, variance)),
            self.x,
            want={"batch_norm": 2, "mul": 1},
        )
        self.check(nn.BatchNorm1d(3), self.x, want={}, level="module")  # the batch's own statistics

    def test_random_choice_keeps_its_random_numbers(self):
        p = torch.rand(3, 5)
        torch.manual_seed(9)
        want = torch.multinomial(p, 2, replacement=True)
        torch.manual_seed(9)
        cap = self.captured(Calls(lambda p: torch.multinomial(p, 2, replacement=True)), p, level="operator", full=True)
        self.assertSameTensor(cap.tensor("(root)/sampling.0:out0@0"), want)
        self.assertEqual(
            cap.find("(root)/sampling.0:out0@0").attributes,
            {"method": "multinomial", "num_samples": 2, "replacement": True},
        )

    def test_quantisation(self):
        x = torch.randn(3, 4) * 20
        scales, zeros = torch.rand(3, dtype=torch.float64) + 0.1, torch.tensor([1, -2, 3])
        single, small = scales.float(), zeros.int()
        self.check(
            lambda x: torch.quantize_per_tensor(x, 0.3, 4, torch.qint8).dequantize(),
            x,
            want={"quantize": 1, "dequantize": 1},
        )
        self.check(
            lambda x: torch.quantize_per_tensor(x, 0.25, 100, torch.quint8).dequantize(),
            x,
            want={"quantize": 1, "dequantize": 1},
        )
        self.check(
            lambda x: torch.quantize_per_channel(x, scales, zeros, 0, torch.qint8).dequantize(),
            x,
            want={"quantize": 1, "dequantize": 1},
        )
        self.check(
            lambda x: (
                torch.fake_quantize_per_tensor_affine(x, 0.3, 1, -100, 100),
                torch.fake_quantize_per_channel_affine(x, single, small, 0, -128, 127),
            ),
            x,
            want={"fake_quantize": 2},
        )

    def test_casts(self):
        def casts(x):
            return (
                x.half(),
                x.to(torch.bfloat16),
                x.to(torch.float64).float(),
                x.type(torch.int32),
                x.float(),
                x.to(x),
            )

        cap = self.check(casts, torch.tensor([1.0, 2.0, -3.0]), want={"cast": 5})
        self.assertEqual(
            [cap.find("(root)/cast.%d:out0@0" % n).dtype for n in range(5)], ["f16", "bf16", "f64", "f32", "i32"]
        )
        self.assertEqual(cap.find("(root)/cast.0:out0@0").attributes, {"to": "f16"})

    def test_what_is_not_known_keeps_its_name_and_arguments(self):
        cap = self.captured(
            Calls(lambda x: (torch.stack([x, x], 1), x.cumprod(-1), torch.where(x > 0, x, -x).clamp(min=0.5))),
            self.x,
            level="operator",
            full=True,
        )
        names = [e.name for e in cap if e.direction == "output" and "/" in e.name]
        self.assertEqual(names, ["(root)/%s.0" % n for n in ("stack", "cumprod", "neg", "where", "clamp")])
        self.assertEqual(cap.find("(root)/clamp.0:out0@0").attributes, {"min": 0.5})
        self.assertSameTensor(cap.tensor("(root)/stack.0:in1@0"), self.x)

    def test_a_whole_model(self):
        cap = self.captured(model(), TOKENS, level="operator", full=True)
        seen = recompute.check(self, cap)
        self.assertEqual(
            seen,
            {"embedding": 1, "layer_norm": 2, "linear": 9, "matmul": 4, "mul": 2, "softmax": 2, "add": 4, "gelu": 2},
        )
        # What is an operator as a module hides the function in it.
        self.assertFalse([e for e in cap if e.name.startswith("layers.0.q/")])

    def test_operators_under_autocast_are_of_the_type_as_computed(self):
        net = Calls(lambda x: (F.linear(x, torch.ones(2, 4)), (x @ x.transpose(1, 2)).softmax(-1)))
        with pc.Capture(net, out=self.path("cap"), level="operator", full=True):
            with torch.autocast("cpu", torch.bfloat16):
                net(self.x)
        cap = pc.read(self.path("cap"))
        for key in ("linear.0:in0", "linear.0:in1", "linear.0:out0", "matmul.0:in1", "matmul.0:out0"):
            self.assertEqual(cap.find("(root)/%s@0" % key).dtype, "bf16", key)
        recompute.check(self, cap, 2.0**-7)

    def test_gpt2s_linear_layer(self):
        class Conv1D(nn.Module):
            def __init__(self, nf, nx):
                super().__init__()
                self.nf = nf
                self.weight, self.bias = nn.Parameter(torch.randn(nx, nf)), nn.Parameter(torch.randn(nf))

            def forward(self, x):
                return torch.addmm(self.bias, x, self.weight)

        self.check(Conv1D(3, 4), self.x[0], want={"linear": 1}, level="module")


def apply_rotary_pos_emb(q, k, cos, sin, unsqueeze_dim=1):
    """As packages of transformers have it; the test's own module is where the capture looks for it."""
    cos, sin = cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim)

    def rotate_half(x):
        return torch.cat([-x[..., x.shape[-1] // 2 :], x[..., : x.shape[-1] // 2]], -1)

    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin


class Rotary(CaptureTest):
    def test_the_function_beside_the_model_is_an_operator(self):
        class Turns(nn.Module):
            def forward(self, q, k, cos, sin):
                q, k = apply_rotary_pos_emb(q, k, cos, sin)
                a, b = apply_rotary_pos_emb(q.transpose(1, 2), k.transpose(1, 2), cos=cos, sin=sin, unsqueeze_dim=2)
                return q, k, a, b

        torch.manual_seed(4)
        q, k = torch.randn(2, 4, 3, 6), torch.randn(2, 2, 3, 6)
        angles = torch.rand(2, 3, 6)
        function = apply_rotary_pos_emb
        want = Turns()(q, k, angles.cos(), angles.sin())
        cap = self.captured(Turns(), q, k, angles.cos(), angles.sin(), level="operator", full=True)
        self.assertIs(apply_rotary_pos_emb, function)
        self.assertEqual(recompute.check(self, cap), {"rotary": 4})
        self.assertEqual({e.name for e in cap}, {"(root)"} | {"(root)/rotary.%d" % n for n in range(4)})
        self.assertEqual(cap.find("(root)/rotary.1:in0@0").more["port_name"], "k")
        for port, value in enumerate(want):
            self.assertSameTensor(cap.tensor("(root):out%d@0" % port), value)

    def test_only_functions_of_a_known_form_are_taken(self):
        from plinth_capture.rotary import style_of

        def interleaved(q, k, cos, sin):
            def turn(x):
                other = torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2)
                return x * cos[:, None] + other * sin[:, None]

            return turn(q), turn(k)

        self.assertEqual(style_of(apply_rotary_pos_emb), "halves")
        self.assertEqual(style_of(interleaved), "interleaved")
        self.assertIsNone(style_of(lambda q, k, cos, sin: (q, k)))
        self.assertIsNone(style_of(lambda q, k, cos, sin, position_ids: (q, k)))
        self.assertIsNone(style_of(lambda x, cos, sin: x))


class Own(CaptureTest):
    """Operators of the user's own."""

    def test_a_function(self):
        @pc.operator("my_norm")
        def norm(x, weight, eps=1e-6):
            return x / (x.pow(2).mean(-1, keepdim=True) + eps).sqrt() * weight

        x, w = torch.randn(2, 4), torch.randn(4)
        net = Calls(lambda x: norm(x, w, eps=0.5) + 1)
        cap = self.captured(net, x, level="operator", full=True)
        self.assertEqual({e.name for e in cap}, {"(root)", "(root)/my_norm.0", "(root)/add.0"})
        self.assertEqual(cap.find("(root)/my_norm.0:out0@0").attributes, {"eps": 0.5})
        self.assertSameTensor(cap.tensor("(root)/my_norm.0:in1@0"), w)
        self.assertTrue(torch.equal(norm(x, w), norm(x, w)))  # outside of a capture
        self.assertEqual({e.name for e in self.captured(net, x, name="modules")}, {"(root)"})

    def test_ports_by_name(self):
        @pc.operator("pair", inputs=("b", "a"))
        def pair(a, b=None, mode="x"):
            return a if b is None else a - b

        x = torch.ones(2)
        cap = self.captured(Calls(lambda x: (pair(x), pair(x, x * 2))), x, level="operator", full=True)
        self.assertEqual(
            [e.key for e in cap if e.name == "(root)/pair.0"], ["(root)/pair.0:in1@0", "(root)/pair.0:out0@0"]
        )
        self.assertEqual(cap.tensor("(root)/pair.1:in0@0").tolist(), [2, 2])

    def test_a_module(self):
        class Gate(nn.Module):
            def __init__(self):
                super().__init__()
                self.w, self.alpha = nn.Parameter(torch.ones(3) * 2), 0.25

            def forward(self, x, y):
                return x * self.w + self.alpha * y

        pc.register_module(Gate, "gate", inputs=2, weights=["w"], attributes=["alpha"])
        try:
            net = Gate()
            with torch.no_grad(), pc.Capture(net, out=self.path("cap"), level="operator", full=True):
                net(torch.ones(3), torch.zeros(3))
            cap = pc.read(self.path("cap"))
            self.assertEqual([e.key for e in cap], ["(root):in0@0", "(root):in1@0", "(root):in2@0", "(root):out0@0"])
            self.assertEqual((cap.entries[0].op, cap.entries[0].attributes), ("gate", {"alpha": 0.25}))
        finally:
            from plinth_capture import modules

            del modules._registered[Gate]
