#!/usr/bin/env python3
"""Times `plinth compare` beside NumPy and mindstudio-probe on the same pair of safetensors files, one thread each.

    $(bench/compare/setup) bench/compare/race.py [--megabytes 400] [--rounds 5]

Both files are in memory (page cache) and read once before. Each round times every engine once, in turn, by the
processor time of its work, and gives one ratio to Plinth; median and range over the rounds are printed. NumPy
computes allclose, largest and mean error, RMSE, relative L2, cosine and counts of NaN and infinities: less than
Plinth. mindstudio-probe is timed through its own per-tensor functions, without its reading of dump files.
"""
import argparse
import json
import os
import resource
import statistics
import struct
import subprocess
import sys
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402: after the number of threads

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))


def save(path, tensors):
    header, at = {}, 0
    for name, array in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in tensors.values():
            file.write(array.tobytes())


def load(path):
    raw = np.memmap(path, np.uint8, "r")
    size = int(raw[:8].view("<u8")[0])
    header = json.loads(raw[8 : 8 + size].tobytes())
    for name, entry in header.items():
        begin, end = (8 + size + x for x in entry["data_offsets"])
        yield name, raw[begin:end].view("<f4").reshape(entry["shape"])


def with_numpy(a, b):
    d = b.astype(np.float64) - a
    x, y = a.astype(np.float64).ravel(), b.astype(np.float64).ravel()
    norm_a, norm_b, norm_d = np.linalg.norm(x), np.linalg.norm(y), np.linalg.norm(d)
    return (np.allclose(b, a, rtol=1e-5, atol=1e-8), np.abs(d).max(), d.mean(), norm_d / np.sqrt(d.size),
            norm_d / norm_a, x @ y / norm_a / norm_b, np.isnan(a).sum(), np.isnan(b).sum(), np.isinf(a).sum(),
            np.isinf(b).sum())


def probe():
    """-> the function of mindstudio-probe that compares two arrays, or None."""
    try:
        from msprobe.core.compare import npy_compare
    except ImportError as error:
        print(f"mindstudio-probe is left out: {error}", file=sys.stderr)
        return None

    def compare(a, b):
        flag, message = npy_compare.npy_data_check(a, b)
        return npy_compare.compare_ops_apply(a, b, flag, message)

    return compare


def cpu_of(work):
    begin = time.process_time()
    work()
    return time.process_time() - begin


def cpu_of_plinth(paths, *more):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([os.path.join(ROOT, "build/release/plinth"), "compare", *paths, "--threads", "1", "--json",
                           *more], capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"race: plinth compare: exit {done.returncode}: {done.stderr or done.stdout[-300:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--megabytes", type=int, default=400, help="of both files together")
    options.add_argument("--rounds", type=int, default=5)
    options = options.parse_args()
    folder = os.path.join(ROOT, "build/compare")
    os.makedirs(folder, exist_ok=True)
    paths = [os.path.join(folder, f"{side}.safetensors") for side in "ab"]
    random = np.random.default_rng(1)
    count = max(1, options.megabytes // 32)
    a = {f"layer.{i}": random.standard_normal((2048, 2048), dtype=np.float32) for i in range(count)}
    b = {k: v * (1 + np.float32(1e-7) * random.standard_normal(v.shape, dtype=np.float32)) for k, v in a.items()}
    save(paths[0], a)
    save(paths[1], b)
    size = sum(v.nbytes for v in a.values()) * 2
    del a, b

    engines = {
        "plinth": lambda: cpu_of_plinth(paths),
        "plinth --digest": lambda: cpu_of_plinth(paths, "--digest"),
        "numpy": lambda: cpu_of(lambda: [with_numpy(x, y) for (_, x), (_, y) in zip(load(paths[0]), load(paths[1]))]),
    }
    compare = probe()
    if compare is not None:
        engines["mindstudio-probe"] = lambda: cpu_of(
            lambda: [compare(np.array(x), np.array(y)) for (_, x), (_, y) in zip(load(paths[0]), load(paths[1]))])
    times = {name: [] for name in engines}
    for work in engines.values():
        work()  # fills the page cache
    for _ in range(options.rounds):
        for name, work in engines.items():
            times[name].append(work())
    for name, values in times.items():
        ratios = [v / p for v, p in zip(values, times["plinth"])]
        print(f"{name:17} {size / statistics.median(values) / 1e9:6.2f} GB/s of processor time, "
              f"{statistics.median(ratios):6.1f} times plinth's [{min(ratios):.1f}, {max(ratios):.1f}]")


if __name__ == "__main__":
    main()
