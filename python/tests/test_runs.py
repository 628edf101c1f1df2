"""Runs as they are in earnest: several ranks, autocast, generation with a cache of keys and values."""

import json
import os
import subprocess
import sys
import unittest

import numpy as np
import torch
import torch.nn as nn

import plinth_capture as pc
import recompute
from fixture import TOKENS, CaptureTest, model

PROGRAM = os.environ.get("PLINTH")

RANKS = """
import os
import sys
import torch
import torch.distributed as dist
import torch.nn as nn
import plinth_capture

rank, world, port, fault = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
dist.init_process_group("gloo", rank=rank, world_size=world)


class Shard(nn.Module):
    # Columns of the first product and rows of the second: the sums over ranks meet in one all-reduce.
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        up, down = torch.randn(16, 8), torch.randn(8, 16)
        part = slice(rank * 16 // world, (rank + 1) * 16 // world)
        self.up, self.down = nn.Parameter(up[part].clone()), nn.Parameter(down[:, part].clone())

    def forward(self, x):
        y = (x @ self.up.t()).relu() @ self.down.t()
        dist.all_reduce(y)
        return y * (1.01 if rank == fault else 1.0)


net = nn.Sequential(Shard(), nn.LayerNorm(8))
torch.manual_seed(5)
x = torch.randn(4, 8)
with torch.no_grad(), plinth_capture.Capture(net, out=sys.argv[5], full=True, level="operator", model_digest="a" * 64):
    net(x)
"""


def with_program(test):
    return unittest.skipUnless(PROGRAM, "the program is not named (PLINTH); ctest names it")(test)


class Runs(CaptureTest):
    def plinth(self, *arguments):
        """Returns (exit code, JSON objects, a list where there are several lines)."""
        code, lines = self.printed(PROGRAM, *arguments)
        return code, [json.loads(line) for line in lines]


@unittest.skipUnless(torch.distributed.is_available(), "this torch has no torch.distributed")
class Ranks(Runs):
    def take(self, name, fault=-1):
        with open(self.path("ranks.py"), "w") as file:
            file.write(RANKS)
        import socket

        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        processes = [
            subprocess.Popen([sys.executable, "ranks.py", str(rank), "2", port, str(fault), name], cwd=self.folder)
            for rank in range(2)
        ]
        self.assertEqual([process.wait(timeout=120) for process in processes], [0, 0])

    def test_two_processes(self):
        self.take("a")
        self.assertEqual(sorted(os.listdir(self.path("a"))), ["rank-00000", "rank-00001"])
        ranks = [pc.read(self.path("a/rank-0000%d" % r)) for r in range(2)]
        self.assertEqual([(c.header["rank"], c.header["world"]) for c in ranks], [(0, 2), (1, 2)])
        # The result of the all-reduce is the same everywhere, what went into it is not.
        np.testing.assert_array_equal(ranks[0].tensor("0:out0@0"), ranks[1].tensor("0:out0@0"))
        self.assertFalse(np.array_equal(ranks[0].tensor("0/matmul.0:out0@0"), ranks[1].tensor("0/matmul.0:out0@0")))
        if PROGRAM:
            self.assertEqual(self.plinth("locate", "a", "a")[0], 0)
            # A fault of rank 1 alone decides.
            self.take("b", fault=1)
            code, (found,) = self.plinth("locate", "a", "b")
            self.assertEqual((code, found["first_drift"]["rank"], found["first_drift"]["layer"]), (1, 1, 0))
            code, rows = self.plinth("compare", "a", "b")
            self.assertEqual((code, rows[-1]["verdict"]), (1, "fail"))


class Autocast(Runs):
    def test_bf16_on_a_cpu(self):
        with torch.autocast("cpu", torch.bfloat16):
            cap = self.captured(model(), TOKENS, name="amp", level="operator", full=True)
        self.assertEqual(cap.header["precision"]["autocast"], "bf16")
        self.assertEqual(cap.header["precision"]["weights"], "f32")
        # As it was rounded in front of the product, and what came out of it.
        self.assertEqual(cap.find("layers.0.q:in0@0").dtype, "bf16")
        self.assertEqual(cap.find("layers.0.q:in1@0").dtype, "bf16")
        self.assertEqual(cap.find("layers.0.q:out0@0").dtype, "bf16")
        recompute.check(self, cap, 2e-2)

    @with_program
    def test_its_products_are_right_and_its_types_declared(self):
        self.captured(model(), TOKENS, name="f32", level="operator", full=True)
        with torch.autocast("cpu", torch.bfloat16):
            self.captured(model(), TOKENS, name="amp", level="operator", full=True)
        code, rows = self.plinth("replay", "amp", "--op", "linear,embedding,add")
        self.assertEqual((code, rows[-1]["failed"]), (0, 0), rows)
        code, (found,) = self.plinth("locate", "f32", "amp")
        self.assertEqual(code, 0, found["first_drift"])
        self.assertIn("the candidate declares bf16 where the reference has f32", " ".join(found["notes"]))


class Decoder(nn.Module):
    """Greedy decoding with a cache; `shift` reads it one place too early."""

    def __init__(self, shift=0, width=16, layers=3):
        super().__init__()
        torch.manual_seed(7)
        self.embed = nn.Embedding(23, width)
        self.place = nn.Embedding(40, width)
        self.layers = nn.ModuleList([nn.ModuleDict({n: nn.Linear(width, width) for n in "qkvo"}) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 23)
        self.shift = shift

    def forward(self, tokens, cache):
        at = cache[0][0].shape[1] if cache[0] else 0
        x = self.embed(tokens) + self.place(torch.arange(at, at + tokens.shape[1]))
        for number, layer in enumerate(self.layers):
            q, k, v = layer["q"](x), layer["k"](x), layer["v"](x)
            if cache[number]:
                old_k, old_v = cache[number]
                if self.shift and number == 1:  # the last key of the cache is left out, the first one counts twice
                    old_k = torch.cat([old_k[:, :1], old_k[:, :-1]], 1)
                k, v = torch.cat([old_k, k], 1), torch.cat([old_v, v], 1)
            cache[number] = (k, v)
            scores = q @ k.transpose(1, 2) / 4
            if tokens.shape[1] > 1:
                hidden = torch.ones(tokens.shape[1], tokens.shape[1], dtype=torch.bool).triu(1)
                scores = scores.masked_fill(hidden, float("-inf"))
            x = x + layer["o"](scores.softmax(-1) @ v)
        return self.head(self.norm(x))


class Generation(Runs):
    def decode(self, name, steps=6, **options):
        net = Decoder(**options).eval()
        cache, tokens, out = [()] * 3, torch.tensor([[3, 1, 4], [1, 5, 9]]), []
        with torch.no_grad(), pc.Capture(net, out=self.path(name), level="operator", full=True):
            for _ in range(steps):
                tokens = net(tokens, cache)[:, -1].argmax(-1, keepdim=True)
                out.append(tokens)
        return torch.cat(out, 1)

    def test_each_call_is_a_step(self):
        tokens = self.decode("a")
        cap = pc.read(self.path("a"))
        self.assertEqual({e.step for e in cap}, set(range(6)))
        self.assertEqual(cap.find("(root):in0@0").shape, (2, 3))
        self.assertEqual(cap.find("(root):in0@5").shape, (2, 1))
        # The choice of a token belongs to the step that made it, and enters the next one.
        for step in range(5):
            np.testing.assert_array_equal(cap.tensor("(root):in0@%d" % (step + 1))[:, 0], tokens[:, step].numpy())
        recompute.check(self, cap)

    @with_program
    def test_a_cache_that_is_off_by_one(self):
        self.decode("a")
        self.decode("b", shift=1)
        code, rows = self.plinth("replay", "a")
        self.assertEqual((code, rows[-1]["failed"], rows[-1]["unproven"]), (0, 0, 0))
        self.assertEqual(self.plinth("locate", "a", "a")[0], 0)
        code, (found,) = self.plinth("locate", "a", "b")
        first = found["first_drift"]
        # The first step fills the cache and is right; the second reads it, in the layer of the fault.
        self.assertEqual((code, first["step"]), (1, 1), first)
        self.assertTrue(first["name"].startswith(("layers.1", "(root)/cat", "(root)/matmul")), first)
