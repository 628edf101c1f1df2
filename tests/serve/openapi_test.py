"""The service against its own OpenAPI document: schemathesis makes requests that it allows and requests that it
forbids, and looks whether the answers are as it says."""
import os
import subprocess
import sys
import tempfile
import unittest

from server import Server

# A time that ran out is an answer that the document names.
SETTINGS = 'checks.not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", 504]\n'


def schemathesis(server, *words):
    with tempfile.TemporaryDirectory() as folder:
        settings = os.path.join(folder, "schemathesis.toml")
        with open(settings, "w") as file:
            file.write(SETTINGS)
        return subprocess.run(
            [sys.executable, "-m", "schemathesis.cli", "--config-file", settings, "run",
             f"http://127.0.0.1:{server.port}/v1/openapi.json", "--seed", "1", "--generation-database", "none",
             "--warnings", "off", "--continue-on-failure", "--exclude-path", "/v1/events", *words],
            cwd=folder, text=True, capture_output=True, timeout=300)


class OpenApi(unittest.TestCase):
    def test_examples_are_accepted(self):
        with Server() as server:
            run = schemathesis(server, "--phases", "examples")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertIn("10 passed", run.stdout)

    def test_answers_are_as_described(self):
        # Whether the lengths of columns go together is more than a schema can say, so allowed requests may be
        # refused here.
        with Server() as server:
            run = schemathesis(server, "--phases", "coverage,fuzzing", "--max-examples", "25",
                               "--exclude-checks", "positive_data_acceptance",
                               "--exclude-operation-id", "unloadModel")
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
            self.assertIn("29 passed", run.stdout)
            self.assertEqual(server.ask("GET", "/v2/health/ready")[0], 200)
            run = schemathesis(server, "--phases", "coverage,fuzzing", "--max-examples", "25",
                               "--include-operation-id", "unloadModel")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_events_are_a_stream(self):
        with Server() as server:
            connection = server.connect()
            connection.request("GET", "/v1/events")
            answer = connection.getresponse()
            self.assertEqual(answer.status, 200)
            self.assertTrue(answer.getheader("content-type").startswith("text/event-stream"))
            connection.close()


if __name__ == "__main__":
    unittest.main()
