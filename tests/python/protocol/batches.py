"""Requests to a model that reveals how its rows were joined, and answers that are checked cell by cell."""

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import wire

BINARY = {"binary_data_output": True}


def rows_of(number: int, rows: int, columns: int = 2) -> np.ndarray:
    """Values that no other request has: its number, and the row and column as fractions."""
    cells = [[number + row / 16 + column / 256 for column in range(columns)] for row in range(rows)]
    return np.array(cells, np.float32).reshape(rows, columns)


def reveal(number: int, rows: int, columns: int = 2, *, form: int = 0, model: str = "reveal", **options: Any) -> bytes:
    """A request with an id, in one of four forms: JSON or binary in, JSON or binary out."""
    x = rows_of(number, rows, columns)
    parameters = {**options.pop("parameters", {}), **(BINARY if form & 1 else {})}
    if form & 2:
        tensor = wire.binary_tensor("X", x.tobytes(), x.shape)
        return wire.infer(model, [tensor], x.tobytes(), id=str(number), parameters=parameters, **options)
    return wire.infer(
        model, [wire.tensor("X", x.tolist(), shape=x.shape)], id=str(number), parameters=parameters, **options
    )


def check(answer: wire.Answer, number: int, rows: int, columns: int = 2) -> int:
    """The answer has exactly the request's rows and id; returns how many rows ran together."""
    outputs = answer.outputs()
    described, _ = wire.split_body(answer)
    assert described["id"] == str(number)
    assert outputs["Y"].tobytes() == rows_of(number, rows, columns).tobytes()
    assert outputs["BS"].shape == outputs["LEN"].shape == (rows, 1)
    assert set(outputs["LEN"].ravel().tolist()) <= {columns}
    together = set(outputs["BS"].ravel().tolist())
    assert len(together) <= 1
    return int(together.pop()) if together else 0


def pipeline(address: wire.Address, sizes: Sequence[int], numbers: Iterable[int], **options: Any) -> list[int]:
    """One pipeline of requests with that many rows; returns for each how many rows ran together."""
    own = list(itertools.islice(numbers, len(sizes)))
    with wire.Connection(address) as connection:
        requests = [reveal(n, rows, form=n % 4, **options) for n, rows in zip(own, sizes, strict=True)]
        connection.send(b"".join(requests))
        return [check(connection.answer(), n, rows) for n, rows in zip(own, sizes, strict=True)]
