"""Compares `plinth` with PyTorch eager, and with ONNX Runtime for Bolt, on Chronos-Bolt and Chronos-2.

Published shapes with random weights (make_model.py) lie in one folder that every engine loads. For each case
all engines must first give the same forecasts; then rounds alternate between them and `plinth bench model`
on the same number of threads, each round gives one ratio per peer, and the median and the spread over rounds
are printed, with the share of the matrix peak that `plinth` measures in the same run. Contexts of mixed
lengths ("32-2048") lie evenly between the two: peers pad them to the longest, `plinth` does not. Exits 1
when forecasts disagree or a bar is missed.

A case is SHAPE:CONTEXT:BATCH[:HORIZON]. Without --case, the project's targets are run with their bars.

  $(bench/peers/setup) bench/peers/chronos/compare.py
  $(bench/peers/setup) bench/peers/chronos/compare.py --case chronos-bolt-small:512:1 --bar onnx=1.3 --bar torch=2
"""
import argparse
import csv
import json
import os
import sys
import tempfile
from dataclasses import dataclass, field

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import make_model  # noqa: E402
import race  # noqa: E402

# Engines round differently; what is above this, relative to the largest step of a forecast away from its
# series' mean, is no rounding.
LARGEST_DIFFERENCE = 1e-4


@dataclass
class Case:
    shape: str
    context: str
    batch: int
    horizon: int = 0  # 0: 64 for Bolt, 96 for Chronos-2
    bars: dict = field(default_factory=dict)  # "torch", "onnx": ratio; "peak": share of the matrix peak

    def __post_init__(self):
        self.horizon = self.horizon or (64 if self.shape in make_model.BOLT else 96)
        lengths = [int(n) for n in self.context.split("-")]
        self.low, self.high = lengths[0], lengths[-1]

    @property
    def name(self):
        return f"{self.shape}, context {self.context}, batch {self.batch}, horizon {self.horizon}"

    def lengths(self):
        """As `plinth bench model --lengths` spreads them, up to their order."""
        spaces = max(self.batch - 1, 1)
        return [self.low + (self.high - self.low) * i // spaces for i in range(self.batch)]


BOLT_LARGE, BOLT_ONE = {"onnx": 1.0, "peak": 0.82}, {"onnx": 1.3, "torch": 2.0}
TARGETS = [
    Case("chronos-bolt-small", "512", 32, bars=BOLT_LARGE),
    Case("chronos-bolt-small", "512", 1, bars=BOLT_ONE),
    Case("chronos-bolt-base", "512", 32, bars=BOLT_LARGE),
    Case("chronos-bolt-base", "512", 1, bars=BOLT_ONE),
    Case("chronos-bolt-small", "32-2048", 32, bars={"onnx": 1.5, "torch": 1.5}),
    Case("chronos-2", "2048", 8, bars={"torch": 1.2, "peak": 0.78}),
]


def case(text):
    parts = text.split(":")
    if len(parts) not in (3, 4) or parts[0] not in make_model.SHAPES:
        raise argparse.ArgumentTypeError(f"SHAPE:CONTEXT:BATCH[:HORIZON], shapes {', '.join(make_model.SHAPES)}")
    return Case(parts[0], parts[1], *map(int, parts[2:]))


def bar(text):
    name, _, least = text.partition("=")
    if name not in ("torch", "onnx", "peak"):
        raise argparse.ArgumentTypeError("torch=RATIO, onnx=RATIO or peak=SHARE")
    return name, float(least)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plinth", help="the program; default: build/release/plinth")
    parser.add_argument("--folder", default=os.path.join(race.ROOT, "build/peers/chronos"), help="of models and exports")
    parser.add_argument("--case", type=case, action="append", help="default: the targets")
    parser.add_argument("--bar", type=bar, action="append", default=[], help="torch=, onnx=, peak=: least median, of --case")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall",
                        help="what bars are held against; cpu disturbs less on a shared machine, at one thread")
    parser.add_argument("--engines", default="torch,onnx", help="peers to run")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--spin", action="store_true", help="let threads of the peers spin while they wait, not sleep")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each engine in each round")
    parser.add_argument("--peers-only", action="store_true", help="leave plinth out")
    parser.add_argument("--json", action="store_true", help="one object per case on standard output")
    args = parser.parse_args()
    for c in args.case or []:
        c.bars = dict(args.bar)
    return args


args = arguments()
race.limit_threads(args.threads, args.spin)
plinth = race.Plinth(args.plinth)
import numpy as np  # noqa: E402
import torch  # noqa: E402

import peers  # noqa: E402


def contexts(case):
    """Seasons, trend and noise; f32 values, so that no engine rounds them."""
    random = np.random.default_rng(1)
    rows = []
    for n in case.lengths():
        t = np.arange(n)
        row = 20 + 0.01 * t + 5 * np.sin(2 * np.pi * t / random.integers(12, 97)) + random.standard_normal(n)
        rows.append(row.astype(np.float32))
    return rows


def forecast(case, model, rows, levels):
    """What plinth forecasts of these contexts -> [B, levels, steps]."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "contexts.csv")
        with open(path, "w", newline="") as f:
            out = csv.writer(f)
            out.writerow(["item", "value"])
            for i, row in enumerate(rows):
                out.writerows((f"{i:06d}", repr(float(v))) for v in row)
        text = plinth.run("forecast", "--model", model, "--data", path, "--time", "none", "--item", "item", "--target", "value",
                          "--horizon", case.horizon, "--quantiles", ",".join(map(str, levels)), "--json")
    items = sorted(json.loads(text)["items"], key=lambda item: item["item"])
    return np.array([[item["quantiles"][str(q)] for q in levels] for item in items])


def difference(rows, reference, other):
    """The largest deviation, relative to the largest step that the reference takes from the series' mean."""
    mean = np.array([row.mean() for row in rows])[:, None, None]
    return float(np.abs(other - reference).max() / np.abs(reference - mean).max())


def prepare(case, model):
    """-> the peers that take part, and whether all engines agree."""
    network = peers.Network(model, case.horizon)
    rows = contexts(case)
    engines = [peers.Torch(network, rows, case.horizon)]
    if "onnx" in args.engines.split(",") and network.bolt:
        engines.append(peers.Onnx(network, rows, case.horizon, os.path.join(args.folder, case.shape), args.threads, args.spin))
    expected = engines[0]()
    found = {e.name: e() for e in engines[1:]}
    if not args.peers_only:
        found["plinth"] = forecast(case, model, rows, network.levels)
    good = True
    for name, values in found.items():
        worst = difference(rows, expected, values)
        agrees = worst <= LARGEST_DIFFERENCE
        good = good and agrees
        print(f"{case.name}: {name} differs from torch by {worst:.2g}, at most {LARGEST_DIFFERENCE:g}: "
              f"{'agrees' if agrees else 'DISAGREES'}", file=sys.stderr)
    return [e for e in engines if e.name in args.engines.split(",")], good


def measure(case, model, engines):
    """Alternates -> spreads of milliseconds, ratios (peer / plinth) and the share of the matrix peak."""
    sizes = ["--lengths", f"{case.low},{case.high}"] if case.low != case.high else ["--context", case.high]
    words = ["--model", model, "--batch", case.batch, "--horizon", case.horizon, "--threads", args.threads,
             "--seconds", args.seconds, *sizes]
    for e in engines:
        e()
    rows, report = {}, {}
    for _ in range(args.rounds):
        times = {e.name: race.time_calls(e, args.seconds) for e in engines}
        if not args.peers_only:
            *times["plinth"], report = plinth.bench(*words)
            rows.setdefault("peak wall", []).append(report["fraction_of_matmul_peak"])
            rows.setdefault("peak cpu", []).append(report["cpu_fraction_of_matmul_peak"])
        for name, (wall, cpu) in times.items():
            rows.setdefault(f"{name} wall ms", []).append(wall)
            rows.setdefault(f"{name} cpu ms", []).append(cpu)
            if name != "plinth" and "plinth" in times:
                rows.setdefault(f"{name}/plinth wall", []).append(wall / times["plinth"][0])
                rows.setdefault(f"{name}/plinth cpu", []).append(cpu / times["plinth"][1])
    return {name: race.spread(values) for name, values in rows.items()}, report


def judge(case, rows):
    """-> [(bar, least, found, reached)]"""
    verdicts = []
    for name, least in case.bars.items():
        row = rows.get(f"peak {args.clock}" if name == "peak" else f"{name}/plinth {args.clock}")
        if row is not None:
            verdicts.append((name, least, row["median"], row["median"] >= least))
    return verdicts


def run(case):
    """-> whether all engines agree and every bar is reached."""
    model = os.path.join(args.folder, case.shape)
    make_model.make(case.shape, model)
    engines, good = prepare(case, model)
    rows, report = measure(case, model, engines)
    verdicts = judge(case, rows)
    if args.json:
        print(json.dumps({"case": case.name, "threads": args.threads, "rounds": args.rounds, **rows,
                          "profile": report.get("profile"), "flops": report.get("flops"), "agrees": good,
                          "bars": {name: {"least": least, "reached": ok} for name, least, _, ok in verdicts}}), flush=True)
    else:
        print(f"{case.name}, {args.threads} thread(s), {args.rounds} rounds; median (min .. max)")
        race.show(sorted(rows.items()))
        for name, least, found, ok in verdicts:
            print(f"  bar {name} {least:g}: {'reached' if ok else f'MISSED ({found:.3f})'}", flush=True)
    return good and all(ok for *_, ok in verdicts)


def main():
    torch.set_num_threads(args.threads)
    results = [run(c) for c in args.case or TARGETS]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
