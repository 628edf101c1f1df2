"""Starts plinth-serve for a test, on free ports of the loopback address, and stops it by its process id."""
import http.client
import json
import os
import queue
import signal
import subprocess
import tempfile
import threading

SOURCE = os.environ["PLINTH_SOURCE_DIR"]
PROGRAM = os.environ["PLINTH_PROGRAM"]  # plinth; plinth-serve lies beside it
SHIPPED = os.path.join(SOURCE, "models", "plinth-ts-0")


def environment(**more):
    env = {k: v for k, v in os.environ.items() if not k.startswith("PLINTH_") or k == "PLINTH_ISA"}
    env.update(more)
    return env


class Server:
    """One running service. `config` is TOML text, `flags` are further words of the command line."""

    def __init__(self, flags=(), config=None, unproven=True, env=None, wait=True, stderr=None):
        self.home = tempfile.TemporaryDirectory()
        words = [PROGRAM, "serve", "--http-port", "0", "--grpc-port", "0"]
        if unproven:
            words += ["--evidence-allow-unproven", "true"]
        if config is not None:
            self.config_path = os.path.join(self.home.name, "plinth.toml")
            self.write_config(config)
            words += ["--config", self.config_path]
        more = {"XDG_CONFIG_HOME": self.home.name}
        more.update(env or {})
        self.process = subprocess.Popen(words + list(flags), env=environment(**more),
                                        stderr=stderr or subprocess.PIPE, stdout=subprocess.DEVNULL)
        self.port = None
        self.ports = {}  # by protocol
        self.lines = []
        self.events = queue.Queue()
        if stderr is None:
            self.reader = threading.Thread(target=self._read, daemon=True)
            self.reader.start()
        if wait:
            self.port = self.event("listening", protocol="http")["port"]
            self.event("ready")

    def write_config(self, text):
        with open(self.config_path, "w") as file:
            file.write(text)

    def _read(self):
        for line in self.process.stderr:
            text = line.decode(errors="replace").rstrip("\n")
            self.lines.append(text)
            if text.startswith("{"):
                event = json.loads(text)
                if event["event"] == "listening":
                    self.ports[event["protocol"]] = event["port"]
                self.events.put(event)
        self.events.put(None)

    def event(self, name, timeout=60, **fields):
        """The next event of the log of that name (and with those fields); others before it are passed over."""
        while True:
            event = self.events.get(timeout=timeout)
            if event is None:
                raise AssertionError("the service ended:\n" + "\n".join(self.lines[-20:]))
            if event["event"] == name and all(event.get(k) == v for k, v in fields.items()):
                return event

    def connect(self, timeout=60):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def ask(self, method, path, body=None, headers=None, connection=None):
        """Status, header fields and body (parsed where it is JSON) of one request."""
        own = connection is None
        connection = connection or self.connect()
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body)
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        data = answer.read()
        if own:
            connection.close()
        fields = {k.lower(): v for k, v in answer.getheaders()}
        if fields.get("content-type", "").startswith("application/json"):
            data = json.loads(data)
        return answer.status, fields, data

    def resident_kilobytes(self):
        with open(f"/proc/{self.process.pid}/status") as file:
            for line in file:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1])
        return 0

    def stop(self, number=signal.SIGTERM, timeout=60):
        """Sends a signal and gives the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(timeout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if self.process.stderr is not None and not self.process.stderr.closed:
            self.reader.join()
            self.process.stderr.close()
        self.home.cleanup()


def refused(flags=(), config=None, unproven=False, env=None):
    """Exit code and last line of a service that does not start."""
    with Server(flags, config, unproven, env, wait=False) as server:
        code = server.process.wait(60)
        while server.events.get(timeout=60) is not None:
            pass
        server.process.stderr.close()
        return code, server.lines[-1] if server.lines else ""
