"""The life of the Debian package on a fresh system: installed, proved, served, upgraded, taken back, removed, purged."""
import http.client
import json
import os
import queue
import signal
import socket
import tempfile
import threading
import unittest

import package
from package import run
from system import SETTINGS, STATE, System, later_version, preconditions


class Service:
    """plinth.service, on free ports."""

    def __init__(self, system):
        self.notices = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        name = f"plinth-package-test-{os.getpid()}-{id(self)}"
        self.notices.bind("\0" + name)
        self.notices.settimeout(60)
        self.process = system.start("plinth.service", PLINTH_HTTP_PORT="0", PLINTH_GRPC_PORT="0", NOTIFY_SOCKET="@" + name)
        self.lines, self.ports, self.events = [], {}, queue.Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))
            if line.startswith("{"):
                event = json.loads(line)
                if event["event"] == "listening":
                    self.ports[event["protocol"]] = event["port"]

    def wait_for(self, state):
        while True:
            try:
                text = self.notices.recv(4096).decode()
            except TimeoutError as error:
                raise AssertionError("\n".join(self.lines[-20:])) from error
            if state in text.split("\n"):
                return

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.ports["http"], timeout=60)
        connection.request(method, path, None if body is None else json.dumps(body))
        answer = connection.getresponse()
        data = json.loads(answer.read())
        connection.close()
        return answer.status, data

    def end(self, number=None):
        """The exit code, after a signal."""
        if number is not None:
            self.process.send_signal(number)
        try:
            code = self.process.wait(60)
        finally:
            self.process.kill()
        self.reader.join()
        self.process.stdout.close()
        self.notices.close()
        return code


class Life(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.deb = package.build(os.path.join(self.folder.name, "package"))
        self.version = package.version_of(self.deb)
        self.next_version = later_version(self.version)
        self.next_deb = package.later(self.deb, self.next_version, self.folder.name)
        self.system = System(os.path.join(self.folder.name, "root"))

    def owner(self, path):
        return self.system.run("stat", "-c", "%U:%G %a", path)[1].strip()

    def refused(self):
        """What the service says when it does not start for lack of evidence."""
        service = Service(self.system)
        self.assertEqual(service.end(), 4, service.lines[-5:])
        return service.lines[-1]

    def serves(self):
        service = Service(self.system)
        try:
            service.wait_for("READY=1")
            self.assertEqual(service.ask("GET", "/v2/health/ready"), (200, {"ready": True, "reasons": []}))
            status, answer = service.ask("POST", "/v1/forecast", {"series": {"y": [3, 4, 6, 5, 7, 9, 8]}, "horizon": 3})
            self.assertEqual((status, answer["evidence"], len(answer["items"][0]["mean"])), (200, "proven", 3), answer)
            self.assertEqual(service.ask("GET", "/v2")[1]["version"], self.installed())
            service.process.send_signal(signal.SIGHUP)
            service.wait_for("READY=1")
            with open(f"/proc/{service.process.pid}/status", encoding="utf-8") as file:
                status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
            self.assertEqual((status["NoNewPrivs"], status["Seccomp"], int(status["CapBnd"], 16)), ("1", "2", 0))
        finally:
            code = service.end(signal.SIGTERM)
        self.assertEqual(code, 0, service.lines[-5:])

    def installed(self):
        return self.system.run("plinth", "--version")[1].split()[1]

    def check(self):
        """Whether the models are proven, asked as the service's user."""
        return self.system.run("setpriv", "--reuid=plinth", "--regid=plinth", "--clear-groups", "env", f"HOME={STATE}",
                               "plinth-serve", "--config", SETTINGS, "--check", check=False)

    def units(self):
        return sorted(os.listdir(self.system.path(f"{STATE}/evidence/history")))

    def test_life(self):
        system = self.system
        self.assertNotIn("rror", system.install(self.deb))
        self.assertEqual(self.installed(), self.version)
        self.assertEqual(self.owner(STATE), "plinth:plinth 750")
        self.assertEqual(self.owner("/etc/plinth"), "root:plinth 750")
        self.assertFalse(system.exists(f"{STATE}/evidence"))
        self.assertIn("plinth accept --model", self.refused())

        code, text = system.prove()
        self.assertEqual(code, 0, text)
        self.assertEqual(self.owner(f"{STATE}/.config/plinth/evidence-key.pem"), "plinth:plinth 600")
        self.assertEqual(self.owner(f"{STATE}/evidence"), "plinth:plinth 750")
        self.serves()

        # A later version: settings and state stay, and so does the gate.
        with open(system.path(SETTINGS), "a", encoding="utf-8") as file:
            file.write("# the plant's own remark\n")
        first = self.units()
        system.install(self.next_deb)
        self.assertEqual(self.installed(), self.next_version)
        self.assertIn("the plant's own remark", system.read(SETTINGS))
        code, text = self.check()
        self.assertEqual(code, 4, text)
        self.assertIn("stale: ", text)
        self.assertIn(f"version was {self.version}, is {self.next_version}", text)
        self.assertIn("is for another state", self.refused())
        code, text = system.prove()
        self.assertEqual(code, 0, text)
        self.assertEqual(len(self.units()), len(first) + 1)
        self.serves()

        # Back again: what was proven then still counts.
        system.install(self.deb, "--allow-downgrades")
        self.assertEqual(self.installed(), self.version)
        self.assertIn("the plant's own remark", system.read(SETTINGS))
        code, text = self.check()
        self.assertEqual(code, 0, text)
        self.assertEqual(len(self.units()), len(first) + 1)
        self.serves()

        system.run("apt-get", "-qq", "-y", "remove", "plinth")
        self.assertFalse(system.exists("/usr/bin/plinth") or system.exists("/lib/systemd/system/plinth.service"))
        self.assertIn("the plant's own remark", system.read(SETTINGS))
        self.assertTrue(system.exists(f"{STATE}/.config/plinth/evidence-key.pem"))

        text = system.run("apt-get", "-qq", "-y", "purge", "plinth")[1]
        self.assertIn(f"signed evidence stays in {STATE}/evidence", text)
        self.assertFalse(system.exists("/etc/plinth"))
        left = sorted(os.listdir(system.path(STATE)))
        self.assertEqual(len(left), 2, left)
        self.assertRegex(left[1], r"^evidence-key-[0-9a-f]{12}\.pub\.pem$")
        # Anybody can check it still, with a program of another place.
        run(os.path.join(package.BUILD, "plinth"), "evidence", "verify", system.path(f"{STATE}/evidence"), "--key",
            system.path(f"{STATE}/{left[1]}"), env={"HOME": self.folder.name, "PATH": os.environ["PATH"]})

        # Without evidence nothing stays.
        system.run("rm", "-r", f"{STATE}/evidence")
        system.install(self.deb)
        self.assertTrue(system.exists(f"{STATE}/state"))
        system.run("apt-get", "-qq", "-y", "purge", "plinth")
        self.assertFalse(system.exists(STATE))


if __name__ == "__main__":
    preconditions()
    unittest.main()
