"""A request whose end two readers can see in different places is refused, and nothing behind it is a request.

Otherwise one who speaks through a proxy can slip in a request that the proxy never saw.
"""

from itertools import product

import pytest
import wire
from servers import ADD, Served

SMUGGLED = b"GET /v2/health/live HTTP/1.1\r\nHost: smuggled\r\n\r\n"
JSON = ADD.split(b"\r\n\r\n", 1)[1]
TARGET = "/v2/models/add/infer"


def raw(*lines: str, body: bytes = b"", method: str = "POST", version: str = "1.1", host: bool = True) -> bytes:
    start = [f"{method} {TARGET} HTTP/{version}"] + (["Host: test"] if host else [])
    return "\r\n".join([*start, *lines]).encode("latin-1") + b"\r\n\r\n" + body


LENGTHS = {
    "two": ["Content-Length: 5", "Content-Length: 6"],
    "two equal": ["Content-Length: 5", "Content-Length: 5"],
    "two, the first 0": ["Content-Length: 0", "Content-Length: 5"],
    "two, other case": ["Content-Length: 5", "content-length: 5"],
    "list": ["Content-Length: 5, 5"],
    "list of two": ["Content-Length: 5, 6"],
    "list, short": ["Content-Length: 5,"],
    "list, first empty": ["Content-Length: ,5"],
    "plus": ["Content-Length: +5"],
    "minus": ["Content-Length: -5"],
    "minus 0": ["Content-Length: -0"],
    "hexadecimal": ["Content-Length: 0x5"],
    "hexadecimal digits": ["Content-Length: 5a"],
    "exponent": ["Content-Length: 1e1"],
    "fraction": ["Content-Length: 5.0"],
    "digits apart": ["Content-Length: 5 5"],
    "quoted": ['Content-Length: "5"'],
    "empty": ["Content-Length:"],
    "blank": ["Content-Length:  "],
    "parameter": ["Content-Length: 5;a"],
    "thousands": ["Content-Length: 1_000"],
    "name, then blank": ["Content-Length : 5"],
    "name, then tab": ["Content-Length\t: 5"],
    "name in front of a blank": ["Content-Length: 5", "Content-Length : 6"],
    "vertical tab": ["Content-Length:\x0b5"],
    "form feed": ["Content-Length: 5\x0c"],
    "no-break space": ["Content-Length: 5\xa0"],
}


@pytest.mark.parametrize("what", LENGTHS)
def test_a_length_that_is_no_plain_number(what: str, served: Served) -> None:
    wire.refused(served.address, raw(*LENGTHS[what], body=b"hello" + SMUGGLED), 400)


@pytest.mark.parametrize("length", [2**64, 2**64 + 5, 2**63, 10**30, 10**1000])
def test_a_length_that_overflows(length: int, served: Served) -> None:
    wire.refused(served.address, raw(f"Content-Length: {length}", body=b"hello" + SMUGGLED), 400, 413)


CODINGS = {
    "gzip": 501,
    "identity": 501,
    "deflate": 501,
    "xchunked": 400,
    "chunkedx": 400,
    "x": 501,
    "chunked, chunked": 400,
    "chunked,chunked": 400,
    "chunked, identity": 400,
    "identity, chunked": 400,
    "gzip, chunked": 400,
    "chunked, gzip": 400,
    "chunked;q=1": 400,
    "chunked;": 400,
    "chunked,": 400,
    ",chunked": 400,
    '"chunked"': 400,
    "": 501,
    "chunk ed": 501,
    "\x0bchunked": 400,
    "chunked\x0c": 400,
    "chunked\xa0": 400,
}


@pytest.mark.parametrize("coding", CODINGS)
def test_a_transfer_coding_other_than_chunked(coding: str, served: Served) -> None:
    body = b"5\r\nhello\r\n0\r\n\r\n" + SMUGGLED
    wire.refused(served.address, raw(f"Transfer-Encoding: {coding}", body=body), 400, 501)
    wire.refused(served.address, raw(f"Transfer-Encoding: {coding}", "Connection: keep-alive", body=body), 400, 501)


@pytest.mark.parametrize("coding", ["chunked", "gzip", "identity", "gzip, chunked", "xchunked", "", "CHUNKED"])
@pytest.mark.parametrize("length", ["5", "0", "48"])
@pytest.mark.parametrize("order", ["coding first", "length first"])
def test_a_length_beside_a_coding(coding: str, length: str, order: str, served: Served) -> None:
    lines = [f"Transfer-Encoding: {coding}", f"Content-Length: {length}"]
    if order == "length first":
        lines.reverse()
    wire.refused(served.address, raw(*lines, body=b"5\r\nhello\r\n0\r\n\r\n" + SMUGGLED), 400, 501)
    wire.refused(served.address, raw(lines[0], "X: y", lines[1], body=b"0\r\n\r\n" + SMUGGLED), 400, 501)


@pytest.mark.parametrize("pair", list(product(["chunked", "gzip", "identity", ""], repeat=2)))
def test_two_codings(pair: tuple[str, str], served: Served) -> None:
    lines = [f"Transfer-Encoding: {coding}" for coding in pair]
    wire.refused(served.address, raw(*lines, body=b"0\r\n\r\n" + SMUGGLED), 400, 501)


@pytest.mark.parametrize(
    "line",
    [
        "Transfer-Encoding : chunked",
        "Transfer-Encoding\t: chunked",
        "Transfer-Encoding: chunked\r\n ",
        "Transfer-Encoding:\r\n chunked",
        "Transfer-Encoding:\r\n\tchunked",
        "X: y\r\n Transfer-Encoding: chunked",
        " Transfer-Encoding: chunked",
        "\tTransfer-Encoding: chunked",
        "Content-Length: 5\r\n 0",
        "X: a\r\n b",
        "X: a\r\n\r",
        "X: a\rTransfer-Encoding: chunked",
        "X: a\nTransfer-Encoding: chunked",
        "X: a\nContent-Length: 5",
        "X: a\0Content-Length: 5",
        "X\0: a",
        "X: a\x01",
        "X: a\x7f",
        "X",
        "X Y: a",
        ": a",
        "X\x80: a",
        "X(: a",
        "X,: a",
        '"X": a',
        "X@: a",
    ],
)
def test_header_lines_that_are_none(line: str, served: Served) -> None:
    wire.refused(served.address, raw(line, body=b"0\r\n\r\n" + SMUGGLED), 400)


@pytest.mark.parametrize("method", ["POST", "GET", "HEAD"])
def test_chunked_in_http_1_0(method: str, served: Served) -> None:
    data = raw("Transfer-Encoding: chunked", body=b"0\r\n\r\n" + SMUGGLED, version="1.0", method=method)
    with served.connect() as connection:
        answer = connection.ask(data)
        assert answer.status == 400
        connection.finish()
        connection.expect_close()


HOSTS = {
    "missing": [],
    "two": ["Host: a", "Host: b"],
    "two equal": ["Host: a", "Host: a"],
    "other case": ["Host: a", "hOST: a"],
}


@pytest.mark.parametrize("what", HOSTS)
def test_the_host(what: str, served: Served) -> None:
    wire.refused(served.address, raw(*HOSTS[what], "Content-Length: 5", body=b"hello" + SMUGGLED, host=False), 400)


def test_an_empty_host_is_one(served: Served) -> None:
    assert served.ask(b"GET /v2/health/live HTTP/1.1\r\nHost:\r\n\r\n").status == 200


@pytest.mark.parametrize(
    "line",
    [
        b"GET",
        b"GET /v2/health/live",
        b"GET  /v2/health/live HTTP/1.1",
        b"GET /v2/health/live  HTTP/1.1",
        b"GET /v2/health/live HTTP/1.1 ",
        b" GET /v2/health/live HTTP/1.1",
        b"GET\t/v2/health/live\tHTTP/1.1",
        b"GET /v2/health/live HTTP/1.1\r",
        b"GET /v2/health /live HTTP/1.1",
        b"GET /v2/health/live HTTP/2.0",
        b"GET /v2/health/live HTTP/1.2",
        b"GET /v2/health/live HTTP/0.9",
        b"GET /v2/health/live HTTP/1.10",
        b"GET /v2/health/live HTTP/1",
        b"GET /v2/health/live HTTP/11",
        b"GET /v2/health/live http/1.1",
        b"GET /v2/health/live HTTPS/1.1",
        b"GET / v2 HTTP/1.1",
        b"G(T / HTTP/1.1",
        b"\0GET / HTTP/1.1",
        b"GET /\0 HTTP/1.1",
        b"GET /\x01 HTTP/1.1",
        b"GET /\x7f HTTP/1.1",
        b"GET /a\tb HTTP/1.1",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0",
        b"",
    ],
)
def test_a_start_line_that_is_none(line: bytes, served: Served) -> None:
    wire.refused(served.address, line + b"\r\nHost: test\r\n\r\n" + SMUGGLED, 400, 505)


@pytest.mark.parametrize("data", [b"GET /v2/health/live HTTP/1.1\nHost: a\n\n", b"GET / HTTP/1.1\nHost: a\r\n\r\n"])
def test_lines_that_end_without_cr(data: bytes, served: Served) -> None:
    wire.refused(served.address, data + SMUGGLED, 400)


AT_ONCE_S = 5.0
"""Far below the time that a body may take to come, after which anything is refused."""

CHUNKS = {
    "negative": b"-1\r\nhello\r\n0\r\n\r\n",
    "plus": b"+5\r\nhello\r\n0\r\n\r\n",
    "0x": b"0x5\r\nhello\r\n0\r\n\r\n",
    "17 digits": b"10000000000000005\r\nhello\r\n0\r\n\r\n",
    "16 digits": b"FFFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\n",
    "wraps": b"FFFFFFFFFFFFFFFFF5\r\nhello\r\n0\r\n\r\n",
    "2^63": b"8000000000000000\r\nhello\r\n0\r\n\r\n",
    "no digits": b"\r\nhello\r\n0\r\n\r\n",
    "no hexadecimal": b"g\r\nhello\r\n0\r\n\r\n",
    "underscore": b"0_5\r\nhello\r\n0\r\n\r\n",
    "blank in front": b" 5\r\nhello\r\n0\r\n\r\n",
    "quoted": b'"5"\r\nhello\r\n0\r\n\r\n',
    "fraction": b"5.0\r\nhello\r\n0\r\n\r\n",
    "line feed alone": b"5\nhello\r\n0\r\n\r\n",
    "line feed behind the data": b"5\r\nhello\n0\r\n\r\n",
    "line feed at the end": b"5\r\nhello\r\n0\n\r\n",
    "carriage return alone": b"5\rhello\r\n0\r\n\r\n",
    "too long": b"5\r\nhello!\r\n0\r\n\r\n",
    "too short": b"6\r\nhello\r\n0\r\n\r\n",
    "no end of line": b"5\r\nhello0\r\n\r\n",
    "control in the extension": b"5;a=\0\r\nhello\r\n0\r\n\r\n",
    "line feed in the extension": b"5;a\nb\r\nhello\r\n0\r\n\r\n",
    "length in the trailer": b"5\r\nhello\r\n0\r\nContent-Length: 5\r\n\r\n",
    "coding in the trailer": b"5\r\nhello\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n",
    "host in the trailer": b"5\r\nhello\r\n0\r\nHost: b\r\n\r\n",
    "no field in the trailer": b"5\r\nhello\r\n0\r\nx\r\n\r\n",
    "blank before the colon in the trailer": b"5\r\nhello\r\n0\r\nX : a\r\n\r\n",
    "long extension": b"5;" + b"x" * 100_000 + b"\r\nhello\r\n0\r\n\r\n",
    "many extensions": (b"1;" + b"x" * 500 + b"\r\na\r\n") * 20 + b"0\r\n\r\n",
    "long size": b"0" * 100_000 + b"5\r\nhello\r\n0\r\n\r\n",
    "long trailer": b"0\r\nX: " + b"x" * 200_000 + b"\r\n\r\n",
    "many trailers": b"0\r\n" + b"X: y\r\n" * 50_000 + b"\r\n",
}


@pytest.mark.parametrize("what", CHUNKS)
def test_chunks_that_are_none(what: str, served: Served) -> None:
    data = raw("Transfer-Encoding: chunked", body=CHUNKS[what] + SMUGGLED)
    wire.refused(served.address, data, 400, 413, 431, guard_s=AT_ONCE_S)


@pytest.mark.parametrize("what", [what for what in CHUNKS if len(CHUNKS[what]) < 200])
def test_chunks_that_are_none_byte_by_byte(what: str, served: Served) -> None:
    """Where the reads end does not matter."""
    with served.connect(guard_s=AT_ONCE_S) as connection:
        connection.send(raw("Transfer-Encoding: chunked"))
        for byte in CHUNKS[what]:
            connection.send_apart(bytes([byte]))
        connection.send(SMUGGLED)
        assert connection.answer().status in (400, 413, 431)
        connection.finish()
        connection.expect_close()


# ---- What is right


EXTENSIONS = ["", ";a", ";a=b", ";a=b;c", ';a="b c"', ';a="b;\\"c"', "; a = b", ";" + "x" * 100]


@pytest.mark.parametrize("extension", EXTENSIONS)
@pytest.mark.parametrize("trailer", [b"", b"X-Checksum: 1\r\n", b"A: b\r\nC:\r\nD: \xe9\r\n"])
def test_a_chunked_request(extension: str, trailer: bytes, served: Served) -> None:
    for pieces in ([JSON], [JSON[:1], JSON[1:2], JSON[2:50], JSON[50:]]):
        data = wire.chunked("POST", TARGET, pieces, trailer=trailer, extension=extension)
        with served.connect() as connection:
            for _ in range(2):
                assert connection.ask(data).outputs()["Y"].tolist() == [[11, 22, 33, 44]]
            assert connection.ask(SMUGGLED).json() == {"live": True}


@pytest.mark.parametrize("coding", ["chunked", "CHUNKED", "Chunked", "\t chunked \t"])
def test_the_coding_s_name_in_any_case(coding: str, served: Served) -> None:
    body = b"%X\r\n%s\r\n000\r\n\r\n" % (len(JSON), JSON)
    with served.connect() as connection:
        answer = connection.ask(raw(f"Transfer-Encoding: {coding}", body=body))
        assert answer.outputs()["Y"].tolist() == [[11, 22, 33, 44]]
        assert connection.ask(SMUGGLED).status == 200


def test_a_chunked_request_whose_framing_comes_byte_by_byte(served: Served) -> None:
    def apart(data: bytes) -> list[bytes]:
        return [bytes([byte]) for byte in data]

    head = b"POST /v2/models/add/infer HTTP/1.1\r\nHost: test\r\n"
    size, rest = b"%x;x=y\r\n" % 50, b"%x\r\n" % (len(JSON) - 50)
    pieces = [head, *apart(b"Transfer-Encoding: chunked\r\n\r\n" + size), JSON[:50]]
    pieces += [*apart(b"\r\n" + rest), JSON[50:], *apart(b"\r\n0\r\nA: b\r\n\r\n")]
    with served.connect() as connection:
        connection.send_apart(*pieces)
        assert connection.answer().outputs()["Y"].tolist() == [[11, 22, 33, 44]]


def test_very_many_small_chunks(served: Served) -> None:
    """A megabyte in chunks of one byte: nothing grows with their number."""
    before = served.resident()
    text = JSON[:-1] + b" " * 1_000_000 + b"}"
    body = b"".join(b"1\r\n%c\r\n" % byte for byte in text) + b"0\r\n\r\n"
    answer = served.ask(raw("Transfer-Encoding: chunked", body=body))
    assert answer.outputs()["Y"].tolist() == [[11, 22, 33, 44]]
    assert served.resident() - before < 32 << 20


def test_a_body_that_is_not_wanted_is_no_request(served: Served) -> None:
    """A request that is answered without its body still has one."""
    for method, target, status in (
        ("GET", "/v2/health/live", 200),
        ("GET", "/nothing", 404),
        ("POST", "/v2/models/nothing/infer", 404),
        ("POST", "/v2/health/live", 405),
        ("GET", TARGET, 405),
        ("DELETE", TARGET, 405),
        ("OPTIONS", TARGET, 204),
        ("POST", "/v2/models/add/infer/", 400),
    ):
        for data in (
            wire.request(method, target, SMUGGLED),
            wire.chunked(method, target, [SMUGGLED[:5], SMUGGLED[5:]]),
        ):
            with served.connect() as connection:
                assert connection.ask(data).status == status
                assert connection.ask(wire.request("GET", "/v2")).json()["name"] == "asio_infer"
                connection.finish()
                connection.expect_close()


def test_half_a_request_is_none(served: Served) -> None:
    for data in (
        ADD[:10],
        ADD[:-1],
        ADD[: ADD.index(b"\r\n\r\n") + 2],
        raw("Transfer-Encoding: chunked", body=b"5\r\nhe"),
    ):
        with served.connect() as connection:
            connection.send(data)
            connection.finish()
            connection.expect_close()


def test_garbage_of_every_first_byte(served: Served) -> None:
    for first in range(256):
        with served.connect() as connection:
            connection.send(bytes([first]) + b" / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            assert connection.answer(to="HEAD").status in (400, 405)
