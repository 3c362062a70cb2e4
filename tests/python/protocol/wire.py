"""Requests byte by byte: a TCP connection that sends what it is given and reads answers without mercy.

No client library stands in between, so nothing is repaired on the way out, and an answer that breaks the rules of
HTTP is an AssertionError on the way in.
"""

import json
import re
import socket
import struct
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NoReturn

import numpy as np

GUARD_S = 30.0
"""Longest wait for anything: against hanging only, far above what is right."""

Address = tuple[str, int]
Headers = Sequence[tuple[str, str]]

_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_STATUS_LINE = re.compile(rb"HTTP/1\.1 ([1-5][0-9]{2}) ([\t\x20-\x7e\x80-\xff]*)")


class ClosedEarly(AssertionError):
    """The server closed the connection before an answer was complete."""


def _refuse_constant(text: str) -> NoReturn:
    raise AssertionError(f"{text} is no JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    assert len(set(keys)) == len(keys), f"keys repeat: {keys}"
    return dict(pairs)


def strict_json(text: bytes) -> Any:
    """Parse JSON; NaN, Infinity, invalid UTF-8 and repeated keys are refused."""
    return json.loads(text.decode("utf-8", "strict"), parse_constant=_refuse_constant, object_pairs_hook=_unique)


@dataclass(frozen=True)
class Answer:
    """One response. Names of headers are lower-case; none of them repeats."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """Its body as strict JSON."""
        assert self.headers["content-type"] == "application/json", self.headers
        return strict_json(self.body)

    def error(self) -> str:
        """The text of an error body, which must be `{"error": "<text>"}`."""
        body = self.json()
        assert list(body) == ["error"], body
        assert isinstance(body["error"], str), body
        assert body["error"], body
        return str(body["error"])

    def outputs(self) -> dict[str, np.ndarray]:
        """The outputs of an inference by name, JSON and binary ones; BF16 as its bits, BYTES as bytes objects."""
        assert self.status == 200, (self.status, self.body[:500])
        return {name: value for name, value in read_outputs(self)}


_DTYPES = {"FP16": "<f2", "FP32": "<f4", "FP64": "<f8", "BF16": "<u2", "BOOL": "?"}


def dtype_of(datatype: str) -> np.dtype[Any]:
    """The numpy type of a datatype of the protocol."""
    return np.dtype(_DTYPES.get(datatype) or datatype.lower()).newbyteorder("<")


def unpack_bytes(packed: bytes) -> list[bytes]:
    """The elements of a binary BYTES tensor."""
    elements = []
    at = 0
    while at < len(packed):
        (size,) = struct.unpack_from("<I", packed, at)
        assert at + 4 + size <= len(packed), "an element runs over the end"
        elements.append(packed[at + 4 : at + 4 + size])
        at += 4 + size
    return elements


def pack_bytes(elements: Iterable[bytes]) -> bytes:
    """A binary BYTES tensor of these elements."""
    return b"".join(struct.pack("<I", len(element)) + element for element in elements)


def _read_binary(output: Mapping[str, Any], packed: bytes) -> np.ndarray:
    if output["datatype"] == "BYTES":
        flat = np.empty(len(unpack_bytes(packed)), object)
        flat[:] = unpack_bytes(packed)
        return flat.reshape(output["shape"])
    return np.frombuffer(packed, dtype_of(output["datatype"])).reshape(output["shape"])


def _read_json(output: Mapping[str, Any]) -> np.ndarray:
    if output["datatype"] == "BYTES":
        flat = np.empty(len(output["data"]), object)
        flat[:] = [element.encode() for element in output["data"]]
        return flat.reshape(output["shape"])
    assert output["datatype"] != "BF16", "BF16 has no numpy type: read the JSON itself"
    return np.array(output["data"], dtype_of(output["datatype"])).reshape(output["shape"])


def split_body(answer: Answer) -> tuple[Any, bytes]:
    """The JSON of an inference's answer and the binary section behind it."""
    length = answer.headers.get("inference-header-content-length")
    if length is None:
        return answer.json(), b""
    assert answer.headers["content-type"] == "application/octet-stream"
    assert length.isdigit()
    assert 0 < int(length) <= len(answer.body)
    return strict_json(answer.body[: int(length)]), answer.body[int(length) :]


def read_outputs(answer: Answer) -> list[tuple[str, np.ndarray]]:
    """Names and values of an inference's outputs in the order of the answer; its parts must add up."""
    described, section = split_body(answer)
    found = []
    at = 0
    for output in described["outputs"]:
        size = output.get("parameters", {}).get("binary_data_size")
        assert (size is None) == ("data" in output), output
        if size is None:
            value = _read_json(output)
        else:
            assert at + size <= len(section), "the binary section is too short"
            value = _read_binary(output, section[at : at + size])
            at += size
        assert list(value.shape) == output["shape"], output
        found.append((output["name"], value))
    assert at == len(section), "bytes of the binary section belong to no output"
    return found


def request(method: str, target: str, body: bytes = b"", headers: Headers = (), *, version: str = "1.1") -> bytes:
    """A request with Host and, if it has a body, Content-Length; `headers` follow them as they are."""
    lines = [f"{method} {target} HTTP/{version}", "Host: test"]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    lines.extend(f"{name}: {value}" for name, value in headers)
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def chunked(
    method: str,
    target: str,
    chunks: Iterable[bytes],
    headers: Headers = (),
    *,
    trailer: bytes = b"",
    extension: str = "",
) -> bytes:
    """A request with a chunked body; each chunk's line carries `extension`."""
    head = request(method, target, headers=[*headers, ("Transfer-Encoding", "chunked")])
    body = b"".join(b"%x%s\r\n%s\r\n" % (len(chunk), extension.encode(), chunk) for chunk in chunks)
    return head + body + b"0\r\n" + trailer + b"\r\n"


def tensor(name: str, values: Any, datatype: str = "FP32", shape: Sequence[int] | None = None) -> dict[str, Any]:
    """An input with JSON data; `values` go in as they are."""
    dims = list(np.shape(values)) if shape is None else list(shape)
    return {"name": name, "shape": dims, "datatype": datatype, "data": values}


def binary_tensor(name: str, packed: bytes, shape: Sequence[int], datatype: str = "FP32") -> dict[str, Any]:
    """An input whose bytes stand in the binary section."""
    return {
        "name": name,
        "shape": list(shape),
        "datatype": datatype,
        "parameters": {"binary_data_size": len(packed)},
    }


def infer(
    model: str,
    inputs: Any,
    section: bytes | None = None,
    *,
    outputs: Any = None,
    parameters: Any = None,
    id: Any = None,
    version: int | None = None,
    headers: Headers = (),
) -> bytes:
    """An inference: JSON, or with `section` JSON and a binary section."""
    body: dict[str, Any] = {"inputs": inputs}
    body |= {} if outputs is None else {"outputs": outputs}
    body |= {} if parameters is None else {"parameters": parameters}
    body |= {} if id is None else {"id": id}
    return infer_text(model, json.dumps(body), section, version=version, headers=headers)


def infer_text(
    model: str, text: str | bytes, section: bytes | None = None, *, version: int | None = None, headers: Headers = ()
) -> bytes:
    """As `infer` with the JSON as text."""
    json_part = text.encode() if isinstance(text, str) else text
    target = f"/v2/models/{model}" + ("" if version is None else f"/versions/{version}") + "/infer"
    if section is None:
        return request("POST", target, json_part, headers)
    length = ("Inference-Header-Content-Length", str(len(json_part)))
    return request("POST", target, json_part + section, [*headers, length])


def f32(*values: float) -> bytes:
    """FP32 numbers as their bytes."""
    return np.array(values, "<f4").tobytes()


class Connection:
    """One connection. Every wait ends with an answer, the peer's end, or after `GUARD_S` with a TimeoutError."""

    def __init__(self, address: Address, *, guard_s: float = GUARD_S, receive_buffer: int | None = None) -> None:
        self.socket = socket.socket()
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(guard_s)
        self.socket.connect(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._got = b""

    def __enter__(self) -> "Connection":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def send_apart(self, *pieces: bytes) -> None:
        """Send pieces so that each arrives in a read of its own: the peer has taken the one before."""
        for piece in pieces:
            self.send(piece)
            wait_for(self._all_is_read, "the server reads")

    def _all_is_read(self) -> bool:
        own, peer = (f":{name[1]:04X}" for name in (self.socket.getsockname(), self.socket.getpeername()))
        with open("/proc/net/tcp") as table:
            for line in table:
                fields = line.split()
                if fields[1].endswith(peer) and fields[2].endswith(own):
                    return fields[4].endswith(":00000000")  # what its kernel holds for it
        return True

    def finish(self) -> None:
        """Close the sending side only."""
        self.socket.shutdown(socket.SHUT_WR)

    def reset(self) -> None:
        """Close with a reset."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def _more(self) -> None:
        got = self.socket.recv(256 * 1024)
        if not got:
            raise ClosedEarly(f"the server closed the connection after {self._got[:200]!r}")
        self._got += got

    def _take(self, size: int) -> bytes:
        if size > len(self._got) + 1_000_000:
            parts = [self._got]
            missing = size - len(self._got)
            while missing > 0:
                part = self.socket.recv(min(missing, 1 << 20))
                if not part:
                    raise ClosedEarly(f"the server closed the connection {missing} bytes before the end of a body")
                parts.append(part)
                missing -= len(part)
            self._got = b""
            return b"".join(parts)
        while len(self._got) < size:
            self._more()
        taken, self._got = self._got[:size], self._got[size:]
        return taken

    def _head(self) -> tuple[int, dict[str, str]]:
        while b"\r\n\r\n" not in self._got:
            self._more()
        head, self._got = self._got.split(b"\r\n\r\n", 1)
        first, *lines = head.split(b"\r\n")
        status = _STATUS_LINE.fullmatch(first)
        assert status, first
        headers: dict[str, str] = {}
        for line in lines:
            name, colon, value = line.partition(b":")
            assert colon, line
            assert _TOKEN.fullmatch(name), line
            assert not re.search(rb"[\x00-\x08\x0a-\x1f\x7f]", value), line
            key = name.decode().lower()
            assert key not in headers, f"{key} repeats"
            headers[key] = value.strip(b" \t").decode("latin-1")
        return int(status[1]), headers

    def interim(self) -> int:
        """Read the head of an answer without a body, such as 100 Continue."""
        status, headers = self._head()
        assert headers == {}, headers
        return status

    def answer(self, *, to: str = "POST", skip_continue: bool = False) -> Answer:
        """Read one final answer. Answers to HEAD, and 204, have no body."""
        status, headers = self._head()
        if skip_continue and status == 100:
            status, headers = self._head()
        assert status >= 200, f"{status} where a final answer was expected"
        assert "transfer-encoding" not in headers
        if status == 204:
            assert "content-length" not in headers
            return Answer(status, headers, b"")
        assert headers["content-length"].isdigit(), headers
        body = b"" if to == "HEAD" else self._take(int(headers["content-length"]))
        return Answer(status, headers, body)

    def ask(self, data: bytes) -> Answer:
        """Send a request and read its answer."""
        self.send(data)
        return self.answer(to=data.split(b" ", 1)[0].decode("latin-1"))

    def rest(self) -> bytes:
        """What still comes until the server closes; a reset is an error."""
        while True:
            got = self.socket.recv(1 << 16)
            if not got:
                break
            self._got += got
        rest, self._got = self._got, b""
        return rest

    def expect_close(self) -> None:
        """Nothing more comes, and the server closes in order."""
        rest = self.rest()
        assert rest == b"", f"bytes behind the last answer: {rest[:300]!r}"


def split_answers(data: bytes) -> list[Answer]:
    """All answers in what a connection gave until its end; interim ones are left out."""
    ours, theirs = socket.socketpair()
    connection = Connection.__new__(Connection)
    with ours, theirs:
        ours.settimeout(GUARD_S)
        connection.socket, connection._got = ours, data
        theirs.shutdown(socket.SHUT_WR)
        answers = []
        while connection._got:
            answers.append(connection.answer(skip_continue=True))
        return answers


def ask(address: Address, data: bytes) -> Answer:
    """One request on a connection of its own."""
    with Connection(address) as connection:
        return connection.ask(data)


def ask_pieces(address: Address, *pieces: bytes) -> Answer:
    """One request that arrives in pieces."""
    with Connection(address) as connection:
        connection.send_apart(*pieces)
        return connection.answer(to=pieces[0].split(b" ", 1)[0].decode("latin-1"))


def refused(address: Address, data: bytes, *statuses: int, guard_s: float = GUARD_S) -> Answer:
    """Send bytes whose framing is wrong: one error comes, then the end, whatever the bytes hold."""
    with Connection(address, guard_s=guard_s) as connection:
        connection.send(data)
        answer = connection.answer()
        assert answer.status in statuses, (answer.status, answer.body)
        assert answer.headers.get("connection") == "close"
        answer.error()
        connection.finish()
        connection.expect_close()
        return answer


def wait_for(condition: Callable[[], bool], what: str, guard_s: float = GUARD_S) -> None:
    """Look until `condition` holds."""
    end = time.monotonic() + guard_s
    while not condition():
        assert time.monotonic() < end, f"{what}: did not happen within {guard_s:g} s"
        time.sleep(0.002)
