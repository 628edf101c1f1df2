"""The Open Inference Protocol over gRPC, with tritonclient and the health and reflection clients as they come
from PyPI."""
import hashlib
import os
import socket
import subprocess
import tempfile
import threading
import time
import unittest

import grpc
import numpy as np
import tritonclient.grpc as triton
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from tritonclient.grpc import service_pb2, service_pb2_grpc
from tritonclient.utils import InferenceServerException

from forecasts import command_line_forecast, padded, sample_series
from server import SHIPPED, Server, refused

MODEL = "plinth-ts-0"
LEVELS = [0.05, 0.1, 0.5, 0.9]
SHOWN = ",".join(map(str, LEVELS))
SERVICE = "inference.GRPCInferenceService"


def tensor(name, values, datatype):
    made = triton.InferInput(name, list(values.shape), datatype)
    made.set_data_from_numpy(values)
    return made


def address(server):
    return f"127.0.0.1:{server.ports['grpc']}"


def one_row():
    return tensor("context", np.array([[1.0, 2.0, 4.0]]), "FP64")


def long_work():
    """Seconds of work for the engine."""
    rows = np.random.default_rng(1).normal(size=(300, 512))
    return [tensor("context", rows, "FP64")], {"horizon": 4000, "quantiles": "0.5"}


class OverGrpc(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(flags=["--limits-body-bytes", str(8 << 20)])
        cls.client = triton.InferenceServerClient(address(cls.server))
        cls.channel = grpc.insecure_channel(address(cls.server))
        cls.stub = service_pb2_grpc.GRPCInferenceServiceStub(cls.channel)

    @classmethod
    def tearDownClass(cls):
        cls.channel.close()
        cls.client.close()
        code = cls.server.stop()
        cls.server.__exit__()
        assert code == 0, code

    def refused(self, code, text, call, *arguments, **named):
        with self.assertRaises(InferenceServerException) as caught:
            call(*arguments, **named)
        self.assertEqual(caught.exception.status(), f"StatusCode.{code}")
        self.assertIn(text, caught.exception.message())

    def check(self, result, want, dtype=np.float64):
        np.testing.assert_array_equal(result.as_numpy("quantiles"), want[0].astype(dtype))
        np.testing.assert_array_equal(result.as_numpy("mean"), want[1].astype(dtype))

    def metric(self, wanted):
        """The sum of the lines of /metrics that begin so."""
        _, _, text = self.server.ask("GET", "/metrics")
        return sum(float(line.split()[-1]) for line in text.decode().splitlines() if line.startswith(wanted))

    def test_server_and_model(self):
        client = self.client
        self.assertTrue(client.is_server_live())
        self.assertTrue(client.is_server_ready())
        metadata = client.get_server_metadata()
        self.assertEqual((metadata.name, list(metadata.extensions)), ("plinth", ["binary_tensor_data"]))
        for version in ("", "1"):
            self.assertTrue(client.is_model_ready(MODEL, version))
            model = client.get_model_metadata(MODEL, version)
            self.assertEqual((model.name, list(model.versions), model.platform), (MODEL, ["1"], "plinth"))
            self.assertEqual([(t.name, t.datatype, list(t.shape)) for t in model.inputs],
                             [("context", "FP64", [-1, -1]), ("lengths", "INT64", [-1]), ("mask", "BOOL", [-1, -1])])
            self.assertEqual([(t.name, t.datatype, list(t.shape)) for t in model.outputs],
                             [("quantiles", "FP64", [-1, -1, -1]), ("mean", "FP64", [-1, -1])])
        self.assertFalse(client.is_model_ready("nobody"))
        self.assertFalse(client.is_model_ready(MODEL, "2"))
        self.refused("NOT_FOUND", 'no model is named "nobody"', client.get_model_metadata, "nobody")
        self.refused("NOT_FOUND", 'no version "2"', client.get_model_metadata, MODEL, "2")

    # 40 steps are one pass of the model, 150 are two.
    def test_values_are_those_of_the_command_line(self):
        series = sample_series()
        context, lengths = padded(series)
        inputs = [tensor("lengths", lengths, "INT64"), tensor("context", context, "FP64")]
        for horizon, most in ((40, None), (150, None), (7, 100)):
            parameters = {"horizon": horizon, "quantiles": SHOWN}
            if most:
                parameters["context_length"] = most
            result = self.client.infer(MODEL, inputs, parameters=parameters, request_id="a-1")
            self.check(result, command_line_forecast(series, horizon, LEVELS, most))
            response = result.get_response()
            self.assertEqual((response.id, response.model_name, response.model_version), ("a-1", MODEL, "1"))
            self.assertEqual(response.parameters["quantiles"].string_param, SHOWN)

    def test_single_precision_and_masks(self):
        series = [list(map(float, np.float32(s))) for s in sample_series(3)]
        want = command_line_forecast(series, 12, LEVELS)
        context, lengths = padded(series, np.float32)
        mask = ~np.isnan(context)
        result = self.client.infer(MODEL, [tensor("context", np.nan_to_num(context), "FP32"),
                                           tensor("lengths", lengths, "INT64"), tensor("mask", mask, "BOOL")],
                                   parameters={"horizon": 12, "quantiles": SHOWN})
        self.assertEqual(result.as_numpy("mean").dtype, np.float32)
        self.check(result, want, np.float32)

    # The form of tensors for clients that make no bytes.
    def test_typed_contents(self):
        series = sample_series(2)
        want = command_line_forecast(series, 12, LEVELS)
        context, lengths = padded(series)
        request = service_pb2.ModelInferRequest(model_name=MODEL, id="t")
        request.parameters["horizon"].int64_param = 12
        request.parameters["quantiles"].string_param = SHOWN
        for name, datatype, values, field in (
                ("context", "FP64", context, "fp64_contents"), ("lengths", "INT64", lengths, "int64_contents"),
                ("mask", "BOOL", np.ones(context.shape, bool), "bool_contents")):
            made = request.inputs.add(name=name, datatype=datatype, shape=values.shape)
            getattr(made.contents, field).extend(values.flatten().tolist())
        self.check(triton.InferResult(self.stub.ModelInfer(request)), want)
        request.inputs[0].contents.fp64_contents.pop()
        with self.assertRaises(grpc.RpcError) as caught:
            self.stub.ModelInfer(request)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)
        self.assertIn("inputs[0]: has", caught.exception.details())

    def test_outputs_are_those_asked_for(self):
        result = self.client.infer(MODEL, [one_row()], outputs=[triton.InferRequestedOutput("mean")],
                                   parameters={"horizon": 4})
        self.assertEqual([o.name for o in result.get_response().outputs], ["mean"])
        self.assertIsNone(result.as_numpy("quantiles"))
        self.assertEqual(result.as_numpy("mean").shape, (1, 4))

    def test_many_at_once_get_what_they_would_get_alone(self):
        series = sample_series(4, [60 + 7 * i for i in range(24)])
        bands, mean = command_line_forecast(series, 9, LEVELS)
        results, done = {}, threading.Semaphore(0)

        def keep(i):
            def callback(result, error):
                results[i] = error or result
                done.release()
            return callback

        for i, s in enumerate(series):
            self.client.async_infer(MODEL, [tensor("context", np.array([s]), "FP64")], keep(i), request_id=str(i),
                                    parameters={"horizon": 9, "quantiles": SHOWN})
        for _ in series:
            self.assertTrue(done.acquire(timeout=60))
        for i in range(len(series)):
            self.check(results[i], (bands[i:i + 1], mean[i:i + 1]))
            self.assertEqual(results[i].get_response().id, str(i))

    def test_what_comes_beside_the_answer(self):
        request = service_pb2.ServerLiveRequest()
        trace = "4bf92f3577b34da6a3ce929d0e0e4736"
        _, call = self.stub.ServerLive.with_call(
            request, metadata=[("x-request-id", "mine"), ("traceparent", f"00-{trace}-00f067aa0ba902b7-01")])
        beside = dict(call.trailing_metadata())
        self.assertEqual(beside["x-request-id"], "mine")
        self.assertTrue(beside["traceparent"].startswith(f"00-{trace}-"))
        self.assertEqual(beside["plinth-evidence"], "unproven")

    def test_errors(self):
        client, row = self.client, np.array([[1.0, 2.0]])
        context = tensor("context", row, "FP64")
        infer = client.infer
        self.refused("NOT_FOUND", 'no model is named "nobody"', infer, "nobody", [context])
        self.refused("NOT_FOUND", 'no version "7"', infer, MODEL, [context], model_version="7")
        self.refused("INVALID_ARGUMENT", "model_name: is missing", infer, "", [context])
        self.refused("INVALID_ARGUMENT", "context is FP64 or FP32", infer, MODEL,
                     [tensor("context", row.astype(np.int32), "INT32")])
        self.refused("INVALID_ARGUMENT", 'no input is named "past"', infer, MODEL, [tensor("past", row, "FP64")])
        self.refused("INVALID_ARGUMENT", "inputs: the input context is missing", infer, MODEL, [])
        self.refused("INVALID_ARGUMENT", "inputs[1].data[0]: is 3; an integer in [1, 2]", infer, MODEL,
                     [context, tensor("lengths", np.array([3]), "INT64")])
        self.refused("INVALID_ARGUMENT", 'no output is named "median"', infer, MODEL, [context],
                     outputs=[triton.InferRequestedOutput("median")])
        self.refused("INVALID_ARGUMENT", "classification: is not known", infer, MODEL, [context],
                     outputs=[triton.InferRequestedOutput("mean", class_count=2)])
        self.refused("INVALID_ARGUMENT", "parameters.horizon: is 0", infer, MODEL, [context],
                     parameters={"horizon": 0})
        self.refused("INVALID_ARGUMENT", "parameters.sequence_end: is not known", infer, MODEL, [context],
                     sequence_id=5)
        self.refused("FAILED_PRECONDITION", "horizon: 100000 is more than 65536", infer, MODEL, [context],
                     parameters={"horizon": 100000})
        self.refused("RESOURCE_EXHAUSTED", "values, the most that one answer may hold", infer, MODEL,
                     [tensor("context", np.ones((5000, 1)), "FP64")], parameters={"horizon": 65536})
        self.refused("DEADLINE_EXCEEDED", "time of this request ran out", infer, MODEL, [context], timeout=1)
        self.refused("RESOURCE_EXHAUSTED", "larger than max", infer, MODEL,
                     [tensor("context", np.zeros((300, 5000)), "FP64")])
        self.refused("UNIMPLEMENTED", "", client.get_model_config, MODEL)
        self.assertGreater(self.metric('plinth_requests_total{protocol="grpc",route="/inference.GRPCInferenceService'
                                       '/ModelInfer",status="3"'), 5)

    def test_health_and_reflection(self):
        health = health_pb2_grpc.HealthStub(self.channel)
        serving = health_pb2.HealthCheckResponse.SERVING
        for name in ("", SERVICE, MODEL):
            until = time.monotonic() + 5  # health follows within a moment
            while health.Check(health_pb2.HealthCheckRequest(service=name)).status != serving:
                self.assertLess(time.monotonic(), until)
                time.sleep(0.05)
        with self.assertRaises(grpc.RpcError) as caught:
            health.Check(health_pb2.HealthCheckRequest(service="nobody"))
        self.assertEqual(caught.exception.code(), grpc.StatusCode.NOT_FOUND)
        database = ProtoReflectionDescriptorDatabase(self.channel)
        self.assertIn(SERVICE, database.get_services())
        self.assertIn("grpc.health.v1.Health", database.get_services())
        described = DescriptorPool(database).FindServiceByName(SERVICE)
        # Ours is their protocol: every field has its number and type.
        theirs = service_pb2.DESCRIPTOR.services_by_name["GRPCInferenceService"]
        for method in described.methods:
            for side in ("input_type", "output_type"):
                ours = getattr(method, side)
                other = getattr(theirs.methods_by_name[method.name], side)
                self.assertEqual([(f.name, f.number, f.type) for f in ours.fields],
                                 [(f.name, f.number, f.type) for f in other.fields], ours.full_name)

    def test_what_nobody_waits_for_costs_nothing(self):
        inputs, parameters = long_work()
        cancelled = 'plinth_requests_total{protocol="grpc",route="/inference.GRPCInferenceService/ModelInfer",status="1"'
        before, errors = self.metric(cancelled), []
        call = self.client.async_infer(MODEL, inputs, lambda result, error: errors.append(error),
                                       parameters=parameters)
        while self.metric("plinth_running_requests") == 0 and not errors:
            time.sleep(0.01)
        call.cancel()
        until = time.monotonic() + 30
        while self.metric("plinth_running_requests") + self.metric("plinth_queue_requests") > 0:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)
        self.assertIn("CANCELLED", str(errors[0].status()))
        while self.metric(cancelled) == before:
            self.assertLess(time.monotonic(), until)
        # A client's deadline ends its work as well.
        self.refused("DEADLINE_EXCEEDED", "", self.client.infer, MODEL, inputs, parameters=parameters,
                     client_timeout=0.2)
        self.client.infer(MODEL, [one_row()], parameters={"horizon": 2}, client_timeout=60)

    def test_pings_of_idle_connections_are_borne(self):
        client = triton.InferenceServerClient(
            address(self.server), keepalive_options=triton.KeepAliveOptions(
                keepalive_time_ms=10_000, keepalive_timeout_ms=5_000, keepalive_permit_without_calls=True,
                http2_max_pings_without_data=0))
        self.assertTrue(client.is_server_live())
        client.close()

    def test_garbage_on_the_port_harms_nobody(self):
        for data in (b"GET / HTTP/1.1\r\n\r\n", b"\x00" * 5000, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 5000):
            with socket.create_connection(("127.0.0.1", self.server.ports["grpc"]), timeout=10) as connection:
                connection.sendall(data)
        # A message that is no message.
        call = self.channel.unary_unary(f"/{SERVICE}/ModelInfer", request_serializer=bytes,
                                        response_deserializer=bytes)
        for data in (b"\xff" * 100, b"\x0a\xff\xff\xff\xff\x0f", b"\x3a\x05abc"):
            with self.assertRaises(grpc.RpcError) as caught:
                call(data, timeout=10)
            # The library answers these itself, before the service sees anything.
            self.assertIn(caught.exception.code(), (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNIMPLEMENTED))
        self.assertTrue(self.client.is_server_live())


class Guarded(unittest.TestCase):
    def test_keys_and_scopes(self):
        with tempfile.TemporaryDirectory() as folder:
            keys = os.path.join(folder, "keys.toml")
            with open(keys, "w") as file:
                for name, scope in (("reader", "read"), ("caller", "infer")):
                    file.write(f'[[keys]]\nname = "{name}"\nscopes = ["{scope}"]\n'
                               f'sha256 = "{hashlib.sha256(name.encode()).hexdigest()}"\n')
            os.chmod(keys, 0o600)
            with Server(flags=["--access-keys", keys]) as server:
                with triton.InferenceServerClient(address(server)) as client:
                    def code(key, call, *arguments):
                        headers = {"authorization": f"Bearer {key}"} if key else {}
                        try:
                            call(*arguments, headers=headers)
                        except InferenceServerException as error:
                            return error.status().split(".")[1]
                        return "OK"

                    self.assertEqual(code("", client.is_server_live), "OK")
                    self.assertEqual(code("", client.get_model_metadata, MODEL), "UNAUTHENTICATED")
                    self.assertEqual(code("wrong", client.get_model_metadata, MODEL), "UNAUTHENTICATED")
                    self.assertEqual(code("reader", client.get_model_metadata, MODEL), "OK")
                    self.assertEqual(code("reader", lambda headers: client.infer(MODEL, [one_row()], headers=headers)),
                                     "PERMISSION_DENIED")
                    self.assertEqual(code("caller", lambda headers: client.infer(MODEL, [one_row()], headers=headers)),
                                     "OK")

    def test_mutual_tls(self):
        with tempfile.TemporaryDirectory() as folder:
            def openssl(*words):
                subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

            def certificate(name, common_name, signer=None, extra=()):
                openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                        f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={common_name}")
                with open(os.path.join(folder, "extensions"), "w") as file:
                    file.write("\n".join(extra) or "basicConstraints=CA:TRUE\n")
                by = ["-CA", f"{signer}.pem", "-CAkey", f"{signer}.key", "-CAcreateserial"] if signer else \
                    ["-signkey", f"{name}.key"]
                openssl("x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.pem", "-days", "2", "-extfile",
                        "extensions", *by)

            def read(name):
                with open(os.path.join(folder, name), "rb") as file:
                    return file.read()

            certificate("ca", "test authority")
            certificate("server", "localhost", "ca", ["subjectAltName=DNS:localhost,IP:127.0.0.1"])
            certificate("client", "gateway", "ca", ["basicConstraints=CA:FALSE"])
            certificate("stranger", "stranger", None, ["basicConstraints=CA:FALSE"])
            flags = ["--http-enabled", "false", "--http-tls-certificate", f"{folder}/server.pem", "--http-tls-key",
                     f"{folder}/server.key", "--http-tls-client-ca", f"{folder}/ca.pem"]
            server = Server(flags=flags, wait=False)
            with server:
                server.event("ready")
                live = service_pb2.ServerLiveRequest()

                def ask(name, authority="ca"):
                    mine = (read(f"{name}.key"), read(f"{name}.pem")) if name else (None, None)
                    credentials = grpc.ssl_channel_credentials(read(f"{authority}.pem"), *mine)
                    with grpc.secure_channel(f"localhost:{server.ports['grpc']}", credentials) as channel:
                        return service_pb2_grpc.GRPCInferenceServiceStub(channel).ServerLive(live, timeout=10).live

                self.assertTrue(ask("client"))
                # A new certificate is taken up without a restart.
                certificate("ca2", "another authority")
                certificate("server2", "localhost", "ca2", ["subjectAltName=DNS:localhost,IP:127.0.0.1"])
                for kind in ("key", "pem"):
                    os.replace(os.path.join(folder, f"server2.{kind}"), os.path.join(folder, f"server.{kind}"))
                until = time.monotonic() + 20
                while True:
                    try:
                        self.assertTrue(ask("client", "ca2"))
                        break
                    except grpc.RpcError:
                        self.assertLess(time.monotonic(), until)
                        time.sleep(0.2)
                for name in ("stranger", None):
                    with self.assertRaises(grpc.RpcError) as caught:
                        ask(name, "ca2")
                    self.assertEqual(caught.exception.code(), grpc.StatusCode.UNAVAILABLE)
                with self.assertRaises(grpc.RpcError), grpc.insecure_channel(address(server)) as channel:
                    service_pb2_grpc.GRPCInferenceServiceStub(channel).ServerLive(live, timeout=3)
            # A key of another certificate is refused at the start.
            code, line = refused(flags[:5] + [f"{folder}/client.key"], unproven=True)
            self.assertEqual(code, 2)
            self.assertIn("client.key", line)


class Starts(unittest.TestCase):
    def test_an_alias_names_a_model(self):
        config = f'[[models]]\nname = "small"\npath = "{SHIPPED}"\naliases = ["incumbent"]\n'
        with Server(config=config) as server, triton.InferenceServerClient(address(server)) as client:
            for name in ("small", "incumbent"):
                self.assertEqual(client.infer(name, [one_row()]).get_response().model_name, "small")
                self.assertTrue(client.is_model_ready(name))

    def test_a_port_that_is_taken(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            code, line = refused(["--grpc-port", str(port)], unproven=True)
        self.assertNotEqual(code, 0)
        self.assertIn(f"cannot listen on 127.0.0.1 port {port} for gRPC", line)

    def test_it_can_be_turned_off(self):
        with Server(flags=["--grpc-enabled", "false"]) as server:
            self.assertEqual(list(server.ports), ["http"])

    # What is in hand is answered, what comes later is not taken, and who watches health does not hold it up.
    def test_stopping_answers_what_is_in_hand(self):
        with Server() as server, triton.InferenceServerClient(address(server)) as client:
            watched = []
            with grpc.insecure_channel(address(server)) as channel:
                watch = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())

                def follow():
                    try:
                        watched.extend(message.status for message in watch)
                    except grpc.RpcError:
                        pass

                thread = threading.Thread(target=follow)
                thread.start()
                until = time.monotonic() + 10
                while health_pb2.HealthCheckResponse.SERVING not in watched:
                    self.assertLess(time.monotonic(), until)
                    time.sleep(0.02)
                rows = np.random.default_rng(1).normal(size=(64, 512))
                answers, done = [], threading.Event()

                def keep(result, error):
                    answers.append(error or result)
                    done.set()

                client.async_infer(MODEL, [tensor("context", rows, "FP64")], keep, parameters={"horizon": 2000})
                while b"plinth_running_requests 1" not in server.ask("GET", "/metrics")[2]:
                    self.assertFalse(done.is_set())
                self.assertEqual(server.stop(), 0)
                self.assertTrue(done.wait(10))
                self.assertEqual(answers[0].as_numpy("mean").shape, (64, 2000))
                thread.join(10)
            self.assertEqual(watched[-1], health_pb2.HealthCheckResponse.NOT_SERVING)


if __name__ == "__main__":
    unittest.main()
