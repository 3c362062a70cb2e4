"""Triton's own HTTP client, unchanged: what it sends and what it expects of an answer."""

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tritonclient.http as triton
from servers import Served
from tritonclient.utils import InferenceServerException

DTYPES: dict[str, Any] = {
    "BOOL": np.bool_, "UINT8": np.uint8, "UINT16": np.uint16, "UINT32": np.uint32, "UINT64": np.uint64, "INT8": np.int8,
    "INT16": np.int16, "INT32": np.int32, "INT64": np.int64, "FP16": np.float16, "FP32": np.float32, "FP64": np.float64,
}  # fmt: skip


@pytest.fixture
def client(served: Served) -> Iterator[triton.InferenceServerClient]:
    client = triton.InferenceServerClient(served.url.removeprefix("http://"), connection_timeout=30, network_timeout=30)
    yield client
    client.close()


def tensor(name: str, x: np.ndarray, datatype: str, binary: bool = True) -> triton.InferInput:
    made = triton.InferInput(name, list(x.shape), datatype)
    made.set_data_from_numpy(x, binary_data=binary)
    return made


def wanted(*names: str, binary: bool = True, **options: Any) -> list[triton.InferRequestedOutput]:
    return [triton.InferRequestedOutput(name, binary_data=binary, **options) for name in names]


FORMS = [(False, False), (False, True), (True, False), (True, True)]


@pytest.mark.parametrize("datatype", DTYPES)
@pytest.mark.parametrize("forms", FORMS)
def test_every_type(datatype: str, forms: tuple[bool, bool], client: triton.InferenceServerClient) -> None:
    binary_in, binary_out = forms
    if datatype == "FP16" and not binary_in:
        return  # the client itself refuses it
    x = np.arange(6).reshape(2, 3).astype(DTYPES[datatype])
    name = f"id_{datatype.lower()}"
    result = client.infer(name, [tensor("X", x, datatype, binary_in)], outputs=wanted("Y", binary=binary_out))
    y = result.as_numpy("Y")
    assert y.dtype == x.dtype
    assert y.tolist() == x.tolist()


@pytest.mark.parametrize("forms", FORMS)
def test_strings(forms: tuple[bool, bool], client: triton.InferenceServerClient) -> None:
    binary_in, binary_out = forms
    x = np.array(["a\0b", "", "é", "😀" * 1000], dtype=object)
    result = client.infer("str", [tensor("X", x, "BYTES", binary_in)], outputs=wanted("Y", binary=binary_out))
    y = [v if isinstance(v, str) else v.decode() for v in result.as_numpy("Y").tolist()]
    assert y == x.tolist()


def test_bytes_that_are_no_text(client: triton.InferenceServerClient) -> None:
    x = np.array([b"\xff\xfe", b"\0"], dtype=object)
    assert client.infer("str", [tensor("X", x, "BYTES")]).as_numpy("Y").tolist() == x.tolist()


def test_bf16(client: triton.InferenceServerClient) -> None:
    x = np.array([[1.0, -2.5]], ml_dtypes.bfloat16)
    y = client.infer("id_bf16", [tensor("X", x, "BF16")]).as_numpy("Y")
    assert y.astype(np.float32).tolist() == [[1.0, -2.5]]


def test_several_inputs_and_an_id(client: triton.InferenceServerClient) -> None:
    a, b = np.array([[1, 2, 3, 4]], np.float32), np.array([[10, 20, 30, 40]], np.float32)
    for binary in ((True, True), (True, False), (False, True)):
        inputs = [tensor("B", b, "FP32", binary[0]), tensor("A", a, "FP32", binary[1])]
        result = client.infer("add", inputs, request_id="42", model_version="1", timeout=20_000_000)
        assert result.as_numpy("Y").tolist() == (a + b).tolist()
        response = result.get_response()
        assert (response["id"], response["model_name"], response["model_version"]) == ("42", "add", "1")


def test_several_outputs(client: triton.InferenceServerClient) -> None:
    x = np.array([[1, 2], [3, 4]], np.float32)
    outputs = [*wanted("Z"), *wanted("Y", binary=False)]
    result = client.infer("two_outputs", [tensor("X", x, "FP32")], outputs=outputs)
    assert result.as_numpy("Y").tolist() == (x * 2).tolist()
    assert result.as_numpy("Z").tolist() == (x + 1).tolist()
    assert result.as_numpy("nope") is None


def test_empty_tensors_and_scalars(client: triton.InferenceServerClient) -> None:
    for shape in ((0, 2), (2, 0)):
        result = client.infer("id_fp32", [tensor("X", np.zeros(shape, np.float32), "FP32")])
        assert result.as_numpy("Y").shape == shape
    assert client.infer("scalar", [tensor("X", np.array(2.5, np.float32), "FP32")]).as_numpy("Y").tolist() == 5


def test_classification(client: triton.InferenceServerClient) -> None:
    x = np.array([[0.1, 0.7, 0.2], [9, -1, 3]], np.float32)
    for binary in (True, False):
        outputs = wanted("Y", binary=binary, class_count=2)
        got = client.infer("id_fp32", [tensor("X", x, "FP32")], outputs=outputs).as_numpy("Y")
        texts = [[v if isinstance(v, str) else v.decode() for v in row] for row in got.tolist()]
        pairs = [[(float(v.split(":")[0]), int(v.split(":")[1])) for v in row] for row in texts]
        assert [[index for _, index in row] for row in pairs] == [[1, 2], [0, 2]]
        assert np.allclose([[value for value, _ in row] for row in pairs], [[0.7, 0.2], [9, 3]])


def test_classification_at_its_edges(client: triton.InferenceServerClient) -> None:
    x = np.array([[3, 1, 2]], np.float32)
    got = client.infer("id_fp32", [tensor("X", x, "FP32")], outputs=wanted("Y", class_count=100)).as_numpy("Y")
    assert [v.decode().split(":")[1] for v in got[0]] == ["0", "2", "1"]
    ties = np.zeros((1, 4), np.int64)
    got = client.infer("id_int64", [tensor("X", ties, "INT64")], outputs=wanted("Y", class_count=2)).as_numpy("Y")
    assert [v.decode().split(":")[1] for v in got[0]] == ["0", "1"]
    strange = np.array([[np.nan, -np.inf, np.inf, 1]], np.float32)
    got = client.infer("id_fp32", [tensor("X", strange, "FP32")], outputs=wanted("Y", class_count=4)).as_numpy("Y")
    assert [v.decode().split(":")[1] for v in got[0]] == ["2", "3", "1", "0"]
    empty = np.zeros((1, 0), np.float32)
    got = client.infer("id_fp32", [tensor("X", empty, "FP32")], outputs=wanted("Y", class_count=4)).as_numpy("Y")
    assert got.shape == (1, 0)
    with pytest.raises(InferenceServerException, match="BYTES"):
        client.infer("str", [tensor("X", np.array(["a"], object), "BYTES")], outputs=wanted("Y", class_count=1))


def test_health_metadata_configuration_and_statistics(client: triton.InferenceServerClient) -> None:
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.is_model_ready("add")
    assert client.is_model_ready("add", "1")
    assert not client.is_model_ready("add", "2")
    assert not client.is_model_ready("nothing")
    assert client.get_server_metadata()["name"] == "asio_infer"
    assert client.get_model_metadata("add")["inputs"][0]["shape"] == [-1, 4]
    assert client.get_model_metadata("two", "1")["outputs"][1]["name"] == "Z"
    assert client.get_model_config("add")["max_batch_size"] == 32
    before = client.get_inference_statistics("add")["model_stats"][0]["inference_count"]
    x = np.zeros((3, 4), np.float32)
    client.infer("add", [tensor("A", x, "FP32"), tensor("B", x, "FP32")])
    assert client.get_inference_statistics("add", "1")["model_stats"][0]["inference_count"] == before + 3
    assert len(client.get_inference_statistics()["model_stats"]) > 10
    assert client.is_model_ready("a b")
    assert client.get_model_metadata("äöü")["name"] == "äöü"


def test_errors_reach_the_caller(client: triton.InferenceServerClient) -> None:
    x = np.zeros((1, 4), np.float32)
    with pytest.raises(InferenceServerException, match="nothing") as caught:
        client.infer("nothing", [tensor("A", x, "FP32")])
    assert caught.value.status() == "404"
    with pytest.raises(InferenceServerException, match="'B'") as caught:
        client.infer("add", [tensor("A", x, "FP32")])
    assert caught.value.status() == "400"
    with pytest.raises(InferenceServerException) as caught:
        client.infer("gather", [tensor("IDX", np.array([77]), "INT64")])
    assert caught.value.status() == "500"


def test_what_is_not_served_is_a_clean_error(client: triton.InferenceServerClient) -> None:
    for call in (
        client.get_model_repository_index,
        client.get_trace_settings,
        client.get_log_settings,
        client.get_system_shared_memory_status,
        client.get_cuda_shared_memory_status,
        lambda: client.load_model("add"),
        lambda: client.unload_model("add"),
    ):
        with pytest.raises(InferenceServerException):
            call()
    assert client.is_model_ready("add")


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_compressed_answers(coding: str, client: triton.InferenceServerClient) -> None:
    x = np.full((1, 5000), 0.5, np.float32)
    for binary in (True, False):
        result = client.infer(
            "id_fp32",
            [tensor("X", x, "FP32")],
            outputs=wanted("Y", binary=binary),
            response_compression_algorithm=coding,
        )
        assert result.as_numpy("Y").tolist() == x.tolist()


def test_many_at_once(served: Served) -> None:
    with triton.InferenceServerClient(served.url.removeprefix("http://"), concurrency=8) as client:
        inputs = [np.full((1, 4), i, np.float32) for i in range(100)]
        calls = [client.async_infer("add", [tensor("A", x, "FP32"), tensor("B", x, "FP32")]) for x in inputs]
        for x, call in zip(inputs, calls, strict=True):
            assert call.get_result().as_numpy("Y").tolist() == (x + x).tolist()


def test_a_large_tensor(client: triton.InferenceServerClient) -> None:
    x = np.random.default_rng(0).standard_normal((16, 100_000)).astype(np.float32)
    assert np.array_equal(client.infer("id_fp32", [tensor("X", x, "FP32")]).as_numpy("Y"), x)


def test_a_body_written_by_the_client_s_own_helper(served: Served) -> None:
    """`generate_request_body` and `parse_response_body`, as in Triton's examples with other HTTP libraries."""
    import requests

    x = np.array([[1, 2, 3, 4]], np.float32)
    body, length = triton.InferenceServerClient.generate_request_body(
        [tensor("A", x, "FP32"), tensor("B", x, "FP32")], outputs=wanted("Y")
    )
    answer = requests.post(
        f"{served.url}/v2/models/add/infer",
        data=body,
        headers={"Inference-Header-Content-Length": str(length), "Content-Type": "application/octet-stream"},
        timeout=30,
    )
    header = int(answer.headers["Inference-Header-Content-Length"])
    result = triton.InferenceServerClient.parse_response_body(answer.content, header_length=header)
    assert result.as_numpy("Y").tolist() == (x + x).tolist()


def test_triton_s_asyncio_client(served: Served) -> None:
    import asyncio

    from tritonclient.http import aio

    async def run() -> None:
        async with aio.InferenceServerClient(served.url.removeprefix("http://")) as client:
            assert await client.is_server_ready()
            x = np.array([[1, 2, 3, 4]], np.float32)

            async def one(i: int) -> list[Any]:
                result = await client.infer("add", [tensor("A", x * i, "FP32"), tensor("B", x, "FP32")])
                return list(result.as_numpy("Y").tolist())

            assert await asyncio.gather(*map(one, range(20))) == [(x * i + x).tolist() for i in range(20)]

    asyncio.run(run())
