"""What guards the service: encrypted models, the input watch, shelves and acknowledgements that outlast a kill, full disks,
requests that memory cannot hold."""
import json
import math
import os
import random
import resource
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from server import PROGRAM, SHIPPED, Server, environment, refused

JSON = {"content-type": "application/json"}


def wave(rows, seed=1, begin=0):
    noise = random.Random(seed)
    values = [20 + 8 * math.sin(k / 12 * math.pi) + noise.gauss(0, 1) for k in range(begin + rows)]
    return [round(v, 4) for v in values[begin:]]


def body(y, item="pump", **more):
    return {"series": {"y": y, "items": [item], "start": "2026-01-01T00:00:00Z"}, "freq": "1h", "horizon": 8, **more}


class Encrypted(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.key = os.path.join(cls.folder.name, "model.key")
        with open(os.open(cls.key, os.O_CREAT | os.O_WRONLY, 0o600), "wb") as file:
            file.write(os.urandom(32))
        cls.model = os.path.join(cls.folder.name, os.path.basename(SHIPPED))
        subprocess.run([PROGRAM, "models", "encrypt", SHIPPED, cls.model, "--credential", cls.key], check=True,
                       capture_output=True, env=environment())

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_is_served_with_the_numbers_and_the_identity_of_the_plain_one(self):
        with Server() as plain, Server(["--model", self.model, "--service-credential", self.key]) as sealed:
            a, b = (s.ask("POST", "/v1/forecast", body(wave(200)))[2] for s in (plain, sealed))
            self.assertEqual((a["items"], a["identity"]), (b["items"], b["identity"]))
            # The memory that holds it is closed to others, and no core is dumped.
            self.assertEqual(os.stat(f"/proc/{sealed.process.pid}/mem").st_uid, 0)
            status, _, got = plain.ask("POST", "/v1/models/sealed/load", {"path": self.model})
            self.assertEqual(status, 503 if got["code"] == "out_of_memory" else 403, got)
            self.assertIn("is encrypted", got["error"])

    def test_systemd_passes_the_key(self):
        passed = os.path.join(self.folder.name, "credentials")
        os.makedirs(passed)
        shutil.copy(self.key, os.path.join(passed, "plinth-model-key"))
        os.chmod(os.path.join(passed, "plinth-model-key"), 0o440)
        with Server(["--model", self.model], env={"CREDENTIALS_DIRECTORY": passed}) as server:
            self.assertEqual(server.ask("POST", "/v1/forecast", body(wave(50)))[0], 200)

    def test_is_refused_without_its_key_or_damaged(self):
        code, line = refused(["--model", self.model], unproven=True)
        self.assertEqual(code, 3, line)
        self.assertIn("config.json.enc: is encrypted", line)
        code, line = refused(["--model", self.model, "--service-credential", "/none"], unproven=True)
        self.assertEqual(code, 2, line)
        damaged = os.path.join(self.folder.name, "damaged")
        shutil.copytree(self.model, damaged)
        with open(os.path.join(damaged, "model.safetensors.enc"), "r+b") as file:
            file.seek(-100, os.SEEK_END)
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte[0] ^ 1]))
        with Server(["--service-credential", self.key]) as server:
            status, _, got = server.ask("POST", "/v1/models/damaged/load", {"path": damaged})
            self.assertEqual((status, got["code"]), (409, "broken"), got)
            self.assertIn("is not what was encrypted", got["error"])
            self.assertEqual(server.ask("POST", "/v1/models/sealed/load", {"path": self.model})[0], 200)


class Watch(unittest.TestCase):
    def test_says_what_is_remarkable_and_nothing_else(self):
        with Server() as server:
            def ask(y, **more):
                return server.ask("POST", "/v1/forecast", body(y, **more))[2]

            clean = ask(wave(200))
            self.assertNotIn("input", clean)
            found = ask(wave(200) + [500.0])
            self.assertEqual([(f["item"], f["target"], f["kind"]) for f in found["input"]], [("pump", "y", "range")])
            flat = wave(201) + [21.0] * 20
            self.assertEqual([f["kind"] for f in ask(flat)["input"]], ["flat"])
            alarms = {a["kind"]: a for a in server.ask("GET", "/v1/alarms")[2]["alarms"]}
            self.assertEqual(alarms["flat"]["priority"], "low")
            self.assertIsNone(alarms["flat"]["ended"])
            self.assertIsNotNone(alarms["range"]["ended"])
            self.assertNotIn("input", ask(flat + [22.0]))
            alarms = {a["kind"]: a for a in server.ask("GET", "/v1/alarms")[2]["alarms"]}
            self.assertIsNotNone(alarms["flat"]["ended"])
            text = server.ask("GET", "/metrics")[2].decode()
            self.assertIn('plinth_input_findings_total{kind="flat",model="plinth-ts-0"} 1', text)
            status = server.ask("GET", "/v1/status")[2]["input"]
            self.assertEqual((status["series"], status["windows"], status["found"]["range"]), (1, 4, 1))
            # A session sends new rows only; what it is compared with is its own past.
            ask(wave(200), session="a", item="s")
            replay = {"series": {"y": wave(60, begin=100), "items": ["s"], "start": "2026-01-09T08:00:00Z"}, "freq": "1h",
                      "horizon": 8, "session": "a"}
            got = server.ask("POST", "/v1/forecast", replay)[2]
            self.assertEqual([f["kind"] for f in got["input"]], ["replay"])

    def test_changes_no_number_and_can_be_off(self):
        spoilt = wave(200) + [500.0]
        with Server() as on, Server(["--watch-input", "false"]) as off:
            for y in (wave(200), spoilt):
                a, b = (s.ask("POST", "/v1/forecast", body(y))[2] for s in (on, off))
                self.assertEqual(a["items"], b["items"])
                self.assertNotIn("input", b)
            self.assertIn("input", a)


class Kept(unittest.TestCase):
    def test_what_a_person_did_outlasts_a_kill(self):
        with tempfile.TemporaryDirectory() as folder:
            flags = ["--service-state-folder", folder]
            with Server(flags) as server:
                for item in ("a", "b", "c"):
                    server.ask("POST", "/v1/forecast", body(wave(200), item))
                    server.ask("POST", "/v1/forecast", body(wave(200) + [500.0], item))
                ids = {a["item"]: a["id"] for a in server.ask("GET", "/v1/alarms")[2]["alarms"]}
                got = server.ask("POST", f"/v1/alarms/{ids['a']}/acknowledge", {"by": "Li", "note": "seen"}, JSON)
                self.assertEqual((got[0], got[2]["saved"]), (200, True))
                got = server.ask("POST", f"/v1/alarms/{ids['b']}/shelve", {"by": "Li", "why": "pump off", "minutes": 30}, JSON)
                self.assertEqual((got[0], got[2]["saved"]), (200, True))
                for wrong, field in [({"by": "Li", "why": "x", "minutes": 0}, "minutes"), ({"by": "Li", "minutes": 5}, "why"),
                                     ({"by": " ", "why": "x", "minutes": 5}, "by")]:
                    status, _, answer = server.ask("POST", f"/v1/alarms/{ids['c']}/shelve", wrong, JSON)
                    self.assertEqual((status, answer["field"]), (400, field), answer)
                self.assertEqual(server.ask("POST", f"/v1/alarms/{ids['c']}/unshelve", {"by": "Li"}, JSON)[0], 409)
                self.assertEqual(server.ask("POST", f"/v1/alarms/{ids['c']}/shelve", b"{}")[0], 415)
                server.stop(signal.SIGKILL)
            with Server(flags) as server:
                listed = server.ask("GET", "/v1/alarms")[2]
                alarms = {a["item"]: a for a in listed["alarms"]}
                self.assertEqual((alarms["a"]["by"], alarms["a"]["note"]), ("Li", "seen"))
                self.assertEqual(alarms["b"]["shelved"]["why"], "pump off")
                self.assertEqual((listed["unacknowledged"], listed["shelved"]), (1, 1))


class FullDisk(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", self.folder], capture_output=True, text=True)
        if done.returncode != 0:
            os.rmdir(self.folder)
            self.skipTest("a small disk cannot be mounted here: " + done.stderr.strip())

    def tearDown(self):
        subprocess.run(["umount", "-l", self.folder], check=True)
        os.rmdir(self.folder)

    def fill(self):
        path = os.path.join(self.folder, "filler")
        with open(path, "wb", buffering=0) as file:
            try:
                while file.write(b"x" * 512):
                    pass
            except OSError:
                pass
        return path

    def test_costs_no_alarm_and_no_answer(self):
        log = open(os.path.join(self.folder, "log"), "wb")
        state = os.path.join(self.folder, "state")
        with log, tempfile.TemporaryDirectory() as place:
            notify = os.path.join(place, "port")
            with open(notify, "w"):
                pass
            with Server(["--service-state-folder", state, "--http-port", "0"], wait=False, stderr=log) as server:
                until = time.monotonic() + 30
                while server.port is None and time.monotonic() < until:
                    time.sleep(0.05)
                    with open(log.name) as text:
                        for line in text:
                            event = json.loads(line) if line.startswith("{") and line.endswith("}\n") else {}
                            if event.get("event") == "listening" and event.get("protocol") == "http":
                                server.port = event["port"]
                while server.ask("GET", "/v2/health/ready")[0] != 200:
                    time.sleep(0.05)
                server.ask("POST", "/v1/forecast", body(wave(200)))
                filler = self.fill()
                self.assertEqual(server.ask("POST", "/v1/forecast", body(wave(200) + [500.0]))[0], 200)
                number = server.ask("GET", "/v1/alarms")[2]["alarms"][0]["id"]
                status, _, got = server.ask("POST", f"/v1/alarms/{number}/acknowledge", {"by": "Li"}, JSON)
                self.assertEqual((status, got["saved"]), (200, False))
                self.assertIn("No space left", server.ask("GET", "/v1/status")[2]["alarms"]["not_saved"])
                for _ in range(50):  # the log has no room either
                    self.assertEqual(server.ask("POST", "/v1/forecast", body(wave(50), "x"))[0], 200)
                os.remove(filler)
                until = time.monotonic() + 10
                while server.ask("GET", "/v1/status")[2]["alarms"]["not_saved"] and time.monotonic() < until:
                    time.sleep(0.1)  # it tries again by itself
                with open(os.path.join(state, "alarms.json")) as file:
                    self.assertEqual(json.load(file)["alarms"][0]["by"], "Li")
                status, _, got = server.ask("POST", f"/v1/alarms/{number}/shelve", {"by": "Li", "why": "x", "minutes": 5}, JSON)
                self.assertEqual((status, got["saved"]), (200, True))
                self.assertEqual(server.ask("GET", "/v1/status")[2]["alarms"]["not_saved"], "")
                with open(os.path.join(state, "alarms.json")) as file:
                    self.assertEqual(json.load(file)["alarms"][0]["by"], "Li")
                self.assertEqual(server.stop(), 0)


class Memory(unittest.TestCase):
    def test_what_does_not_fit_is_refused_and_the_rest_goes_on(self):
        with Server(["--limits-values", "1000000000"]) as server:
            self.assertEqual(server.ask("POST", "/v1/forecast", body(wave(100)))[0], 200)
            # Whatever this machine has: from now on the process gets 128 MB more, and no byte beyond.
            with open(f"/proc/{server.process.pid}/statm") as file:
                size = int(file.read().split()[0]) * resource.getpagesize()
            resource.prlimit(server.process.pid, resource.RLIMIT_AS, (size + (128 << 20),) * 2)
            many = {"series": {"y": [1.0, 2.0] * 5000, "sizes": [2] * 5000}}
            for heavy in [{**many, "horizon": 60000, "quantiles": [0.1, 0.5, 0.9]},
                          {"series": {"y": wave(300)}, "horizon": 65536, "quantiles": [k / 1000 for k in range(1, 1000)]},
                          {"series": {"y": [1.0] * 2_000_000, "sizes": [200] * 10000}, "horizon": 2000}]:
                status, _, got = server.ask("POST", "/v1/forecast", heavy)
                self.assertEqual((status, got["code"]), (503, "out_of_memory"), str(got)[:300])
            self.assertEqual(server.ask("POST", "/v1/forecast", body(wave(100)))[0], 200)
            self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
