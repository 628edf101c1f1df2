"""The Open Inference Protocol over HTTP, with tritonclient as it comes from PyPI and with plain requests."""
import concurrent.futures
import json
import math
import unittest

import numpy as np
import tritonclient.http as triton
from tritonclient.utils import InferenceServerException

from forecasts import command_line_forecast, padded, sample_series
from server import SHIPPED, Server

MODEL = "plinth-ts-0"
LEVELS = [0.05, 0.1, 0.5, 0.9]
SHOWN = ",".join(map(str, LEVELS))


def tensor(name, values, datatype, binary=True):
    made = triton.InferInput(name, list(values.shape), datatype)
    made.set_data_from_numpy(values, binary_data=binary)
    return made


class OverHttp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.client = triton.InferenceServerClient(f"127.0.0.1:{cls.server.port}", concurrency=8)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        code = cls.server.stop()
        cls.server.__exit__()
        assert code == 0, code

    def post(self, body, path=f"/v2/models/{MODEL}/infer", method="POST", **fields):
        """Status, fields and body of one plain request."""
        connection = self.server.connect()
        if not isinstance(body, (bytes, type(None))):
            body = json.dumps(body)
        connection.request(method, path, body, fields)
        response = connection.getresponse()
        answer = response.read()
        connection.close()
        return response.status, response.headers, answer

    def refused(self, status, text, call, *arguments, **named):
        with self.assertRaises(InferenceServerException) as caught:
            call(*arguments, **named)
        self.assertEqual(caught.exception.status(), str(status))
        self.assertIn(text, caught.exception.message())

    def check(self, result, want, dtype=np.float64):
        bands, mean = want
        np.testing.assert_array_equal(result.as_numpy("quantiles"), bands.astype(dtype))
        np.testing.assert_array_equal(result.as_numpy("mean"), mean.astype(dtype))

    def test_server_and_model(self):
        client = self.client
        self.assertTrue(client.is_server_live())
        self.assertTrue(client.is_server_ready())
        metadata = client.get_server_metadata()
        self.assertEqual(metadata["name"], "plinth")
        self.assertIn("binary_tensor_data", metadata["extensions"])
        for version in ("", "1"):
            self.assertTrue(client.is_model_ready(MODEL, version))
            model = client.get_model_metadata(MODEL, version)
            self.assertEqual((model["name"], model["versions"]), (MODEL, ["1"]))
            self.assertEqual([(t["name"], t["datatype"], t["shape"]) for t in model["inputs"]],
                             [("context", "FP64", [-1, -1]), ("lengths", "INT64", [-1]), ("mask", "BOOL", [-1, -1])])
            self.assertEqual([(t["name"], t["datatype"], t["shape"]) for t in model["outputs"]],
                             [("quantiles", "FP64", [-1, -1, -1]), ("mean", "FP64", [-1, -1])])
        self.assertFalse(client.is_model_ready("nobody"))
        self.assertFalse(client.is_model_ready(MODEL, "2"))
        self.refused(404, 'no model is named "nobody"', client.get_model_metadata, "nobody")
        self.refused(404, 'no version "2"', client.get_model_metadata, MODEL, "2")

    # 40 steps are one pass of the model, 150 are two.
    def test_values_are_those_of_the_command_line(self):
        series = sample_series()
        context, lengths = padded(series)
        for horizon, most in ((40, None), (150, None), (7, 100)):
            want = command_line_forecast(series, horizon, LEVELS, most)
            parameters = {"horizon": horizon, "quantiles": SHOWN}
            if most:
                parameters["context_length"] = most
            for binary_out in (True, False):
                result = self.client.infer(
                    MODEL, [tensor("context", context, "FP64"), tensor("lengths", lengths, "INT64")],
                    outputs=[triton.InferRequestedOutput(n, binary_data=binary_out) for n in ("quantiles", "mean")],
                    parameters=parameters, request_id="a-1")
                self.check(result, want)
                self.assertEqual(result.get_response()["id"], "a-1")
                self.assertEqual(result.get_response()["model_version"], "1")
                self.assertEqual(result.get_response()["parameters"]["quantiles"], SHOWN)

    def test_json_data_and_masks_say_the_same(self):
        series = sample_series(2)
        want = command_line_forecast(series, 12, LEVELS)
        context, lengths = padded(series)
        parameters = {"horizon": 12, "quantiles": SHOWN}
        # Gaps by mask; JSON has no NaN.
        mask = ~np.isnan(context)
        result = self.client.infer(
            MODEL, [tensor("context", np.nan_to_num(context, nan=777.0), "FP64", False),
                    tensor("lengths", lengths, "INT64", False), tensor("mask", mask, "BOOL", False)],
            parameters=parameters)
        self.check(result, want)
        # Some tensors in JSON, others behind it, in another order.
        result = self.client.infer(
            MODEL, [tensor("mask", mask, "BOOL"), tensor("lengths", lengths, "INT64", False),
                    tensor("context", context, "FP64")], parameters=parameters)
        self.check(result, want)
        # Gaps by null, nested and flat.
        nested = [[None if math.isnan(v) else v for v in row] for row in context.tolist()]
        for data in (nested, [v for row in nested for v in row]):
            status, fields, answer = self.post({
                "inputs": [{"name": "context", "datatype": "FP64", "shape": list(context.shape), "data": data},
                           {"name": "lengths", "datatype": "INT64", "shape": [len(series)], "data": lengths.tolist()}],
                "parameters": {"horizon": 12, "quantiles": LEVELS}})
            self.assertEqual(status, 200, answer)
            self.assertEqual(fields["plinth-evidence"], "unproven")
            outputs = {o["name"]: o for o in json.loads(answer)["outputs"]}
            self.assertEqual(outputs["quantiles"]["shape"], [len(series), 12, len(LEVELS)])
            np.testing.assert_array_equal(np.reshape(outputs["quantiles"]["data"], want[0].shape), want[0])
            np.testing.assert_array_equal(np.reshape(outputs["mean"]["data"], want[1].shape), want[1])

    # The series are rounded to FP32 on the way in, the forecasts on the way out.
    def test_single_precision(self):
        series = [list(map(float, np.float32(s))) for s in sample_series(3)]
        bands, mean = command_line_forecast(series, 12, LEVELS)
        context, lengths = padded(series, np.float32)
        for binary in (True, False):
            mask = ~np.isnan(context)
            result = self.client.infer(
                MODEL, [tensor("context", np.nan_to_num(context), "FP32", binary),
                        tensor("lengths", lengths, "INT64", binary), tensor("mask", mask, "BOOL", binary)],
                parameters={"horizon": 12, "quantiles": SHOWN})
            self.assertEqual(result.as_numpy("mean").dtype, np.float32)
            self.check(result, (bands, mean), np.float32)

    def test_outputs_are_those_asked_for(self):
        context = tensor("context", np.array([[1.0, 2.0, 3.0]]), "FP64")
        for binary in (True, False):
            result = self.client.infer(MODEL, [context], outputs=[triton.InferRequestedOutput("mean", binary)],
                                       parameters={"horizon": 4})
            self.assertEqual([o["name"] for o in result.get_response()["outputs"]], ["mean"])
            self.assertIsNone(result.as_numpy("quantiles"))
            self.assertEqual(result.as_numpy("mean").shape, (1, 4))
        result = self.client.infer(MODEL, [context], parameters={"horizon": 4})
        self.assertEqual(result.as_numpy("quantiles").shape, (1, 4, 9))
        self.assertNotIn("id", result.get_response())
        np.testing.assert_array_equal(result.as_numpy("quantiles")[:, :, 4], result.as_numpy("mean"))

    def test_many_at_once_get_what_they_would_get_alone(self):
        series = sample_series(4, [60 + 7 * i for i in range(24)])
        bands, mean = command_line_forecast(series, 9, LEVELS)
        calls = [self.client.async_infer(MODEL, [tensor("context", np.array([s]), "FP64")],
                                         parameters={"horizon": 9, "quantiles": SHOWN}, request_id=str(i))
                 for i, s in enumerate(series)]
        for i, call in enumerate(calls):
            result = call.get_result()
            self.assertEqual(result.get_response()["id"], str(i))
            self.check(result, (bands[i:i + 1], mean[i:i + 1]))

    def test_a_long_answer_comes_piece_by_piece(self):
        series = sample_series(5, [50] * 40)
        context, _ = padded(series)
        levels = [round(0.01 * (i + 1), 2) for i in range(99)]
        ask = {"inputs": [{"name": "context", "datatype": "FP64", "shape": list(context.shape),
                           "data": [[None if math.isnan(v) else v for v in row] for row in context.tolist()]}],
               "parameters": {"horizon": 96, "quantiles": levels}}
        status, fields, answer = self.post(ask)
        self.assertEqual(status, 200)
        self.assertEqual(fields.get("transfer-encoding"), "chunked")
        bands, _ = command_line_forecast(series, 96, levels)
        got = {o["name"]: o for o in json.loads(answer)["outputs"]}["quantiles"]
        np.testing.assert_array_equal(np.reshape(got["data"], got["shape"]), bands)

    def test_errors(self):
        client, one = self.client, np.array([[1.0, 2.0]])
        context = tensor("context", one, "FP64")
        self.refused(404, 'no model is named "nobody"', client.infer, "nobody", [context])
        self.refused(404, 'no version "7"', client.infer, MODEL, [context], model_version="7")
        self.refused(400, "context is FP64 or FP32", client.infer, MODEL,
                     [tensor("context", one.astype(np.int32), "INT32")])
        self.refused(400, 'no input is named "past"', client.infer, MODEL, [tensor("past", one, "FP64")])
        self.refused(400, "inputs[1].data[0]: is 3; an integer in [1, 2]", client.infer, MODEL,
                     [context, tensor("lengths", np.array([3]), "INT64")])
        self.refused(400, 'no output is named "median"', client.infer, MODEL, [context],
                     outputs=[triton.InferRequestedOutput("median")])
        self.refused(400, "parameters.horizon: is 0", client.infer, MODEL, [context], parameters={"horizon": 0})
        self.refused(409, "horizon: 100000 is more than 65536", client.infer, MODEL, [context],
                     parameters={"horizon": 100000})
        self.refused(400, "parameters.context_length: is 513", client.infer, MODEL, [context],
                     parameters={"context_length": 513})
        self.refused(400, "parameters.sequence_id: is not known", client.infer, MODEL, [context], sequence_id=5)
        self.refused(503, "values, the most that one answer may hold", client.infer, MODEL,
                     [tensor("context", np.ones((5000, 1)), "FP64")], parameters={"horizon": 65536})
        self.refused(415, "encoded as gzip", client.infer, MODEL, [context], request_compression_algorithm="gzip")
        self.refused(504, "time of this request ran out", client.infer, MODEL, [context], timeout=1)
        status, _, answer = self.post(b"{", path=f"/v2/models/{MODEL}/infer")
        self.assertEqual((status, list(json.loads(answer))[0]), (400, "error"))
        status, fields, _ = self.post(None, path=f"/v2/models/{MODEL}/infer", method="GET")
        self.assertEqual((status, "POST" in fields["allow"]), (405, True))

    def test_broken_binary_bodies(self):
        head = json.dumps({"inputs": [{"name": "context", "datatype": "FP64", "shape": [1, 2],
                                       "parameters": {"binary_data_size": 16}}]}).encode()
        name = "Inference-Header-Content-Length"
        good = {name: str(len(head))}
        data = np.array([1.0, 2.0]).tobytes()
        self.assertEqual(self.post(head + data, **good)[0], 200)
        for body, fields in ((head + data[:-1], good), (head + data + b"x", good), (head, good), (head + data, {}),
                             (head + data, {name: "0"}), (head + data, {name: "-1"}), (head + data, {name: "9999"}),
                             (head + data, {name: str(len(head) - 1)}), (head + data, {name: "12abc"})):
            status, _, answer = self.post(body, **fields)
            self.assertEqual(status, 400, answer)
            self.assertTrue(json.loads(answer)["error"])

    def test_other_requests_go_on_beside_bad_ones(self):
        context = tensor("context", np.array([[1.0, 2.0, 4.0]]), "FP64")
        want = self.client.infer(MODEL, [context]).as_numpy("mean")
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            bad = [pool.submit(self.post, b"\x00" * 1000) for _ in range(50)]
            good = [self.client.async_infer(MODEL, [context]) for _ in range(50)]
            for call in good:
                np.testing.assert_array_equal(call.get_result().as_numpy("mean"), want)
            self.assertEqual({b.result()[0] for b in bad}, {400})


class ByAlias(unittest.TestCase):
    def test_an_alias_names_a_model(self):
        config = f'[[models]]\nname = "small"\npath = "{SHIPPED}"\naliases = ["incumbent"]\n'
        with Server(config=config) as server, triton.InferenceServerClient(f"127.0.0.1:{server.port}") as client:
            context = tensor("context", np.array([[1.0, 2.0, 4.0]]), "FP64")
            for name in ("small", "incumbent"):
                result = client.infer(name, [context])
                self.assertEqual(result.get_response()["model_name"], "small")
                self.assertEqual(client.get_model_metadata(name)["name"], "small")
                self.assertTrue(client.is_model_ready(name))


if __name__ == "__main__":
    unittest.main()
