"""KServe's REST client, in a process of its own: importing it changes logging and warns about its own parts."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from servers import Served

pytestmark = pytest.mark.skipif(importlib.util.find_spec("kserve") is None, reason="kserve has no release here")

SCRIPT = """
    import asyncio, sys
    import numpy as np
    from kserve import InferenceRESTClient, InferRequest, InferInput
    from kserve.inference_client import RESTConfig
    from kserve.protocol.infer_type import RequestedOutput

    url = sys.argv[1]

    def request(model, *tensors, binary, outputs=(), **options):
        inputs = []
        for name, x, datatype in tensors:
            given = InferInput(name, list(x.shape), datatype)
            given.set_data_from_numpy(x, binary_data=binary)
            inputs.append(given)
        return InferRequest(model, inputs, request_outputs=list(outputs), **options)

    async def main():
        client = InferenceRESTClient(RESTConfig(protocol="v2", timeout=30, retries=0, verbose=False))
        assert await client.is_server_live(url) is True
        assert await client.is_server_ready(url) is True
        assert await client.is_model_ready(url, "add") is True
        a, b = np.array([[1, 2, 3, 4]], np.float32), np.array([[10, 20, 30, 40]], np.float32)
        for binary in (False, True):
            answer = await client.infer(url, request("add", ("A", a, "FP32"), ("B", b, "FP32"), binary=binary,
                                                     request_id="7"), model_name="add")
            assert answer.outputs[0].as_numpy().tolist() == [[11, 22, 33, 44]], answer
            assert answer.id == "7" and answer.model_name == "add"
            for binary_out in (False, True):
                x = np.arange(6, dtype=np.float32).reshape(2, 3)
                wanted = [RequestedOutput(name, {"binary_data": binary_out}) for name in ("Z", "Y")]
                answer = await client.infer(url, request("two_outputs", ("X", x, "FP32"), binary=binary,
                                                         outputs=wanted), model_name="two_outputs")
                got = {output.name: output.as_numpy().tolist() for output in answer.outputs}
                assert got == {"Y": (x * 2).tolist(), "Z": (x + 1).tolist()}, got
            words = np.array([b"a", b"", "\\u00e9".encode()], dtype=object)
            answer = await client.infer(url, request("str", ("X", words, "BYTES"), binary=binary), model_name="str")
            got = [w if isinstance(w, bytes) else w.encode() for w in answer.outputs[0].as_numpy().tolist()]
            assert got == words.tolist(), got
        try:
            await client.infer(url, request("nothing", ("X", a, "FP32"), binary=True), model_name="nothing")
        except Exception as error:
            assert "404" in str(error), error
        else:
            raise AssertionError("no error for a model that is not there")
        many = [client.infer(url, request("add", ("A", a * i, "FP32"), ("B", b, "FP32"), binary=True),
                             model_name="add") for i in range(20)]
        for i, answer in enumerate(await asyncio.gather(*many)):
            assert answer.outputs[0].as_numpy().tolist() == (a * i + b).tolist()
        await client.close()

    asyncio.run(main())
    print("all is well")
"""


def test_kserve_s_rest_client(served: Served, run_script: Any, tmp_path: Path) -> None:
    done = run_script(SCRIPT, served.url, PYTHONWARNINGS="ignore", timeout_s=90)
    assert done.stdout.splitlines()[-1:] == ["all is well"], done.stderr[-3000:]
    assert done.returncode == 0
