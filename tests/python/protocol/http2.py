"""HTTP/2 frame by frame: a connection that sends what it is given and tells what came back.

No client library repairs what goes out: frames are made by hyperframe, header blocks by hpack, malformed ones by hand.
"""

import socket
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import hpack
import pytest
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    Frame,
    GoAwayFrame,
    HeadersFrame,
    PingFrame,
    RstStreamFrame,
    SettingsFrame,
    WindowUpdateFrame,
)
from wire import GUARD_S, Address

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR, SETTINGS_TIMEOUT, STREAM_CLOSED = range(6)
FRAME_SIZE_ERROR, REFUSED_STREAM, CANCEL, COMPRESSION_ERROR, CONNECT_ERROR, ENHANCE_YOUR_CALM = range(6, 12)

Fields = Sequence[tuple[str, str]]


def raw_frame(kind: int, flags: int, stream: int, payload: bytes = b"", *, length: int | None = None) -> bytes:
    """Any frame, its length as given."""
    size = len(payload) if length is None else length
    return struct.pack(">I", size)[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def request_fields(method: str = "GET", path: str = "/v2/health/live", more: Fields = ()) -> list[tuple[str, str]]:
    return [(":method", method), (":scheme", "http"), (":path", path), (":authority", "test"), *more]


@dataclass
class Reply:
    """What a stream has answered."""

    headers: dict[str, str] = field(default_factory=dict)
    trailers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    ended: bool = False
    reset: int | None = None
    interim: list[str] = field(default_factory=list)

    @property
    def status(self) -> int:
        return int(self.headers[":status"])


@dataclass
class Ending:
    """How the server has ended a connection."""

    goaway: GoAwayFrame | None
    code: int | None
    reset: bool


class Connection:
    """One HTTP/2 connection. Every wait ends with a frame, the server's end, or after the guard with TimeoutError."""

    def __init__(
        self,
        address: Address,
        *,
        settings: dict[int, int] | None = None,
        preface: bytes = PREFACE,
        greet: bool = True,
        credit: bool = True,
        sock: socket.socket | None = None,
        receive_buffer: int | None = None,
    ) -> None:
        if sock is None:
            sock = socket.socket()
            if receive_buffer is not None:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
            sock.settimeout(GUARD_S)
            sock.connect(address)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = sock
        self.encoder = hpack.Encoder()
        self.decoder = hpack.Decoder()
        self.decoder.max_header_list_size = 1 << 20
        self.replies: dict[int, Reply] = {}
        self.goaway: GoAwayFrame | None = None
        self.closed = False
        self.was_reset = False
        self.server_settings: dict[int, int] = {}
        self.settings_acked = False
        self.pongs: list[bytes] = []
        self.credits: list[tuple[int, int]] = []
        self._credit = credit
        self._got = bytearray()
        self._next = 1
        self._block = b""
        self._block_stream = 0
        self._block_ends = False
        if greet:
            self.send(preface, SettingsFrame(0, settings=settings or {}))

    def __enter__(self) -> "Connection":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.socket.close()

    # ---- Sending

    def send(self, *parts: Frame | bytes) -> None:
        """Send frames; what the server has closed meanwhile is found by reading."""
        data = b"".join(part if isinstance(part, bytes) else part.serialize() for part in parts)
        try:
            self.socket.sendall(data)
        except (ConnectionResetError, BrokenPipeError):
            self.was_reset = True

    def stream_id(self) -> int:
        used, self._next = self._next, self._next + 2
        return used

    def block(self, fields: Fields) -> bytes:
        return self.encoder.encode(list(fields))

    def headers(self, stream: int, fields: Fields, *, end: bool = True, flags: Sequence[str] = ()) -> HeadersFrame:
        made = HeadersFrame(stream, self.block(fields), flags=["END_HEADERS", *flags])
        if end:
            made.flags.add("END_STREAM")
        return made

    def data(self, stream: int, body: bytes, *, end: bool = True) -> DataFrame:
        return DataFrame(stream, body, flags=["END_STREAM"] if end else [])

    def ask(self, method: str = "GET", path: str = "/v2/health/live", body: bytes = b"", more: Fields = ()) -> int:
        """Send a request; returns its stream."""
        stream = self.stream_id()
        frames: list[Frame | bytes] = [self.headers(stream, request_fields(method, path, more), end=not body)]
        for at in range(0, len(body), 16_384):
            part = body[at : at + 16_384]
            frames.append(self.data(stream, part, end=at + len(part) == len(body)))
        self.send(*frames)
        return stream

    # ---- Receiving

    def frame(self) -> Frame | None:
        """The next frame, which has been acted on; None at the server's end."""
        while True:
            if len(self._got) >= 9:
                length = int.from_bytes(self._got[:3], "big")
                if len(self._got) >= 9 + length:
                    head, payload = bytes(self._got[:9]), bytes(self._got[9 : 9 + length])
                    del self._got[: 9 + length]
                    parsed, _ = Frame.parse_frame_header(memoryview(head))
                    parsed.parse_body(memoryview(payload))
                    self._act(parsed)
                    return parsed
            try:
                more = self.socket.recv(1 << 18)
            except ConnectionResetError:
                self.was_reset = True
                more = b""
            if not more:
                self.closed = True
                return None
            self._got += more

    def until(self, condition: Callable[[], bool]) -> None:
        """Read frames until `condition` holds or the connection is over."""
        while not condition() and self.frame() is not None:
            pass

    def reply(self, stream: int) -> Reply:
        """The whole answer of a stream, or how it was reset."""
        self.until(lambda: self._over(stream))
        return self.replies.get(stream, Reply())

    def _over(self, stream: int) -> bool:
        reply = self.replies.get(stream)
        return reply is not None and (reply.ended or reply.reset is not None)

    def ending(self) -> Ending:
        """Read until the server closes."""
        self.until(lambda: False)
        return Ending(self.goaway, self.goaway.error_code if self.goaway else None, self.was_reset)

    def round_trip(self) -> None:
        """Wait for the answer to a PING: the server has read everything before it."""
        mark = struct.pack(">Q", 0x5EED + len(self.pongs))
        self.send(PingFrame(0, mark))
        self.until(lambda: mark in self.pongs)

    def _act(self, frame: Frame) -> None:
        if isinstance(frame, SettingsFrame):
            if "ACK" in frame.flags:
                self.settings_acked = True
            else:
                self.server_settings.update(frame.settings)
                self.send(SettingsFrame(0, flags=["ACK"]))
        elif isinstance(frame, PingFrame):
            if "ACK" in frame.flags:
                self.pongs.append(frame.opaque_data)
            else:
                self.send(PingFrame(0, frame.opaque_data, flags=["ACK"]))
        elif isinstance(frame, GoAwayFrame):
            self.goaway = frame
        elif isinstance(frame, WindowUpdateFrame):
            self.credits.append((frame.stream_id, frame.window_increment))
        elif isinstance(frame, RstStreamFrame):
            self.replies.setdefault(frame.stream_id, Reply()).reset = frame.error_code
        elif isinstance(frame, HeadersFrame | ContinuationFrame):
            self._headers_part(frame)
        elif isinstance(frame, DataFrame):
            reply = self.replies.setdefault(frame.stream_id, Reply())
            reply.body += frame.data
            reply.ended = reply.ended or "END_STREAM" in frame.flags
            if self._credit and frame.body_len > 0:
                credits = [WindowUpdateFrame(0, frame.body_len)]
                if not reply.ended:
                    credits.append(WindowUpdateFrame(frame.stream_id, frame.body_len))
                self.send(*credits)

    def _headers_part(self, frame: HeadersFrame | ContinuationFrame) -> None:
        if isinstance(frame, HeadersFrame):
            self._block, self._block_stream = b"", frame.stream_id
            self._block_ends = "END_STREAM" in frame.flags
        self._block += frame.data
        if "END_HEADERS" not in frame.flags:
            return
        fields: list[Any] = list(self.decoder.decode(self._block))
        got = {str(name): str(value) for name, value in fields}
        assert len(got) == len(fields), f"header fields repeat: {fields}"
        assert all(name == name.lower() for name in got), got
        reply = self.replies.setdefault(self._block_stream, Reply())
        if got.get(":status", "").startswith("1"):
            reply.interim.append(got[":status"])
        elif reply.headers:
            assert not any(name.startswith(":") for name in got), f"a trailer with {got}"
            reply.trailers = got
        else:
            reply.headers = got
        reply.ended = reply.ended or self._block_ends


def ask(address: Address, method: str, path: str, body: bytes = b"", more: Fields = ()) -> Reply:
    """One request on a connection of its own."""
    with Connection(address) as connection:
        return connection.reply(connection.ask(method, path, body, more))


def connection_ends(connection: Connection, *codes: int) -> None:
    """The server ends the connection with one of these codes; it may also only close it (RFC 9113, 5.4.1)."""
    ending = connection.ending()
    if ending.code is not None:
        assert ending.code in codes, f"GOAWAY {ending.code} where one of {codes} was expected"
    else:
        assert connection.closed


def stream_ends(connection: Connection, stream: int, *codes: int) -> None:
    """The server must reset the stream, or end the connection, with one of these codes."""
    connection.until(lambda: connection._over(stream) or connection.goaway is not None)
    reply = connection.replies.get(stream)
    if connection.goaway is not None:
        assert connection.goaway.error_code in codes, connection.goaway
    elif reply is None or (reply.reset is None and not reply.ended):
        assert connection.closed
    elif reply.reset is not None:
        assert reply.reset in codes, f"RST_STREAM {reply.reset} where one of {codes} was expected"
    else:
        pytest.fail(f"answered with {reply.headers}")
