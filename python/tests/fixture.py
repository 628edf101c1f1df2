"""Models and folders that the tests share."""

import os
import shutil
import subprocess
import tempfile
import unittest

import numpy as np
import torch
import torch.nn as nn

import plinth_capture as pc


class Block(nn.Module):
    """A transformer's layer with attention written out, so that its operators are functions."""

    def __init__(self, width=8):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.q = nn.Linear(width, width)
        self.kv = nn.Linear(width, 2 * width)
        self.up = nn.Linear(width, 2 * width)
        self.act = nn.GELU()
        self.down = nn.Linear(2 * width, width)

    def forward(self, x, scale=0.5, mask=None):
        h = self.norm(x)
        k, v = self.kv(h).chunk(2, -1)
        scores = self.q(h) @ k.transpose(1, 2) * scale
        if mask is not None:
            scores = scores + mask
        x = x + scores.softmax(-1) @ v
        return x + self.down(self.act(self.up(x)))


class Model(nn.Module):
    def __init__(self, layers=2, width=8):
        super().__init__()
        self.embed = nn.Embedding(11, width)
        self.layers = nn.ModuleList([Block(width) for _ in range(layers)])
        self.head = nn.Linear(width, 11)

    def forward(self, tokens, mask=None):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, mask=mask)
        return {"logits": self.head(x), "state": x}


def model(**sizes):
    torch.manual_seed(0)
    return Model(**sizes).eval()


TOKENS = torch.arange(10).view(2, 5)


class CaptureTest(unittest.TestCase):
    """Gives each test a folder that goes away."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="plinth-capture-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def printed(self, program, *arguments):
        """Runs a command with --json; returns its exit code and the lines it printed. Nothing else may be said."""
        done = subprocess.run(
            [program, *arguments, "--json"],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
        )
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout.splitlines()

    def captured(self, model, *inputs, name="cap", **options):
        """Runs a model without gradients inside a capture and reads it."""
        with torch.no_grad(), pc.Capture(model, out=self.path(name), **options):
            model(*inputs)
        return pc.read(self.path(name))

    def assertSameTensor(self, got, want):
        want = want.detach()
        want = want.float().numpy() if want.dtype == torch.bfloat16 else want.numpy()
        np.testing.assert_array_equal(got, want)
