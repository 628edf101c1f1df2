#!/usr/bin/env python3
"""Measures a model's accuracy on 23 (set, horizon) rows over 15 real sets, by `plinth backtest`.

Rolling origins from the end of each series. MASE scales by the in-context seasonal difference, WQL takes the
quantiles 0.1 to 0.9, and seasonal naive stands beside the model; geometric means are relative to it. The
figures of the model's card (the table in CARD.md) are printed beside, with their relative deviation.

  PLINTH_SHARED=FOLDER bench/accuracy/accuracy.py [--model DIR]

The sets are read from FOLDER/data (see there for their licences); what `plinth` reads are plain copies of
their columns in a temporary folder. Needs nothing but Python. Exit: 0 all rows within --tolerance of the
card, 1 some are not, 2 bad usage, 3 the data is not there.
"""
import argparse
import csv
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections import namedtuple

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
CONTEXT, LONG_CONTEXT = 512, 1024  # the long one where the season exceeds LONG_SEASON steps
LONG_SEASON = 100

# columns: positions in the file, None for all after the first, "all" for all.
Set = namedtuple("Set", "name file columns season horizons origins step")
SETS = [
    Set("ETTh1", "ett/ETTh1.csv", None, 24, (24, 96), 4, 720),
    Set("ETTh2", "ett/ETTh2.csv", None, 24, (24, 96), 4, 720),
    Set("air_passengers", "darts/AirPassengers.csv", [1], 12, (24,), 4, 12),
    Set("ausbeer_quarterly", "darts/ausbeer.csv", [0], 4, (8,), 6, 8),
    Set("exchange_rate", "darts/exchange_rate.csv", "all", 1, (24, 96), 3, 300),
    Set("heart_rate", "darts/heart_rate.csv", [0], 1, (24, 96), 5, 150),
    Set("ice_cream", "darts/ice_cream_heater.csv", [2], 12, (24,), 4, 12),
    Set("monthly_milk", "darts/monthly-milk.csv", [1], 12, (24,), 4, 12),
    Set("nab_machine_temp_5min", "nab/realKnownCause/machine_temperature_system_failure.csv", [1], 288, (24, 96), 6, 1500),
    Set("taxi_30min", "darts/taxi_new_york_passengers.csv", [1], 48, (24, 96), 8, 490),
    Set("taylor_30min", "darts/taylor.csv", [0], 48, (24, 96), 6, 250),
    Set("temps_daily", "darts/temps.csv", [1], 7, (24, 96), 5, 150),
    Set("us_gasoline_weekly", "darts/us_gasoline.csv", [1], 52, (24,), 5, 60),
    Set("wineind", "darts/wineind.csv", [0], 12, (24,), 4, 12),
    Set("woolyrnq_quarterly", "darts/woolyrnq.csv", [0], 4, (8,), 4, 8),
]
NEWEST_FIRST = {"us_gasoline_weekly"}  # the file runs backwards
FIGURES = (("mase", "model"), ("mase", "seasonal_naive"), ("wql", "model"), ("wql", "seasonal_naive"))


def number(text):
    try:
        return float(text)
    except ValueError:
        return math.nan


def filled(values):
    """Bridges gaps linearly between their neighbours (one file has a few unreadable cells)."""
    known = [i for i, v in enumerate(values) if not math.isnan(v)]
    out = list(values)
    for a, b in zip(known, known[1:]):
        for i in range(a + 1, b):
            out[i] = values[a] + (values[b] - values[a]) * (i - a) / (b - a)
    for i in range(known[-1] + 1, len(out)):
        out[i] = values[known[-1]]
    return out[known[0]:]


def columns_of(spec, data):
    """Reads the columns that SPEC names, oldest value first."""
    with open(os.path.join(data, spec.file), newline="") as f:
        rows = [row for row in csv.reader(f) if row]
    body = rows[1:]
    if spec.columns == "all":
        chosen = range(len(rows[0]))
    else:
        chosen = range(1, len(rows[0])) if spec.columns is None else spec.columns
    out = [filled([number(row[c]) for row in body]) for c in chosen]
    return [values[::-1] for values in out] if spec.name in NEWEST_FIRST else out


def windows_of(spec, length):
    """Counts the origins that leave at least three seasons (and 30 steps) of context."""
    horizon = max(spec.horizons)
    return sum(length - k * spec.step - horizon >= max(3 * spec.season, 30) for k in range(spec.origins))


def backtest(plinth, model, path, spec, windows):
    """Runs one column; gives {horizon: report}."""
    context = CONTEXT if spec.season <= LONG_SEASON else max(CONTEXT, LONG_CONTEXT)
    command = [plinth, "backtest", "--model", model, "--data", path, "--time", "none", "--target", "value",
               "--horizon", max(spec.horizons), "--windows", windows, "--stride", spec.step, "--season", spec.season,
               "--context", context, "--report", ",".join(map(str, spec.horizons)), "--json"]
    command = [str(word) for word in command]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"accuracy: {' '.join(command)}: exit {done.returncode}: {done.stderr.strip()}")
    reports = {}
    for line in done.stdout.splitlines():
        report = json.loads(line)
        if report["windows"] != windows:
            sys.exit(f"accuracy: {spec.name}: asked for {windows} windows, backtest reports {report['windows']}")
        reports[report["horizon"]] = report
    missing = [h for h in spec.horizons if h not in reports]
    if missing:
        sys.exit(f"accuracy: {spec.name}: backtest reports no horizon {missing[0]}")
    return reports


def measure(spec, args, folder):
    """Gives {horizon: {figure: mean over all windows of all columns}} of one set."""
    sums = {h: {} for h in spec.horizons}
    for i, values in enumerate(columns_of(spec, os.path.join(args.shared, "data"))):
        path = os.path.join(folder, f"{spec.name}-{i}.csv")
        with open(path, "w") as f:
            f.write("value\n" + "".join(f"{v!r}\n" for v in values))
        windows = windows_of(spec, len(values))
        for h, report in backtest(args.plinth, args.model, path, spec, windows).items():
            if h not in sums:
                continue
            got = {("mase", "model"): report["mase"], ("wql", "model"): report["wql"],
                   ("inside", "model"): report["coverage_80"], "windows": 1,
                   ("mase", "seasonal_naive"): report["seasonal_naive"]["mase"],
                   ("wql", "seasonal_naive"): report["seasonal_naive"]["wql"]}
            for key, value in got.items():
                sums[h][key] = sums[h].get(key, 0) + windows * value
    return {h: {k: v if k == "windows" else v / total["windows"] for k, v in total.items()}
            for h, total in sums.items()}


def card_figures(model):
    """Reads the table of the model's card: {(set, horizon): {figure: value}}; empty without one."""
    card = os.path.join(model, "CARD.md")
    if not os.path.exists(card):
        return {}
    with open(card, encoding="utf-8") as f:
        found = re.findall(r"^\| (\w+) \| (\d+) \|" + r" ([\d.]+) \|" * 4 + "$", f.read(), re.M)
    return {(name, int(h)): dict(zip(FIGURES, map(float, figures))) for name, h, *figures in found}


def print_table(rows, card):
    """Prints every row; gives the largest relative deviation from the card."""
    print(f"{'set':22s} {'h':>3s} {'windows':>7s}  {'MASE':>8s} {'naive':>8s} {'WQL':>8s} {'naive':>8s}   deviation from the card")
    worst = 0.0
    for (name, h), got in sorted(rows.items()):
        line = f"{name:22s} {h:3d} {got['windows']:7d}  " + " ".join(f"{got[f]:8.4f}" for f in FIGURES)
        if (name, h) in card:
            stated = card[name, h]
            deviation = max((got[f] / stated[f] - 1 for f in FIGURES), key=abs)
            worst = max(worst, abs(deviation))
            line += f"   {100 * deviation:+7.2f} %"
        print(line)
    return worst


def print_means(rows):
    def relative(figure):
        logs = [math.log(r[figure, "model"] / r[figure, "seasonal_naive"]) for r in rows.values()]
        return math.exp(sum(logs) / len(logs))

    windows = sum(r["windows"] for r in rows.values())
    inside = sum(r["inside", "model"] * r["windows"] for r in rows.values()) / windows
    print(f"geometric mean of {len(rows)} rows, relative to seasonal naive: "
          f"MASE {relative('mase'):.3f}, WQL {relative('wql'):.3f}")
    print(f"share of the truth inside the 80 % band: {100 * inside:.1f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plinth", default=os.path.join(ROOT, "build/release/plinth"))
    parser.add_argument("--model", default=os.path.join(ROOT, "models/plinth-ts-0"))
    parser.add_argument("--shared", default=os.environ.get("PLINTH_SHARED"), help="default: $PLINTH_SHARED")
    parser.add_argument("--tolerance", type=float, default=0.01, help="relative deviation from the card (0.01)")
    parser.add_argument("--set", action="append", dest="only", metavar="NAME", help="only this set, repeatable")
    args = parser.parse_args()
    chosen = [s for s in SETS if not args.only or s.name in args.only]
    if not chosen:
        parser.error("no such set; the sets are " + ", ".join(s.name for s in SETS))
    if not args.shared or not os.path.isdir(os.path.join(args.shared, "data")):
        print("accuracy: the data is not here: set PLINTH_SHARED to the folder that holds data/", file=sys.stderr)
        return 3
    rows = {}
    with tempfile.TemporaryDirectory(prefix="plinth-accuracy-") as folder:
        for spec in chosen:
            for h, figures in measure(spec, args, folder).items():
                rows[spec.name, h] = figures
    card = card_figures(args.model)
    worst = print_table(rows, card)
    print_means(rows)
    if not card:
        print(f"{args.model} has no table in CARD.md to compare with")
        return 0
    missing = [row for row in rows if row not in card]
    if missing:
        print("rows that the card lacks: " + ", ".join(f"{name} {h}" for name, h in missing))
    print(f"largest deviation from the card: {100 * worst:.2f} %, allowed {100 * args.tolerance:g} %")
    return 0 if worst <= args.tolerance else 1


if __name__ == "__main__":
    sys.exit(main())
