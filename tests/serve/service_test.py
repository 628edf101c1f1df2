"""What a user of the service meets: forecasts, the gate, models, limits, hostile clients, signals."""
import concurrent.futures
import json
import math
import os
import random
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest

from server import PROGRAM, SHIPPED, SOURCE, Server, environment, refused


def wave(length=200, seed=0):
    return [round(math.sin(t / (3 + seed % 5)) * 10 + (t * 7 + seed) % 5, 3) for t in range(length)]


class Forecasts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def test_equals_the_command_line(self):
        y = wave()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "data.csv")
            with open(path, "w") as file:
                file.write("time,load\n")
                for t, v in enumerate(y):
                    file.write(f"2026-01-{1 + t // 24:02d}T{t % 24:02d}:00:00Z,{v}\n")
            words = [PROGRAM, "forecast", "--data", path, "--horizon", "30", "--quantiles", "0.1,0.9", "--json"]
            done = subprocess.run(words, capture_output=True, env=environment(XDG_CONFIG_HOME=folder), check=True)
        wanted = json.loads(done.stdout)["items"][0]
        status, _, got = self.server.ask("POST", "/v1/forecast", {
            "series": {"targets": {"load": y}, "start": "2026-01-01T00:00:00Z"}, "freq": "1h", "horizon": 30,
            "quantiles": [0.1, 0.9]})
        self.assertEqual(status, 200)
        self.assertEqual(got["items"], [wanted])
        self.assertEqual(got["evidence"], "unproven")

    def test_bits_do_not_depend_on_company(self):
        def one(seed):
            body = {"series": {"y": wave(150 + seed, seed)}, "horizon": 20}
            return self.server.ask("POST", "/v1/forecast", body)[2]["items"]

        alone = [one(seed) for seed in range(24)]
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            together = list(pool.map(one, range(24)))
        self.assertEqual(alone, together)

    def test_large_answers_stream(self):
        body = {"series": {"y": wave(40) * 60, "sizes": [40] * 60}, "horizon": 400}
        status, fields, got = self.server.ask("POST", "/v1/forecast", body)
        self.assertEqual(status, 200)
        self.assertEqual(fields["transfer-encoding"], "chunked")
        self.assertEqual(len(got["items"]), 60)
        single = self.server.ask("POST", "/v1/forecast", {"series": {"y": wave(40)}, "horizon": 400})[2]
        self.assertEqual(got["items"][7]["mean"], single["items"][0]["mean"])

    def test_rolling_series_go_on_from_what_was_sent(self):
        y = wave(150)
        others = wave(90, 3)

        def ask(session, item, rows, start):
            status, _, got = self.server.ask("POST", "/v1/forecast", {
                "session": session, "freq": "1h", "horizon": 12,
                "series": {"y": rows, "items": [item], "start": f"2026-01-{1 + start // 24:02d}T{start % 24:02d}:00:00Z"}})
            self.assertEqual(status, 200, got)
            return got["items"]

        whole = ask("whole", "pump", y, 0)
        ask("line-1", "pump", y[:100], 0)
        self.assertEqual(ask("line-1", "fan", others, 0), ask("whole-2", "fan", others, 0))
        self.assertNotEqual(ask("line-2", "pump", y[100:], 100), whole)
        ask("line-1", "pump", y[100:130], 100)
        self.assertEqual(ask("line-1", "pump", y[130:], 130), whole)
        self.assertEqual(ask("line-1", "pump", y[130:], 130), whole)  # sent again

    def test_every_answer_can_be_traced(self):
        parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        _, fields, _ = self.server.ask("GET", "/v2/health/live", headers={"x-request-id": "job-7",
                                                                         "traceparent": parent})
        self.assertEqual(fields["x-request-id"], "job-7")
        self.assertTrue(fields["traceparent"].startswith("00-0af7651916cd43dd8448eb211c80319c-"))
        self.assertEqual(fields["plinth-evidence"], "unproven")
        _, fields, got = self.server.ask("POST", "/v1/forecast", {})
        self.assertRegex(fields["x-request-id"], "^[0-9a-f]{32}$")
        self.assertEqual(got["field"], "series")

    def test_notes_say_what_a_forecast_is_worth(self):
        status, _, got = self.server.ask("POST", "/v1/forecast", {"series": {"y": [None, None, 1], "sizes": [2, 1]}})
        self.assertEqual((status, got["notes"]), (200, ['target "y" holds no value; its forecast says nothing']))
        body = {"series": {"y": [1, 2, 3]}, "session": "numbered", "horizon": 2}
        self.assertIn("is appended again", self.server.ask("POST", "/v1/forecast", body)[2]["notes"][0])
        body["series"]["start"] = "2026-01-01"
        body.update(session="timed", freq="1h")
        self.assertEqual(self.server.ask("POST", "/v1/forecast", body)[2]["notes"], [])

    def test_wrong_requests_say_what_would_be_right(self):
        for method, path, status in [("GET", "/nothing", 404), ("GET", "/v1/forecast", 405),
                                     ("POST", "/v2/health/live", 405), ("GET", "/v1/models/%zz", 400),
                                     ("GET", "/v1/models/..%2F..%2Fetc", 404), ("GET", "/../etc/passwd", 404)]:
            got = self.server.ask(method, path)
            self.assertEqual(got[0], status, path)
            self.assertEqual(set(got[2]) - {"field"}, {"error", "code"}, path)
        self.assertEqual(self.server.ask("OPTIONS", "/v1/forecast")[0], 204)
        self.assertEqual(self.server.ask("GET", "/v1/forecast")[1]["allow"], "POST, OPTIONS")
        for body, field in [({"series": {"targets": {"": [1, 2]}}}, "series.targets"),
                            ({"series": {"y": [1, 2], "future": {"a": [1, 2, 3]}}, "horizon": 1}, "series.future")]:
            status, _, got = self.server.ask("POST", "/v1/forecast", body)
            self.assertEqual((status, got["field"]), (400, field), got)
        status, _, got = self.server.ask("POST", "/v1/detect", {"series": {"y": [1, 2]}, "history": 5})
        self.assertEqual((status, got["field"]), (400, "history"))
        for path in ["/v1/models/a%00b", "/v1/models/%ff", "/v1/models/%2", "/v1/models?a=%00"]:
            self.assertEqual(self.server.ask("GET", path)[0], 400, path)
        for path in ["/v1/models/%2f..%2f..", "/v1%2fmodels", "/v1/./models", "//v1/models", "/v1/models//"]:
            self.assertEqual(self.server.ask("GET", path)[0], 404, path)
        self.assertEqual(self.server.ask("GET", "/v1/models/")[0], 200)
        status, fields, data = self.server.ask("HEAD", "/metrics")
        self.assertEqual((status, data), (200, b""))
        for path in ["/v1/forecast", "/v1/detect", "/v2/models/plinth-ts-0/infer"]:
            status, _, got = self.server.ask("POST", path, b"x", {"content-encoding": "gzip"})
            self.assertEqual((status, got["code"]), (415, "encoding"), path)

    def test_what_memory_cannot_hold_is_refused(self):
        before = self.server.resident_kilobytes()
        body = {"series": {"y": [1] * 10000, "sizes": [1] * 10000}, "horizon": 65536,
                "quantiles": [i / 1000 for i in range(1, 1000)]}
        status, _, got = self.server.ask("POST", "/v1/forecast", body)
        self.assertEqual(status, 503, got)
        self.assertLess(self.server.resident_kilobytes() - before, 400_000)
        self.assertEqual(self.server.ask("POST", "/v1/forecast", {"series": {"y": [1, 2]}})[0], 200)

    def test_metrics_are_there(self):
        _, fields, text = self.server.ask("GET", "/metrics")
        self.assertTrue(fields["content-type"].startswith("text/plain; version=0.0.4"))
        text = text.decode()
        for name in ["plinth_requests_total", "plinth_request_duration_seconds_bucket", "plinth_queue_requests",
                     "process_resident_memory_bytes", 'plinth_model_proven{model="plinth-ts-0"} 0']:
            self.assertIn(name, text)


class Models(unittest.TestCase):
    def test_are_loaded_aliased_and_unloaded_by_request_alone(self):
        with Server() as server:
            self.assertEqual([m["name"] for m in server.ask("GET", "/v1/models")[2]["models"]], ["plinth-ts-0"])
            status, _, got = server.ask("POST", "/v1/models/second/load", {"path": SHIPPED})
            self.assertEqual(status, 200, got)
            status, _, got = server.ask("POST", "/v1/forecast", {"series": {"y": [1, 2, 3]}})
            self.assertEqual((status, got["field"]), (400, "model"))
            self.assertEqual(server.ask("PUT", "/v1/aliases/incumbent", {"model": "plinth-ts-0"})[0], 200)
            self.assertEqual(server.ask("POST", "/v1/forecast", {"series": {"y": [1, 2, 3]}})[2]["model"], "plinth-ts-0")
            self.assertEqual(server.ask("PUT", "/v1/aliases/incumbent", {"model": "second"})[0], 200)
            self.assertEqual(server.ask("GET", "/v1/models/previous")[2]["name"], "plinth-ts-0")
            self.assertEqual(server.ask("POST", "/v1/models/second/unload")[0], 200)
            self.assertEqual(server.ask("GET", "/v1/models/second")[0], 404)
            self.assertEqual(server.ask("GET", "/v1/models/incumbent")[0], 404)
            for body, status in [({"path": "/nowhere"}, 404), ({"path": SHIPPED, "device": "cuda:0"}, 400),
                                 ({"path": SHIPPED, "x": 1}, 400), ({}, 400)]:
                self.assertEqual(server.ask("POST", "/v1/models/third/load", body)[0], status, body)
            self.assertEqual(server.ask("POST", "/v1/models/..%2Fx/load", {"path": SHIPPED})[0], 400)
            self.assertEqual(server.ask("GET", "/v1/models/plinth-ts-0")[0], 200)


class Gate(unittest.TestCase):
    def test_no_evidence_no_serving(self):
        with tempfile.TemporaryDirectory() as folder:
            env = {"XDG_CONFIG_HOME": folder}
            model = os.path.join(folder, "model")
            shutil.copytree(SHIPPED, model, ignore=shutil.ignore_patterns("evidence"))
            code, line = refused(["--model", model], env=env)
            self.assertEqual(code, 4, line)
            self.assertIn(f"run: plinth accept --model {model}", line)

            recipe = os.path.join(folder, "accept.toml")
            with open(recipe, "w") as file:
                file.write("[envelope]\nbatch = 4\ncontext = 256\nhorizon = 64\n")
            done = subprocess.run([PROGRAM, "accept", "--model", model, "--config", recipe],
                                  env=environment(**env), capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            with Server(["--model", model], unproven=False, env=env) as server:
                status, fields, got = server.ask("POST", "/v1/forecast", {"series": {"y": wave(300)}, "horizon": 64})
                self.assertEqual((status, got["evidence"]), (200, "proven"))
                self.assertNotIn("plinth-evidence", fields)
                # Beyond what was proven.
                for key, value in [("horizon", 65), ("context", 257)]:
                    status, _, got = server.ask("POST", "/v1/forecast", {"series": {"y": [1, 2]}, key: value})
                    self.assertEqual((status, got["code"]), (409, "unproven"), got)
                    self.assertIn("the evidence of model covers", got["error"])
                # Another model without evidence is refused, and the first one stays.
                other = os.path.join(folder, "other")
                shutil.copytree(SHIPPED, other, ignore=shutil.ignore_patterns("evidence"))
                with open(os.path.join(other, "config.json"), "a") as file:
                    file.write("\n")
                status, _, got = server.ask("POST", "/v1/models/other/load", {"path": other})
                self.assertEqual(status, 409, got)
                self.assertIn("plinth accept --model", got["error"])
                self.assertEqual(len(server.ask("GET", "/v1/models")[2]["models"]), 1)
            # One flipped byte of what the signature covers.
            evidence = os.path.join(model, "evidence")
            identity = [n for n in os.listdir(evidence) if len(n) == 64][0]
            path = os.path.join(evidence, identity, "records.jsonl")
            with open(path, "r+b") as file:
                first = file.read(1)
                file.seek(0)
                file.write(bytes([first[0] ^ 1]))
            code, line = refused(["--model", model], env=env)
            self.assertEqual(code, 4, line)


class Settings(unittest.TestCase):
    def test_wrong_ones_are_refused_with_their_place(self):
        code, line = refused(config="[http]\nprot = 1\n")
        self.assertEqual(code, 2)
        self.assertIn("plinth.toml: line 2", line)
        self.assertEqual(refused(["--limits-queue", "0"])[0], 2)
        self.assertEqual(refused(env={"PLINTH_HTTP_PORT": "x"}, flags=["--no-such"])[0], 2)
        self.assertEqual(refused(["--model", "/nowhere"])[0], 2)

    def test_a_port_that_is_taken_is_said(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            code, line = refused(["--http-port", str(taken.getsockname()[1])])
        self.assertEqual(code, 3)
        self.assertIn("another program has this port", line)

    def test_open_addresses_need_keys(self):
        code, line = refused(["--http-address", "0.0.0.0"], unproven=True)
        self.assertEqual(code, 2)
        self.assertIn("access.keys", line)

    def test_documentation_has_every_one(self):
        table = subprocess.run([PROGRAM, "serve", "--settings"], capture_output=True, text=True, check=True).stdout
        with open(os.path.join(SOURCE, "docs", "serving.md")) as file:
            self.assertIn(table, file.read())

    def test_config_is_shown(self):
        with Server(config="[limits]\nqueue = 7\n") as server:
            text = server.ask("GET", "/v1/config")[2].decode()
            self.assertRegex(text, r"queue = 7  # .*plinth\.toml")


class Access(unittest.TestCase):
    def test_keys_scopes_and_reload(self):
        with tempfile.TemporaryDirectory() as folder:
            keys = os.path.join(folder, "keys.toml")

            def new_key(name, scopes):
                words = [PROGRAM, "serve", "--new-key", name, "--scopes", scopes, "--access-keys", keys]
                return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()

            infer, admin = new_key("scada", "infer"), new_key("ops", "admin")
            self.assertEqual(os.stat(keys).st_mode & 0o777, 0o600)
            with open(keys) as file:
                self.assertNotIn(infer, file.read())
            config = f'[access]\nkeys = "{keys}"\n'
            with Server(config=config) as server:
                bearer = {"authorization": f"Bearer {infer}"}
                body = {"series": {"y": [1, 2, 3]}}
                self.assertEqual(server.ask("POST", "/v1/forecast", body)[0], 401)
                self.assertEqual(server.ask("POST", "/v1/forecast", body, bearer)[0], 200)
                self.assertEqual(server.ask("GET", "/v1/config", headers=bearer)[0], 403)
                self.assertEqual(server.ask("GET", "/v1/config", headers={"x-api-key": admin})[0], 200)
                self.assertEqual(server.ask("GET", "/v2/health/live")[0], 200)
                fresh = new_key("more", "read")
                server.process.send_signal(signal.SIGHUP)
                self.assertTrue(server.event("reload")["done"])
                self.assertEqual(server.ask("GET", "/v1/models", headers={"x-api-key": fresh})[0], 200)
                server.write_config("[access]\nkeys = 5\n")
                server.process.send_signal(signal.SIGHUP)
                event = server.event("reload")
                self.assertFalse(event["done"])
                self.assertIn("line 2", event["error"])
                self.assertEqual(server.ask("POST", "/v1/forecast", body, bearer)[0], 200)

    def test_rates(self):
        with Server(["--limits-requests-per-second", "1", "--limits-burst", "2"]) as server:
            got = [server.ask("GET", "/v1/models") for _ in range(4)]
            self.assertEqual([status for status, _, _ in got].count(429), 2)
            self.assertIn("retry-after", got[-1][1])


class Tls(unittest.TestCase):
    def test_certificates_of_both_sides(self):
        with tempfile.TemporaryDirectory() as folder:
            def certificate(name, subject, *more):
                path = os.path.join(folder, name)
                subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", subject,
                                "-keyout", path + ".key", "-out", path + ".pem", *more], check=True, capture_output=True)
                return path + ".pem", path + ".key"

            ours = certificate("server", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1")
            theirs = certificate("client", "/CN=gateway")
            flags = ["--http-tls-certificate", ours[0], "--http-tls-key", ours[1], "--http-tls-client-ca", theirs[0]]
            with Server(flags) as server:
                context = ssl.create_default_context(cafile=ours[0])
                with self.assertRaises(OSError):
                    with socket.create_connection(("127.0.0.1", server.port)) as raw, \
                            context.wrap_socket(raw, server_hostname="127.0.0.1") as secure:
                        secure.sendall(b"GET /v2/health/live HTTP/1.1\r\nhost: x\r\n\r\n")
                        if not secure.recv(100):
                            raise OSError("closed")
                context.load_cert_chain(*theirs)
                with socket.create_connection(("127.0.0.1", server.port)) as raw, \
                        context.wrap_socket(raw, server_hostname="127.0.0.1") as secure:
                    for _ in range(3):
                        secure.sendall(b"GET /v2/health/live HTTP/1.1\r\nhost: x\r\n\r\n")
                        self.assertIn(b"200 OK", secure.recv(4096))
                    secure.sendall(b"GET /v2/health/live HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
                    data = b""
                    while piece := secure.recv(4096):
                        data += piece
                    self.assertIn(b"200 OK", data)
                # Who speaks plainly gets nothing, and harms nobody.
                with socket.create_connection(("127.0.0.1", server.port)) as raw:
                    raw.sendall(b"GET / HTTP/1.1\r\n\r\n")
                    raw.settimeout(20)
                    while raw.recv(4096):
                        pass
                code, line = refused(["--http-tls-certificate", ours[0], "--http-tls-key", theirs[1]])
                self.assertEqual(code, 2)
                self.assertIn("client.key", line)


    def test_renewed_certificates_come_into_use(self):
        def seen(port):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            context.set_alpn_protocols(["h2", "http/1.1"])
            with socket.create_connection(("127.0.0.1", port)) as raw, context.wrap_socket(raw) as secure:
                return secure.getpeercert(binary_form=True)

        with tempfile.TemporaryDirectory() as folder:
            names = [os.path.join(folder, name) for name in ("server.pem", "server.key")]

            def renew():
                made = [name + ".new" for name in names]
                subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
                                "/CN=localhost", "-out", made[0], "-keyout", made[1]], check=True, capture_output=True)
                for new, name in zip(made, names):
                    os.replace(new, name)
                with open(names[0]) as file:
                    return ssl.PEM_cert_to_DER_cert(file.read())

            first = renew()
            with Server(["--http-tls-certificate", names[0], "--http-tls-key", names[1]]) as server:
                ports = [server.ports[protocol] for protocol in ("http", "grpc")]
                for port in ports:
                    self.assertEqual(seen(port), first)
                second = renew()
                server.process.send_signal(signal.SIGHUP)
                end = time.monotonic() + 20
                while any(seen(port) != second for port in ports) and time.monotonic() < end:
                    time.sleep(0.2)
                for port in ports:
                    self.assertEqual(seen(port), second)


class Hostile(unittest.TestCase):
    def test_ten_thousand_malformed_requests(self):
        draw = random.Random(7)
        body = json.dumps({"series": {"y": [1, 2, None, 4], "sizes": [2, 2], "start": "2026-01-01"}, "freq": "D",
                           "horizon": 3, "level": [80]}).encode()
        good = b"POST /v1/forecast HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % len(body) + body
        with Server(["--limits-header-seconds", "1"]) as server:
            server.ask("POST", "/v1/forecast", body)
            before = server.resident_kilobytes()

            def attack(count):
                draw = random.Random(count)
                for _ in range(500):
                    bad = bytearray(good)
                    for _ in range(draw.randint(1, 8)):
                        at = draw.randrange(len(bad))
                        kind = draw.randrange(4)
                        if kind == 0:
                            bad[at] = draw.randrange(256)
                        elif kind == 1:
                            del bad[at:at + draw.randint(1, 20)]
                        elif kind == 2:
                            bad[at:at] = bytes(draw.randrange(256) for _ in range(draw.randint(1, 20)))
                        else:
                            bad[at:at] = bad[draw.randrange(len(bad)):][:50]
                        if not bad:
                            bad = bytearray(b"\0")
                    with socket.create_connection(("127.0.0.1", server.port)) as raw:
                        raw.settimeout(20)
                        try:
                            raw.sendall(bad)
                            raw.shutdown(socket.SHUT_WR)
                            while raw.recv(65536):
                                pass
                        except ConnectionError:
                            pass

            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                list(pool.map(attack, range(20)))
            self.assertIsNone(server.process.poll())
            self.assertEqual(server.ask("POST", "/v1/forecast", body)[0], 200)
            self.assertLess(server.resident_kilobytes() - before, 60_000)

    def test_five_hundred_slow_clients_hold_nobody_up(self):
        with Server(["--limits-header-seconds", "5"]) as server:
            slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(500)]
            stop = threading.Event()

            def trickle():
                text = b"POST /v1/forecast HTTP/1.1\r\nhost: x\r\nx-pad: "
                at = 0
                while not stop.is_set():
                    for client in slow:
                        try:
                            client.send(text[at:at + 1] or b"y")
                        except OSError:
                            pass
                    at += 1
                    stop.wait(0.2)

            thread = threading.Thread(target=trickle)
            thread.start()
            try:
                connection = server.connect()
                took = []
                for _ in range(100):
                    began = time.monotonic()
                    status = server.ask("POST", "/v1/forecast", {"series": {"y": wave(50)}, "horizon": 8},
                                        connection=connection)[0]
                    took.append(time.monotonic() - began)
                    self.assertEqual(status, 200)
                self.assertLess(sorted(took)[50], 0.5)
                # Each of them is closed in its time.
                slow[0].settimeout(20)
                answer = b""
                try:
                    while piece := slow[0].recv(4096):
                        answer += piece
                except ConnectionError:
                    pass
                self.assertIn(b"408", answer)
            finally:
                stop.set()
                thread.join()
                for client in slow:
                    client.close()

    def test_full_queues_say_when_to_come_again(self):
        with Server(["--limits-queue", "1", "--batch-most-series", "1", "--batch-preferred-series", "1"]) as server:
            def heavy(_):
                return server.ask("POST", "/v1/forecast", {"series": {"y": wave()}, "horizon": 20000,
                                                           "quantiles": [0.5]})
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                got = list(pool.map(heavy, range(8)))
            refusals = [(fields, body) for status, fields, body in got if status == 429]
            self.assertTrue(refusals)
            self.assertTrue(any(status == 200 for status, _, _ in got))
            self.assertGreaterEqual(int(refusals[0][0]["retry-after"]), 1)
            self.assertEqual(refusals[0][1]["code"], "queue_full")

    def test_times_run_out_and_the_gone_cost_nothing(self):
        with Server(["--batch-most-series", "1", "--batch-preferred-series", "1"]) as server:
            long = {"series": {"y": wave()}, "horizon": 65536, "quantiles": [0.5]}
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                first = pool.submit(server.ask, "POST", "/v1/forecast", long)
                time.sleep(0.1)
                status, _, got = server.ask("POST", "/v1/forecast", dict(long, timeout_seconds=0.01))
                self.assertEqual((status, got["code"]), (504, "timeout"))
                self.assertEqual(first.result()[0], 200)
            began = time.monotonic()
            for _ in range(30):
                raw = socket.create_connection(("127.0.0.1", server.port))
                body = json.dumps(long).encode()
                raw.sendall(b"POST /v1/forecast HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
                raw.close()
            self.assertEqual(server.ask("POST", "/v1/forecast", {"series": {"y": [1, 2]}})[0], 200)
            self.assertLess(time.monotonic() - began, 20)

    def test_a_full_log_stops_nothing(self):
        with open("/dev/full", "w") as full:
            port = socket.create_server(("127.0.0.1", 0))
            number = port.getsockname()[1]
            port.close()
            with Server(["--http-port", str(number)], wait=False, stderr=full) as server:
                server.port = number
                for _ in range(200):
                    try:
                        if server.ask("GET", "/v2/health/ready")[0] == 200:
                            break
                    except OSError:
                        pass
                    time.sleep(0.05)
                self.assertEqual(server.ask("POST", "/v1/forecast", {"series": {"y": [1, 2]}})[0], 200)
                self.assertEqual(server.stop(), 0)


class Signals(unittest.TestCase):
    def test_drains_what_is_in_hand(self):
        with Server() as server:
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                body = {"series": {"y": wave()}, "horizon": 65536, "quantiles": [0.5]}
                answer = pool.submit(server.ask, "POST", "/v1/forecast", body)
                time.sleep(0.1)
                server.process.send_signal(signal.SIGTERM)
                self.assertEqual(answer.result()[0], 200)
            self.assertEqual(server.process.wait(20), 0)
            self.assertTrue(server.event("stopped")["all_answered"])

    def test_the_drain_has_an_end(self):
        with Server(["--service-drain-seconds", "0.2"]) as server:
            raw = socket.create_connection(("127.0.0.1", server.port))
            raw.sendall(b"POST /v1/forecast HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n")
            time.sleep(0.2)
            began = time.monotonic()
            self.assertEqual(server.stop(), 0)
            self.assertLess(time.monotonic() - began, 5)
            raw.close()

    def test_a_killed_one_loses_only_what_was_not_answered(self):
        answered = []
        with Server() as server:
            def client(seed):
                connection = server.connect(10)
                while True:
                    try:
                        status, _, got = server.ask("POST", "/v1/forecast", {"series": {"y": wave(60, seed)}, "horizon": 8},
                                                    connection=connection)
                    except (OSError, Exception):
                        return
                    answered.append((status, seed, got["items"][0]["mean"]))

            threads = [threading.Thread(target=client, args=(seed,)) for seed in range(4)]
            for thread in threads:
                thread.start()
            time.sleep(1)
            server.stop(signal.SIGKILL)
            for thread in threads:
                thread.join()
        self.assertGreater(len(answered), 10)
        with Server() as again:
            for seed in range(4):
                mean = again.ask("POST", "/v1/forecast", {"series": {"y": wave(60, seed)}, "horizon": 8})[2]["items"][0]["mean"]
                for status, of, before in answered:
                    self.assertEqual(status, 200)
                    if of == seed:
                        self.assertEqual(before, mean)

    def test_systemd_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "notify")
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
                notify.bind(path)
                notify.settimeout(20)
                with Server(env={"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "200000"}) as server:
                    def next_with(word):
                        while True:
                            message = notify.recv(4096).decode()
                            if word in message:
                                return message
                    next_with("READY=1")
                    next_with("WATCHDOG=1")
                    next_with("WATCHDOG=1")
                    server.process.send_signal(signal.SIGHUP)
                    self.assertIn("MONOTONIC_USEC=", next_with("RELOADING=1"))
                    next_with("READY=1")
                    server.process.send_signal(signal.SIGTERM)
                    next_with("STOPPING=1")
                    self.assertEqual(server.process.wait(20), 0)

    def test_starts_within_a_second(self):
        took = []
        for _ in range(3):
            began = time.monotonic()
            with Server():
                took.append(time.monotonic() - began)
        self.assertLess(min(took), 1.0)


if __name__ == "__main__":
    unittest.main()
