"""Nothing that a client sends makes a line of the log, ends one, or moves a terminal that shows it."""

import json
import re
import signal
import socket
from collections.abc import Callable
from typing import Any

import pytest
import wire

SCRIPT = """
    import sys
    import asio_infer as ai

    server = ai.Server(port=0, log=ai.Log(level="debug", format=sys.argv[1], access=True))
    server.register('a"b \\u2028c', ai.Identity())
    with server:
        print(server.port, flush=True)
        server.wait()
"""
HOSTILE = [
    b"a\r\nFORGED",
    b"a\nFORGED",
    b"a\rFORGED",
    b"\x1b[2J\x1b]0;x\x07",
    b"\0",
    b"\x7f",
    b"\x08\x08",
    b"\x85FORGED",
    b"\xc2\x85FORGED",
    b"\xe2\x80\xa8FORGED",
    b"\xe2\x80\xae",
    b"\xff\xfe",
    b'" status=200 x="',
    b'","level":"error","x":"',
    b"\\n",
    b"%0d%0aFORGED",
    b"%1b[2J",
    b"%00",
    b"%c2%85",
    b"%22",
    b"=",
    b"\t",
    b"x" * 5000,
]
SECRET = "c2VjcmV0LXRva2Vu"
UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
TEXT_LINE = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (DEBUG|INFO |WARN |ERROR) [a-z ,]+"
    r'( [a-z_]+=([^\s"=]+|"([^"\\]|\\["\\nrt]|\\x[0-9a-f]{2}|\\u[0-9a-f]{4})*"))*'
)


def hostile_requests() -> list[bytes]:
    """Each hostile text in each place that a log might repeat."""
    body = json.dumps({"inputs": [wire.tensor("INPUT0", [[1.5]])]})
    found = []
    for text in HOSTILE:
        as_json = json.dumps(text.decode("latin-1"))
        host = b" HTTP/1.1\r\nHost: a\r\nAuthorization: Basic " + SECRET.encode()
        found += [
            b"GET /v2/models/" + text + b"/ready" + host + b"\r\n\r\n",
            b"GET /v2/health/live?" + text + host + b"\r\n\r\n",
            text + b" /v2" + host + b"\r\n\r\n",
            *(
                b"GET /v2/health/live" + host + b"\r\n" + name + b": " + text + b"\r\n\r\n"
                for name in (b"X-Request-Id", b"User-Agent", b"Referer", b"X-" + text, b"Content-Type", b"Expect")
            ),
            wire.infer_text("nope", body.replace('"INPUT0"', as_json)),
            wire.infer_text("a%22b%20%E2%80%A8c", body.replace('"INPUT0"', as_json)),
            wire.infer_text("a%22b%20%E2%80%A8c", body.replace('"inputs"', f'"id":{as_json},"inputs"')),
            wire.infer_text("a%22b%20%E2%80%A8c", body.replace('"FP32"', as_json)),
        ]
    return found


def send(port: int, data: bytes) -> int:
    """Send it alone; how many final answers come."""
    with socket.create_connection(("127.0.0.1", port), wire.GUARD_S) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        got = b""
        while more := connection.recv(1 << 16):
            got += more
    return len(wire.split_answers(got))


def log_of_hostile_requests(log_format: str, start: Callable[..., Any]) -> tuple[list[str], int]:
    """The lines that the server has written, and how many requests it has answered."""
    process = start(SCRIPT, log_format)
    port = int(process.read_line())
    answered = sum(send(port, data) for data in hostile_requests())
    process.signal(signal.SIGTERM)
    status, _, err = process.finish()
    assert status == 0
    assert err.endswith("\n")
    lines = err.removesuffix("\n").split("\n")
    return lines, answered


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_every_line_is_one_record_of_ours(log_format: str, start: Callable[..., Any]) -> None:
    lines, answered = log_of_hostile_requests(log_format, start)
    for line in lines:
        assert not UNSAFE.search(line), ascii(line)
        assert SECRET not in line
        if log_format == "json":
            record = json.loads(line)
            assert list(record)[:3] == ["time", "level", "message"], line
            assert len(record) == len(re.findall(r'(?:^{|,)"[a-z_]+":', line)), "no key comes twice"
            assert record["level"] != "error", line
        else:
            assert TEXT_LINE.fullmatch(line), ascii(line)
    requests = [line for line in lines if re.search(r'(INFO  |"message":")request', line)]
    assert len(requests) == answered, "one line for each request"
