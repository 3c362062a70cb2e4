"""Many callers of one session and of several; pools of one thread; a process that may use one core only."""

import os
import threading
from pathlib import Path

import pytest
import wire
from batches import check, reveal
from servers import Model, Served, StartServer


def hammer(server: Served, model: str, threads: int, rounds: int) -> None:
    failures: list[BaseException] = []
    barrier = threading.Barrier(threads)

    def client(first: int) -> None:
        try:
            barrier.wait(wire.GUARD_S)
            with server.connect() as connection:
                for number in range(first, first + rounds):
                    rows, columns = number % 4 + 1, number % 7 + 1
                    answer = connection.ask(reveal(number, rows, columns, form=number % 4, model=model))
                    assert check(answer, number, rows, columns) <= 16
        except BaseException as failure:
            failures.append(failure)

    workers = [threading.Thread(target=client, args=[1000 * i]) for i in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if failures:
        raise failures[0]


def reveals(models: Path) -> list[Model]:
    path = str(models / "reveal.onnx")
    batching = {"max_size": 16}
    return [
        {"name": "add", "model": str(models / "add.onnx")},
        {"name": "one", "model": path, "batching": batching},
        {"name": "four", "model": path, "batching": batching, "instances": 4},
        {"name": "alone", "model": path, "batching": None, "instances": 2},
        {"name": "pool of 1", "model": path, "batching": batching, "session_options": {"intra_op_num_threads": 1}},
        {"name": "pool of 2", "model": path, "batching": batching, "session_options": {"intra_op_num_threads": 2}},
    ]


@pytest.fixture(scope="module")
def server(start_server: StartServer, models: Path) -> Served:
    return start_server(*reveals(models))


@pytest.mark.parametrize("model", ["one", "four", "alone", "pool%20of%201", "pool%20of%202"])
def test_many_callers_with_different_sizes(model: str, server: Served) -> None:
    hammer(server, model, threads=32, rounds=6)
    server.canary()


@pytest.mark.soak
@pytest.mark.parametrize("model", ["one", "four", "alone", "pool%20of%201", "pool%20of%202"])
def test_many_callers_with_different_sizes_for_long(model: str, server: Served) -> None:
    hammer(server, model, threads=64, rounds=300)


def test_on_one_core(models: Path) -> None:
    """The server keeps to the cores that it was given, and nothing complains."""
    core = str(min(os.sched_getaffinity(0)))
    with Served(reveals(models), command=("taskset", "-c", core), log="info") as narrow:
        hammer(narrow, "one", threads=8, rounds=4)
        hammer(narrow, "pool%20of%201", threads=8, rounds=4)
        narrow.canary()
        for task in os.listdir(f"/proc/{narrow.pid}/task"):
            assert os.sched_getaffinity(int(task)) == {int(core)}
        log = narrow.stop()
        assert "affinity" not in log
        assert " error" not in log


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one core only")
def test_the_number_of_threads_follows_the_cores(models: Path) -> None:
    (add, *_) = reveals(models)
    core = str(min(os.sched_getaffinity(0)))
    with Served([add], command=("taskset", "-c", core)) as narrow, Served([add]) as wide:
        assert narrow.threads() < wide.threads()


def test_a_pool_of_one_needs_no_second_thread(start_server: StartServer, models: Path) -> None:
    options = {"intra_op_num_threads": 1, "inter_op_num_threads": 1}
    model = {"name": "tiny", "model": str(models / "cnn.onnx"), "session_options": options}
    server = start_server(model, server={"intra_op_threads": 1, "io_threads": 1})
    data = wire.infer("tiny", [wire.tensor("x", [0.5] * 3072, shape=[1, 3, 32, 32])])
    first = server.ask(data)
    assert first.outputs()["y"].shape == (1, 10)
    assert all(server.ask(data).body == first.body for _ in range(20))
