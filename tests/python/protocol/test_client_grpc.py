"""gRPC clients, unchanged: Triton's (plain, asyncio, streams), grpcio with stubs of its own, health and reflection."""

import asyncio
import queue
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
import tritonclient.grpc as triton
import tritonclient.grpc.aio as triton_aio
import tritonclient.http as triton_http
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from servers import Served, StartServer
from test_client_triton import DTYPES
from tritonclient.grpc import service_pb2, service_pb2_grpc
from tritonclient.utils import InferenceServerException

MIB = 1 << 20
UNLIMITED = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]


def target(served: Served) -> str:
    return f"{served.address[0]}:{served.address[1]}"


@pytest.fixture
def client(served: Served) -> Iterator[triton.InferenceServerClient]:
    with triton.InferenceServerClient(target(served)) as client:
        yield client


@pytest.fixture
def stub(served: Served) -> Iterator[Any]:
    with grpc.insecure_channel(target(served), options=UNLIMITED) as channel:
        yield service_pb2_grpc.GRPCInferenceServiceStub(channel)


def tensor(name: str, x: np.ndarray, datatype: str) -> triton.InferInput:
    made = triton.InferInput(name, list(x.shape), datatype)
    made.set_data_from_numpy(x)
    return made


@pytest.mark.parametrize("datatype", DTYPES)
def test_every_type(datatype: str, client: triton.InferenceServerClient) -> None:
    x = np.arange(6).reshape(2, 3).astype(DTYPES[datatype])
    y = client.infer(f"id_{datatype.lower()}", [tensor("X", x, datatype)]).as_numpy("Y")
    assert y.dtype == x.dtype
    assert y.tolist() == x.tolist()


def test_strings_empty_tensors_and_scalars(client: triton.InferenceServerClient) -> None:
    x = np.array([b"a\0b", b"", "é".encode(), b"\xff\xfe", b"x" * 2 * MIB], dtype=object)
    assert client.infer("str", [tensor("X", x, "BYTES")]).as_numpy("Y").tolist() == x.tolist()
    for shape in ((0, 2), (2, 0)):
        y = client.infer("id_fp32", [tensor("X", np.zeros(shape, np.float32), "FP32")]).as_numpy("Y")
        assert y.shape == shape
    assert client.infer("scalar", [tensor("X", np.array(2.5, np.float32), "FP32")]).as_numpy("Y").tolist() == 5


def test_bits_are_kept(client: triton.InferenceServerClient) -> None:
    x = np.array([[np.nan, np.inf, -np.inf, -0.0, 1e-45]], np.float32)
    assert client.infer("id_fp32", [tensor("X", x, "FP32")]).as_numpy("Y").tobytes() == x.tobytes()
    n = np.array([[9007199254740993, 2**63 - 1, -(2**63)]], np.int64)
    assert client.infer("id_int64", [tensor("X", n, "INT64")]).as_numpy("Y").tolist() == n.tolist()


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_compressed_requests(coding: str, client: triton.InferenceServerClient) -> None:
    x = np.full((1, 5000), 0.5, np.float32)
    result = client.infer("id_fp32", [tensor("X", x, "FP32")], compression_algorithm=coding)
    assert result.as_numpy("Y").tolist() == x.tolist()


def test_ids_and_classification(client: triton.InferenceServerClient) -> None:
    x = np.array([[0.1, 0.7, 0.2]], np.float32)
    wanted = [triton.InferRequestedOutput("Y", class_count=2)]
    result = client.infer("id_fp32", [tensor("X", x, "FP32")], outputs=wanted, request_id="42", model_version="1")
    assert [text.decode().split(":")[1] for text in result.as_numpy("Y")[0]] == ["1", "2"]
    assert (result.get_response().id, result.get_response().model_version) == ("42", "1")


def test_it_says_what_the_http_client_says(served: Served, client: triton.InferenceServerClient) -> None:
    with triton_http.InferenceServerClient(target(served)) as http:
        assert client.is_server_live()
        assert client.is_server_ready()
        assert client.is_model_ready("add")
        assert client.get_server_metadata(as_json=True)["extensions"] == http.get_server_metadata()["extensions"]
        ours, theirs = client.get_model_metadata("add", as_json=True), http.get_model_metadata("add")
        assert [t["name"] for t in ours["inputs"]] == [t["name"] for t in theirs["inputs"]]
        assert ours["platform"] == theirs["platform"]
        config = client.get_model_config("add", as_json=True)["config"]
        assert config["max_batch_size"] == http.get_model_config("add")["max_batch_size"]
        counts = client.get_inference_statistics("add", as_json=True)["model_stats"][0]
        assert counts["name"] == "add"


def test_errors_have_the_code_and_the_text_of_http(served: Served, client: triton.InferenceServerClient) -> None:
    x = np.zeros((1, 4), np.float32)
    add = [tensor("A", x, "FP32"), tensor("B", x, "FP32")]
    cases: list[tuple[str, Any, dict[str, Any]]] = [
        ("nope", add, {}),
        ("add", add, {"model_version": "9"}),
        ("add", add[:1], {}),
        ("add", [tensor("A", x, "FP32"), tensor("Z", x, "FP32")], {}),
        ("add", [tensor("A", x.astype(np.int32), "INT32"), tensor("B", x, "FP32")], {}),
    ]
    codes = {"400": "INVALID_ARGUMENT", "404": "NOT_FOUND"}
    with triton_http.InferenceServerClient(target(served)) as http:
        for model, inputs, options in cases:
            with pytest.raises(InferenceServerException) as over_grpc:
                client.infer(model, inputs, **options)
            body = []
            for each in inputs:
                made = triton_http.InferInput(each.name(), list(each.shape()), each.datatype())
                made.set_data_from_numpy(np.zeros(each.shape(), np.int32 if each.datatype() == "INT32" else np.float32))
                body.append(made)
            with pytest.raises(InferenceServerException) as over_http:
                http.infer(model, body, **options)
            assert over_grpc.value.message() == over_http.value.message()
            assert over_grpc.value.status() == f"StatusCode.{codes[over_http.value.status()]}"


def test_large_messages(stub: Any) -> None:
    x = np.random.default_rng(0).random((1, 4 * MIB), np.float32)
    request = service_pb2.ModelInferRequest(model_name="echo", raw_input_contents=[x.tobytes()])
    request.inputs.add(name="INPUT0", datatype="FP32", shape=x.shape)
    for _ in range(3):
        assert stub.ModelInfer(request).raw_output_contents[0] == x.tobytes()
    small = service_pb2.ModelInferRequest(model_name="echo", raw_input_contents=[x.tobytes()[:MIB]])
    small.inputs.add(name="INPUT0", datatype="FP32", shape=[1, MIB // 4])
    waiting = [stub.ModelInfer.future(small) for _ in range(32)]
    assert all(each.result().raw_output_contents[0] == x.tobytes()[:MIB] for each in waiting)


def test_a_message_over_the_limit(stub: Any) -> None:
    request = service_pb2.ModelInferRequest(model_name="echo", raw_input_contents=[bytes(65 * MIB)])
    request.inputs.add(name="INPUT0", datatype="FP32", shape=[1, 65 * MIB // 4])
    with pytest.raises(grpc.RpcError) as caught:
        stub.ModelInfer(request)
    assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert f"{request.ByteSize()} bytes; the limit is {64 * MIB}" in caught.value.details()
    assert stub.ServerLive(service_pb2.ServerLiveRequest()).live


def contents(**typed: Any) -> service_pb2.ModelInferRequest:
    request = service_pb2.ModelInferRequest(model_name="add")
    for name in ("A", "B"):
        request.inputs.add(name=name, datatype="FP32", shape=[1, 4])
    for each in request.inputs:
        for field, values in typed.items():
            getattr(each.contents, field).extend(values)
    return request


def test_w13_typed_and_raw_contents_are_equal(stub: Any) -> None:
    typed = contents(fp32_contents=[1, 2, 3, 4])
    raw = contents()
    raw.raw_input_contents.extend([np.array([1, 2, 3, 4], np.float32).tobytes()] * 2)
    beside = contents()
    beside.CopyFrom(raw)
    beside.inputs[0].contents.SetInParent()  # an empty message counts as none
    answers = [stub.ModelInfer(each).raw_output_contents[0] for each in (typed, raw, beside)]
    assert answers == [np.array([2, 4, 6, 8], np.float32).tobytes()] * 3


@pytest.mark.parametrize(
    "case", ["one raw", "three raw", "both", "wrong field", "too few", "no datatype", "fp16 typed"]
)
def test_w13_contents_that_do_not_fit(case: str, stub: Any) -> None:
    row = np.array([1, 2, 3, 4], np.float32).tobytes()
    request = contents(**{"fp32_contents": [1, 2, 3] if case == "too few" else [1, 2, 3, 4]})
    if case in ("one raw", "three raw"):
        request = contents()
        request.raw_input_contents.extend([row] * (1 if case == "one raw" else 3))
    elif case == "both":
        request.raw_input_contents.extend([row, row])
    elif case == "wrong field":
        request = contents(int_contents=[1, 2, 3, 4])
    elif case == "no datatype":
        request.inputs[0].datatype = ""
    elif case == "fp16 typed":
        request.inputs[0].datatype = "FP16"
    with pytest.raises(grpc.RpcError) as caught:
        stub.ModelInfer(request)
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert caught.value.details()


@pytest.mark.parametrize(
    "shape",
    [[-1, 4], [-2, -2], [2**32, 2**32], [2**61, 2], [2**63 - 1], [1] * 1000],
    ids=lambda shape: str(shape[:2]),
)
def test_t1_dimensions_that_cannot_be(shape: list[int], stub: Any) -> None:
    request = service_pb2.ModelInferRequest(model_name="id_fp32", raw_input_contents=[b""])
    request.inputs.add(name="X", datatype="FP32", shape=shape)
    with pytest.raises(grpc.RpcError) as caught:
        stub.ModelInfer(request)
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT


def test_unknown_methods_and_bad_messages(served: Served) -> None:
    with grpc.insecure_channel(target(served)) as channel:
        for path, message, code in (
            ("/inference.GRPCInferenceService/RepositoryIndex", b"", grpc.StatusCode.UNIMPLEMENTED),
            ("/no.such.Service/Method", b"", grpc.StatusCode.UNIMPLEMENTED),
            ("/inference.GRPCInferenceService/ModelInfer", b"\xff\xff", grpc.StatusCode.INVALID_ARGUMENT),
            ("/inference.GRPCInferenceService/ModelInfer", b"", grpc.StatusCode.INVALID_ARGUMENT),
            ("/inference.GRPCInferenceService/ModelMetadata", b"\n\x05\xc3\xa9\n\t\x00", grpc.StatusCode.NOT_FOUND),
        ):
            with pytest.raises(grpc.RpcError) as caught:
                channel.unary_unary(path)(message, timeout=10)
            assert caught.value.code() == code, (path, caught.value.details())


def test_streams(client: triton.InferenceServerClient) -> None:
    got: queue.Queue[Any] = queue.Queue()
    client.start_stream(lambda result, error: got.put((result, error)))
    x = np.array([[1, 2]], np.float32)
    for i in range(500):
        client.async_stream_infer("id_fp32", [tensor("X", x + i, "FP32")], request_id=str(i))
    client.async_stream_infer("nope", [tensor("X", x, "FP32")], request_id="bad")
    client.async_stream_infer("id_fp32", [tensor("X", x, "FP32")], request_id="after")
    seen, failed = {}, []
    for _ in range(502):
        result, error = got.get(timeout=30)
        if error is not None:
            failed.append(str(error))
        else:
            seen[result.get_response().id] = result.as_numpy("Y").tolist()
    assert len(failed) == 1
    assert "nope" in failed[0]
    assert {int(key): value for key, value in seen.items() if key != "after"} == {
        i: (x + i).tolist() for i in range(500)
    }
    client.stop_stream()


def test_a_stream_that_ends_with_a_status(client: triton.InferenceServerClient) -> None:
    got: queue.Queue[Any] = queue.Queue()
    client.start_stream(lambda result, error: got.put((result, error)), headers={"triton_grpc_error": "true"})
    client.async_stream_infer("nope", [tensor("X", np.zeros((1, 2), np.float32), "FP32")])
    _, error = got.get(timeout=30)
    assert error.status() == "StatusCode.NOT_FOUND"
    client.stop_stream()


def test_asyncio(served: Served) -> None:
    async def run() -> None:
        async with triton_aio.InferenceServerClient(target(served)) as client:
            x = np.array([[1, 2]], np.float32)
            results = await asyncio.gather(*(client.infer("id_fp32", [tensor("X", x + i, "FP32")]) for i in range(100)))
            assert [each.as_numpy("Y").tolist() for each in results] == [(x + i).tolist() for i in range(100)]

            async def requests() -> Any:
                for i in range(10):
                    yield {"model_name": "id_fp32", "inputs": [tensor("X", x, "FP32")], "request_id": str(i)}

            ids = {result.get_response().id async for result, error in client.stream_infer(requests()) if not error}
            assert ids == {str(i) for i in range(10)}

    asyncio.run(run())


def test_deadlines_and_cancellation(start_server: StartServer) -> None:
    server = start_server(
        {"name": "slow", "identity": {"shape": [-1, -1], "delay_s": 5}}, {"name": "echo", "identity": {}}
    )
    with grpc.insecure_channel(target(server)) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        request = service_pb2.ModelInferRequest(model_name="slow", raw_input_contents=[bytes(4)])
        request.inputs.add(name="INPUT0", datatype="FP32", shape=[1, 1])
        with pytest.raises(grpc.RpcError) as caught:
            stub.ModelInfer(request, timeout=0.2)
        assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
        call = stub.ModelInfer.future(request)
        call.cancel()
        request.model_name = "echo"
        assert stub.ModelInfer(request, timeout=10).raw_output_contents[0] == bytes(4)


def test_health_and_reflection(start_server: StartServer) -> None:
    server = start_server({"name": "echo", "identity": {}})
    with grpc.insecure_channel(target(server)) as channel:
        health = health_pb2_grpc.HealthStub(channel)
        assert health.Check(health_pb2.HealthCheckRequest()).status == health_pb2.HealthCheckResponse.SERVING
        with pytest.raises(grpc.RpcError) as caught:
            health.Check(health_pb2.HealthCheckRequest(service="no.such"))
        assert caught.value.code() == grpc.StatusCode.NOT_FOUND
        database = ProtoReflectionDescriptorDatabase(channel)
        assert "inference.GRPCInferenceService" in database.get_services()
        found = database.FindFileContainingSymbol("inference.ModelInferRequest")
        assert any(message.name == "ModelInferRequest" for message in found.message_type)
        watched = health.Watch(health_pb2.HealthCheckRequest())
        assert next(watched).status == health_pb2.HealthCheckResponse.SERVING
        stopper = threading.Thread(target=server.stop)
        stopper.start()
        assert next(watched).status == health_pb2.HealthCheckResponse.NOT_SERVING
        with pytest.raises(grpc.RpcError) as caught:
            next(watched)
        assert caught.value.code() == grpc.StatusCode.UNAVAILABLE
        stopper.join()


def test_descriptors_are_up_to_date() -> None:
    import subprocess
    import sys

    tool = Path(__file__).parents[3] / "tools/make_descriptors.py"
    assert subprocess.run([sys.executable, tool, "--check"]).returncode == 0
