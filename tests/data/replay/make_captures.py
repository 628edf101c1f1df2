"""Writes the captures in this folder: operators computed by PyTorch on random and edge inputs.

torch_f64    everything in f64: the references must agree to 1e-12
torch_types  f32, bf16 and f16 as PyTorch's CPU kernels compute them: clean results that must pass

Usage: make_captures.py [FOLDER], with PyTorch 2.5 or newer. The seed is fixed; kernels of another processor may
round differently, which does not matter.
"""
import json
import math
import pathlib
import shutil
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

NAMES = {torch.float64: "f64", torch.float32: "f32", torch.bfloat16: "bf16", torch.float16: "f16", torch.int64: "i64",
         torch.int32: "i32", torch.int8: "i8", torch.uint8: "u8", torch.bool: "bool",
         torch.float8_e4m3fn: "f8_e4m3", torch.float8_e5m2: "f8_e5m2", torch.float8_e4m3fnuz: "f8_e4m3fnuz",
         torch.float8_e5m2fnuz: "f8_e5m2fnuz"}


class Writer:
    def __init__(self):
        self.entries, self.tensors, self.keys = [], {}, {}

    def add(self, op, name, inputs, outputs, **attributes):
        """Inputs and outputs by port; None is absent."""
        name = f"{op}/{name}"
        for direction, list_ in (("input", inputs), ("output", outputs)):
            for port, t in enumerate(list_):
                if t is None:
                    continue
                t = t.detach().clone().contiguous()
                content = (t.dtype, t.shape, t.view(torch.uint8).numpy().tobytes() if t.dim() else t.item())
                key = self.keys.setdefault(content, f"t{len(self.keys)}")  # equal tensors are stored once
                self.tensors[key] = t
                entry = {"index": len(self.entries), "name": name, "op": op, "direction": direction, "port": port,
                         "shape": list(t.shape), "dtype": NAMES[t.dtype], "tensor": key}
                if attributes:
                    entry["attributes"] = attributes
                self.entries.append(entry)

    def save(self, folder):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        save_file(self.tensors, str(folder / "tensors-00001-of-00001.safetensors"))
        head = {"schema": "plinth.capture/1", "producer": {"name": "make_captures.py", "framework": "pytorch",
                                                           "version": torch.__version__},
                "run": {"id": folder.name, "repeat": 0, "seed": 0, "mode": "free"}, "rank": 0, "world": 1,
                "model": {"name": "operators"}, "precision": {},
                "entries": self.entries}
        lines = ",\n".join(json.dumps(e, separators=(",", ":")) for e in self.entries)
        head["entries"] = []
        text = json.dumps(head)[:-3] + "[\n" + lines + "\n]}\n"
        (folder / "capture.json").write_text(text)


def rotate(x, style):
    if style == "halves":
        half = x.shape[-1] // 2
        return torch.cat([-x[..., half:], x[..., :half]], -1)
    return torch.stack([-x[..., 1::2], x[..., 0::2]], -1).flatten(-2)


def products(w, rand):
    x, weight, bias = rand(2, 3, 33), rand(7, 33), rand(7)
    w.add("linear", "bias", [x, weight, bias], [F.linear(x, weight, bias)])
    w.add("linear", "no_bias", [x, weight], [F.linear(x, weight)])
    a, b = rand(2, 1, 5, 17), rand(3, 17, 6)
    w.add("matmul", "broadcast", [a, b], [a @ b])
    w.add("matmul", "vectors", [a[0, 0, 0], b[0, :, 0]], [a[0, 0, 0] @ b[0, :, 0]])
    w.add("matmul", "vector_left", [a[0, 0, 0], b], [a[0, 0, 0] @ b])
    w.add("matmul", "vector_right", [b.transpose(1, 2), a[0, 0, 0]], [b.transpose(1, 2) @ a[0, 0, 0]])
    m, addend = rand(5, 17), rand(6)
    w.add("matmul", "addmm", [m, b[0], addend], [torch.addmm(addend, m, b[0], beta=0.5, alpha=2.0)], alpha=2.0,
          beta=0.5)
    w.add("matmul", "transposed", [m.t().contiguous(), b[0].t().contiguous()], [m @ b[0]], transpose_a=True,
          transpose_b=True)


def convolutions(w, rand):
    x, k, bias = rand(2, 6, 11), rand(4, 3, 3), rand(4)
    w.add("conv1d", "groups", [x, k, bias], [F.conv1d(x, k, bias, stride=2, padding=2, dilation=2, groups=2)],
          stride=[2], padding=[2], dilation=[2], groups=2)
    w.add("conv1d", "plain", [x, rand5 := rand(4, 6, 5)], [F.conv1d(x, rand5)], stride=[1], padding=[0],
          dilation=[1], groups=1)
    even = rand(4, 6, 4)
    w.add("conv1d", "same_even", [x, even], [F.conv1d(x, even, padding="same")], padding=[1], padding_end=[2])
    image, kernel, b2 = rand(2, 4, 6, 7), rand(6, 2, 3, 2), rand(6)
    w.add("conv2d", "all", [image, kernel, b2],
          [F.conv2d(image, kernel, b2, stride=(2, 1), padding=(1, 2), dilation=(1, 3), groups=2)], stride=[2, 1],
          padding=[1, 2], dilation=[1, 3], groups=2)
    w.add("conv2d", "unbatched", [image[0], k2 := rand(3, 4, 2, 2)], [F.conv2d(image[0], k2)], stride=[1, 1],
          padding=[0, 0], dilation=[1, 1], groups=1)
    depthwise = rand(4, 1, 3, 3)
    w.add("conv2d", "depthwise", [image, depthwise], [F.conv2d(image, depthwise, padding=1, groups=4)],
          stride=[1, 1], padding=[1, 1], dilation=[1, 1], groups=4)


def norms(w, rand):
    x, weight, bias = rand(2, 4, 31), rand(31), rand(31)
    w.add("layer_norm", "affine", [x, weight, bias], [F.layer_norm(x, [31], weight, bias, 1e-5)],
          normalized_shape=[31], eps=1e-5)
    w.add("layer_norm", "two_axes", [x], [F.layer_norm(x, [4, 31], eps=1e-3)], normalized_shape=[4, 31], eps=1e-3)
    offset = x + 7
    w.add("layer_norm", "offset", [offset], [F.layer_norm(offset, [31])], normalized_shape=[31])
    w.add("rms_norm", "weight", [x, weight], [F.rms_norm(x, [31], weight, 1e-6)], normalized_shape=[31], eps=1e-6)
    gemma = F.rms_norm(x.double(), [31], eps=1e-6) * (1 + weight.double())
    w.add("rms_norm", "offset", [x, weight], [gemma.to(x.dtype)], normalized_shape=[31], eps=1e-6, weight_offset=1)
    mean, variance = rand(4), rand(4).abs() + 0.1
    w.add("batch_norm", "inference", [x, rand4 := rand(4), b4 := rand(4), mean, variance],
          [F.batch_norm(x, mean, variance, rand4, b4, eps=1e-5)], eps=1e-5)


def softmaxes(w, rand):
    x = rand(2, 3, 21) * 6
    w.add("softmax", "last", [x], [F.softmax(x, -1)], dim=2)
    w.add("softmax", "middle", [x], [F.softmax(x, 1)], dim=1)
    w.add("log_softmax", "last", [x], [F.log_softmax(x, -1)], dim=2)
    hidden = x.clone()
    hidden[0, :, ::2] = -math.inf
    w.add("softmax", "masked", [hidden], [F.softmax(hidden, -1)], dim=2)
    far = torch.tensor([[0.0, -87.5, -300.0, 40.0]], dtype=x.dtype)
    w.add("log_softmax", "far", [far], [F.log_softmax(far, -1)], dim=1)


def attentions(w, rand):
    q, k, v = rand(1, 4, 5, 8), rand(1, 4, 9, 8), rand(1, 4, 9, 6)
    attention = F.scaled_dot_product_attention
    w.add("attention", "plain", [q, k, v], [attention(q, k, v)], is_causal=False)
    w.add("attention", "causal", [q, k, v], [attention(q, k, v, is_causal=True)], is_causal=True)
    w.add("attention", "scale", [q, k, v], [attention(q, k, v, scale=0.7)], scale=0.7)
    mask = torch.rand(1, 1, 5, 9, generator=torch.Generator().manual_seed(1)) > 0.4
    mask[..., 0] = True
    w.add("attention", "bool_mask", [q, k, v, mask], [attention(q, k, v, attn_mask=mask)])
    bias = rand(4, 5, 9)
    w.add("attention", "bias", [q, k, v, bias], [attention(q, k, v, attn_mask=bias)])
    blind = mask.clone()
    blind[0, 0, 2] = False
    w.add("attention", "blind_row", [q, k, v, blind], [attention(q, k, v, attn_mask=blind)])
    w.add("attention", "shared_heads", [q, k[:, :2], v[:, :2]], [attention(q, k[:, :2], v[:, :2], enable_gqa=True)],
          enable_gqa=True)
    w.add("attention", "one_head", [q[0, 0], k[0, 0], v[0, 0]], [attention(q[0, 0], k[0, 0], v[0, 0])])


def rotaries(w, rand, dtype):
    x = rand(2, 3, 5, 8)
    angle = torch.arange(5, dtype=torch.float64)[:, None] / 10000 ** (torch.arange(4, dtype=torch.float64) / 4)
    halves = torch.cat([angle, angle], -1)
    pairs = angle.repeat_interleave(2, -1)
    for style, table in (("halves", halves), ("interleaved", pairs)):
        cos, sin = table.cos().to(dtype)[None, None], table.sin().to(dtype)[None, None]
        w.add("rotary", style, [x, cos, sin], [x * cos + rotate(x, style) * sin], style=style)
    wide = rand(2, 3, 5, 12)
    cos, sin = halves.cos().to(dtype)[None, None], halves.sin().to(dtype)[None, None]
    turned = wide[..., :8] * cos + rotate(wide[..., :8], "halves") * sin
    w.add("rotary", "partial", [wide, cos, sin], [torch.cat([turned, wide[..., 8:]], -1)], style="halves",
          rotary_dims=8)


def elements(w, rand):
    x, y = rand(2, 16) * 3, rand(1, 16)
    edge = torch.tensor([0.0, -0.0, math.inf, -math.inf, math.nan, 1e-3, -5.5, 30.0], dtype=x.dtype)
    for approximate in ("none", "tanh"):
        w.add("gelu", approximate, [x], [F.gelu(x, approximate=approximate)], approximate=approximate)
    w.add("gelu", "sigmoid", [x], [(x.double() * torch.sigmoid(1.702 * x.double())).to(x.dtype)],
          approximate="sigmoid")
    functions = {"silu": F.silu, "relu": F.relu, "sigmoid": torch.sigmoid, "tanh": torch.tanh, "exp": torch.exp,
                 "erf": torch.erf, "sin": torch.sin, "cos": torch.cos, "abs": torch.abs, "neg": torch.neg,
                 "square": torch.square, "softplus": F.softplus}
    few = x.dtype.itemsize == 2
    for name, function in functions.items():
        if few and name not in ("silu", "exp", "tanh"):
            continue
        w.add(name, "normal", [x], [function(x)])
        if name not in ("silu", "sin", "cos") and not few:
            w.add(name, "edge", [edge], [function(edge)])
    if few:
        return
    w.add("softplus", "options", [x], [F.softplus(x, beta=2.0, threshold=3.0)], beta=2.0, threshold=3.0)
    positive = x.abs() + 0.01
    for name, function in {"log": torch.log, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt,
                           "reciprocal": torch.reciprocal}.items():
        w.add(name, "positive", [positive], [function(positive)])
    w.add("add", "broadcast", [x, y], [x + y])
    w.add("add", "alpha", [x, y], [torch.add(x, y, alpha=0.3)], alpha=0.3)
    w.add("add", "number", [x], [x + 0.1], other=0.1)
    w.add("sub", "reverse", [x], [1.5 - x], other=1.5, reverse=True)
    w.add("sub", "broadcast", [y, x], [y - x])
    w.add("mul", "broadcast", [x, y], [x * y])
    w.add("mul", "number", [x], [x * 0.1], other=0.1)
    w.add("div", "tensors", [x, positive], [x / positive])
    w.add("div", "reverse", [positive], [2.0 / positive], other=2.0, reverse=True)
    integers = torch.tensor([2**53 + 1, -7, 2**62], dtype=torch.int64)
    w.add("add", "integers", [integers], [integers + 1], other=1)


def reductions(w, rand):
    x = rand(2, 5, 37)
    w.add("sum", "last", [x], [x.sum(-1)], dim=[2])
    w.add("sum", "outer_keep", [x], [x.sum((0, 2), keepdim=True)], dim=[0, 2], keepdim=True)
    w.add("mean", "all", [x], [x.mean()])
    w.add("mean", "middle", [x], [x.mean(1)], dim=1)
    w.add("cumsum", "middle", [x], [x.cumsum(1)], dim=1)


def moves(w, rand):
    table, index = rand(11, 6), torch.tensor([[0, 10, 3], [3, 3, 7]])
    w.add("embedding", "rank2", [index, table], [F.embedding(index, table)])
    w.add("index_select", "columns", [table, index[0] % 6], [table.index_select(1, index[0] % 6)], dim=1)
    a, b = rand(2, 3, 4), rand(2, 5, 4)
    w.add("cat", "middle", [a, b], [torch.cat([a, b], 1)], dim=1)
    w.add("permute", "three", [a], [a.permute(2, 0, 1)], dims=[2, 0, 1])
    w.add("transpose", "last", [a], [a.transpose(1, 2)], dim0=1, dim1=2)
    w.add("reshape", "flat", [a], [a.reshape(6, 4)])
    ties = torch.tensor([[3.0, 1.0, 3.0, 2.0, 1.0, math.inf, -0.0, 0.0]], dtype=table.dtype)
    for descending in (False, True):
        values, indices = ties.sort(dim=-1, descending=descending, stable=True)
        w.add("sort", f"ties_{descending}", [ties], [values, indices], dim=1, descending=descending, stable=True)
    values, indices = a.sort(0)
    w.add("sort", "first_axis", [a], [values, indices], dim=0)
    values, indices = table.topk(3, dim=1)
    w.add("top_k", "largest", [table], [values, indices], k=3, dim=1)
    values, indices = table.topk(4, dim=0, largest=False, sorted=False)
    w.add("top_k", "smallest", [table], [values, indices], k=4, dim=0, largest=False, sorted=False)
    w.add("sampling", "argmax", [table], [table.argmax(1)], method="argmax", dim=1)
    w.add("sampling", "argmax_all", [table], [table.argmax()], method="argmax")
    weights = table.abs()
    weights[:, 2] = 0
    picked = torch.multinomial(weights.float(), 4, replacement=False, generator=torch.Generator().manual_seed(3))
    w.add("sampling", "multinomial", [weights, None], [picked], method="multinomial", num_samples=4,
          replacement=False)


def picks(w, rand):
    x, y, mask = rand(3, 4, 7), rand(4, 1), rand(3, 1, 7) > 0
    edge = torch.tensor([0.0, -0.0, math.inf, -math.inf, math.nan, 2.5], dtype=x.dtype)
    w.add("where", "broadcast", [mask, x, y], [torch.where(mask, x, y)])
    w.add("where", "numbers", [mask, None, None], [torch.where(mask, 1.5, -2.0).to(x.dtype)], x=1.5, y=-2.0)
    w.add("where", "edge", [edge > 0, edge, edge.flip(0)], [torch.where(edge > 0, edge, edge.flip(0))])
    w.add("masked_fill", "number", [x, mask], [x.masked_fill(mask, -1e4)], value=-1e4)
    w.add("masked_fill", "infinite", [x, mask], [x.masked_fill(mask, -math.inf)], value="-inf")
    w.add("masked_fill", "tensor", [x, mask, y[0, 0]], [x.masked_fill(mask, y[0, 0])])
    for name in ("minimum", "maximum"):
        w.add(name, "broadcast", [x, y], [getattr(torch, name)(x, y)])
        w.add(name, "edge", [edge, edge.roll(1)], [getattr(torch, name)(edge, edge.roll(1))])
    w.add("clamp", "both", [x], [x.clamp(-0.5, 0.7)], min=-0.5, max=0.7)
    w.add("clamp", "low", [edge], [edge.clamp(min=0.25)], min=0.25)
    index = torch.tensor([[[6, 0], [1, 1]], [[2, 3], [4, 5]]])
    w.add("gather", "last", [x, index], [x.gather(2, index)], dim=2)
    w.add("gather", "first", [x, index % 3], [x.gather(0, index % 3)], dim=0)
    for name in ("max", "min"):
        values, places = getattr(x, name)(1)
        w.add(name, "middle", [x], [values, places], dim=[1])
        values, places = getattr(x, name)(2, keepdim=True)
        w.add(name, "keep", [x], [values, places], dim=[2], keepdim=True)
    w.add("amax", "two", [x], [x.amax((0, 2))], dim=[0, 2])
    w.add("amin", "all", [x], [x.min()])
    w.add("amax", "nan", [edge], [edge.max()])
    w.add("stack", "middle", [x, -x], [torch.stack([x, -x], 1)], dim=1)
    w.add("repeat_interleave", "middle", [x], [x.repeat_interleave(3, 1)], repeats=3, dim=1)
    w.add("dropout", "inference", [x], [F.dropout(x, 0.3, False)], p=0.3, training=False)


def activations(w, rand):
    x = rand(3, 40) * 3
    edge = torch.tensor([0.0, math.inf, -math.inf, math.nan, -3.0, 3.0, 1e-3, -2.9999], dtype=x.dtype)
    positive = x.abs() + 0.01
    for name, function in {"leaky_relu": F.leaky_relu, "elu": F.elu, "hardtanh": F.hardtanh, "mish": F.mish,
                           "hardsigmoid": F.hardsigmoid, "hardswish": F.hardswish}.items():
        w.add(name, "normal", [x], [function(x)])
        if name not in ("mish", "hardswish"):
            w.add(name, "edge", [edge], [function(edge)])
    w.add("leaky_relu", "slope", [x], [F.leaky_relu(x, 0.2)], negative_slope=0.2)
    w.add("elu", "alpha", [x], [F.elu(x, 0.7)], alpha=0.7)
    w.add("hardtanh", "limits", [x], [F.hardtanh(x, 0.0, 6.0)], min=0.0, max=6.0)
    w.add("log1p", "positive", [positive], [torch.log1p(positive)])
    w.add("expm1", "normal", [x], [torch.expm1(x)])
    for exponent in (2, 3, -1.5, 0.5):
        w.add("pow", f"by_{exponent}", [positive], [positive.pow(exponent)], other=exponent)
    w.add("pow", "square", [x], [x.pow(2)], other=2)
    w.add("pow", "of_two", [x], [torch.pow(2.0, x)], other=2.0, reverse=True)
    w.add("pow", "tensors", [positive, x], [positive.pow(x)])
    w.add("outer", "vectors", [x[0], positive[1, :9]], [torch.outer(x[0], positive[1, :9])])


def windows(w, rand):
    x, line = rand(2, 3, 9, 8), rand(2, 3, 11)
    w.add("max_pool2d", "plain", [x], [F.max_pool2d(x, 2)], kernel=2)
    w.add("max_pool2d", "all", [x], [F.max_pool2d(x, (3, 2), (2, 1), (1, 1), (2, 1))], kernel=[3, 2], stride=[2, 1],
          padding=[1, 1], dilation=[2, 1])
    w.add("max_pool2d", "ceil", [x], [F.max_pool2d(x, 2, 3, ceil_mode=True)], kernel=2, stride=3, ceil_mode=True)
    w.add("max_pool1d", "plain", [line], [F.max_pool1d(line, 3, 2)], kernel=[3], stride=[2])
    w.add("avg_pool2d", "padded", [x], [F.avg_pool2d(x, 3, 2, 1)], kernel=3, stride=2, padding=1)
    w.add("avg_pool2d", "not_counted", [x], [F.avg_pool2d(x, 3, 2, 1, True, False)], kernel=3, stride=2, padding=1,
          ceil_mode=True, count_include_pad=False)
    w.add("avg_pool2d", "ceil", [x], [F.avg_pool2d(x, 2, 3, 1, True)], kernel=2, stride=3, padding=1, ceil_mode=True)
    w.add("avg_pool1d", "plain", [line], [F.avg_pool1d(line, 4)], kernel=[4])
    w.add("adaptive_avg_pool2d", "uneven", [x], [F.adaptive_avg_pool2d(x, (4, 3))], output_size=[4, 3])
    w.add("adaptive_avg_pool2d", "one", [x[0]], [F.adaptive_avg_pool2d(x[0], 1)], output_size=1)
    w.add("adaptive_avg_pool1d", "uneven", [line], [F.adaptive_avg_pool1d(line, 4)], output_size=[4])


def batches(w, rand):
    x, weight, bias = rand(4, 6, 5, 3) + 2, rand(6), rand(6)
    w.add("batch_norm", "training", [x, weight, bias], [F.batch_norm(x, None, None, weight, bias, True)], eps=1e-5,
          training=True)
    w.add("batch_norm", "training_rank2", [x[:, :, 0, 0]], [F.batch_norm(x[:, :, 0, 0], None, None, training=True)],
          training=True)
    w.add("group_norm", "affine", [x, weight, bias], [F.group_norm(x, 3, weight, bias, 1e-4)], num_groups=3, eps=1e-4)
    w.add("group_norm", "plain", [x[:, :, 0, 0]], [F.group_norm(x[:, :, 0, 0], 2)], num_groups=2)


def cells(w, rand):
    for name, gates in (("lstm_cell", 4), ("gru_cell", 3)):
        x, h, c = rand(3, 10), rand(3, 7), rand(3, 7)
        weights = [rand(gates * 7, 10), rand(gates * 7, 7)]
        biases = [rand(gates * 7), rand(gates * 7)]
        state = [h, c] if gates == 4 else [h]
        for bias in (True, False):
            given = weights + (biases if bias else [])
            out = getattr(torch, name)(x, tuple(state) if gates == 4 else h, *given)
            w.add(name, "bias" if bias else "no_bias", [x, *state, *given], list(out) if gates == 4 else [out])


def casts(w, rand):
    x = torch.cat([rand(60).float() * 3, torch.tensor([0.0, -0.0, 1e-8, 6e4, 1e5, math.inf, math.nan, 2.0**-24])])
    for to in (torch.float64, torch.bfloat16, torch.float16, torch.float8_e4m3fn, torch.float8_e5m2,
               torch.float8_e4m3fnuz, torch.float8_e5m2fnuz):
        w.add("cast", NAMES[to], [x], [x.to(to)], to=NAMES[to])
    w.add("cast", "i32", [x[:60]], [x[:60].to(torch.int32)], to="i32")
    w.add("cast", "bool", [x], [x.to(torch.bool)], to="bool")
    w.add("cast", "from_i64", [torch.arange(5)], [torch.arange(5).to(torch.float32)], to="f32")
    w.add("cast", "from_bf16", [x.bfloat16()], [x.bfloat16().float()], to="f32")


def quantised(w, rand):
    x = rand(4, 50).float() * 3
    q = torch.quantize_per_tensor(x, 0.07, 3, torch.quint8)
    w.add("quantize", "per_tensor", [x], [q.int_repr()], scale=0.07, zero_point=3, dtype="u8")
    w.add("dequantize", "per_tensor", [q.int_repr()], [q.dequantize()], scale=0.07, zero_point=3)
    scale, zero = torch.tensor([0.05, 0.1, 0.02, 0.25]), torch.tensor([0, 1, -2, 3])
    c = torch.quantize_per_channel(x, scale, zero, 0, torch.qint8)
    w.add("quantize", "per_channel", [x, scale, zero], [c.int_repr()], axis=0, dtype="i8")
    w.add("dequantize", "per_channel", [c.int_repr(), scale, zero], [c.dequantize()], axis=0)
    fake = torch.fake_quantize_per_tensor_affine(x, 0.07, 3, -8, 7)
    w.add("fake_quantize", "four_bits", [x], [fake], scale=0.07, zero_point=3, quant_min=-8, quant_max=7)


def generator(seed, dtype):
    state = torch.Generator().manual_seed(seed)
    return lambda *shape: torch.randn(*shape, generator=state, dtype=torch.float64).to(dtype)


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    torch.set_num_threads(1)
    everything = (products, convolutions, norms, softmaxes, attentions, elements, reductions, moves, picks,
                  activations, windows, batches, cells)
    w = Writer()
    for make in everything:
        make(w, generator(1, torch.float64))
    rotaries(w, generator(2, torch.float64), torch.float64)
    w.save(folder / "torch_f64")
    w = Writer()
    for dtype, makers in ((torch.float32, everything), (torch.bfloat16, everything[:6] + (picks, windows)),
                          (torch.float16, (products, softmaxes, attentions))):
        part = Writer()
        for make in makers:
            make(part, generator(3, dtype))
        if dtype is not torch.float16:
            rotaries(part, generator(4, dtype), dtype)
        for e in part.entries:
            e["name"] = f"{NAMES[dtype]}/{e['name']}"
            e["index"] += len(w.entries)
            e["tensor"] = f"{NAMES[dtype]}.{e['tensor']}"
        w.tensors.update({f"{NAMES[dtype]}.{k}": v for k, v in part.tensors.items()})
        w.entries += part.entries
    for make in (casts, quantised):
        make(w, generator(5, torch.float32))
    w.save(folder / "torch_types")


main()
