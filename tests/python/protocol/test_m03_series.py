"""The series of the metrics come from what is served, never from what is asked, and counters only grow."""

import contextlib
import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import wire
from prometheus_client.parser import text_string_to_metric_families
from queues import ask_of, row_of

import asio_infer as ai

ECHO = ai.Identity()
ONE = {"INPUT0": np.ones((1, 1), np.float32)}


@pytest.fixture
def server() -> Iterator[ai.Server]:
    with ai.Server(port=0, log=ai.Log(level="off")) as server:
        server.register("echo", ECHO)
        yield server


Series = dict[tuple[str, frozenset[tuple[str, str]]], float]
"""Values by name, without the suffix that the parser gives every counter, and labels."""


def samples(server: ai.Server, *types: str) -> Series:
    """All series, or those of families of these types."""
    families = text_string_to_metric_families(server.metrics())
    return {
        (s.name.removesuffix("_total"), frozenset(s.labels.items())): s.value
        for f in families
        if not types or f.type in types
        for s in f.samples
    }


def counters(server: ai.Server) -> Series:
    """What may never go down."""
    return samples(server, "counter", "histogram")


def successes(name: str) -> tuple[str, frozenset[tuple[str, str]]]:
    return "nv_inference_request_success", frozenset({("model", name), ("version", "1")})


def test_ten_thousand_unknown_names_versions_and_routes_make_no_series(server: ai.Server) -> None:
    before = set(samples(server))
    body = ask_of("echo").split(b"\r\n\r\n", 1)[1]
    with wire.Connection(("127.0.0.1", server.port)) as connection:
        for first in range(0, 10_000, 50):
            targets = []
            for number in range(first, first + 50):
                targets.append(
                    (
                        f"/v2/models/random{number}/infer",
                        f"/v2/models/echo/versions/{number + 2}/infer",
                        f"/v2/models/%22{number}%0a%7B/infer",
                        f"/random/{number}",
                    )[number % 4]
                )
            connection.send(b"".join(wire.request("POST", target, body) for target in targets))
            assert {connection.answer().status for _ in targets} <= {400, 404}
    assert set(samples(server)) == before
    assert server.metrics().isascii()


def test_ids_and_parameters_make_no_series(server: ai.Server) -> None:
    assert row_of(wire.ask(("127.0.0.1", server.port), ask_of("echo"))) == 1.5
    before = set(samples(server))
    for number in range(100):
        headers = [("X-Request-Id", f"r{number}"), (f"X-{number}", "x"), ("User-Agent", f"agent{number}")]
        data = ask_of("echo", id=f"id{number}", parameters={f"p{number}": number}, headers=headers)
        assert wire.ask(("127.0.0.1", server.port), data).status == 200
    assert set(samples(server)) == before


def test_counters_never_go_down_through_swaps_and_removals(server: ai.Server) -> None:
    """The numbers of a name and version go on where they stood, whoever serves them now."""
    last: Series = {}

    def check() -> None:
        now = counters(server)
        went_down = {key: (last[key], value) for key, value in now.items() if value < last.get(key, 0)}
        assert went_down == {}
        last.update(now)

    for turn in range(5):
        for version in (1, 2):
            server.register("model", ECHO, version=version, replace=turn > 0)
            server.infer("model", ONE, version=version)
            with contextlib.suppress(ai.AsioInferError):
                server.infer("model", {"nope": ONE["INPUT0"]}, version=version)
            check()
        server.register("model", ai.Identity(shape=(-1, 2)), version=1, replace=True)
        check()
        server.unregister("model", 1)
        check()
        server.register("model", ECHO, version=1)
        check()
    assert last[successes("model")] == 5


def test_counters_never_go_down_while_they_are_read_and_models_are_swapped(server: ai.Server) -> None:
    stop = threading.Event()
    failures: list[BaseException] = []

    def guarded(work: Callable[[], None]) -> None:
        try:
            while not stop.is_set():
                work()
        except BaseException as failure:
            failures.append(failure)

    last: Series = {}

    def scrape() -> None:
        now = counters(server)
        assert {key for key, value in now.items() if value < last.get(key, 0)} == set()
        last.update(now)

    def infer() -> None:
        server.infer("echo", ONE)

    threads = [threading.Thread(target=guarded, args=[work]) for work in (scrape, infer, infer)]
    for thread in threads:
        thread.start()
    for _ in range(50):
        server.register("echo", ECHO, replace=True)
    stop.set()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_name_with_everything_that_has_to_be_escaped(server: ai.Server) -> None:
    name = 'a"b é {c="d",e} #f 😀'
    server.register(name, ECHO)
    server.infer(name, ONE)
    assert samples(server)[successes(name)] == 1
    server.unregister(name)
    assert not [labels for _, labels in samples(server) if ("model", name) in labels]
