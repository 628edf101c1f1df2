"""What a capture holds, and that the model's run is what it would be without."""

import os
import warnings
from unittest import mock

import numpy as np
import torch
import torch.nn as nn

import plinth_capture as pc
from fixture import TOKENS, CaptureTest, model
from plinth_capture import torch_state
from plinth_capture import writer as writer_module
from plinth_capture.ports import tensors_in


def tensors_of(value):
    return [tensor for _, tensor in tensors_in(value)]


class Entries(CaptureTest):
    def test_modules_come_in_order_with_inputs_and_outputs(self):
        cap = self.captured(model(), TOKENS, full=True)
        names = [e.key for e in cap if e.name in ("(root)", "embed", "layers.0", "layers.1")]
        self.assertEqual(
            names,
            [
                "(root):in0@0",
                "embed:in0@0",
                "embed:in1@0",
                "embed:out0@0",
                "layers.0:in0@0",
                "layers.0:out0@0",
                "layers.1:in0@0",
                "layers.1:out0@0",
                "(root):out0@0",
                "(root):out1@0",
            ],
        )
        self.assertEqual([e.index for e in cap], list(range(len(cap))))
        self.assertEqual(cap.find("(root):out1@0").more["port_name"], "state")

    def test_tensors_are_the_models(self):
        net = model()
        with torch.no_grad():
            out = net(TOKENS)
        cap = self.captured(net, TOKENS, full=True)
        self.assertSameTensor(cap.tensor("(root):out0@0"), out["logits"])
        self.assertSameTensor(cap.tensor("layers.1:out0@0"), out["state"])
        self.assertSameTensor(cap.tensor("layers.0.q:in1@0"), net.layers[0].q.weight)
        self.assertSameTensor(cap.tensor("layers.0.q:in2@0"), net.layers[0].q.bias)

    def test_statistics_alone_by_default_and_full_by_pattern(self):
        cap = self.captured(model(), TOKENS, full=["layers.*.q", "head"])
        full = {e.name for e in cap if e.tensor is not None}
        self.assertEqual(full, {"layers.0.q", "layers.1.q", "head"})
        self.assertIsNone(cap.tensor("layers.0:out0@0"))
        want = self.captured(model(), TOKENS, name="all", full=True).find("layers.0:out0@0").digest
        self.assertEqual((len(want), cap.find("layers.0:out0@0").digest), (64, want))
        less = self.captured(model(), TOKENS, name="less", full=["head"], digest="full")
        self.assertEqual({e.name for e in less if e.digest}, {"head"})
        # Weights are inputs only where they are written.
        self.assertIsNone(cap.find("layers.0.kv:in1@0"))
        only = self.captured(model(), TOKENS, name="only", full="head", statistics=False)
        self.assertEqual({e.name for e in only}, {"head"})

    def test_repeats_are_equal_byte_for_byte(self):
        for name in ("a", "b"):
            self.captured(model(), TOKENS, name=name, level="operator", full=True, run_id="r")
        for file in sorted(os.listdir(self.path("a"))):
            with open(os.path.join(self.path("a"), file), "rb") as one, open(
                os.path.join(self.path("b"), file), "rb"
            ) as two:
                self.assertEqual(one.read(), two.read(), file)

    def test_equal_tensors_are_stored_once(self):
        net = model()
        with torch.no_grad(), pc.Capture(net, out=self.path("cap"), full=True):
            net(TOKENS)
            net(TOKENS)
        cap = pc.read(self.path("cap"))
        self.assertEqual(cap.find("head:in1@1").tensor, "head:in1@0")
        self.assertEqual(cap.find("embed:out0@0").tensor, cap.find("layers.0:in0@0").tensor)

    def test_a_call_by_keyword_has_the_ports_of_one_by_position(self):
        class Two(nn.Module):
            def forward(self, a, b=None, **more):
                return a - b + more.get("z", 0) - more.get("y", 0)

        class Outer(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Two()

            def forward(self, a, b):
                return self.inner(a, b), self.inner(b=b, a=a, z=a * 2, y=b * 3)

        a, b = torch.ones(2), torch.zeros(2)
        cap = self.captured(Outer(), a, b, full=True)
        self.assertEqual(cap.tensor("inner:in0@0").tolist(), [1, 1])
        self.assertEqual(cap.tensor("inner:in1@0").tolist(), [0, 0])
        if int(torch.__version__.split(".")[0]) >= 2:  # before, hooks do not see keywords
            self.assertEqual(cap.tensor("inner#1:in0@0").tolist(), [1, 1])
            self.assertEqual(cap.tensor("inner#1:in1@0").tolist(), [0, 0])
            ports = [cap.find("inner#1:in%d@0" % p).more["port_name"] for p in range(4)]
            self.assertEqual(ports, ["a", "b", "y", "z"])

    def test_a_module_called_again_in_one_step_is_numbered(self):
        class Twice(nn.Module):
            def __init__(self):
                super().__init__()
                self.act = nn.ReLU()

            def forward(self, x):
                return self.act(self.act(x) - 1)

        net = Twice()
        with pc.Capture(net, out=self.path("cap"), full=True):
            net(torch.tensor([3.0, 0.5]))
            net(torch.tensor([3.0, 0.5]))
        cap = pc.read(self.path("cap"))
        self.assertEqual(cap.tensor("act:out0@0").tolist(), [3, 0.5])
        self.assertEqual(cap.tensor("act#1:out0@0").tolist(), [2, 0])
        self.assertEqual(cap.tensor("act#1:out0@1").tolist(), [2, 0])

    def test_header(self):
        net = model()
        weights = self.path("weights")
        with open(weights, "wb") as file:
            file.write(b"abc")
        cap = self.captured(net, TOKENS, run_id="r7", repeat=3, seed=5, weights=weights, model_name="small")
        header = cap.header
        self.assertEqual(header["run"], {"id": "r7", "repeat": 3, "seed": 5, "mode": "free"})
        abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        self.assertEqual(header["model"], {"name": "small", "digest": abc})
        self.assertEqual((header["rank"], header["world"]), (0, 1))
        self.assertEqual(header["precision"]["weights"], "f32")
        self.assertIsNone(header["precision"]["autocast"])
        self.assertEqual(header["producer"]["kind"], "pytorch")
        self.assertEqual(cap.environment["python"]["framework_version"], str(torch.__version__))


class Steps(CaptureTest):
    def test_each_call_of_the_model_is_a_step_with_or_without_step(self):
        for explicit in (False, True):
            name = "cap%d" % explicit
            net = model()
            with torch.no_grad(), pc.Capture(net, out=self.path(name)) as cap:
                for _ in range(3):
                    net(TOKENS)
                    if explicit:
                        cap.step()
            steps = [e.step for e in pc.read(self.path(name)) if e.key.startswith("(root):out0")]
            self.assertEqual(steps, [0, 1, 2])

    def test_the_choice_of_a_token_belongs_to_its_step(self):
        net = model()
        with torch.no_grad(), pc.Capture(net, out=self.path("cap"), level="operator"):
            for _ in range(2):
                net(TOKENS)["logits"].argmax(-1)
        keys = [e.key for e in pc.read(self.path("cap")) if e.op == "sampling" and e.direction == "output"]
        self.assertEqual(keys, ["(outside)/sampling.0:out0@0", "(outside)/sampling.0:out0@1"])

    def test_manual_steps(self):
        net = model()
        with torch.no_grad(), pc.Capture(net, out=self.path("cap"), steps="manual") as cap:
            net(TOKENS)
            net(TOKENS)
            cap.step()
            net.head(torch.zeros(1, 8))
        keys = {e.key for e in pc.read(self.path("cap")) if e.name.startswith(("(root)", "head"))}
        self.assertIn("(root)#1:out0@0", keys)
        self.assertIn("head:out0@1", keys)
        with self.assertRaisesRegex(pc.CaptureError, "belongs inside the block"):
            pc.Capture(net, out=self.path("x")).step()

    def test_decorator_numbers_repeats(self):
        net = model()

        @pc.capture(net, out=self.path("runs/{repeat}"))
        def run(tokens):
            return net(tokens)["logits"]

        first, second = run(TOKENS), run(TOKENS)
        self.assertTrue(torch.equal(first, second))
        a, b = pc.read(self.path("runs/0")), pc.read(self.path("runs/1"))
        self.assertEqual((a.header["run"]["repeat"], b.header["run"]["repeat"]), (0, 1))
        self.assertEqual(a.header["run"]["id"], b.header["run"]["id"])


class Untouched(CaptureTest):
    """The model's run is never changed."""

    def test_outputs_gradients_and_random_numbers_are_the_same(self):
        def train(captured):
            torch.manual_seed(3)
            net = nn.Sequential(nn.Linear(6, 6), nn.Dropout(0.5), nn.MultiheadAttention(6, 2).out_proj, nn.Tanh())
            x = torch.randn(4, 6, requires_grad=True)
            if captured:
                with pc.Capture(net, out=self.path("cap"), level="operator", full=True):
                    loss = net(x).square().sum()
                    loss.backward()
            else:
                loss = net(x).square().sum()
                loss.backward()
            return [loss.detach(), x.grad, torch.rand(3)] + [p.grad for p in net.parameters()]

        for want, got in zip(train(False), train(True)):
            self.assertTrue(torch.equal(want, got))

    def test_torch_layers_give_the_same_bits_with_operators_recorded(self):
        torch.manual_seed(1)
        nets = [
            (nn.MultiheadAttention(8, 2, batch_first=True), (torch.randn(2, 5, 8),) * 3),
            (nn.Sequential(nn.Conv1d(3, 4, 3, padding="same"), nn.BatchNorm1d(4), nn.SiLU()), (torch.randn(2, 3, 9),)),
            (
                nn.Sequential(nn.Conv2d(3, 4, 3, stride=2), nn.GroupNorm(2, 4), nn.Softmax(1)),
                (torch.randn(2, 3, 9, 9),),
            ),
            (nn.LSTM(4, 5), (torch.randn(6, 2, 4),)),
            (nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True), (torch.randn(4, 33, 64),)),
        ]
        for number, (net, inputs) in enumerate(nets):
            net.train()
            state = {k: v.clone() for k, v in net.state_dict().items()}
            want = net(*inputs)
            net.load_state_dict(state)
            with pc.Capture(net, out=self.path(str(number)), level="operator", full=True):
                got = net(*inputs)
            for a, b in zip(tensors_of(want), tensors_of(got)):
                self.assertTrue(torch.equal(a, b), net)

    def test_changes_in_place_do_not_reach_what_was_recorded(self):
        class InPlace(nn.Module):
            def __init__(self):
                super().__init__()
                self.act = nn.ReLU(inplace=True)

            def forward(self, x):
                y = self.act(x)
                y.add_(10)
                y += 1
                return y

        x = torch.tensor([-1.0, 2.0])
        cap = self.captured(InPlace(), x, level="operator", full=True)
        self.assertEqual(cap.tensor("(root):in0@0").tolist(), [-1, 2])
        self.assertEqual(cap.tensor("act:in0@0").tolist(), [-1, 2])
        self.assertEqual(cap.tensor("act:out0@0").tolist(), [0, 2])
        self.assertEqual(cap.tensor("(root)/add.0:in0@0").tolist(), [0, 2])
        self.assertEqual(cap.tensor("(root)/add.0:out0@0").tolist(), [10, 12])
        self.assertEqual(cap.tensor("(root)/add.1:out0@0").tolist(), [11, 13])
        self.assertEqual(x.tolist(), [11, 13])

    def test_views_and_strides_are_laid_out_densely(self):
        class Views(nn.Module):
            def forward(self, x):
                return x.t(), x[:, 1], x[:1].expand(3, 3), x.flip(0)

        x = torch.arange(9.0).view(3, 3)
        cap = self.captured(Views(), x, full=True)
        for port, want in enumerate((x.t(), x[:, 1], x[:1].expand(3, 3), x.flip(0))):
            self.assertSameTensor(cap.tensor("(root):out%d@0" % port), want)

    def test_hooks_are_gone_afterwards(self):
        net = model()
        self.captured(net, TOKENS, level="operator")
        for module in net.modules():
            self.assertFalse(module._forward_hooks or module._forward_pre_hooks)
        self.assertIsNone(pc.current())

    def test_no_graph_is_retained(self):
        import gc
        import weakref

        net = model()
        with pc.Capture(net, out=self.path("cap"), full=True):
            out = net(TOKENS)["logits"]
            graph = weakref.ref(out)
            del out
            gc.collect()
            self.assertIsNone(graph())


class Kinds(CaptureTest):
    """Element types, containers, tensors that have no place."""

    def test_types(self):
        names = ["float64", "float32", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "bool"]
        names += [n for n in ("float8_e4m3fn", "float8_e5m2", "uint16") if hasattr(torch, n)]
        values = [torch.tensor([0, 1, 2, 3]).to(getattr(torch, n)) for n in names]

        class Give(nn.Module):
            def forward(self, x):
                return values

        cap = self.captured(Give(), torch.zeros(1), full=True)
        for port, value in enumerate(values):
            entry = cap.find("(root):out%d@0" % port)
            want = value.to(torch.float64).numpy() if value.dtype != getattr(torch, "uint16", None) else [0, 1, 2, 3]
            np.testing.assert_array_equal(cap.tensor(entry).astype(np.float64), want)
            self.assertEqual(entry.stats["zero"], 1)
            self.assertEqual(entry.stats["max"], 1 if entry.dtype == "bool" else 3)
        self.assertEqual([cap.find("(root):out%d@0" % p).dtype for p in (3, 9)], ["bf16", "bool"])

    def test_nested_containers_have_ports_in_a_fixed_order(self):
        import collections
        import dataclasses

        Pair = collections.namedtuple("Pair", "left right")

        @dataclasses.dataclass
        class Output:
            logits: torch.Tensor
            hidden: tuple = None
            text: str = "x"

        class Nest(nn.Module):
            def forward(self, x):
                return Output(x, (x + 1, {"b": x + 2, "a": Pair(x + 3, [x + 4, None])}))

        cap = self.captured(Nest(), torch.zeros(1), full=True)
        outs = [e for e in cap if e.direction == "output"]
        self.assertEqual([cap.tensor(e).item() for e in outs], [0, 1, 2, 3, 4])
        self.assertEqual(
            [e.more["port_name"] for e in outs],
            ["logits", "hidden.0", "hidden.1.b", "hidden.1.a.left", "hidden.1.a.right.0"],
        )

    def test_complex_tensors_get_an_axis_and_what_has_no_place_a_note(self):
        class Give(nn.Module):
            def forward(self, x):
                return torch.complex(x, x + 1), x.to_sparse(), torch.empty(2, device="meta"), x

        cap = self.captured(Give(), torch.tensor([1.0, 2.0]), full=True)
        self.assertEqual(cap.tensor("(root):out0@0").tolist(), [[1, 2], [2, 3]])
        self.assertEqual(cap.find("(root):out0@0").layout, "complex")
        self.assertIsNone(cap.find("(root):out1@0"))
        self.assertIsNotNone(cap.find("(root):out3@0"))
        notes = " ".join(cap.header["producer"]["notes"])
        self.assertIn("sparse", notes)
        self.assertIn("meta", notes)

    def test_functions_of_complex_numbers_keep_apart_from_those_of_real_ones(self):
        class Spectrum(nn.Module):
            def forward(self, x):
                return torch.fft.rfft(x).abs() + x[:3].abs()

        cap = self.captured(Spectrum(), torch.tensor([1.0, -2.0, 3.0, 5.0]), full=True, level="operator")
        ops = [e.op for e in cap.entries if e.direction == "output"]
        self.assertEqual(ops.count("complex.abs"), 1)
        self.assertEqual(ops.count("abs"), 1)

    def test_empty_and_scalar_tensors(self):
        class Give(nn.Module):
            def forward(self, x):
                return x[:0], x.sum(), torch.zeros(0, 3, 0)

        cap = self.captured(Give(), torch.ones(3), full=True)
        self.assertEqual(cap.tensor("(root):out0@0").shape, (0,))
        self.assertEqual(cap.tensor("(root):out1@0").shape, ())
        self.assertEqual(cap.tensor("(root):out2@0").shape, (0, 3, 0))
        self.assertEqual(cap.find("(root):out0@0").stats["count"], 0)

    def test_autocast_is_noted_and_inputs_are_as_it_rounds_them(self):
        net = nn.Sequential(nn.Linear(4, 3), nn.Softmax(-1))
        x = torch.randn(2, 4)
        with torch.no_grad(), pc.Capture(net, out=self.path("cap"), full=True):
            with torch.autocast("cpu", torch.bfloat16):
                net(x)
        cap = pc.read(self.path("cap"))
        self.assertEqual(cap.header["precision"]["autocast"], "bf16")
        self.assertEqual([cap.find("0:%s@0" % p).dtype for p in ("in0", "in1", "in2", "out0")], ["bf16"] * 4)
        self.assertEqual(cap.find("(root):in0@0").dtype, "f32")
        self.assertSameTensor(cap.tensor("0:in0@0"), x.bfloat16())


class Failure(CaptureTest):
    def assertNothingLeft(self):
        self.assertEqual(os.listdir(self.folder), [])

    def test_an_exception_leaves_nothing(self):
        net = model()
        with self.assertRaisesRegex(ValueError, "stop"):
            with pc.Capture(net, out=self.path("cap"), full=True):
                net(TOKENS)
                raise ValueError("stop")
        self.assertNothingLeft()

    def test_an_existing_folder_is_refused_before_the_run(self):
        os.mkdir(self.path("cap"))
        with self.assertRaisesRegex(pc.CaptureError, "cap: exists"):
            with pc.Capture(model(), out=self.path("cap")):
                self.fail("the block ran")

    def test_a_folder_that_cannot_be_made_is_refused_before_the_run(self):
        with open(self.path("file"), "w"):
            pass
        with self.assertRaisesRegex(pc.CaptureError, "file/cap: cannot be made: .*(Not a directory|File exists)"):
            with pc.Capture(model(), out=self.path("file/cap")):
                self.fail("the block ran")

    def test_what_a_killed_run_left_does_not_matter(self):
        os.mkdir(self.path(".cap.partial-%d-0" % os.getpid()))
        self.captured(model(), TOKENS)

    def test_nothing_recorded_is_an_error(self):
        with self.assertRaisesRegex(pc.CaptureError, "nothing was recorded"):
            with pc.Capture(model(), out=self.path("cap")):
                pass
        with self.assertRaisesRegex(pc.CaptureError, "nothing was recorded"):
            self.captured(model(), TOKENS, full="nowhere", statistics=False)
        self.assertNothingLeft()

    def test_a_full_disk_surfaces_at_the_end_and_leaves_nothing(self):
        net = model()
        full = OSError(28, "No space left on device")
        with mock.patch.object(writer_module.ShardWriter, "add", side_effect=full):
            with self.assertRaisesRegex(pc.CaptureError, "cap: not written: .*No space left"):
                with torch.no_grad(), pc.Capture(net, out=self.path("cap"), full=True, queue_bytes=1):
                    for _ in range(3):
                        net(TOKENS)  # goes on
        self.assertNothingLeft()

    def test_what_the_recording_gets_wrong_does_not_stop_the_model(self):
        net = model()
        with mock.patch("plinth_capture.recorder.take", side_effect=RuntimeError("broken")):
            with self.assertRaisesRegex(RuntimeError, "broken"):
                with torch.no_grad(), pc.Capture(net, out=self.path("cap")):
                    out = net(TOKENS)
        self.assertEqual(out["logits"].shape, (2, 5, 11))
        self.assertNothingLeft()

    def test_a_slow_disk_holds_the_run_back(self):
        net = model()
        seen = []
        real = writer_module.CaptureWriter._write

        def slow(self, *args):
            seen.append(self._waiting)
            return real(self, *args)

        with mock.patch.object(writer_module.CaptureWriter, "_write", slow):
            with torch.no_grad(), pc.Capture(net, out=self.path("cap"), full=True, queue_bytes=2000):
                net(TOKENS)
        self.assertLessEqual(max(seen), 2000)
        self.assertGreater(len(pc.read(self.path("cap"))), 20)

    def test_many_files(self):
        cap = self.captured(model(), TOKENS, full=True, shard_bytes=1000)
        files = sorted(f for f in os.listdir(self.path("cap")) if f.startswith("tensors"))
        self.assertGreater(len(files), 3)
        self.assertEqual(files[0], "tensors-00001-of-%05d.safetensors" % len(files))
        for entry in cap:
            self.assertEqual(cap.tensor(entry).shape, entry.shape)

    def test_wrong_arguments(self):
        for options, text in (
            ({"level": "layers"}, '"module" or "operator" is right'),
            ({"steps": "x"}, '"forward" or "manual"'),
            ({"rank": 2, "world": 2}, "ranks count from 0"),
            ({"weights": "/nonexistent"}, "weights cannot be read"),
        ):
            with self.assertRaisesRegex(pc.CaptureError, text):
                pc.Capture(model(), out=self.path("cap"), **options)
        with self.assertRaisesRegex(pc.CaptureError, "torch.nn.Module is right"):
            pc.Capture(len, out=self.path("cap"))

    def test_a_run_inside_another_is_its_own(self):
        net, other = model(), model()
        with torch.no_grad(), pc.Capture(net, out=self.path("a")):
            with pc.Capture(other, out=self.path("b")):
                net(TOKENS)
                other(TOKENS)
        self.assertEqual([e.key for e in pc.read(self.path("a"))], [e.key for e in pc.read(self.path("b"))])


class Runs(CaptureTest):
    def test_ranks_write_beside_each_other(self):
        net = model()
        for rank in range(2):
            with mock.patch.dict(os.environ, RANK=str(rank), WORLD_SIZE="2"):
                with torch.no_grad(), pc.Capture(net, out=self.path("cap")):
                    net(TOKENS)
        for rank in range(2):
            header = pc.read(self.path("cap/rank-%05d" % rank)).header
            self.assertEqual((header["rank"], header["world"]), (rank, 2))

    def test_wrappers_do_not_show_in_names(self):
        cap = self.captured(nn.DataParallel(model()), TOKENS)
        self.assertIsNotNone(cap.find("layers.0.q:out0@0"))
        self.assertIsNotNone(cap.find("(root):out0@0"))

    def test_digests_of_inputs(self):
        net = model()
        own = self.captured(net, TOKENS).header["inputs"]["digest"]
        named = self.captured(net, TOKENS, name="b", inputs=TOKENS).header["inputs"]["digest"]
        other = self.captured(net, TOKENS, name="c", inputs={"tokens": TOKENS, "more": TOKENS}).header["inputs"][
            "digest"
        ]
        self.assertEqual(own, named)
        self.assertEqual(own, self.captured(net, TOKENS, name="d", full="(root)").find("(root):in0@0").digest)
        self.assertNotEqual(own, other)
        half = nn.Linear(2, 2).to(torch.bfloat16)
        cap = self.captured(half, torch.ones(1, 2, dtype=torch.bfloat16), name="e")
        self.assertEqual(cap.header["inputs"]["digest"], "")

    def test_a_compiled_model_is_noted(self):
        if not hasattr(torch, "compile"):
            self.skipTest("torch %s has no torch.compile" % torch.__version__)
        net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        compiled = torch.compile(net, backend="eager")
        x = torch.ones(1, 2)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with torch.no_grad(), pc.Capture(compiled, out=self.path("cap"), full=True):
                got = compiled(x)
        self.assertTrue(any("torch.compile" in str(w.message) for w in caught))
        cap = pc.read(self.path("cap"))
        self.assertSameTensor(cap.tensor("(root):out0@0"), got)
        self.assertIn("torch.compile", cap.header["producer"]["notes"][0])

    def test_fused_attention_of_torch_is_noted(self):
        net = nn.TransformerEncoderLayer(8, 2, 8, batch_first=True).eval()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            cap = self.captured(net, torch.randn(1, 3, 8), level="operator")
        self.assertTrue(any("fused attention" in str(w.message) for w in caught))
        self.assertIsNotNone(cap.find("linear1:out0@0"))
        modules = self.captured(net, torch.randn(1, 3, 8), name="modules")
        hidden = modules.find("linear1:out0@0") is None
        self.assertEqual(hidden, "notes" in modules.header["producer"])

    def test_checkpointing_does_not_record_its_second_run(self):
        from torch.utils.checkpoint import checkpoint

        if not hasattr(torch._C, "_current_graph_task_id"):
            self.skipTest("torch %s does not say whether autograd runs" % torch.__version__)

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(2, 2)

            def forward(self, x):
                return checkpoint(self.fc, x, use_reentrant=False)

        net = Net()
        with pc.Capture(net, out=self.path("cap")):
            net(torch.ones(1, 2, requires_grad=True)).sum().backward()
        self.assertEqual(
            [e.key for e in pc.read(self.path("cap")) if e.name.startswith("fc")], ["fc:in0@0", "fc:out0@0"]
        )

    def test_a_model_that_catches_exceptions_keeps_its_names(self):
        class Fails(nn.Module):
            def forward(self, x):
                raise ValueError("no")

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fails, self.act = Fails(), nn.ReLU()

            def forward(self, x):
                try:
                    x = self.fails(x)
                except ValueError:
                    x = x + 1
                return self.act(x) * 2

        cap = self.captured(Net(), torch.ones(1), level="operator", full=True)
        self.assertIsNotNone(cap.find("act:out0@0"))
        self.assertEqual(cap.tensor("(root):out0@0").tolist(), [4])
        if torch_state.hook_options()[1]:  # before, a hook does not hear of exceptions
            self.assertIsNotNone(cap.find("(root)/mul.0:out0@0"))


if __name__ == "__main__":
    import unittest

    unittest.main()
