"""HTTP/2 by the sections of RFC 9113 (and 7541), over this server and, as a control, over nghttpd.

What each test demands is what the RFC lets a server do. After each the server answers a good request.
"""

import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import hpack
import http2
import pytest
import wire
from http2 import (
    CANCEL,
    COMPRESSION_ERROR,
    ENHANCE_YOUR_CALM,
    FLOW_CONTROL_ERROR,
    FRAME_SIZE_ERROR,
    NO_ERROR,
    PREFACE,
    PROTOCOL_ERROR,
    REFUSED_STREAM,
    STREAM_CLOSED,
    Connection,
    connection_ends,
    raw_frame,
    request_fields,
    stream_ends,
)
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    GoAwayFrame,
    HeadersFrame,
    PingFrame,
    PriorityFrame,
    RstStreamFrame,
    SettingsFrame,
    WindowUpdateFrame,
)
from servers import Served
from wire import Address

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM = ACK = 1
END_HEADERS = 4
PADDED = 8


@dataclass
class Peer:
    """A server under test."""

    name: str
    address: Address
    path: str  # of something small
    differs: dict[str, str]

    def connect(self, **options: object) -> Connection:
        return Connection(self.address, **options)  # type: ignore[arg-type]

    def get(self, more: http2.Fields = ()) -> list[tuple[str, str]]:
        return request_fields("GET", self.path, more)

    def post(self, more: http2.Fields = ()) -> list[tuple[str, str]]:
        return request_fields("POST", self.path, more)


NGHTTPD_DIFFERS = {
    "test_8_1_1_more_data_than_content_length": "ends the stream only when it is complete",
}
"""What the control does otherwise than the tests demand, and why that is not held against it."""


@pytest.fixture(scope="module")
def nghttpd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    program = shutil.which("nghttpd")
    if program is None:
        pytest.skip("the control nghttpd is not installed (Debian package nghttp2-server)")
    folder = tmp_path_factory.mktemp("nghttpd")
    (folder / "small").write_text("a small file")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [program, "--no-tls", "--address=127.0.0.1", "-d", str(folder), str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def answers() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    wire.wait_for(answers, "nghttpd listens")
    yield "127.0.0.1", port
    process.terminate()
    process.wait()


@pytest.fixture(params=["ours", "nghttpd"])
def peer(request: pytest.FixtureRequest) -> Iterator[Peer]:
    if request.param == "ours":
        served: Served = request.getfixturevalue("common_server")
        peer = Peer("ours", served.address, "/v2/health/live", {})
    else:
        peer = Peer("nghttpd", request.getfixturevalue("nghttpd"), "/small", NGHTTPD_DIFFERS)
        name = request.node.originalname
        if name in peer.differs:
            pytest.skip(f"the control differs: {peer.differs[name]}")
    yield peer
    with peer.connect() as after:
        stream = after.stream_id()
        after.send(after.headers(stream, peer.get()))
        assert after.reply(stream).status == 200


@pytest.fixture
def link(peer: Peer) -> Iterator[Connection]:
    """A connection whose settings both sides know."""
    with peer.connect() as connection:
        connection.until(lambda: connection.settings_acked)
        yield connection


# ---- 3.4 and 4: preface and frames


def test_3_4_settings_come_first(peer: Peer) -> None:
    with peer.connect() as connection:
        assert isinstance(connection.frame(), SettingsFrame)
        connection.until(lambda: connection.settings_acked)


def test_3_4_preface_in_pieces(peer: Peer) -> None:
    with peer.connect(greet=False) as connection:
        for byte in PREFACE:
            connection.send(bytes([byte]))
        connection.send(SettingsFrame(0))
        connection.until(lambda: connection.settings_acked)
        assert connection.settings_acked


def test_3_4_no_settings_after_the_preface(peer: Peer) -> None:
    with peer.connect(greet=False) as connection:
        connection.send(PREFACE, PingFrame(0, b"12345678"))
        connection_ends(connection, PROTOCOL_ERROR)


def test_3_4_wrong_preface(peer: Peer) -> None:
    with peer.connect(greet=False) as connection:
        connection.send(PREFACE[:-4] + b"XX\r\n" + SettingsFrame(0).serialize())
        connection.socket.shutdown(socket.SHUT_WR)
        while True:
            try:
                if not connection.socket.recv(4096):
                    break
            except ConnectionResetError:
                break


def test_4_1_unknown_frames_are_ignored(link: Connection) -> None:
    link.send(raw_frame(0xAB, 0xFF, 0, b"whatever"), raw_frame(0xAC, 0, 77, b""))
    link.round_trip()
    assert link.goaway is None


def test_4_1_reserved_bit_is_ignored(link: Connection) -> None:
    link.send(raw_frame(PING, 0, 0x8000_0000, b"reserved"))
    link.until(lambda: b"reserved" in link.pongs)
    assert b"reserved" in link.pongs


def test_4_1_undefined_flags_are_ignored(link: Connection) -> None:
    link.send(raw_frame(PING, 0xFE, 0, b"flagged!"))
    link.until(lambda: b"flagged!" in link.pongs)
    assert b"flagged!" in link.pongs


@pytest.mark.parametrize("kind", [DATA, HEADERS, 0xAB])
def test_4_2_frame_over_the_size(kind: int, peer: Peer, link: Connection) -> None:
    largest = link.server_settings.get(5, 16_384)
    stream = link.stream_id()
    link.send(link.headers(stream, peer.post(), end=False))
    link.send(raw_frame(kind, 0, stream if kind != HEADERS else link.stream_id(), bytes(largest + 1)))
    connection_ends(link, FRAME_SIZE_ERROR, FLOW_CONTROL_ERROR)


@pytest.mark.parametrize(
    ("kind", "stream", "payload"),
    [
        (PRIORITY, 1, bytes(4)),
        (RST_STREAM, 1, bytes(3)),
        (RST_STREAM, 1, bytes(5)),
        (SETTINGS, 0, bytes(5)),
        (PING, 0, bytes(7)),
        (PING, 0, bytes(9)),
        (GOAWAY, 0, bytes(7)),
        (WINDOW_UPDATE, 0, bytes(3)),
        (WINDOW_UPDATE, 0, bytes(5)),
        (HEADERS, 3, b""),
    ],
)
def test_4_2_frames_of_a_wrong_size(kind: int, stream: int, payload: bytes, peer: Peer, link: Connection) -> None:
    link.send(link.headers(link.stream_id(), peer.post(), end=False))
    flags = PADDED | END_HEADERS if kind == HEADERS else 0
    link.send(raw_frame(kind, flags, stream, payload))
    stream_ends(link, stream or 1, FRAME_SIZE_ERROR, PROTOCOL_ERROR)


@pytest.mark.parametrize("between", ["data", "headers", "ping", "priority", "unknown", "other continuation"])
def test_4_3_nothing_comes_between_the_parts_of_a_header(between: str, peer: Peer, link: Connection) -> None:
    stream = link.stream_id()
    block = link.block(peer.get())
    link.send(HeadersFrame(stream, block[:3], flags=["END_STREAM"]))
    frames = {
        "data": DataFrame(stream, b"x"),
        "headers": HeadersFrame(stream + 2, block, flags=["END_HEADERS"]),
        "ping": PingFrame(0, b"12345678"),
        "priority": PriorityFrame(stream, depends_on=0, stream_weight=1),
        "unknown": raw_frame(0xAB, 0, stream, b""),
        "other continuation": ContinuationFrame(stream + 2, block[3:], flags=["END_HEADERS"]),
    }
    link.send(frames[between])
    connection_ends(link, PROTOCOL_ERROR)


def test_4_3_a_header_in_many_parts(peer: Peer, link: Connection) -> None:
    stream = link.stream_id()
    block = link.block(peer.get([("x-long", "y" * 40)]))
    parts = [block[:20], block[20:40], block[40:]]
    link.send(HeadersFrame(stream, parts[0], flags=["END_STREAM"]))
    link.send(ContinuationFrame(stream, parts[1]), ContinuationFrame(stream, parts[2], flags=["END_HEADERS"]))
    assert link.reply(stream).status == 200


def test_4_3_continuation_without_a_header(link: Connection) -> None:
    link.send(ContinuationFrame(1, b"\x82", flags=["END_HEADERS"]))
    connection_ends(link, PROTOCOL_ERROR)


# ---- 5: streams


@pytest.mark.parametrize("kind", ["data", "rst", "window", "continuation"])
def test_5_1_frames_on_an_idle_stream(kind: str, link: Connection) -> None:
    frames = {
        "data": DataFrame(5, b"x"),
        "rst": RstStreamFrame(5, CANCEL),
        "window": WindowUpdateFrame(5, 100),
        "continuation": ContinuationFrame(5, b"\x82", flags=["END_HEADERS"]),
    }
    link.send(frames[kind])
    connection_ends(link, PROTOCOL_ERROR, STREAM_CLOSED)


@pytest.mark.parametrize("kind", ["data", "headers"])
def test_5_1_frames_behind_the_end_of_a_request(kind: str, peer: Peer, link: Connection) -> None:
    stream = link.stream_id()
    first = link.headers(stream, peer.get())
    link.send(first, DataFrame(stream, b"x") if kind == "data" else link.headers(stream, peer.get()))
    link.until(lambda: link.goaway is not None or link.replies.get(stream, http2.Reply()).reset is not None)
    codes = [link.goaway.error_code] if link.goaway else [link.replies[stream].reset] if stream in link.replies else []
    assert link.closed or set(codes) <= {STREAM_CLOSED, PROTOCOL_ERROR}


@pytest.mark.parametrize("kind", ["window", "rst", "priority"])
def test_5_1_late_frames_on_a_closed_stream_are_fine(kind: str, peer: Peer, link: Connection) -> None:
    stream = link.stream_id()
    link.send(link.headers(stream, peer.get()))
    assert link.reply(stream).status == 200
    frames = {
        "window": WindowUpdateFrame(stream, 100),
        "rst": RstStreamFrame(stream, CANCEL),
        "priority": PriorityFrame(stream, depends_on=0, stream_weight=1),
    }
    link.send(frames[kind])
    link.round_trip()
    assert link.goaway is None


@pytest.mark.parametrize("ids", [(2,), (0,)])
def test_5_1_1_stream_identifiers(ids: tuple[int, ...], peer: Peer, link: Connection) -> None:
    for stream in ids:
        link.send(raw_frame(HEADERS, END_HEADERS | END_STREAM, stream, link.block(peer.get())))
    connection_ends(link, PROTOCOL_ERROR, STREAM_CLOSED)


def test_5_1_1_a_lower_identifier_opens_no_stream(peer: Peer, link: Connection) -> None:
    """The RFC wants the connection to end; nghttp2 takes it for a stream that is closed already, and drops it."""
    for stream in (5, 3):
        link.send(link.headers(stream, peer.get()))
    link.send(PingFrame(0, b"dropped?"))
    link.until(lambda: b"dropped?" in link.pongs or link.goaway is not None)
    assert 3 not in link.replies or link.replies[3].reset is not None


def test_5_1_2_more_streams_than_allowed(peer: Peer, link: Connection) -> None:
    most = link.server_settings[3]
    streams = [link.stream_id() for _ in range(most + 1)]
    for stream in streams:
        link.send(link.headers(stream, peer.post(), end=False))
    stream_ends(link, streams[-1], REFUSED_STREAM, PROTOCOL_ERROR)


def test_5_3_1_a_stream_that_depends_on_itself(peer: Peer, link: Connection) -> None:
    """RFC 9113 5.3.2 leaves priorities to be ignored; a server may also refuse it as RFC 7540 did."""
    link.send(PriorityFrame(7, depends_on=7, stream_weight=1))
    link.send(PingFrame(0, b"dependen"))
    link.until(lambda: b"dependen" in link.pongs or link.goaway is not None)
    assert link.goaway is None or link.goaway.error_code == PROTOCOL_ERROR


# ---- 6: frames


def test_6_1_data_on_stream_0(link: Connection) -> None:
    link.send(raw_frame(DATA, 0, 0, b"x"))
    connection_ends(link, PROTOCOL_ERROR)


@pytest.mark.parametrize("kind", [DATA, HEADERS])
def test_6_1_padding_longer_than_the_frame(kind: int, peer: Peer, link: Connection) -> None:
    stream = link.stream_id()
    if kind == DATA:
        link.send(link.headers(stream, peer.post(), end=False))
        link.send(raw_frame(DATA, PADDED, stream, b"\x05abc"))
    else:
        link.send(raw_frame(HEADERS, PADDED | END_HEADERS | END_STREAM, stream, b"\xff" + link.block(peer.get())))
    connection_ends(link, PROTOCOL_ERROR)


def test_6_1_padding_counts_and_is_dropped(peer: Peer, link: Connection) -> None:
    stream = link.stream_id()
    link.send(
        raw_frame(HEADERS, PADDED | END_HEADERS | END_STREAM, stream, b"\x03" + link.block(peer.get()) + bytes(3))
    )
    assert link.reply(stream).status == 200


def test_6_2_headers_on_stream_0(peer: Peer, link: Connection) -> None:
    link.send(raw_frame(HEADERS, END_HEADERS | END_STREAM, 0, link.block(peer.get())))
    connection_ends(link, PROTOCOL_ERROR)


def test_6_3_priority_on_stream_0(link: Connection) -> None:
    link.send(raw_frame(PRIORITY, 0, 0, bytes(5)))
    connection_ends(link, PROTOCOL_ERROR)


def test_6_4_rst_stream_on_stream_0(link: Connection) -> None:
    link.send(raw_frame(RST_STREAM, 0, 0, bytes(4)))
    connection_ends(link, PROTOCOL_ERROR)


@pytest.mark.parametrize(
    ("flags", "stream", "payload", "codes"),
    [
        (ACK, 0, bytes(6), (FRAME_SIZE_ERROR,)),
        (0, 1, bytes(6), (PROTOCOL_ERROR,)),
        (0, 0, b"\0\2\0\0\0\2", (PROTOCOL_ERROR,)),  # ENABLE_PUSH 2
        (0, 0, b"\0\4\x80\0\0\0", (FLOW_CONTROL_ERROR,)),  # INITIAL_WINDOW_SIZE 2^31
        (0, 0, b"\0\5\0\0\x3f\xff", (PROTOCOL_ERROR,)),  # MAX_FRAME_SIZE 16,383
        (0, 0, b"\0\5\1\0\0\0", (PROTOCOL_ERROR,)),  # MAX_FRAME_SIZE 2^24
    ],
)
def test_6_5_bad_settings(flags: int, stream: int, payload: bytes, codes: tuple[int, ...], link: Connection) -> None:
    link.send(raw_frame(SETTINGS, flags, stream, payload))
    connection_ends(link, *codes)


def test_6_5_2_unknown_settings_are_ignored(link: Connection) -> None:
    link.settings_acked = False
    link.send(raw_frame(SETTINGS, 0, 0, b"\xff\xff\0\0\0\1"))
    link.until(lambda: link.settings_acked)
    assert link.goaway is None


def test_6_5_3_every_settings_frame_is_acknowledged(link: Connection) -> None:
    acks = 0
    link.send(*[SettingsFrame(0, settings={4: 70_000 + i}) for i in range(3)])
    while acks < 3:
        frame = link.frame()
        assert frame is not None
        acks += isinstance(frame, SettingsFrame) and "ACK" in frame.flags


def test_6_6_a_client_may_not_push(peer: Peer, link: Connection) -> None:
    link.send(raw_frame(PUSH_PROMISE, END_HEADERS, 1, b"\0\0\0\2" + link.block(peer.get())))
    connection_ends(link, PROTOCOL_ERROR)


def test_6_7_ping(link: Connection) -> None:
    link.send(PingFrame(0, b"abcdefgh"))
    link.until(lambda: b"abcdefgh" in link.pongs)
    assert link.pongs == [b"abcdefgh"]


def test_6_7_a_pong_is_not_answered(link: Connection) -> None:
    link.send(PingFrame(0, b"unwanted", flags=["ACK"]), PingFrame(0, b"abcdefgh"))
    link.until(lambda: b"abcdefgh" in link.pongs)
    assert link.pongs == [b"abcdefgh"]


def test_6_7_ping_on_a_stream(link: Connection) -> None:
    link.send(raw_frame(PING, 0, 1, bytes(8)))
    connection_ends(link, PROTOCOL_ERROR)


def test_6_8_goaway_on_a_stream(link: Connection) -> None:
    link.send(raw_frame(GOAWAY, 0, 1, bytes(8)))
    connection_ends(link, PROTOCOL_ERROR)


def test_6_8_requests_before_a_goaway_are_answered(peer: Peer, link: Connection) -> None:
    stream = link.stream_id()
    link.send(link.headers(stream, peer.get()), GoAwayFrame(0, last_stream_id=0, error_code=NO_ERROR))
    assert link.reply(stream).status == 200


def test_6_9_window_update_of_0(peer: Peer, link: Connection) -> None:
    link.send(raw_frame(WINDOW_UPDATE, 0, 0, bytes(4)))
    connection_ends(link, PROTOCOL_ERROR)


def test_6_9_window_update_of_0_on_a_stream(peer: Peer, link: Connection) -> None:
    stream = link.stream_id()
    link.send(link.headers(stream, peer.post(), end=False), raw_frame(WINDOW_UPDATE, 0, stream, bytes(4)))
    stream_ends(link, stream, PROTOCOL_ERROR)


def test_6_9_1_window_over_its_limit(link: Connection) -> None:
    link.send(WindowUpdateFrame(0, 2**31 - 1), WindowUpdateFrame(0, 2**31 - 1))
    connection_ends(link, FLOW_CONTROL_ERROR)


def test_6_9_1_a_streams_window_over_its_limit(peer: Peer, link: Connection) -> None:
    stream = link.stream_id()
    link.send(link.headers(stream, peer.post(), end=False))
    link.send(WindowUpdateFrame(stream, 2**31 - 1), WindowUpdateFrame(stream, 2**31 - 1))
    stream_ends(link, stream, FLOW_CONTROL_ERROR)


def test_6_9_2_a_window_of_1_byte_and_of_less(peer: Peer) -> None:
    with peer.connect(settings={4: 1}, credit=False) as link:
        stream = link.stream_id()
        link.send(link.headers(stream, peer.get()))
        link.until(lambda: len(link.replies.get(stream, http2.Reply()).body) >= 1)
        assert len(link.replies[stream].body) == 1
        link.send(SettingsFrame(0, settings={4: 0}))  # the stream's window is -1 now
        link.send(WindowUpdateFrame(stream, 1))
        link.round_trip()
        assert len(link.replies[stream].body) == 1
        link.send(WindowUpdateFrame(stream, 1))
        link.until(lambda: len(link.replies[stream].body) >= 2)
        assert len(link.replies[stream].body) == 2
        link.send(SettingsFrame(0, settings={4: 65_535}))
        assert link.reply(stream).ended


def test_6_9_2_settings_take_a_window_over_its_limit(peer: Peer, link: Connection) -> None:
    stream = link.stream_id()
    link.send(link.headers(stream, peer.post(), end=False), WindowUpdateFrame(stream, 2**31 - 1 - 65_535))
    link.send(SettingsFrame(0, settings={4: 2**31 - 1}))
    stream_ends(link, stream, FLOW_CONTROL_ERROR)


def test_6_10_continuation_behind_the_end_of_a_header(peer: Peer, link: Connection) -> None:
    stream = link.stream_id()
    link.send(link.headers(stream, peer.post(), end=False), ContinuationFrame(stream, b"\x82", flags=["END_HEADERS"]))
    connection_ends(link, PROTOCOL_ERROR)


# ---- 8: messages


def test_8_1_a_second_header_that_does_not_end_the_stream(peer: Peer, link: Connection) -> None:
    stream = link.stream_id()
    link.send(link.headers(stream, peer.post(), end=False), link.headers(stream, [("x", "y")], end=False))
    stream_ends(link, stream, PROTOCOL_ERROR)


def test_8_1_trailers_are_taken(peer: Peer, link: Connection) -> None:
    stream = link.stream_id()
    link.send(link.headers(stream, peer.get(), end=False), link.headers(stream, [("x-trailer", "y")]))
    assert link.reply(stream).status == 200


@pytest.mark.parametrize("sent", [0, 3, 9])
def test_8_1_1_less_data_than_content_length(sent: int, peer: Peer, link: Connection) -> None:
    stream = link.stream_id()
    link.send(link.headers(stream, peer.post([("content-length", "10")]), end=False))
    link.send(DataFrame(stream, bytes(sent), flags=["END_STREAM"]))
    stream_ends(link, stream, PROTOCOL_ERROR)


def test_8_1_1_more_data_than_content_length(peer: Peer, link: Connection) -> None:
    stream = link.stream_id()
    link.send(link.headers(stream, peer.post([("content-length", "1")]), end=False), DataFrame(stream, b"xy"))
    stream_ends(link, stream, PROTOCOL_ERROR)


@pytest.mark.parametrize(
    "fields",
    [
        [("X-Upper", "y")],
        [("connection", "close")],
        [("keep-alive", "timeout=5")],
        [("proxy-connection", "close")],
        [("transfer-encoding", "chunked")],
        [("upgrade", "h2c")],
        [("te", "gzip")],
        [(":status", "200")],
        [(":unknown", "x")],
        [(":path", "/twice")],
        [("content-length", "1"), ("content-length", "2")],
        [("content-length", "+1")],
        [("bad name", "x")],
        [("name", "line\nfeed")],
        [("name", "nul\0")],
    ],
    ids=lambda fields: fields[0][0] + "=" + fields[0][1].encode("unicode_escape").decode(),
)
def test_8_2_and_8_3_fields_that_may_not_be(fields: list[tuple[str, str]], peer: Peer, link: Connection) -> None:
    stream = link.stream_id()
    link.send(link.headers(stream, peer.get(fields)))
    reply = link.reply(stream)
    # A server may also answer, without having used the field.
    assert (
        reply.reset == PROTOCOL_ERROR
        or (link.goaway and link.goaway.error_code == PROTOCOL_ERROR)
        or (fields[0][0] in ("name", "bad name") and (link.closed or reply.status in (200, 400)))
    )


def test_8_2_te_trailers_is_fine(peer: Peer, link: Connection) -> None:
    stream = link.stream_id()
    link.send(link.headers(stream, peer.get([("te", "trailers"), ("under_score", "x")])))
    assert link.reply(stream).status == 200


@pytest.mark.parametrize(
    "change",
    [
        lambda fields: fields[1:],  # no method
        lambda fields: [fields[0], *fields[2:]],  # no scheme
        lambda fields: [*fields[:2], *fields[3:]],  # no path
        lambda fields: [*fields[:2], (":path", ""), *fields[3:]],
        lambda fields: [("x", "y"), *fields],  # a pseudo-header behind a field
        lambda fields: [fields[0], *fields],
    ],
    ids=["no method", "no scheme", "no path", "empty path", "late pseudo-header", "two methods"],
)
def test_8_3_pseudo_headers(
    change: Callable[[list[tuple[str, str]]], list[tuple[str, str]]], peer: Peer, link: Connection
) -> None:
    stream = link.stream_id()
    link.send(link.headers(stream, change(peer.get())))
    stream_ends(link, stream, PROTOCOL_ERROR)


def test_8_3_pseudo_headers_in_a_trailer(peer: Peer, link: Connection) -> None:
    stream = link.stream_id()
    link.send(link.headers(stream, peer.get(), end=False), link.headers(stream, [(":path", "/")]))
    stream_ends(link, stream, PROTOCOL_ERROR)


def test_8_5_connect_is_refused(peer: Peer, link: Connection) -> None:
    stream = link.stream_id()
    link.send(link.headers(stream, [(":method", "CONNECT"), (":authority", "elsewhere:80")]))
    reply = link.reply(stream)
    assert reply.reset is not None or reply.status >= 400


# ---- RFC 7541: header compression


@pytest.mark.parametrize(
    "block",
    [
        b"\x80",  # index 0
        b"\xff\xff\xff\xff\x0f",  # an index far beyond the table
        b"\x3f\xe1\xff\xff\x0f",  # a table larger than the setting
        b"\x82\x20",  # a change of size behind a field
        b"\x00\x85\xff\xff\xff\xff\xff\x01y",  # the end of string symbol
        b"\x00\x81\x00\x01y",  # padding that is not ones
        b"\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",  # a length that overflows
        b"\x00\x05ab",  # a string that is cut
        b"\x40",  # a field that is cut
    ],
    ids=lambda block: block.hex(),
)
def test_7541_bad_blocks(block: bytes, link: Connection) -> None:
    link.send(raw_frame(HEADERS, END_HEADERS | END_STREAM, link.stream_id(), block))
    connection_ends(link, COMPRESSION_ERROR, PROTOCOL_ERROR)


def test_7541_4_2_sizes_that_change(peer: Peer, link: Connection) -> None:
    link.encoder.header_table_size = 0
    for _ in range(2):
        stream = link.stream_id()
        link.send(link.headers(stream, peer.get([("x-some", "value")])))
        assert link.reply(stream).status == 200
        link.encoder.header_table_size = 4096


def test_7541_6_2_fields_that_are_never_indexed(peer: Peer, link: Connection) -> None:
    stream = link.stream_id()
    fields = [hpack.NeverIndexedHeaderTuple(name, value) for name, value in peer.get([("x-secret", "value")])]
    link.send(link.headers(stream, fields))
    assert link.reply(stream).status == 200


def test_the_codes_have_their_numbers() -> None:
    assert (STREAM_CLOSED, COMPRESSION_ERROR, ENHANCE_YOUR_CALM) == (5, 9, 11)
