#!/usr/bin/env python3
"""Measures `plinth detect` on labelled series of NAB and SKAB, beside plain z-scores and isolation forests.

    PLINTH_SHARED=FOLDER $(bench/detect/setup) bench/detect/evaluate.py [--part report] [--markdown]

For the fused score, each single one, and both baselines: VUS-PR, and events at the threshold that one and the same
rule (EventThreshold of plinth/detect/tail.h) sets on the first quarter of each file, for --false-alarms-per-day.
That quarter is measured nowhere; anomalies in it are left out. Thresholds and measures are computed by
plinth_detect_measure; nothing is ever point-adjusted. files.json names the files on which parameters were chosen
("tune") and those that are reported ("report").

Files: rows of NAB whose stamp does not lie after the one before (two files go through a change of clocks) are left
out; where the rest lies on no grid, rows count as evenly spaced. SKAB's rows go on a grid of one second, a missing
one has the label of the row before.
Exit: 0 done, 2 bad usage, 3 something is not there.
"""
import argparse
import csv
import datetime
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
from sklearn.ensemble import IsolationForest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "../.."))
SKAB = ["Accelerometer1RMS", "Accelerometer2RMS", "Current", "Pressure", "Temperature", "Thermocouple", "Voltage",
        "Volume Flow RateRMS"]
BUFFER = {"nab": 100, "skab": 60}  # rows, the largest buffer of VUS-PR
DETECT = ["residual", "masked", "subpca", "profile", "pca"]


def when(text):
    return datetime.datetime.fromisoformat(text.strip())


def read(path):
    with open(path, newline="") as file:
        sample = file.readline()
        file.seek(0)
        return list(csv.reader(file, delimiter=";" if ";" in sample else ","))


def prepare(data, name, folder):
    """Writes what plinth reads; returns its path, and a function from the text of a time to the label."""
    rows = read(os.path.join(data, name))
    kept, last = [rows[0]], None
    for row in rows[1:]:
        if last is None or when(row[0]) > last:
            kept.append(row)
            last = when(row[0])
    stamps = [when(row[0]) for row in kept[1:]]
    steps = [b - a for a, b in zip(stamps, stamps[1:])]
    step = max(set(steps), key=steps.count)
    as_written = {}
    if any(s % step for s in steps):  # rows off the grid: counted as if they were evenly spaced
        for k, row in enumerate(kept[1:]):
            even = stamps[0] + k * step
            as_written[even] = stamps[k]
            row[0] = even.isoformat(sep=" ")
    path = os.path.join(folder, "data.csv")
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows(kept)
    if name.startswith("nab/"):
        with open(os.path.join(data, "nab/labels/combined_windows.json")) as file:
            windows = [(when(a), when(b)) for a, b in json.load(file)[name[4:]]]
        return path, lambda time: int(any(a <= as_written.get(time, time) <= b for a, b in windows))
    column = rows[0].index("anomaly") if "anomaly" in rows[0] else None
    known = {when(row[0]): int(float(row[column])) if column is not None else 0 for row in kept[1:]}
    state = [0]

    def label(time):
        state[0] = known.get(time, state[0])
        return state[0]

    return path, label


def baselines(values, calibration, window):
    """Scores of rows from z-scores of the calibration part, and from an isolation forest over the whole series: over
    windows where there is one column, over rows else."""
    filled = values.copy()
    for c in range(filled.shape[1]):
        column = filled[:, c]
        good = np.isfinite(column)
        filled[:, c] = np.interp(np.arange(len(column)), np.flatnonzero(good), column[good])
    learn = filled[:calibration]
    spread = np.maximum(learn.std(axis=0), 1e-9)
    z = np.abs((filled - learn.mean(axis=0)) / spread).max(axis=1)
    forest = IsolationForest(n_estimators=100, random_state=0, n_jobs=1)
    if filled.shape[1] > 1:
        return z, -forest.fit(filled).score_samples(filled)
    windows = np.lib.stride_tricks.sliding_window_view(filled[:, 0], window)
    scores = -forest.fit(windows).score_samples(windows)
    rows, count = np.zeros(len(filled)), np.zeros(len(filled))
    for k in range(window):
        rows[k:k + len(scores)] += scores
        count[k:k + len(scores)] += 1
    return z, rows / count


def measure(args, data, name, folder):
    path, label_of = prepare(data, name, folder)
    skab = name.startswith("skab/")
    targets = ["--target", ",".join(SKAB)] if skab else []
    out = os.path.join(folder, "rows.csv")
    command = [args.plinth, "detect", "--data", path, "--out", out, "--json", "--threads", "1",
               "--false-alarms-per-day", str(args.false_alarms_per_day), *targets, *args.options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"evaluate: {name}: {done.stderr.strip()}")
    item = json.loads(done.stdout)["items"][0]
    calibration, window = item["calibration"], item["window"]
    with open(out, newline="") as file:
        rows = list(csv.DictReader(file))
    labels = [label_of(when(row["time"])) for row in rows]
    names = [n for n in DETECT if n in rows[0]]
    values = np.array([[float(row[c] or "nan") for c in (SKAB if skab else ["value"])] for row in rows])
    z, forest = baselines(values, calibration, window)
    scored = os.path.join(folder, "scores.csv")
    with open(scored, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["label", "fused", *names, "z-score", "isolation forest"])
        for i, row in enumerate(rows):
            writer.writerow([labels[i], row["score"], *(row[n] for n in names), z[i], forest[i]])
    step = (when(rows[1]["time"]) - when(rows[0]["time"])).total_seconds()
    done = subprocess.run([args.measure, scored, str(86400 / step), str(args.false_alarms_per_day), str(calibration),
                           str(BUFFER[name.split("/")[0]]), str((window + 1) // 2)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"evaluate: {name}: {done.stderr.strip()}")
    return [dict(json.loads(line), file=name, step=step) for line in done.stdout.splitlines()]


def mean(values):
    values = [v for v in values if v is not None]
    return sum(values) / len(values) if values else None


def pooled(rows):
    alarms, good = sum(r["alarms"] for r in rows), sum(r["true_alarms"] for r in rows)
    anomalies, found = sum(r["anomalies"] for r in rows), sum(r["found"] for r in rows)
    delay = sum(r["mean_delay_rows"] * r["found"] * r["step"] for r in rows if r["found"])
    return {"vus_pr": mean(r["vus_pr"] for r in rows), "precision": good / alarms if alarms else None,
            "recall": found / anomalies if anomalies else None, "alarms": alarms, "anomalies": anomalies,
            "delay_minutes": delay / found / 60 if found else None,
            "false_per_day": (alarms - good) / sum(r["normal_days"] for r in rows),
            "needless": sum(r["needless_days"] for r in rows) / sum(r["normal_days"] for r in rows)}


def show(title, table, markdown):
    head = ["score", "VUS-PR", "event precision", "event recall", "delay, minutes", "false alarms per day", "normal time in alarm", "alarms"]
    if markdown:
        print(f"\n{title}\n\n| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    else:
        print(f"\n{title}\n" + "".join(f"{h:>22}" for h in head))
    for name, p in table.items():
        cells = [name] + ["-" if v is None else f"{v:.3f}" if k == "vus_pr" else f"{v:.2f}" for k, v in (
            (k, p[k]) for k in ("vus_pr", "precision", "recall", "delay_minutes", "false_per_day", "needless"))]
        cells.append(f"{p['alarms']} ({p['anomalies']} anomalies)")
        print("| " + " | ".join(cells) + " |" if markdown else "".join(f"{c:>22}" for c in cells))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=["tune", "report"], default="report")
    parser.add_argument("--false-alarms-per-day", type=float, default=0.1)
    parser.add_argument("--plinth", default=os.path.join(ROOT, "build/release/plinth"))
    parser.add_argument("--measure", default=os.path.join(ROOT, "build/release/plinth_detect_measure"))
    parser.add_argument("--markdown", action="store_true", help="print tables for a page")
    parser.add_argument("--files", action="store_true", help="print VUS-PR by file too")
    parser.add_argument("options", nargs="*", help="further options of plinth detect, after --")
    args = parser.parse_args()
    shared = os.environ.get("PLINTH_SHARED", "")
    data = os.path.join(shared, "data")
    if not shared or not os.path.isdir(data):
        sys.exit("evaluate: PLINTH_SHARED names no folder that holds data/")
    with open(os.path.join(HERE, "files.json")) as file:
        names = [f["file"] for f in json.load(file)["files"] if f["part"] == args.part]
    results = []
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            results += measure(args, data, name, folder)
    for collection in ("nab", "skab"):
        here = [r for r in results if r["file"].startswith(collection)]
        scores = list(dict.fromkeys(r["score"] for r in here))
        show(f"{collection.upper()}, part {args.part}: {len({r['file'] for r in here})} files",
             {s: pooled([r for r in here if r["score"] == s]) for s in scores}, args.markdown)
    if args.files:
        for r in results:
            print(f"{r['file']:60} {r['score']:18} {r['vus_pr'] if r['vus_pr'] is not None else float('nan'):8.3f} "
                  f"{r['alarms']:4} alarms {r['true_alarms']:4} true {r['found']}/{r['anomalies']} found")


if __name__ == "__main__":
    main()
