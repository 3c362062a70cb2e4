#!/usr/bin/env python3
"""Serve a model with three lines of Python and use it in the same process.

    quickstart.py                                     serves on a free port, asks once, stops
    quickstart.py --keep --url http://127.0.0.1:8000  serves there until Ctrl-C: for client_requests.py and others

The model is the detector of file types in the package `magika` (`pip install magika`).
"""

from __future__ import annotations

import argparse
import json
import urllib.parse
from pathlib import Path

import magika
import numpy as np

import asio_infer as ai

MODEL = next((Path(magika.__file__).parent / "models").glob("*/model.onnx"))


def main() -> None:
    """Serve the model and ask it, in process, what kind of file Python's argparse module is."""
    parser = argparse.ArgumentParser(description="Serve a model with three lines of Python and use it.")
    parser.add_argument("--url", default="http://127.0.0.1:0", help="where to serve (default: a free port)")
    parser.add_argument("--keep", action="store_true", help="then go on serving until Ctrl-C")
    arguments = parser.parse_args()
    where = urllib.parse.urlsplit(arguments.url)

    # The model's input: the first and the last 1024 bytes of a file as numbers, INT32 [1, 2048].
    content = Path(argparse.__file__).read_bytes().strip()
    tokens = np.frombuffer(content[:1024] + content[-1024:], np.uint8).astype(np.int32).reshape(1, 2048)

    server = ai.Server(host=where.hostname, port=where.port or 0)
    server.register("magika", MODEL)
    with server:
        scores = server.infer("magika", {"bytes": tokens})["target_label"]  # FP32 [1, types]
        labels = json.loads(MODEL.with_name("config.min.json").read_text())["target_labels_space"]
        print(f"in process: argparse.py is {labels[scores.argmax()]}, score {scores.max():.3f}")
        print(f"over HTTP:  {server.url}/v2/models/magika", flush=True)
        if arguments.keep:
            server.wait()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print()
