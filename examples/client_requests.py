#!/usr/bin/env python3
"""Ask a running server with `requests`, in JSON: reads what the model takes, sends zeros, prints what came.

client_requests.py --url http://127.0.0.1:8000 --model magika
"""

from __future__ import annotations

import argparse
import math

import requests


def main() -> None:
    """Send one request of the Open Inference Protocol and print the answer."""
    parser = argparse.ArgumentParser(description="Ask a running server with requests, in JSON.")
    parser.add_argument("--url", default="http://127.0.0.1:8000", help="the server (default: %(default)s)")
    parser.add_argument("--model", default="magika", help="the model's name there (default: %(default)s)")
    arguments = parser.parse_args()

    with requests.Session() as session:
        model = f"{arguments.url}/v2/models/{arguments.model}"
        answer = session.get(model, timeout=10)
        answer.raise_for_status()
        metadata = answer.json()

        inputs = []
        for tensor in metadata["inputs"]:
            shape = [1 if size == -1 else size for size in tensor["shape"]]  # -1 is a dimension of any size
            zero = {"BOOL": False, "BYTES": ""}.get(tensor["datatype"], 0)
            data = [zero] * math.prod(shape)
            inputs.append({"name": tensor["name"], "datatype": tensor["datatype"], "shape": shape, "data": data})
            print(f"sent     {tensor['name']}: {tensor['datatype']} {shape}")

        answer = session.post(f"{model}/infer", json={"inputs": inputs}, timeout=60)
        if not answer.ok:
            raise SystemExit(f"the server answered {answer.status_code}: {answer.text}")
        for output in answer.json()["outputs"]:
            print(f"received {output['name']}: {output['datatype']} {output['shape']}, first {output['data'][:4]}")


if __name__ == "__main__":
    try:
        main()
    except requests.RequestException as error:
        raise SystemExit(f"client_requests.py: {error}") from None
