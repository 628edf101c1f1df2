"""Makes the CSV files of this folder and, with Chronos2Pipeline.predict_df of chronos-forecasting 2.3.2 (torch
2.9.1), the forecasts that `plinth forecast` must give for them with the model in tests/golden/chronos2_rand.
Usage: python make.py    (in this folder)
"""

import json
import pathlib

import numpy as np
import pandas as pd
import torch
from chronos import Chronos2Pipeline

HERE = pathlib.Path(__file__).resolve().parent
HORIZON = 10
LEVELS = [0.1, 0.5, 0.9]
WEATHER = ["sun", "rain", "snow"]


def make_item(rng, item, rows, first):
    """Rows of the past and, without targets, HORIZON more."""
    n = rows + HORIZON
    hours = np.arange(n)
    temperature = 15 + 8 * np.sin(2 * np.pi * hours / 24) + rng.normal(0, 1, n)
    weather = rng.choice(WEATHER, n).astype(object)
    weather[rng.random(n) < 0.1] = None
    holiday = rng.random(n) < 0.2
    visits = 100 + 3 * temperature - 20 * (weather == "rain") + 10 * holiday + rng.normal(0, 2, n)
    sales = 0.3 * visits + rng.normal(0, 1, n)
    frame = pd.DataFrame(
        {
            "shop": item,
            "time": pd.date_range(first, periods=n, freq="h"),
            "visits": visits.round(3),
            "sales": sales.round(3),
            "staff": (5 + np.sin(hours / 9) + rng.normal(0, 0.2, n)).round(3),
            "temperature": temperature.round(3),
            "weather": weather,
            "holiday": holiday,
        }
    )
    frame.loc[rng.integers(0, rows, 5), "visits"] = np.nan
    frame.loc[rng.integers(0, rows, 5), "temperature"] = np.nan
    return frame[:rows], frame[rows:]


def save(frame, name):
    text = frame.to_csv(index=False, date_format="%Y-%m-%dT%H:%M:%S", lineterminator="\n")
    (HERE / name).write_text(text)
    return pd.read_csv(HERE / name, parse_dates=["time"])


def main():
    rng = np.random.default_rng(4)
    parts = [make_item(rng, "north", 150, "2024-03-01"), make_item(rng, "south", 90, "2024-03-03 12:00")]
    future = pd.concat([f.drop(columns=["visits", "sales", "staff"]) for _, f in parts])
    # A category that no row of the past holds, and one that only the other shop's past holds.
    future.iloc[3, future.columns.get_loc("weather")] = "hail"
    past = pd.concat([p for p, _ in parts])
    past.loc[(past["shop"] == "south") & (past["weather"] == "snow"), "weather"] = "fog"
    past, future = save(past, "shops.csv"), save(future, "shops_ahead.csv")

    torch.use_deterministic_algorithms(True)
    pipeline = Chronos2Pipeline.from_pretrained(str(HERE.parents[1] / "golden/chronos2_rand"))
    numeric = ["shop", "time", "staff", "temperature"]
    # Case: columns of the past, of the future, targets, everything in one group.
    cases = {
        "numeric": (numeric, ["temperature"], ["visits"], False),
        "categories": (numeric + ["weather", "holiday"], ["temperature", "weather", "holiday"], ["visits"], False),
        "past_category": (["shop", "time", "weather"], None, ["sales"], False),
        "joint": (["shop", "time"], None, ["visits", "sales"], False),
        "joint_categories": (
            numeric + ["weather", "holiday"],
            ["temperature", "weather", "holiday"],
            ["visits", "sales"],
            False,
        ),
        "cross_learning": (numeric + ["weather"], ["temperature", "weather"], ["visits"], True),
        "long": (numeric + ["weather"], ["temperature", "weather"], ["visits"], False),
    }
    result = {}
    for name, (columns, ahead, targets, cross) in cases.items():
        horizon = 40 if name == "long" else HORIZON
        frame = future[["shop", "time"] + ahead] if ahead else None
        if name == "long":  # values from the past go on, for the steps beyond the file
            frame = past.groupby("shop").tail(horizon)[["shop", "time"] + ahead].copy()
            frame["time"] += pd.Timedelta(hours=horizon)
            frame = save(frame, "shops_far_ahead.csv")
        forecast = pipeline.predict_df(
            past[columns + targets],
            future_df=frame,
            id_column="shop",
            timestamp_column="time",
            target=targets,
            prediction_length=horizon,
            quantile_levels=LEVELS,
            cross_learning=cross,
        )
        rows = {}
        for (shop, target), part in forecast.groupby(["shop", "target_name"]):
            rows[f"{shop} {target}"] = {
                str(level): [float(np.float32(v)) for v in part[str(level)]] for level in LEVELS
            }
        result[name] = rows
    text = json.dumps(result).replace("]},", "]},\n").replace("}},", "}},\n")
    (HERE / "forecasts.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
