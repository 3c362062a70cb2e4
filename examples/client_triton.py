#!/usr/bin/env python3
"""Ask a running server with Triton's client, in binary: reads what the model takes, sends zeros, prints what came.

client_triton.py --url http://127.0.0.1:8000 --model magika
"""

from __future__ import annotations

import argparse
import urllib.parse

import numpy as np
import tritonclient.http as triton
from tritonclient.utils import InferenceServerException, triton_to_np_dtype


def main() -> None:
    """Send one request with binary tensors in both directions and print the answer."""
    parser = argparse.ArgumentParser(description="Ask a running server with Triton's client, in binary tensors.")
    parser.add_argument("--url", default="http://127.0.0.1:8000", help="the server (default: %(default)s)")
    parser.add_argument("--model", default="magika", help="the model's name there (default: %(default)s)")
    arguments = parser.parse_args()

    url = urllib.parse.urlsplit(arguments.url)
    with triton.InferenceServerClient(url.netloc, ssl=url.scheme == "https") as client:
        metadata = client.get_model_metadata(arguments.model)

        inputs = []
        for tensor in metadata["inputs"]:
            shape = [1 if size == -1 else size for size in tensor["shape"]]  # -1 is a dimension of any size
            if tensor["datatype"] == "BYTES":
                data = np.full(shape, b"", np.object_)
            else:
                data = np.zeros(shape, triton_to_np_dtype(tensor["datatype"]))
            inputs.append(triton.InferInput(tensor["name"], shape, tensor["datatype"]))
            inputs[-1].set_data_from_numpy(data, binary_data=True)
            print(f"sent     {tensor['name']}: {tensor['datatype']} {shape}")
        outputs = [triton.InferRequestedOutput(tensor["name"], binary_data=True) for tensor in metadata["outputs"]]

        answer = client.infer(arguments.model, inputs, outputs=outputs)
        for output in answer.get_response()["outputs"]:
            values = answer.as_numpy(output["name"])
            print(f"received {output['name']}: {output['datatype']} {list(values.shape)}, first {values.ravel()[:4]}")


if __name__ == "__main__":
    try:
        main()
    except (InferenceServerException, OSError) as error:
        raise SystemExit(f"client_triton.py: {error}") from None
