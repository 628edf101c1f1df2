"""Anomalies and backtests over HTTP: the numbers of the command line, bounds, cancelling, alarms, sessions."""
import concurrent.futures
import json
import math
import os
import random
import socket
import subprocess
import tempfile
import time
import unittest

from server import PROGRAM, Server, environment


def plant(rows, columns=2, seed=1):
    """Daily cycles by the hour, with a spike, and a stretch where the first column stands still."""
    source = random.Random(seed)
    data = {}
    for c in range(columns):
        data[f"c{c}"] = [round(20 + c + 5 * math.sin(2 * math.pi * (t + 3 * c) / 24) + source.gauss(0, 0.4), 4)
                         for t in range(rows)]
    data["c0"][rows * 3 // 4] += 30
    for t in range(rows - 40, rows - 10):
        data["c0"][t] = 22.5
    return data


def stamp(t):
    return time.strftime("%Y-%m-%dT%H:00:00Z", time.gmtime(1767225600 + 3600 * t))


def write_csv(path, data):
    with open(path, "w") as file:
        file.write("time," + ",".join(data) + "\n")
        for t, row in enumerate(zip(*data.values())):
            file.write(stamp(t) + "," + ",".join("" if v is None else repr(v) for v in row) + "\n")


def command(words, data):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "data.csv")
        write_csv(path, data)
        done = subprocess.run([PROGRAM] + words + ["--data", path, "--json"], capture_output=True, check=True,
                              env=environment(XDG_CONFIG_HOME=folder))
    return [json.loads(line) for line in done.stdout.splitlines()]


class Base(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def ask(self, path, body, status=200):
        got = self.server.ask("POST", path, body)
        self.assertEqual(got[0], status, got[2])
        return got[2]


class Detect(Base):
    def detect(self, data, status=200, **more):
        body = {"series": {"targets": data, "start": stamp(0)}, "freq": "1h"}
        body.update(more)
        return self.ask("/v1/detect", body, status)

    def test_equals_the_command_line(self):
        data = plant(400)
        data["c1"][50] = None
        for words, fields in [([], {}), (["--last", "48", "--history", "300"], {"last": 48, "history": 300}),
                              (["--causal", "--scores", "residual,subpca", "--no-relate"],
                               {"causal": True, "scores": ["residual", "subpca"], "relate": False})]:
            wanted = command(["detect"] + words, data)[0]
            got = self.detect(data, **fields)
            for key, value in wanted.items():
                self.assertEqual(got[key], value, key)
            self.assertTrue(got["items"][0]["alarms"])
        self.assertEqual(got["evidence"], "unproven")
        self.assertGreater(got["timing"]["series"], 0)

    def test_items_stand_by_themselves(self):
        a, b = plant(200, 1, 2), plant(150, 1, 3)
        together = self.ask("/v1/detect", {"series": {"targets": {"c0": a["c0"] + b["c0"]}, "sizes": [200, 150],
                                                      "items": ["a", "b"]}})["items"]
        alone = [self.ask("/v1/detect", {"series": {"targets": d, "items": [n]}})["items"][0]
                 for n, d in (("a", a), ("b", b))]
        self.assertEqual(together, alone)

    def test_wrong_requests_say_what_would_be_right(self):
        y = plant(100, 1)["c0"]
        for body, field, word in [
                ({"series": {"y": y}, "lost": 1}, "lost", "known are"),
                ({"series": {"y": y}, "last": 0}, "last", ""),
                ({"series": {"y": y}, "scores": ["luck"]}, "scores", "residual"),
                ({"series": {"y": y}, "scores": "masked", "causal": True}, None, "masked"),
                ({"series": {"y": y, "past": {"x": y}}}, "series.past", "targets"),
                ({"series": {"y": y, "groups": ["g"]}}, "series.groups", "item"),
                ({"series": {"targets": {f"c{i}": y[:20] for i in range(129)}}}, "series.targets", "128"),
                ({"series": {"y": y[:10]}}, None, "at least 16"),
                ({"series": {"y": y}, "step": 100000}, "step", "at once"),
                ({"series": {"y": y}, "context": 100000}, "context", "")]:
            got = self.ask("/v1/detect", body, 400)
            self.assertEqual(got.get("field"), field, got)
            self.assertIn(word, got["error"])

    def test_time_runs_out(self):
        started = time.monotonic()
        got = self.detect(plant(3000, 6), 504, step=1, timeout_seconds=0.2)
        self.assertEqual(got["code"], "timeout")
        self.assertLess(time.monotonic() - started, 3)

    def test_holds_up_no_forecast_and_stops_when_the_client_goes(self):
        body = json.dumps({"series": {"targets": plant(6000, 8), "start": stamp(0)}, "freq": "1h", "step": 1})
        raw = socket.create_connection(("127.0.0.1", self.server.port))
        raw.sendall((f"POST /v1/detect HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n" + body).encode())
        time.sleep(0.3)
        took = []
        for _ in range(20):
            started = time.monotonic()
            self.ask("/v1/forecast", {"series": {"y": plant(200, 1)["c0"]}, "horizon": 8})
            took.append(time.monotonic() - started)
        self.assertLess(sorted(took)[10], 0.5)
        raw.close()
        # The next one would wait for it.
        started = time.monotonic()
        self.detect(plant(100, 1))
        self.assertLess(time.monotonic() - started, 5)

    def test_large_answers_come_in_chunks(self):
        data = plant(20000, 2)
        status, fields, got = self.server.ask("POST", "/v1/detect", {
            "series": {"targets": data}, "scores": ["pca", "subpca"]})
        self.assertEqual((status, fields.get("transfer-encoding")), (200, "chunked"))
        self.assertEqual(len(got["items"][0]["score"]), 20000)

    def test_lasting_alarms_are_raised_and_end(self):
        y = plant(300, 1)["c0"][:250]
        bad = y + [60.0] * 6

        def seen():
            return [a for a in self.server.ask("GET", "/v1/alarms")[2]["alarms"] if a["item"] == "pump-9"]

        def detect(values, **more):
            self.ask("/v1/detect", {"series": {"y": values, "items": ["pump-9"], "start": stamp(0)}, "freq": "1h",
                                    "last": 12, **more})

        detect(bad)
        self.assertEqual(seen(), [])
        detect(bad, **{"raise": True})
        detect(bad, **{"raise": True})
        alarms = seen()
        self.assertEqual(len(alarms), 1, alarms)
        self.assertEqual((alarms[0]["source"], alarms[0]["target"]), ("detect", "y"))
        self.assertIsNone(alarms[0]["ended"])
        detect(y, **{"raise": True})
        self.assertIsNotNone(seen()[0]["ended"])


class Sessions(Base):
    def send(self, session, data, begin, end, status=200, **more):
        body = {"session": session, "calibration": 200, "freq": "1h",
                "series": {"targets": {k: v[begin:end] for k, v in data.items()}, "items": ["pump"],
                           "start": stamp(begin)}}
        body.update(more)
        got = self.ask("/v1/detect", body, status)
        return got["items"][0] if status == 200 else got

    def test_rows_are_scored_as_they_come_by_what_was_learnt_once(self):
        data = plant(330)
        for t in range(250, 254):
            data["c1"][t] = None
        whole = self.send("whole", data, 0, 330)
        self.assertEqual((whole["missing"], whole["calibration"], whole["times"][0]), (0, 200, stamp(200)))
        self.assertEqual(len(whole["score"]), 130)
        got = self.send("bit-by-bit", data, 0, 150)
        self.assertEqual((got["missing"], got["score"], got["threshold"]), (50, [], None))
        self.assertEqual(got["scores"], {name: [] for name in ("residual", "subpca", "profile", "pca")})
        begin, alarms = 150, {}
        for end in [199, 200, 203] + list(range(204, 331)):
            got = self.send("bit-by-bit", data, begin, end)
            first = max(begin, 200) - 200
            rows = slice(first, max(first, end - 200))
            for key in ("times", "score"):
                self.assertEqual(got[key], whole[key][rows], (key, end))
            for name in got["scores"]:
                self.assertEqual(got["scores"][name], whole["scores"][name][rows], (name, end))
            for mine, theirs in zip(got["targets"], whole["targets"]):
                for key in ("expected", "lower", "upper"):
                    self.assertEqual(mine[key], theirs[key][rows], (key, end))
            self.assertEqual([a is None for a in got["alarm"]], [s is None or s < got["threshold"] for s in got["score"]])
            for alarm in got["alarms"]:
                alarms[alarm["start"]] = alarm
            begin = end
        self.assertEqual(list(alarms.values()), whole["alarms"])
        self.assertTrue(whole["alarms"])
        # Sent again, the same rows have the same answer.
        again = self.send("bit-by-bit", data, 320, 330)
        self.assertEqual(again["score"], whole["score"][120:])
        self.assertEqual(self.send("bit-by-bit", data, 320, 330, 400, coverage=0.9)["field"], "session")
        self.assertEqual(self.send("other", data, 320, 330)["missing"], 190)

    def test_numbered_rows_go_on(self):
        y = plant(260, 1)["c0"]
        body = {"session": "numbered", "calibration": 200, "series": {"y": y[:250]}}
        first = self.ask("/v1/detect", body)["items"][0]
        self.assertEqual(first["times"][-1], 250)
        body["series"]["y"] = y[250:]
        self.assertEqual(self.ask("/v1/detect", body)["items"][0]["times"], list(range(251, 261)))

    def test_wrong_requests_say_what_would_be_right(self):
        data = plant(40, 1)
        for more, field in [({"last": 5}, "last"), ({"causal": True}, "causal"), ({"calibration": 10}, "calibration"),
                            ({"window": 101}, "window"), ({"scores": ["masked"]}, "scores"), ({"coverage": 1}, "coverage"),
                            ({"false_alarms_per_day": 0}, "false_alarms_per_day"), ({"session": "a/b"}, "session")]:
            self.assertEqual(self.send(more.pop("session", "wrong"), data, 0, 40, 400, **more)["field"], field)

    def test_alarms_of_new_rows_are_raised_once(self):
        data = {"c0": plant(300, 1)["c0"][:210]}
        data["c0"] += [80.0] * 8 + data["c0"][2:60]

        def raised():
            return sum(a["count"] for a in self.server.ask("GET", "/v1/alarms")[2]["alarms"] if a["source"] == "detect")

        before = raised()
        self.send("raised", data, 0, 205, **{"raise": True})
        self.assertEqual(raised(), before)
        self.send("raised", data, 205, 214, **{"raise": True})
        self.assertEqual(raised(), before + 1)


class SessionBounds(unittest.TestCase):
    def test_the_longest_unused_goes(self):
        with Server(["--sessions-most", "2"]) as server:
            def missing(session, begin, end):
                body = {"session": session, "calibration": 100, "freq": "1h",
                        "series": {"y": list(range(begin, end)), "start": stamp(begin)}}
                return server.ask("POST", "/v1/detect", body)[2]["items"][0]["missing"]

            self.assertEqual(missing("a", 0, 30), 70)
            self.assertEqual(missing("b", 0, 30), 70)
            self.assertEqual(missing("a", 30, 40), 60)
            self.assertEqual(missing("c", 0, 30), 70)
            self.assertEqual(missing("a", 40, 50), 50)
            self.assertEqual(missing("b", 30, 40), 90)


class Backtest(Base):
    def test_equals_the_command_line(self):
        data = plant(300)
        for words, fields in [(["--horizon", "24"], {"horizon": 24}),
                              (["--horizon", "24", "--windows", "4", "--stride", "12", "--season", "24", "--report", "6,24",
                                "--context", "96"],
                               {"horizon": 24, "windows": 4, "stride": 12, "season": 24, "report": [6, 24], "context": 96})]:
            wanted = command(["backtest"] + words, data)
            got = self.ask("/v1/backtest", {"series": {"targets": data, "start": stamp(0)}, "freq": "1h", **fields})
            self.assertEqual(got["reports"], wanted)
            self.assertEqual(got["evidence"], "unproven")

    def test_says_what_was_left_out(self):
        y = plant(300, 1)["c0"]
        got = self.ask("/v1/backtest", {"series": {"y": y + y[:20], "sizes": [300, 20], "items": ["a", "b"]},
                                        "horizon": 24})
        self.assertEqual(got["reports"][0]["series_left_out"], 1)
        self.assertIn("left out", got["notes"][0])
        for body, word in [({"series": {"y": y[:20]}, "horizon": 24}, "at least"),
                           ({"series": {"y": y}, "horizon": 24, "report": [25]}, "report"),
                           ({"series": {"y": y}, "windows": 0}, "windows"),
                           ({"series": {"y": y}, "joint": True}, "chronos2")]:
            self.assertIn(word, self.ask("/v1/backtest", body, 400)["error"])


class Bounds(unittest.TestCase):
    def test_a_full_queue_says_when_to_come_again(self):
        with Server(["--limits-jobs", "1"]) as server:
            body = {"series": {"targets": plant(3000, 4)}, "step": 1, "timeout_seconds": 1}
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                answers = list(pool.map(lambda _: server.ask("POST", "/v1/detect", body), range(4)))
            # One runs and one waits; those that come before the first one has begun find its place taken.
            statuses = sorted(a[0] for a in answers)
            self.assertIn(statuses, [[429, 429, 504, 504], [429, 429, 429, 504]])
            for status, fields, got in answers:
                if status == 429:
                    self.assertGreaterEqual(int(fields["retry-after"]), 1)
                    self.assertEqual(got["code"], "queue_full")


if __name__ == "__main__":
    unittest.main()
