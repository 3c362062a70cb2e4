"""Requests that share a run: each gets its own rows, what it asked for and nothing else, and limits count rows."""

import itertools
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import wire
from batches import check, pipeline, reveal, rows_of
from servers import Model, Served

NUMBERS = itertools.count(1)


@pytest.fixture(scope="module")
def batched(models: Path) -> Iterator[Served]:
    """Models that wait a little for company, one that waits long, and versions of one model."""

    def onnx(name: str, file: str, **options: object) -> Model:
        return {"name": name, "model": str(models / f"{file}.onnx"), **options}

    short = {"max_size": 8, "max_delay_s": 0.02}
    served = [
        onnx("add", "add"),
        onnx("reveal", "reveal", batching=short),
        onnx("eager", "reveal", batching={"max_size": 8}),
        onnx("five", "reveal", batching={"max_size": 5, "max_delay_s": 0.02}),
        onnx("patient", "reveal", batching={"max_size": 8, "max_delay_s": 60}),
        onnx("two", "two_outputs", batching=short),
        onnx("two", "pass_beside", batching=short, version=2),
        onnx("kopt", "kopt", batching=short),
        onnx("str", "str", batching=short),
        onnx("gather", "gather", batching=short),
        onnx("pass", "pass", batching=short),
        {"name": "slow", "identity": {"shape": [-1, -1], "delay_s": 0.3}, "batching": {"max_size": 5}},
    ]
    with Served(served) as server:
        yield server
        assert server.stop() == ""


def together(*jobs: Callable[[], None]) -> None:
    """Run these in threads of their own that begin at once; any failure is raised."""
    barrier = threading.Barrier(len(jobs))
    failures: list[BaseException] = []

    def run(job: Callable[[], None]) -> None:
        try:
            barrier.wait(wire.GUARD_S)
            job()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=[job]) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


# ---- Who gets which rows (B1)


def many_clients(server: Served, clients: int, rounds: int, window: int) -> list[int]:
    """Clients that pipeline requests of 1 to 5 rows in all forms; returns how many rows each answer ran with."""
    seen: list[int] = []

    def client(first: int) -> None:
        rng = np.random.default_rng(first)
        for number in range(first, first + rounds * window, window):
            seen.extend(pipeline(server.address, rng.integers(1, 6, window).tolist(), range(number, number + window)))

    starts = [100_000 * (i + 1) for i in range(clients)]
    together(*(partial(client, start) for start in starts))
    return seen


def assert_merged(seen: list[int], limit: int) -> None:
    assert max(seen) <= limit
    assert sum(size > 5 for size in seen) > len(seen) / 2, "most requests should have shared a run"


def test_each_gets_its_own_rows(batched: Served) -> None:
    assert_merged(many_clients(batched, clients=4, rounds=15, window=10), 8)
    batched.canary()


@pytest.mark.soak
def test_each_gets_its_own_rows_for_long(batched: Served) -> None:
    assert_merged(many_clients(batched, clients=16, rounds=250, window=10), 8)


def test_one_request_each_from_many_connections(batched: Served) -> None:
    seen: list[int] = []

    def client(number: int) -> None:
        answer = batched.ask(reveal(number, 1 + number % 3, form=number % 4))
        seen.append(check(answer, number, 1 + number % 3))

    together(*(partial(client, number) for number in itertools.islice(NUMBERS, 24)))
    assert max(seen) <= 8


def test_what_arrives_together_runs_together_without_a_delay(batched: Served) -> None:
    """Requests that one read brought share a run, though the instance was idle."""
    runs = [max(pipeline(batched.address, [1] * 8, NUMBERS, model="eager")) for _ in range(10)]
    assert max(runs) > 1


# ---- Limits count rows (B4)


@pytest.mark.parametrize("sizes", [[5, 5, 3, 8, 1], [8, 8], [7, 2], [1] * 17, [3, 3, 3], [4, 4, 4], [5, 3, 5, 3]])
def test_a_run_never_has_more_rows_than_the_limit(sizes: list[int], batched: Served) -> None:
    for _ in range(3):
        seen = pipeline(batched.address, sizes, NUMBERS)
        assert max(seen) <= 8
        assert all(run >= rows for run, rows in zip(seen, sizes, strict=True))


def test_more_rows_than_the_limit_in_one_request(batched: Served) -> None:
    number = next(NUMBERS)
    with batched.connect() as connection:
        connection.send(reveal(number, 5) + reveal(number, 9) + reveal(number, 3))
        assert check(connection.answer(), number, 5) <= 8
        answer = connection.answer()
        assert answer.status == 400
        assert "9 rows" in answer.error()
        assert check(connection.answer(), number, 3) <= 8


def test_a_full_batch_does_not_wait(batched: Served) -> None:
    """The delay is a minute: what fills a batch starts at once."""
    number = next(NUMBERS)
    assert check(batched.ask(reveal(number, 8, model="patient")), number, 8) == 8
    assert pipeline(batched.address, [3, 4, 1], NUMBERS, model="patient") == [8, 8, 8]
    assert pipeline(batched.address, [1] * 16, NUMBERS, model="patient") == [8] * 16


def test_what_does_not_fit_any_more_does_not_hold_a_batch_back(batched: Served) -> None:
    """5 rows and then 5 more can never share a run of 8: the first need not wait for others."""
    with batched.connect() as connection:
        numbers = list(itertools.islice(NUMBERS, 3))
        connection.send(reveal(numbers[0], 5, model="patient") + reveal(numbers[1], 5, model="patient"))
        assert check(connection.answer(), numbers[0], 5) == 5
        connection.send(reveal(numbers[2], 3, model="patient"))
        assert check(connection.answer(), numbers[1], 5) == 8
        assert check(connection.answer(), numbers[2], 3) == 8


# ---- Members that ask for different things (B6)


def test_members_that_want_different_outputs_in_different_forms(batched: Served) -> None:
    binary = {"parameters": {"binary_data": True}}
    wishes = [
        [{"name": "Y"}],
        [{"name": "Z"}],
        [{"name": "Z"}, {"name": "Y"}],
        [{"name": "Y", **binary}],
        [{"name": "Y"}, {"name": "Z", **binary}],
        None,
    ]
    for _ in range(5):
        before = batched.executions("two")
        requests = []
        for number, wish in enumerate(wishes):
            x = [[number, number + 0.5]]
            requests.append(wire.infer("two", [wire.tensor("X", x)], outputs=wish, version=1, id=f"r{number}"))
        with batched.connect() as connection:
            connection.send(b"".join(requests))
            for number, wish in enumerate(wishes):
                answer = connection.answer()
                found = wire.read_outputs(answer)
                assert [name for name, _ in found] == [w["name"] for w in wish or [{"name": "Y"}, {"name": "Z"}]]
                right = {"Y": [[2 * number, 2 * number + 1]], "Z": [[number + 1, number + 1.5]]}
                assert all(value.tolist() == right[name] for name, value in found)
                assert wire.split_body(answer)[0]["id"] == f"r{number}"
        assert batched.executions("two") - before <= 2, "outputs need not keep requests apart"


def test_members_that_give_different_inputs(batched: Served) -> None:
    """Without K it is 3; its value in one request is nothing to the others."""
    given = [None, 10, 100, None, 7, 10, None, 100]
    for _ in range(5):
        with batched.connect() as connection:
            for k in given:
                inputs = [wire.tensor("X", [2.0])] + ([] if k is None else [wire.tensor("K", [k])])
                connection.send(wire.infer("kopt", inputs))
            got = [connection.answer().outputs()["Y"].tolist() for _ in given]
            assert got == [[2.0 * (3 if k is None else k)] for k in given]


def test_members_with_several_rows_and_an_input_without_rows(batched: Served) -> None:
    """K has one element for all rows: such requests are right alone, never joined by coincidence of sizes."""
    with batched.connect() as connection:
        cases = [([1.0, 2.0], 10), ([3.0], 100), ([4.0, 5.0, 6.0], None), ([7.0, 8.0], 1)]
        for x, k in cases:
            connection.send(wire.infer("kopt", [wire.tensor("X", x)] + ([] if k is None else [wire.tensor("K", [k])])))
        for x, k in cases:
            assert connection.answer().outputs()["Y"].tolist() == [value * (3 if k is None else k) for value in x]


def test_members_with_different_lengths(batched: Served) -> None:
    columns = [2, 3, 2, 0, 3, 2, 1, 3]
    for _ in range(5):
        numbers = list(itertools.islice(NUMBERS, len(columns)))
        with batched.connect() as connection:
            connection.send(b"".join(reveal(n, 1, c, form=n % 4) for n, c in zip(numbers, columns, strict=True)))
            for number, length in zip(numbers, columns, strict=True):
                assert check(connection.answer(), number, 1, length) <= 3


def test_members_with_different_parameters(batched: Served) -> None:
    """A model may read them, so they are part of what must be equal."""
    parameters = [{"a": 1}, {"a": 2}, {"a": 1}, {}, {"a": "1"}, {"a": True}, {"b": 1}, {"a": 1.0}]
    numbers = list(itertools.islice(NUMBERS, len(parameters)))
    with batched.connect() as connection:
        connection.send(b"".join(reveal(n, 1, parameters=p) for n, p in zip(numbers, parameters, strict=True)))
        seen = [check(connection.answer(), number, 1) for number in numbers]
    assert seen[0] in (1, 2)
    assert seen[2] == seen[0]
    assert [seen[i] for i in (1, 3, 4, 5, 6, 7)] == [1] * 6


def test_timeouts_ids_and_forms_do_not_keep_requests_apart(batched: Served) -> None:
    numbers = list(itertools.islice(NUMBERS, 8))
    with batched.connect() as connection:
        connection.send(
            b"".join(
                reveal(n, 1, form=n % 4, model="patient", parameters={"timeout": 50_000_000 + n} if n % 2 else {})
                for n in numbers
            )
        )
        assert [check(connection.answer(), number, 1) for number in numbers] == [8] * 8


def test_versions_never_share_a_run(batched: Served) -> None:
    for _ in range(5):
        with batched.connect() as connection:
            for number in range(8):
                version = (1, 2, None)[number % 3]
                connection.send(
                    wire.infer("two", [wire.tensor("X", [[number, 1]])], outputs=[{"name": "Y"}], version=version)
                )
            for number in range(8):
                factor = 2 if number % 3 == 0 else 1
                assert connection.answer().outputs()["Y"].tolist() == [[factor * number, factor]]


def test_a_bad_member_harms_only_itself(batched: Served) -> None:
    indices = [0, 77, 9, -1, 1000, 3, -11, 2]
    for _ in range(5):
        with batched.connect() as connection:
            connection.send(b"".join(wire.infer("gather", [wire.tensor("IDX", [i], "INT64")]) for i in indices))
            for index in indices:
                answer = connection.answer()
                if -10 <= index < 10:
                    assert answer.outputs()["Y"].tolist() == [1.5 * (index % 10)]
                else:
                    assert answer.status == 500
                    answer.error()


def test_a_member_that_is_refused_harms_nobody(batched: Served) -> None:
    numbers = list(itertools.islice(NUMBERS, 4))
    with batched.connect() as connection:
        bad = [
            wire.infer_text("reveal", "{"),
            reveal(1, 1, outputs=[{"name": "nope"}]),
            wire.infer("reveal", [wire.tensor("X", [[1]], "INT32")]),
        ]
        connection.send(
            b"".join(x for pair in zip((reveal(n, 2) for n in numbers), [*bad, b""], strict=True) for x in pair)
        )
        for number in numbers[:3]:
            check(connection.answer(), number, 2)
            assert connection.answer().status == 400
        check(connection.answer(), numbers[3], 2)


def test_an_output_that_is_an_input_in_a_batch(batched: Served) -> None:
    """The runtime gives back the memory of the batch itself."""
    for _ in range(10):
        with batched.connect() as connection:
            for number in range(8):
                connection.send(wire.infer("pass", [wire.tensor("X", [[number, 1]] * (number % 3 + 1))]))
            for number in range(8):
                assert connection.answer().outputs()["X"].tolist() == [[number, 1]] * (number % 3 + 1)


# ---- No leftovers between batches (B7)


def big_small_big(server: Served, rounds: int, clients: int) -> None:
    def client(first: int) -> None:
        with server.connect() as connection:
            for number in range(first, first + rounds):
                for rows in (8, 2, 8):
                    answer = connection.ask(reveal(number * 3 + rows, rows, form=number % 4, model="eager"))
                    assert check(answer, number * 3 + rows, rows) <= 8

    together(*(partial(client, 1000 * i) for i in range(clients)))


def test_a_small_batch_between_large_ones(batched: Served) -> None:
    big_small_big(batched, rounds=30, clients=3)


@pytest.mark.soak
def test_a_small_batch_between_large_ones_for_long(batched: Served) -> None:
    big_small_big(batched, rounds=1000, clients=8)


def test_strings_of_changing_sizes(batched: Served) -> None:
    sizes = [1, 1 << 18, 0, 3, 0, 1 << 16, 1]
    for turn in range(6):
        texts = [(chr(97 + (turn + i) % 26) * sizes[(i + turn) % len(sizes)]) for i in range(8)]
        with batched.connect() as connection:
            connection.send(b"".join(wire.infer("str", [wire.tensor("X", [text], "BYTES")]) for text in texts))
            assert [connection.answer().json()["outputs"][0]["data"] for _ in texts] == [[text] for text in texts]


# ---- The last few get out (B8)


def bursts(server: Served, count: int) -> None:
    """Bursts of 1 to 12 requests and then silence: the remainder must not wait for the next burst."""
    for burst in range(count):
        seen = pipeline(server.address, [1] * (burst % 12 + 1), NUMBERS, model="five")
        assert max(seen) <= 5


def test_the_remainder_of_a_burst(batched: Served) -> None:
    bursts(batched, 24)


@pytest.mark.soak
def test_the_remainder_of_a_burst_for_long(batched: Served) -> None:
    bursts(batched, 600)


def test_what_waited_for_a_busy_instance_goes_in_full_batches(batched: Served) -> None:
    """Seven that queue behind one run leave as 5 and 2."""

    def runs() -> dict[int, int]:
        (stats,) = batched.get("/v2/models/slow/stats").json()["model_stats"]
        return {entry["batch_size"]: entry["compute_infer"]["count"] for entry in stats["batch_stats"]}

    def request(value: float) -> bytes:
        return wire.infer("slow", [wire.tensor("INPUT0", [[value]])])

    before = runs()
    with batched.connect() as plug, batched.connect() as others:
        plug.send(request(0.5))
        wire.wait_for(lambda: batched.metric("asio_infer_requests_running", model="slow") == 1, "the first runs")
        others.send(b"".join(request(1.5 + i) for i in range(7)))
        wire.wait_for(
            lambda: batched.metric("nv_inference_pending_request_count", model="slow") == 7, "the others wait"
        )
        assert plug.answer().outputs()["OUTPUT0"].tolist() == [[0.5]]
        assert [others.answer().outputs()["OUTPUT0"].tolist() for _ in range(7)] == [[[1.5 + i]] for i in range(7)]
    after = runs()
    grown = {size: after[size] - before.get(size, 0) for size in after if after[size] != before.get(size, 0)}
    assert grown == {1: 1, 5: 1, 2: 1}


def test_a_delay_ends_with_the_first_request_s_time(batched: Served) -> None:
    """A lone request is answered after the delay, and with a timeout shorter than the delay not later than that."""
    number = next(NUMBERS)
    assert check(batched.ask(reveal(number, 1)), number, 1) == 1
    answer = batched.ask(reveal(number, 1, model="patient", parameters={"timeout": 100_000}))
    assert answer.status in (200, 504)


def test_rows_are_what_they_were(batched: Served) -> None:
    """The helper itself: no two requests have a value in common."""
    assert len({value for n in range(200) for value in rows_of(n, 8).ravel().tolist()}) == 200 * 16
