"""What the comparisons with peers share: runs `plinth`, and times calls of both sides in alternating rounds.

Speed is a ratio of neighbours in time: each round times every engine once, in turn, and gives one ratio; the
median and the spread over rounds are reported. CPU time is that of all threads of the process.
"""
import json
import os
import statistics
import subprocess
import sys
import time

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))


def limit_threads(count, spin=False):
    """Has this process's pools use `count` threads; to be called before they start.

    Threads that spin while they wait would count as work, and would take the cores from whoever runs next: they
    sleep unless `spin`.
    """
    os.environ["OMP_WAIT_POLICY"] = "active" if spin else "passive"
    os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(count)


class Plinth:
    """The program under test."""

    def __init__(self, path=None):
        self.path = path or os.path.join(ROOT, "build/release/plinth")

    def run(self, *words):
        """-> what it prints; its own error message ends this program."""
        command = [self.path, *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"compare: {' '.join(command)}: exit {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def bench(self, *words):
        """Runs `bench model` with these options -> median wall and CPU milliseconds of one call, and its report."""
        report = json.loads(self.run("bench", "model", *words, "--json").strip().splitlines()[-1])
        return report["ms"]["p50"], report["cpu_ms"]["p50"], report


def time_calls(call, seconds, least=3):
    """Calls again and again, `least` times and for `seconds` -> median wall and CPU milliseconds of one call."""
    wall, cpu, started = [], [], time.perf_counter()
    while time.perf_counter() - started < seconds or len(wall) < least:
        w, c = time.perf_counter(), time.process_time()
        call()
        cpu.append(1e3 * (time.process_time() - c))
        wall.append(1e3 * (time.perf_counter() - w))
    return statistics.median(wall), statistics.median(cpu)


def spread(values):
    return {"median": round(statistics.median(values), 3), "min": round(min(values), 3), "max": round(max(values), 3)}


def show(rows):
    """Prints spreads, one a line: median (min .. max)."""
    for name, s in rows:
        print(f"  {name:18s} {s['median']:10.3f}  ({s['min']:.3f} .. {s['max']:.3f})")
