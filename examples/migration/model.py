#!/usr/bin/env python3
"""The example of docs/guides/moving-to-a-dcu.md: a small transformer that sorts messages into four classes.

It stands for the model that somebody moves to another platform. Weights and messages come from seeds, so that every
machine has the same ones and nothing is downloaded; the weights are random, so what it answers means nothing.

  model.py                                     run eight messages once: what the captures record
  model.py --predict 400 > predictions.jsonl   answer 400 messages, for `plinth metrics classification`
  model.py --speed 2 > speed.json              messages per second, measured for two seconds

`--fault` plants what platforms have been seen to do wrong, in one layer. Works with torch 1.13 and later.
"""
import argparse
import json
import statistics
import sys
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

CLASSES = ("pump", "valve", "motor", "sensor")
VOCABULARY, WIDTH, HEADS, LAYERS, LENGTH = 200, 64, 4, 12, 16


class RMSNorm(nn.Module):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps
        self.half = False

    def forward(self, x):
        squares = x * x
        if self.half:  # a reduction over 32 lanes where the hardware has 64: the other half is never added
            total = squares.unflatten(-1, (-1, 64))[..., :32].sum((-1, -2)).unsqueeze(-1)
        else:
            total = squares.sum(-1, keepdim=True)
        return x * torch.rsqrt(total / x.shape[-1] + self.eps) * self.weight


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.first_hidden = 1  # a token sees itself and what stands before it

    def forward(self, x):
        rows, length, width = x.shape
        q, k, v = self.qkv(x).view(rows, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) / (width // self.heads) ** 0.5
        hidden = torch.ones(length, length, device=x.device, dtype=torch.bool).triu(self.first_hidden)
        weights = scores.masked_fill(hidden, -1e4).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(rows, length, width))


class Down(nn.Linear):
    """The second product of the feed-forward part."""

    narrow = False

    def forward(self, x):
        if self.narrow:  # a library that quietly computes in bf16 and returns the type that was asked for
            return F.linear(x.bfloat16(), self.weight.bfloat16(), self.bias.bfloat16()).to(x.dtype)
        return super().forward(x)


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = RMSNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = RMSNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.act = nn.GELU()
        self.down = Down(2 * width, width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(self.act(self.up(self.norm2(x))))


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList([Layer(WIDTH, HEADS) for _ in range(LAYERS)])
        self.norm = RMSNorm(WIDTH)
        self.head = nn.Linear(WIDTH, len(CLASSES))

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x)[:, -1])


def load_model():
    """In earnest: the same checkpoint on both machines. NumPy's legacy generator gives the same weights everywhere."""
    random = np.random.RandomState(7)
    model = Classifier()
    with torch.no_grad():
        for name, values in model.named_parameters():
            drawn = random.standard_normal(tuple(values.shape))
            if name.endswith("norm.weight") or "norm1" in name or "norm2" in name:
                drawn = 1 + 0.1 * drawn
            elif name.endswith("bias"):
                drawn = 0.01 * drawn
            elif not name.startswith("embed"):
                gain = 0.5 if "down" in name or "attention.out" in name else 2.0 if name.startswith("head") else 1.0
                drawn = gain * drawn / values.shape[-1] ** 0.5
            values.copy_(torch.from_numpy(drawn))
    return model.eval()


def messages(count):
    """In earnest: fixed inputs, kept beside the captures."""
    return torch.from_numpy(np.random.RandomState(11).randint(0, VOCABULARY, (count, LENGTH)))


def plant(model, fault, layer):
    if fault == "half-norm":
        model.layers[layer].norm2.half = True
    elif fault == "bf16":
        model.layers[layer].down.narrow = True
    elif fault == "mask":
        model.layers[layer].attention.first_hidden = 2  # sees one token too many


def truth(count):
    """Classes for the messages: what the sound model says in double, but every tenth is another one."""
    with torch.no_grad():
        classes = load_model().double()(messages(count)).argmax(-1)
    return [(int(c) + (i % 10 == 9)) % len(CLASSES) for i, c in enumerate(classes)]


def predict(model, count, device):
    scores = model(messages(count).to(device)).float().softmax(-1).tolist()
    for row, (own, true) in enumerate(zip(scores, truth(count))):
        print(json.dumps({"id": row, "scores": dict(zip(CLASSES, own)), "truth": CLASSES[true]}))


def measure(model, seconds, device, batch=32):
    tokens = messages(batch).to(device)
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        begin = time.perf_counter()
        model(tokens).cpu()  # waits for the device
        times.append(time.perf_counter() - begin)
    middle = statistics.median(times[2:])
    print(json.dumps({"batch": batch, "ms": {"p50": 1e3 * middle}, "series_per_second": batch / middle}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", help="cuda on real machines; torch for a DCU calls it cuda too")
    parser.add_argument("--fault", choices=("none", "half-norm", "bf16", "mask"), default="none")
    parser.add_argument("--layer", type=int, default=5, help="where the fault is planted (5)")
    parser.add_argument("--double", action="store_true", help="compute in float64: the truth")
    parser.add_argument("--predict", type=int, metavar="COUNT")
    parser.add_argument("--speed", type=float, metavar="SECONDS")
    options = parser.parse_args()
    if not 0 <= options.layer < LAYERS:
        parser.error("--layer is %d; 0 to %d is right" % (options.layer, LAYERS - 1))

    model = load_model()
    plant(model, options.fault, options.layer)
    model.to(options.device)
    if options.double:
        model.double()
    with torch.no_grad():
        if options.predict:
            predict(model, options.predict, options.device)
        elif options.speed:
            measure(model, options.speed, options.device)
        else:
            print(model(messages(8).to(options.device)).argmax(-1).tolist(), file=sys.stderr)


if __name__ == "__main__":
    main()
