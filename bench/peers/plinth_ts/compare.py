"""Compares `plinth` with the PyTorch peer on plinth-ts: first that both say the same, then how fast each is.

Speed is a ratio measured in one run: rounds of the peer and of `plinth bench model` alternate, on the same
number of threads, and each round gives one ratio; the median and the spread over rounds are printed. Both
sides turn raw contexts into quantiles, lag search and scaling included. Exits 1 when outputs disagree or a
bar (--bar BATCH:RATIO) is missed.

  $(bench/peers/setup) bench/peers/plinth_ts/compare.py --threads 1 --bar 1:6 --bar 256:2.2
"""
import argparse
import csv
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import race  # noqa: E402

ROOT = race.ROOT


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plinth", help="the program; default: build/release/plinth")
    parser.add_argument("--model", default=os.path.join(ROOT, "models/plinth-ts-0"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batch", type=int, action="append", help="default: 1 and 256")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=2.0, help="of the peer in each round")
    parser.add_argument("--bar", action="append", default=[], metavar="BATCH:RATIO", help="least median of CPU-time ratios")
    parser.add_argument("--json", action="store_true", help="one object per batch on standard output")
    return parser.parse_args()


args = arguments()
race.limit_threads(args.threads)
plinth = race.Plinth(args.plinth)
import numpy as np  # noqa: E402
import torch  # noqa: E402

import reference  # noqa: E402


def column(path):
    with open(path, newline="") as f:
        rows = list(csv.reader(f))[1:]
    return np.array([float(r[1]) for r in rows])


def outputs_agree():
    """Compares forecasts of the shipped series with the peer in double.

    Limit: ten times what the peer itself deviates between float and double, and not below 8 * 2^-24 of the
    largest output, the rule of the golden cases.
    """
    single, double = reference.load(args.model), reference.load(args.model, torch.float64)
    levels = [str(q) for q in double.c["quantiles"]]
    good = True
    for name, horizon in (("demand", 96), ("demand", 150), ("air_passengers", 24), ("wine_sales", 24), ("wool_yarn", 8)):
        path = os.path.join(ROOT, "examples/series", name + ".csv")
        item = json.loads(plinth.run("forecast", "--model", args.model, "--data", path, "--horizon", horizon, "--json"))["items"][0]
        ours = np.array([item["quantiles"][q] for q in levels]).T
        exact, rough = (reference.forecast(net, column(path), horizon) for net in (double, single))
        limit = max(10 * np.abs(rough - exact).max(), 8 * 2.0**-24 * np.abs(exact).max())
        worst = np.abs(ours - exact).max()
        good = good and bool(worst <= limit)
        print(f"{name:15s} horizon {horizon:3d}: largest deviation {worst:.3g}, limit {limit:.3g}: "
              f"{'agrees' if worst <= limit else 'DISAGREES'}", file=sys.stderr)
    return good


def contexts(batch, length):
    r = np.random.default_rng(1)
    t = np.arange(length)
    rows = 100 + 20 * np.sin(2 * np.pi * t[None] / r.integers(12, 97, (batch, 1))) + r.standard_normal((batch, length))
    return torch.tensor(rows)


def peer_call(net, x):
    def call():
        with torch.inference_mode():
            q, loc, scale = net(x)
            (q.double() * scale[:, None, None] + loc[:, None, None]).numpy()

    return call


def compare_speed(net, batch):
    call = peer_call(net, contexts(batch, net.c["context_length"]))
    race.time_calls(call, args.seconds)
    rows = {"peer_wall_ms": [], "peer_cpu_ms": [], "plinth_wall_ms": [], "plinth_cpu_ms": [], "wall_ratio": [], "cpu_ratio": []}
    for _ in range(args.rounds):
        peer_wall, peer_cpu = race.time_calls(call, args.seconds)
        our_wall, our_cpu, report = plinth.bench(
            "--model", args.model, "--batch", batch, "--context", net.c["context_length"], "--horizon", net.c["horizon"],
            "--threads", args.threads)
        rows["peer_wall_ms"].append(peer_wall)
        rows["peer_cpu_ms"].append(peer_cpu)
        rows["plinth_wall_ms"].append(our_wall)
        rows["plinth_cpu_ms"].append(our_cpu)
        rows["wall_ratio"].append(peer_wall / our_wall)
        rows["cpu_ratio"].append(peer_cpu / our_cpu)
    result = {"batch": batch, "threads": args.threads, "rounds": args.rounds}
    result.update({key: race.spread(values) for key, values in rows.items()})
    result["gflops"] = report.get("gflops")
    result["fraction_of_matmul_peak"] = report.get("fraction_of_matmul_peak")
    return result


def main():
    torch.set_num_threads(args.threads)
    good = outputs_agree()
    bars = {int(b): float(r) for b, r in (text.split(":") for text in args.bar)}
    net = reference.load(args.model)
    for batch in args.batch or [1, 256]:
        result = compare_speed(net, batch)
        result["bar"] = bars.get(batch)
        result["passed"] = batch not in bars or result["cpu_ratio"]["median"] >= bars[batch]
        good = good and result["passed"]
        if args.json:
            print(json.dumps(result))
            continue
        print(f"batch {batch}, {args.threads} thread(s), {args.rounds} rounds; median (min .. max)")
        keys = ("peer_wall_ms", "plinth_wall_ms", "peer_cpu_ms", "plinth_cpu_ms", "wall_ratio", "cpu_ratio")
        race.show((key, result[key]) for key in keys)
        if batch in bars:
            print(f"  bar {bars[batch]}: {'reached' if result['passed'] else 'MISSED'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
