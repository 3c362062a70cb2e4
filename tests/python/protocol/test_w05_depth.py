"""Deep nesting is refused at a limit, at once: recursion over it has exhausted servers' stacks."""

import json
import threading
import time

import pytest
import wire
from servers import Served

DEEP = 200_000


def data_of_depth(depth: int) -> str:
    return f'{{"inputs":[{{"name":"A","shape":[1,4],"datatype":"FP32","data":{"[" * depth}1{"]" * depth}}}]}}'


TEXTS = {
    "arrays": "[" * DEEP,
    "arrays, closed": "[" * DEEP + "]" * DEEP,
    "objects": '{"a":' * 500_000,
    "inputs": '{"inputs":' * DEEP,
    "inputs in arrays": '{"inputs":[' * DEEP,
    "data": data_of_depth(5_000),
    "deep data": data_of_depth(DEEP),
    "data before its shape": '{"inputs":[{"data":' + "[" * 5_000 + "1" + "]" * 5_000 + ',"name":"A"}]}',
    "shape": '{"inputs":[{"name":"A","shape":' + "[" * DEEP + "]" * DEEP + "}]}",
    "parameters": '{"parameters":' + '{"a":' * 5_000 + "1" + "}" * 5_000 + ',"inputs":[]}',
    "deep parameters": '{"parameters":{"a":' + "[" * DEEP + "]" * DEEP + "}}",
    "an unknown key": '{"x":' + "[" * 5_000 + "]" * 5_000 + ',"inputs":[]}',
    "a mixture": '{"x":' + '[{"y":' * DEEP,
}


@pytest.mark.parametrize("what", TEXTS)
def test_deep_nesting(what: str, served: Served) -> None:
    began = time.monotonic()
    answer = served.ask(wire.infer_text("add", TEXTS[what]))
    assert answer.status == 400
    answer.error()
    assert time.monotonic() - began < 5, "far more than it takes"


def test_from_eight_connections_at_once(served: Served) -> None:
    statuses: list[int] = []

    def ask(text: str) -> None:
        for _ in range(5):
            statuses.append(served.ask(wire.infer_text("add", text)).status)

    threads = [threading.Thread(target=ask, args=[text]) for text in list(TEXTS.values())[:8]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [400] * 40


def test_the_limit_itself(served: Served) -> None:
    """100 levels are allowed, one more is not, and the error tells the limit."""

    def unknown(depth: int) -> wire.Answer:
        text = '{"inputs":[{"name":"X","shape":[],"datatype":"FP32","data":[1]}],"x":'
        return served.ask(wire.infer_text("any_rank", text + "[" * depth + "]" * depth + "}"))

    assert unknown(99).status == 200
    answer = unknown(100)
    assert answer.status == 400
    assert "100" in answer.error()


def test_data_as_deep_as_a_tensor_can_be(served: Served) -> None:
    rank = 64
    answer = served.infer("any_rank", [wire.tensor("X", json.loads("[" * rank + "2.5" + "]" * rank), shape=[1] * rank)])
    assert answer.outputs()["Y"].shape == (1,) * rank
    answer = served.infer("any_rank", [wire.tensor("X", [2.5], shape=[1] * (rank + 1))])
    assert answer.status == 400
    assert "shape" in answer.error()
