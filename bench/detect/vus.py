#!/usr/bin/env python3
"""VUS-PR in plain Python, from the published definition: what plinth/detect/ranges.cc must equal.

    bench/detect/vus.py --record tests/data/detect/vus.json   writes cases with their values

Range-aware precision and recall and their volume: Paparrizos, Boniol, Palpanas, Tsay, Elmore, Franklin: "Volume
Under the Surface: A New Accuracy Evaluation Measure for Time-Series Anomaly Detection", PVLDB 15(11), 2022.
Written for clarity: every threshold and every buffer is evaluated from scratch, O(rows^2 * buffer). Choices where
the definition leaves them open are those that ranges.h states.
"""
import argparse
import json
import math
import random


def ranges(labels):
    found, begin = [], None
    for i, l in enumerate(list(labels) + [0]):
        if l and begin is None:
            begin = i
        if not l and begin is not None:
            found.append((begin, i - 1))
            begin = None
    return found


def weights(labels, buffer):
    """The continuous label: 1 inside, sqrt(1 - distance / buffer) up to half a buffer away, sums capped at 1."""
    out = []
    for i in range(len(labels)):
        w = 0.0
        for first, last in ranges(labels):
            distance = first - i if i < first else i - last if i > last else 0
            if distance == 0:
                w += 1.0
            elif 2 * distance <= buffer:
                w += math.sqrt(1 - distance / buffer)
        out.append(min(w, 1.0))
    return out


def point(predicted, labels, weight, buffer):
    """Recall and precision of one set of predicted rows."""
    hit = sum(w for w, p in zip(weight, predicted) if p)
    positive = (sum(1 for l in labels if l) + sum(weight)) / 2
    parts = ranges(labels)
    exists = sum(any(predicted[max(0, a - buffer // 2):b + buffer // 2 + 1]) for a, b in parts)
    return min(1.0, hit / positive) * exists / len(parts), hit / sum(predicted)


def area(scores, labels, buffer):
    weight = weights(labels, buffer)
    recall, precision, total = 0.0, 1.0, 0.0
    for threshold in sorted(set(scores), reverse=True):
        r, p = point([s >= threshold for s in scores], labels, weight, buffer)
        total += (r - recall) * (p + precision) / 2
        recall, precision = r, p
    return total


def vus_pr(scores, labels, buffer):
    areas = [area(scores, labels, l) for l in range(buffer + 1)]
    if buffer == 0:
        return areas[0]
    return sum((a + b) / 2 for a, b in zip(areas, areas[1:])) / buffer


def cases():
    rng = random.Random(7)
    for rows, anomalies, buffer, levels in [
        (40, [(10, 14)], 0, None), (40, [(10, 14)], 8, None), (60, [(0, 2), (50, 59)], 11, None),
        (80, [(20, 22), (26, 27), (60, 60)], 16, None), (80, [(20, 22), (26, 27), (60, 60)], 17, 4),
        (50, [(5, 5)], 10, 2), (30, [(0, 29)], 6, None), (64, [(30, 40)], 20, 1), (120, [(70, 90)], 40, None),
    ]:
        labels = [int(any(a <= i <= b for a, b in anomalies)) for i in range(rows)]
        for strength in (0.0, 0.7, 3.0):
            scores = [rng.gauss(0, 1) + strength * l for l in labels]
            if levels is not None:
                scores = [float(round(s * levels) if levels > 1 else 1) for s in scores]
            yield {"scores": scores, "labels": labels, "buffer": buffer}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", required=True, metavar="FILE", help="write the cases to this file")
    path = parser.parse_args().record
    recorded = [dict(case, vus_pr=vus_pr(case["scores"], case["labels"], case["buffer"])) for case in cases()]
    with open(path, "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(case) for case in recorded) + "\n]\n")


if __name__ == "__main__":
    main()
