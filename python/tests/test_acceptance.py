"""A model that moved, in the hands of `plinth accept`: a sound pair must not fail, a wrong one must, at its place."""

import json
import os
import subprocess
import unittest

import torch
import torch.nn as nn
import torch.nn.functional as F

import plinth_capture as pc
from fixture import CaptureTest

PROGRAM = os.environ.get("PLINTH")
WIDTH, LENGTH = 256, 24


class Product(nn.Linear):
    """A linear layer whose sums another library adds up in another order."""

    pieces = 1

    def forward(self, x):
        if self.pieces == 1:
            return super().forward(x)
        parts = zip(x.split(x.shape[-1] // self.pieces, -1), self.weight.split(x.shape[-1] // self.pieces, -1))
        total = 0
        for a, b in parts:
            total = total + F.linear(a, b)
        return total + self.bias


pc.register_module(Product, "linear", weights=["weight", "bias"])


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.qkv, self.out = Product(WIDTH, 3 * WIDTH), Product(WIDTH, WIDTH)
        self.norm2 = nn.LayerNorm(WIDTH)
        self.up, self.act, self.down = Product(WIDTH, 4 * WIDTH), nn.GELU(), Product(4 * WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        hidden = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)
        scores = (q @ k.transpose(-1, -2) / 16).masked_fill(hidden, -1e4)
        x = x + self.out(scores.softmax(-1) @ v)
        return x + self.down(self.act(self.up(self.norm2(x))))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, WIDTH)
        self.layers = nn.ModuleList([Layer() for _ in range(4)])
        self.head = Product(WIDTH, 50)

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x).argmax(-1)


def net():
    torch.manual_seed(11)
    return Net().eval()


def other_platform():
    moved = net()
    for module in moved.modules():
        if isinstance(module, Product):
            module.pieces = 16
    return moved


TOKENS = (torch.arange(2 * LENGTH) * 7 % 50).view(2, LENGTH)


@unittest.skipUnless(PROGRAM, "the program is not named (PLINTH); ctest names it")
class Acceptance(CaptureTest):
    def take(self, model, name, repeats=1, flips=False):
        for repeat in range(repeats):
            self.captured(
                model,
                TOKENS,
                name="%s/repeat-%d" % (name, repeat),
                level="operator",
                full=True,
                repeat=repeat,
                run_id=name,
                flip_last_bits=flips,
                model_digest="7" * 64,
            )

    def accept(self, candidate, truth=False, incumbents=("cuda",)):
        """Returns (exit code, answer about operators, answer about layers, place of the first drift)."""
        with open(self.path("r.toml"), "w") as file:
            file.write("[incumbent]\ncaptures = %s\n" % json.dumps(incumbents))
            file.write('[candidate]\ncaptures = ["%s"]\n' % candidate)
            file.write('[truth]\ncapture = "double/repeat-0"\n' if truth else "")
        done = subprocess.run(
            [PROGRAM, "accept", "--config", "r.toml", "--evidence", "ev", "--json"],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
            env=dict(os.environ, XDG_CONFIG_HOME=self.path("config")),
        )
        result = json.loads(done.stdout or '{"questions": []}')
        answers = {q["id"]: q["answer"] for q in result["questions"]}
        return done.returncode, answers.get("operators"), answers.get("layers"), result.get("first_drift"), done.stderr

    def test_sound_and_wrong_models(self):
        self.take(net(), "cuda", repeats=3, flips=True)
        self.take(net().double(), "double")
        self.take(other_platform(), "dcu", repeats=2)
        wrong = other_platform()
        wrong.layers[2].norm2.eps = 1e-2
        self.take(wrong, "wrong", repeats=2)
        for truth in (False, True):
            code, operators, layers, drift, err = self.accept("dcu", truth)
            self.assertEqual((code, drift), (0, None), err)
            self.assertIn(operators, ("yes", "warned"))
            self.assertIn(layers, ("yes", "warned"))
            code, operators, layers, drift, err = self.accept("wrong", truth)
            self.assertEqual((code, operators, layers), (1, "no", "no"), err)
            self.assertIn("layers.2.norm2", json.dumps(drift))

    def test_a_wrong_run_among_the_incumbents_excuses_nothing(self):
        wrong = other_platform()
        wrong.layers[2].norm2.eps = 1e-2
        self.take(net(), "cuda")
        self.take(wrong, "wrong")
        self.take(wrong, "again", flips=True)
        code, _, layers, _, err = self.accept("wrong", incumbents=("cuda", "again"))
        self.assertEqual((code, layers), (1, "no"), err)

    def test_runs_of_two_platforms_are_no_repeats(self):
        self.take(net(), "cuda")
        self.take(net(), "again", flips=True)
        self.take(net(), "third", flips=True)
        path = self.path("again/repeat-0/capture.json")
        with open(path) as file:
            capture = json.load(file)
        capture["precision"]["matmul"] = "tf32"
        with open(path, "w") as file:
            json.dump(capture, file)
        code, _, _, _, err = self.accept("third", incumbents=("cuda", "again"))
        self.assertEqual(code, 2)
        self.assertIn("ran on another platform, or in another precision", err)

    def test_the_same_bits_beside_a_truth(self):
        self.take(net(), "cuda")
        self.take(net(), "again")
        self.take(net().double(), "double")
        self.assertEqual(self.accept("again", truth=True)[:4], (0, "yes", "yes", None))
