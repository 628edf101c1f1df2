"""Flips of last input bits: what changes by how much, what stays, and what the capture says of it."""

import os
import subprocess
import sys

import numpy as np
import torch
import torch.nn as nn

import plinth_capture as pc
from fixture import TOKENS, CaptureTest, model
from plinth_capture.last_bits import LastBits

BITS = {torch.float32: torch.int32, torch.float64: torch.int64, torch.float16: torch.int16, torch.bfloat16: torch.int16}


class Flips(CaptureTest):
    def test_half_of_the_values_change_by_one_unit(self):
        for dtype, width in BITS.items():
            x = torch.randn(40, 50).to(dtype)
            got = LastBits(1).flip(x)
            moved = (got.view(width) - x.view(width)).abs()
            self.assertLessEqual(int(moved.max()), 1, dtype)
            self.assertTrue(0.4 < float(moved.float().mean()) < 0.6, dtype)
            self.assertTrue(bool(((got > 0) == (x > 0)).all()))

    def test_zeros_and_what_is_not_finite_stay(self):
        x = torch.tensor([0.0, -0.0, float("inf"), float("-inf"), float("nan")]).repeat(50)
        got = LastBits(3).flip(x)
        self.assertTrue(torch.equal(got.view(torch.int32), x.view(torch.int32)))

    def test_the_same_seed_gives_the_same_flips_and_another_one_others(self):
        x = torch.randn(30, 30)
        one, again, other = LastBits(1).flip(x), LastBits(1).flip(x), LastBits(2).flip(x)
        self.assertTrue(torch.equal(one, again))
        self.assertFalse(torch.equal(one, other))

    def test_strides_whole_numbers_and_empty_tensors(self):
        x = torch.randn(6, 8).t()
        got = LastBits(1).flip(x)
        self.assertEqual(got.shape, x.shape)
        self.assertLessEqual(float((got - x).abs().max()), 1e-6)
        for same in (torch.arange(5), torch.zeros(0, 3), torch.ones(3, dtype=torch.bool)):
            self.assertIs(LastBits(1).flip(same), same)

    def test_gradients_pass(self):
        x = torch.randn(5, 5, requires_grad=True)
        got = LastBits(1).flip(x)
        self.assertTrue(torch.equal(got, LastBits(1).flip(x.detach())))
        got.sum().backward()
        self.assertTrue(torch.equal(x.grad, torch.ones(5, 5)))


class Runs(CaptureTest):
    def test_what_enters_as_numbers(self):
        net = nn.Sequential(nn.Linear(4, 5), nn.ReLU())
        x = torch.randn(3, 4)
        before = x.clone()
        caps = [
            self.captured(net, x, name="r%d" % r, full=True, repeat=r, flip_last_bits=True, run_id="a") for r in range(3)
        ]
        self.assertTrue(torch.equal(x, before))  # the caller's tensor is left alone
        inputs = [cap.tensor("0:in0@0") for cap in caps]
        np.testing.assert_array_equal(inputs[0], x.numpy())
        self.assertFalse(np.array_equal(inputs[1], inputs[0]) or np.array_equal(inputs[1], inputs[2]))
        np.testing.assert_allclose(inputs[1], inputs[0], rtol=1.3e-7)
        # One run on the same inputs, whatever is flipped afterwards.
        self.assertEqual(len({cap.header["inputs"]["digest"] for cap in caps}), 1)
        self.assertEqual(caps[0].header["run"]["last_bits"], {"seed": 0, "flipped": 0})
        self.assertEqual(caps[2].header["run"]["last_bits"]["seed"], 2)
        self.assertEqual(caps[2].header["run"]["last_bits"]["flipped"], int((inputs[2] != inputs[0]).sum()))

    def test_what_embeddings_give_for_tokens(self):
        plain = self.captured(model(), TOKENS, name="plain", full=True)
        flipped = self.captured(model(), TOKENS, name="flipped", full=True, repeat=1, flip_last_bits=True)
        # The embedding itself is right; what reads it gets the neighbour.
        np.testing.assert_array_equal(flipped.tensor("embed:out0@0"), plain.tensor("embed:out0@0"))
        entering = flipped.tensor("layers.0:in0@0"), plain.tensor("layers.0:in0@0")
        self.assertTrue(0.2 < np.mean(entering[0] != entering[1]) < 0.8)
        np.testing.assert_allclose(*entering, rtol=1.3e-7)
        self.assertFalse(np.array_equal(flipped.tensor("head:out0@0"), plain.tensor("head:out0@0")))

    def test_masks_and_caches_stay(self):
        class Net(nn.Module):
            def forward(self, x, attention_mask=None, past_key=None):
                return x + attention_mask + past_key

        one = torch.ones(3, 4) / 3
        cap = self.captured(Net(), one, one, one, full=True, repeat=1, flip_last_bits=True)
        changed = [not np.array_equal(cap.tensor("(root):in%d@0" % port), one.numpy()) for port in range(3)]
        self.assertEqual(changed, [True, False, False])

    def test_without_flips_nothing_is_said_and_with_nothing_to_flip_it_is_refused(self):
        cap = self.captured(model(), TOKENS, name="plain")
        self.assertNotIn("last_bits", cap.header["run"])

        class Net(nn.Module):
            def forward(self, x):
                return x * 2

        with self.assertRaisesRegex(pc.CaptureError, "no last bits were flipped: no floating tensor entered"):
            self.captured(Net(), torch.arange(3), name="ints", repeat=1, flip_last_bits=True)
        self.assertFalse(os.path.exists(self.path("ints")))


SCRIPT = """
import sys
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Linear(3, 4)
if "--fail-later" in sys.argv:
    import os, pathlib
    if pathlib.Path("seen").exists():
        sys.exit(7)
    pathlib.Path("seen").touch()
with torch.no_grad():
    net(torch.ones(2, 3))
"""


class Repeats(CaptureTest):
    def run_main(self, *arguments):
        done = subprocess.run(
            [sys.executable, "-m", "plinth_capture", "run", *arguments],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
        )
        return done.returncode, done.stderr

    def setUp(self):
        super().setUp()
        with open(self.path("script.py"), "w") as file:
            file.write(SCRIPT)

    def test_each_in_a_process_and_a_folder_of_its_own(self):
        code, err = self.run_main("script.py", "--full", "*", "--repeats", "3", "--flip-last-bits", "--out", "caps")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(sorted(os.listdir(self.path("caps"))), ["repeat-0000", "repeat-0001", "repeat-0002"])
        caps = [pc.read(self.path("caps/repeat-000%d" % r)) for r in range(3)]
        self.assertEqual([c.header["run"]["repeat"] for c in caps], [0, 1, 2])
        self.assertEqual(len({c.header["run"]["id"] for c in caps}), 1)
        np.testing.assert_array_equal(caps[0].tensor("(root):in0@0"), np.ones((2, 3), "f"))
        self.assertFalse(np.array_equal(caps[1].tensor("(root):in0@0"), caps[2].tensor("(root):in0@0")))

    def test_all_of_them_or_none(self):
        code, _ = self.run_main("script.py", "--repeats", "3", "--out", "caps", "--", "--fail-later")
        self.assertEqual(code, 7)
        self.assertFalse(os.path.exists(self.path("caps")))
        os.makedirs(self.path("there"))
        code, err = self.run_main("script.py", "--repeats", "2", "--out", "there")
        self.assertEqual((code, err), (2, "plinth_capture: error: there: exists; another folder is right\n"))
        code, err = self.run_main("script.py", "--repeats", "2", "--repeat", "1", "--out", "x")
        self.assertEqual((code, err), (2, "plinth_capture: error: --repeats 2: 1 or more is right, without --repeat\n"))
