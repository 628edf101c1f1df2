"""Series for tests, and what the service should answer: the command line's forecasts of them."""
import csv
import json
import math
import os
import random
import subprocess
import tempfile

import numpy as np

from server import PROGRAM, environment


def sample_series(seed=1, lengths=(700, 512, 130, 40, 3, 1)):
    """Series of several lengths with gaps; seasonal, noisy, of several sizes."""
    draw = random.Random(seed)
    series = []
    for i, length in enumerate(lengths):
        values = [10.0 ** (i - 2) * (math.sin(k / (3 + i)) + 0.1 * draw.gauss(0, 1)) + i for k in range(length)]
        for k in range(length - 1):
            if length > 20 and draw.random() < 0.05:
                values[k] = math.nan
        series.append(values)
    return series


def padded(series, dtype=np.float64):
    """Rows of one length, and how long each is."""
    context = np.zeros((len(series), max(map(len, series))), dtype)
    for row, values in zip(context, series):
        row[:len(values)] = values
    return context, np.array([len(s) for s in series], np.int64)


def command_line_forecast(series, horizon, quantiles, context=None):
    """Quantiles [series][horizon][levels] and means [series][horizon] of `plinth forecast`."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "series.csv")
        with open(path, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["item", "y"])
            for i, values in enumerate(series):
                for value in values:
                    writer.writerow([f"s{i}", "" if math.isnan(value) else repr(float(value))])
        command = [PROGRAM, "forecast", "-d", path, "--time", "none", "--item", "item", "--target", "y", "--json",
                   "-H", str(horizon), "-q", ",".join(map(str, quantiles))]
        if context is not None:
            command += ["-c", str(context)]
        result = subprocess.run(command, capture_output=True, text=True, check=True,
                                env=environment(XDG_CONFIG_HOME=folder))
    items = {item["item"]: item for item in json.loads(result.stdout)["items"]}
    assert len(items) == len(series)
    ordered = [items[f"s{i}"] for i in range(len(series))]
    bands = [np.array([item["quantiles"][str(q)] for q in quantiles]).T for item in ordered]
    return np.stack(bands), np.array([item["mean"] for item in ordered])
