"""Clients that make an HTTP/2 server work in vain: each is ended, and others are served meanwhile."""

import json
import time
from collections.abc import Iterator

import http2
import pytest
from http2 import CANCEL, ENHANCE_YOUR_CALM, Connection, request_fields
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    HeadersFrame,
    PingFrame,
    PriorityFrame,
    RstStreamFrame,
    SettingsFrame,
    WindowUpdateFrame,
)
from servers import Served, StartServer

BODY = json.dumps({"inputs": [{"name": "INPUT0", "shape": [1, 1], "datatype": "FP32", "data": [1]}]}).encode()


@pytest.fixture(scope="module")
def server(start_server: StartServer) -> Served:
    limits = {"write_progress_timeout_s": 1.0, "body_progress_timeout_s": 2.0}
    return start_server({"name": "echo", "identity": {"shape": [-1, -1]}}, limits=limits)


@pytest.fixture(autouse=True)
def still_serves(server: Served) -> Iterator[None]:
    yield
    assert http2.ask(server.address, "POST", "/v2/models/echo/infer", BODY).status == 200


def calm(link: Connection) -> None:
    """The server has had enough."""
    link.until(lambda: link.goaway is not None)
    assert link.goaway is None or link.goaway.error_code == ENHANCE_YOUR_CALM, link.goaway
    assert link.goaway is not None or link.closed


def test_rapid_reset(server: Served) -> None:
    before = server.executions("echo")
    with Connection(server.address) as link:
        for _ in range(5_000):
            stream = link.stream_id()
            link.send(
                link.headers(stream, request_fields("POST", "/v2/models/echo/infer"), end=False),
                DataFrame(stream, BODY, flags=["END_STREAM"]),
                RstStreamFrame(stream, CANCEL),
            )
            if link.was_reset:
                break
        calm(link)
        assert link.goaway is None or link.goaway.last_stream_id < 2 * 2_100
    assert server.executions("echo") - before < 2_100


@pytest.mark.parametrize("cause", ["window overflow", "data over content-length", "bad header"])
def test_made_you_reset(cause: str, server: Served) -> None:
    with Connection(server.address) as link:
        for _ in range(1_000):
            stream = link.stream_id()
            more = {"data over content-length": [("content-length", "1")], "bad header": [("Upper", "x")]}.get(
                cause, []
            )
            link.send(link.headers(stream, request_fields("POST", "/v2/models/echo/infer", more), end=False))
            if cause == "window overflow":
                link.send(WindowUpdateFrame(stream, 2**31 - 1))
            elif cause == "data over content-length":
                link.send(DataFrame(stream, b"xy"))
        calm(link)
        assert link.goaway is None or link.goaway.last_stream_id <= 2 * 200


@pytest.mark.parametrize("kind", ["settings", "priority", "empty data", "ping"])
def test_frames_in_numbers(kind: str, server: Served) -> None:
    with Connection(server.address) as link:
        link.send(link.headers(1, request_fields("POST", "/v2/models/echo/infer"), end=False))
        frames = {
            "settings": SettingsFrame(0),
            "priority": PriorityFrame(1, depends_on=0, stream_weight=1),
            "empty data": DataFrame(1, b""),
            "ping": PingFrame(0, b"12345678"),
        }
        link.send(frames[kind].serialize() * 5_000)
        calm(link)


def test_continuation_flood(server: Served) -> None:
    with Connection(server.address) as link:
        link.send(HeadersFrame(1, link.block(request_fields())))
        resident = server.resident()
        for _ in range(10_000):
            link.send(ContinuationFrame(1, b"\x00\x01x\x01y" * 100))
            if link.was_reset:
                break
        link.until(lambda: False)
        assert server.resident() - resident < 4 << 20


def test_header_bombs(server: Served) -> None:
    with Connection(server.address) as link:
        link.until(lambda: link.settings_acked)
        stream = link.stream_id()
        link.send(link.headers(stream, [*request_fields(), *[(f"x-{i}", "y" * 1_000) for i in range(40)]]))
        assert link.reply(stream).status == 431
        resident = server.resident()
        stream = link.stream_id()
        block = link.block([*request_fields(), ("x-bomb", "z" * 3_000)])
        link.send(HeadersFrame(stream, block + b"\xbe" * 12_000, flags=["END_HEADERS", "END_STREAM"]))
        link.until(lambda: link._over(stream) or link.goaway is not None)
        assert (
            stream not in link.replies or link.replies[stream].reset is not None or link.replies[stream].status == 431
        )
        assert server.resident() - resident < 8 << 20


def test_an_unread_answer_slows_only_itself_and_is_given_up(server: Served) -> None:
    big = (1, 1 << 20)
    text = {
        "inputs": [{"name": "INPUT0", "shape": big, "datatype": "FP32", "parameters": {"binary_data_size": 4 << 20}}]
    }
    head = json.dumps({**text, "parameters": {"binary_data_output": True}}).encode()
    with Connection(server.address, settings={4: 0}) as link:
        more = [("inference-header-content-length", str(len(head)))]
        link.until(lambda: link.settings_acked)
        link.send(WindowUpdateFrame(0, 1 << 20))
        unread = link.stream_id()
        link.send(link.headers(unread, request_fields("POST", "/v2/models/echo/infer", more), end=False))
        body = head + bytes(4 << 20)
        granted = 65_535
        for at in range(0, len(body), 16_000):
            part = body[at : at + 16_000]
            while granted < len(part):
                seen = len(link.credits)
                link.until(lambda seen=seen: len(link.credits) > seen)
                granted += sum(n for stream, n in link.credits[seen:] if stream == unread)
            granted -= len(part)
            link.send(DataFrame(unread, part, flags=["END_STREAM"] if at + 16_000 >= len(body) else []))
        began = time.monotonic()
        for _ in range(8):
            stream = link.stream_id()
            link.send(link.headers(stream, request_fields("GET", "/v2")), WindowUpdateFrame(stream, 1 << 16))
            assert link.reply(stream).status == 200
        assert time.monotonic() - began < 1
        link.until(lambda: link._over(unread))
        assert link.replies[unread].reset == CANCEL


def test_half_uploads_hold_up_no_other(server: Served) -> None:
    with Connection(server.address) as link:
        for _ in range(32):
            stream = link.stream_id()
            more = [("content-length", str(1 << 20))]
            link.send(link.headers(stream, request_fields("POST", "/v2/models/echo/infer", more), end=False))
            for _ in range(4):
                link.send(DataFrame(stream, bytes(16_000)))
        assert link.reply(link.ask("POST", "/v2/models/echo/infer", BODY)).status == 200
