#!/usr/bin/env python3
"""Writes the seeds of the fuzz targets to corpus/TARGET/.

Inputs that a fuzzer found lie there too and stay as they are. Run it after a change below and commit what it wrote.
"""

import json
import struct
from collections.abc import Iterator
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"

Seed = tuple[str, bytes]

# ---- http1_session: see support/http1_script.hpp for the form of an input.

TIGHT, LATE, SLOW, ENDS_ON_CANCEL = 1, 2, 4, 8
READ, BEGIN_READ, ANSWER, ROOM, SWITCH, TIME, END, STOP = range(8)
RETIRE, TAKE_BUDGET, GIVE_BUDGET, DRAIN = ((STOP, how) for how in (0, 8, 16, 24))
DEADLINE = (TIME, 31)
FIN = (END, 0)
GONE = (END, 16)
ALL_ROOM = (ROOM, 31)


def play(stream: bytes, *events: tuple[int, int], settings: int = 0) -> bytes:
    coded = bytes(kind << 5 | amount for kind, amount in events)
    return bytes([settings, len(coded)]) + coded + stream


def head(start: str, *lines: str) -> bytes:
    return "\r\n".join([start, *lines, "", ""]).encode("latin-1")


def get(target: str, *lines: str) -> bytes:
    return head(f"GET {target} HTTP/1.1", "Host: h", *lines)


def post(target: str, body: bytes, *lines: str) -> bytes:
    return head(f"POST {target} HTTP/1.1", "Host: h", *lines, f"Content-Length: {len(body)}") + body


def framed(*lines: str, body: bytes = b"abc", start: str = "POST /a HTTP/1.1") -> bytes:
    return head(start, *lines) + body + get("/next")


def chunked(chunks: bytes, *lines: str, target: str = "/c") -> bytes:
    return head(f"POST {target} HTTP/1.1", "Host: h", "Transfer-Encoding: chunked", *lines) + chunks


def refused_framings() -> Iterator[Seed]:
    """Framings that other servers read in another way: each must end the connection."""
    for name, lines in {
        "te_gzip": ["Host: h", "Transfer-Encoding: gzip"],
        "te_chunked_identity": ["Host: h", "Transfer-Encoding: chunked, identity"],
        "te_gzip_chunked": ["Host: h", "Transfer-Encoding: gzip, chunked"],
        "te_xchunked_with_length": ["Host: h", "Transfer-Encoding: xchunked", "Content-Length: 3"],
        "te_identity_with_length": ["Host: h", "Transfer-Encoding: identity", "Content-Length: 3"],
        "te_twice": ["Host: h", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
        "length_then_te": ["Host: h", "Content-Length: 3", "Transfer-Encoding: chunked"],
        "te_then_length": ["Host: h", "Transfer-Encoding: chunked", "Content-Length: 3"],
        "length_list": ["Host: h", "Content-Length: 3,3"],
        "length_twice": ["Host: h", "Content-Length: 3", "Content-Length: 3"],
        "length_differs": ["Host: h", "Content-Length: 3", "Content-Length: 4"],
        "length_plus": ["Host: h", "Content-Length: +3"],
        "length_hex": ["Host: h", "Content-Length: 0x3"],
        "length_negative": ["Host: h", "Content-Length: -3"],
        "length_empty": ["Host: h", "Content-Length: "],
        "length_overflow": ["Host: h", "Content-Length: 18446744073709551619"],
        "length_over_limit": ["Host: h", "Content-Length: 999999999"],
        "space_before_colon": ["Host: h", "Content-Length : 3"],
        "nul_in_value": ["Host: h", "X: a\0b", "Content-Length: 3"],
        "host_missing": ["Content-Length: 3"],
        "host_twice": ["Host: h", "Host: h", "Content-Length: 3"],
        "folded": ["Host: h", "X: a", " b", "Content-Length: 3"],
        "expect_other": ["Host: h", "Expect: 200-ok", "Content-Length: 3"],
        "expect_twice": ["Host: h", "Expect: 100-continue", "Expect: 100-continue", "Content-Length: 3"],
    }.items():
        yield f"refused_{name}", play(framed(*lines))
    te = ["Host: h", "Transfer-Encoding: chunked"]
    yield "refused_te_in_1_0", play(framed(*te, body=b"3\r\nabc\r\n0\r\n\r\n", start="POST /a HTTP/1.0"))
    yield "refused_version", play(framed("Host: h", body=b"", start="GET / HTTP/2.0"))
    yield "refused_garbage", play(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 40)
    yield "refused_http2_preface", play(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    yield "refused_bare_line_feeds", play(b"GET / HTTP/1.1\nHost: h\n\n" + get("/next"))
    yield "refused_head_method", play(framed("Host: h", "Host: h", body=b"", start="HEAD /a HTTP/1.1"))
    yield "refused_long_header_tight", play(get("/a", "X: " + "x" * 400), settings=TIGHT)
    yield "refused_long_target_tight", play(get("/" + "x" * 400), settings=TIGHT)
    yield "refused_long_body_tight", play(post("/a", b"x" * 1100), settings=TIGHT)


def chunked_bodies() -> Iterator[Seed]:
    for name, chunks in {
        "one": b"3\r\nabc\r\n0\r\n\r\n",
        "many": b"1\r\na\r\n2\r\nbc\r\n0A\r\n0123456789\r\n000\r\n\r\n",
        "empty": b"0\r\n\r\n",
        "extensions": b'3;a=b;c="d e"\r\nabc\r\n0;last\r\n\r\n',
        "long_extension": b"3;" + b"x" * 1100 + b"\r\nabc\r\n0\r\n\r\n",
        "line_feed_in_extension": b'3;a="\n"\r\nabc\r\n0\r\n\r\n',
        "trailer": b"3\r\nabc\r\n0\r\nX-A: 1\r\nX-B: 2\r\n\r\n",
        "length_in_trailer": b"0\r\nContent-Length: 3\r\n\r\n",
        "host_in_trailer": b"0\r\nHost: other\r\n\r\n",
        "0x_size": b"0x3\r\nabc\r\n0\r\n\r\n",
        "negative_size": b"-3\r\nabc\r\n0\r\n\r\n",
        "size_overflow": b"10000000000000003\r\nabc\r\n0\r\n\r\n",
        "huge_size": b"fffffffffffffff\r\nabc",
        "bare_line_feed": b"3\nabc\r\n0\r\n\r\n",
        "no_line_end_behind_data": b"3\r\nabcd\r\n0\r\n\r\n",
        "space_in_size": b"3 \r\nabc\r\n0\r\n\r\n",
        "half": b"5\r\nab",
    }.items():
        stream = chunked(chunks) + get("/next")
        yield f"chunked_{name}", play(stream)
        if name in ("one", "many", "trailer"):
            yield f"chunked_{name}_in_pieces", play(stream, *[(READ, 1)] * 40)
    grows = b"".join(b"c8\r\n" + b"y" * 200 + b"\r\n" for _ in range(6)) + b"0\r\n\r\n"
    yield "chunked_over_limit_tight", play(chunked(grows), settings=TIGHT)
    yield (
        "chunked_late_answer",
        play(chunked(b"3\r\nabc\r\n0\r\n\r\n") + get("/n"), (READ, 31), (ANSWER, 4), settings=LATE),
    )


def courses() -> Iterator[Seed]:
    """What happens to a connection while it carries good requests."""
    three = get("/1") + post("/2", b"body") + get("/3")
    yield "get", play(get("/v2/health/live"))
    yield "head_then_get", play(head("HEAD /a HTTP/1.1", "Host: h") + get("/b"))
    yield "http_1_0", play(head("GET /a HTTP/1.0"))
    yield "http_1_0_keep_alive", play(head("GET /a HTTP/1.0", "Connection: keep-alive") + head("GET /b HTTP/1.0"))
    yield "close", play(get("/a", "Connection: close") + get("/never"))
    yield "absolute_target", play(head("GET http://h/a?b=c HTTP/1.1", "Host: h"))
    yield "options", play(head("OPTIONS * HTTP/1.1", "Host: h"))
    yield "empty_lines_between", play(b"\r\n\r\n" + get("/a") + b"\r\n" + get("/b"))
    yield "length_0", play(post("/a", b"") + get("/b"))
    yield (
        "binary_post",
        play(post("/i", b'{"a":1}' + bytes(64), "Inference-Header-Content-Length: 7", "X-Request-Id: r")),
    )
    yield "binary_start_beyond_body", play(post("/i", b"abc", "Inference-Header-Content-Length: 99999999999"))
    yield "binary_start_in_chunks", play(chunked(b"9\r\n{}1234567\r\n0\r\n\r\n", "Inference-Header-Content-Length: 2"))
    yield "pipelined", play(three)
    yield "pipelined_late", play(three, (READ, 31), (ANSWER, 2), (ANSWER, 1), (ANSWER, 0), settings=LATE)
    yield "pipelined_over_limit", play(b"".join(get(f"/{i}") for i in range(12)), (READ, 31), settings=LATE)
    yield (
        "pipelined_over_limit_tight",
        play(b"".join(get(f"/{i}") for i in range(5)), (READ, 20), settings=LATE | TIGHT),
    )
    yield "mixed_replies", play(three, (READ, 6), (SWITCH, 0), (READ, 7), (SWITCH, 0), (READ, 31))
    yield "large_answers", play(three, (READ, 31), (ANSWER, 2), (ANSWER, 6), (ANSWER, 5), settings=LATE)
    yield "large_answer_tight", play(get("/a"), (READ, 31), (ANSWER, 2), settings=LATE | TIGHT)
    yield "slow_peer", play(three, (READ, 31), (ROOM, 1), (ROOM, 0), (ROOM, 9), ALL_ROOM, settings=SLOW)
    yield "slow_peer_gives_up", play(three, (READ, 31), (ROOM, 1), DEADLINE, settings=SLOW)
    expects = post("/e", b"body", "Expect: 100-continue")
    at_head = (READ, 8)  # 81 bytes: the header without its body
    yield "expect", play(expects + get("/n"), at_head, (READ, 31))
    yield "expect_with_body", play(expects + get("/n"), (READ, 31))
    yield "expect_behind_late_answer", play(get("/1") + expects, (READ, 10), (ANSWER, 0), (READ, 31), settings=LATE)
    yield "expect_slow_peer", play(expects, at_head, (ROOM, 0), (READ, 31), ALL_ROOM, settings=SLOW)
    yield "expect_chunked", play(chunked(b"1\r\na\r\n0\r\n\r\n", "Expect: 100-continue"), at_head, (READ, 31))
    yield "expect_in_1_0", play(head("POST /a HTTP/1.0", "Expect: 100-continue", "Content-Length: 1") + b"a")
    yield "idle_ends", play(b"", DEADLINE)
    yield "header_too_slow", play(get("/a"), (READ, 1), DEADLINE)
    yield "body_too_slow", play(post("/a", b"x" * 50), (READ, 8), (BEGIN_READ, 0), DEADLINE, (READ, 1))
    yield "chunks_too_slow", play(chunked(b"5\r\nab"), (READ, 8), (BEGIN_READ, 0), DEADLINE, (READ, 1))
    yield "slow_but_moving", play(three, *[(READ, 3), (TIME, 12)] * 8)
    yield "fin_behind_request", play(get("/a"), (READ, 31), FIN, (TIME, 14), (ANSWER, 0), settings=LATE)
    yield "fin_in_header", play(get("/a"), (READ, 3), FIN)
    yield "fin_in_body", play(post("/a", b"x" * 50), (READ, 8), FIN)
    yield "fin_slow_peer", play(three, (READ, 31), FIN, (ROOM, 2), ALL_ROOM, settings=SLOW)
    yield "gone_while_handled", play(three, (READ, 31), GONE, (ANSWER, 0), settings=LATE)
    yield "gone_and_cancelled", play(three, (READ, 31), GONE, settings=LATE | ENDS_ON_CANCEL)
    yield "gone_in_body", play(post("/a", b"x" * 50), (READ, 8), (BEGIN_READ, 0), GONE)
    yield "drain_idle", play(get("/a"), DRAIN)
    yield "drain_while_handled", play(three, (READ, 31), DRAIN, (ANSWER, 1), settings=LATE)
    yield "drain_in_header", play(get("/a"), (READ, 3), DRAIN, (READ, 31))
    yield "drain_in_body", play(post("/a", b"x" * 50), (READ, 8), (BEGIN_READ, 0), DRAIN, (READ, 1))
    yield "drain_behind_answer", play(three, (READ, 5), DRAIN, (TIME, 13), DEADLINE)
    yield "retire_idle", play(get("/a") + get("/b"), (READ, 1), RETIRE, (READ, 31))
    yield "retire_then_one_more", play(get("/a") + get("/b"), RETIRE, (READ, 31), DRAIN, DEADLINE)
    yield "retire_while_handled", play(three, (READ, 31), RETIRE, (ANSWER, 1), DRAIN, settings=LATE)
    yield "retire_in_body", play(post("/a", b"x" * 50), (READ, 8), (BEGIN_READ, 0), RETIRE, (READ, 1))
    yield "no_budget_for_body", play(post("/a", b"x" * 50) + get("/n"), TAKE_BUDGET, (READ, 31), GIVE_BUDGET)
    yield "no_budget_for_answer", play(get("/a"), (READ, 31), TAKE_BUDGET, (ANSWER, 2), GIVE_BUDGET, settings=LATE)
    yield "fin_then_asked", play(three, (READ, 31), FIN, DEADLINE, (ANSWER, 0), settings=LATE)
    yield (
        "fin_then_asked_behind_answer",
        play(three, (READ, 31), (ANSWER, 2), FIN, DEADLINE, DEADLINE, settings=LATE | SLOW),
    )
    yield "refused_then_lingers", play(get("/a", "Host: h") + get("/b"), (READ, 31), (TIME, 12), DEADLINE)
    yield (
        "budget_met_tight",
        play(post("/1", b"x" * 900) + post("/2", b"y" * 900), (READ, 31), (READ, 31), settings=LATE | TIGHT),
    )


def http1_session() -> Iterator[Seed]:
    yield from refused_framings()
    yield from chunked_bodies()
    yield from courses()


# ---- infer_json: the input is the body.

DATATYPES = {
    "BOOL": "[true,false]",
    "UINT8": "[0,255]",
    "UINT16": "[0,65535]",
    "UINT32": "[0,4294967295]",
    "UINT64": "[0,18446744073709551615]",
    "INT8": "[-128,127]",
    "INT16": "[-32768,32767]",
    "INT32": "[-2147483648,2147483647]",
    "INT64": "[-9223372036854775808,9223372036854775807]",
    "FP16": "[65504,6.1e-5]",
    "FP32": "[3.4028235e38,1e-45]",
    "FP64": "[1.7976931348623157e308,5e-324]",
    "BF16": "[3.38e38,-1.5]",
    "BYTES": '["a","\\u00e9\\n\\ud83d\\ude00"]',
}


def one_input(dims: str, datatype: str, data: str, more: str = "") -> bytes:
    return f'{{"inputs":[{{"name":"A","shape":{dims},"datatype":"{datatype}","data":{data}{more}}}]}}'.encode()


def good_json() -> Iterator[Seed]:
    for datatype, data in DATATYPES.items():
        yield f"type_{datatype.lower()}", one_input("[2]", datatype, data)
    yield "scalar", one_input("[]", "FP32", "1.5")
    yield "empty_tensor", one_input("[0,3]", "FP32", "[]")
    yield "empty_rows", one_input("[2,0]", "FP32", "[[],[]]")
    yield "nested", one_input("[2,1,2]", "INT32", "[[[1,2]],[[3,4]]]")
    yield "flat", one_input("[2,1,2]", "INT32", "[1,2,3,4]")
    yield "numbers", one_input("[6]", "INT64", "[4.0,1e2,-0,10e-1,9007199254740993,0.0]")
    yield "round_to_even", one_input("[3]", "FP32", "[16777217,1.00000005960464477540,7.0064923216240854e-46]")
    yield "long_number", one_input("[1]", "FP64", "[0." + "0" * 200 + "1" * 200 + "e200]")
    order = '{"data":%s,"name":"A","datatype":"%s","shape":%s}'
    yield "data_first", b'{"inputs":[%s]}' % (order % ("[[1,2],[3,4]]", "FP16", "[2,2]")).encode()
    yield "strings_first", b'{"inputs":[%s]}' % (order % ('[["a"],["b\\u0000"]]', "BYTES", "[2,1]")).encode()
    yield "booleans_first", b'{"inputs":[%s]}' % (order % ("[true,false]", "BOOL", "[2]")).encode()
    tensor = {"name": "A", "shape": [1], "datatype": "INT8", "data": [1], "parameters": {"p": 1}}
    full = {
        "id": "request 1",
        "parameters": {"timeout": 5, "binary_data_output": True, "f": 1.5, "s": "x", "n": -1, "u": 2**64 - 1},
        "inputs": [tensor, {**tensor, "name": "B"}],
        "outputs": [{"name": "Y", "parameters": {"binary_data": False, "classification": 3}}, {"name": "Z"}],
        "unknown": {"y": [1, {"z": None}], "w": "x"},
    }
    yield "everything", json.dumps(full).encode()
    yield "blanks", json.dumps(full, indent=1).encode()
    yield "escaped_keys", one_input("[1]", "INT8", "[1]").replace(b'"shape"', b'"sh\\u0061pe"')


def refused_json() -> Iterator[Seed]:
    for name, dims in {
        "overflow": "[4294967296,4294967296]",
        "overflow_beside_zero": "[0,9223372036854775807,9223372036854775807]",
        "bytes_overflow": "[4611686018427387904]",
        "large": "[1000000000000]",
        "large_times_zero": "[0,1000000000000]",
        "promises_more": "[300000]",
        "negative": "[-1]",
        "fraction": "[1.5]",
        "integral": "[1.0,1e0]",
        "too_big_a_dim": "[9223372036854775808]",
        "rank_65": str([1] * 65),
        "no_list": "1",
        "of_strings": '["1"]',
    }.items():
        yield f"shape_{name}", one_input(dims, "FP64", "[1]")
    yield "shape_large_data_first", b'{"inputs":[{"data":[1],"shape":[99999999999],"datatype":"INT8","name":"A"}]}'
    for name, (dims, datatype, data) in {
        "too_few": ("[3]", "INT8", "[1,2]"),
        "too_many": ("[1]", "INT8", "[1,2]"),
        "far_too_many": ("[1]", "FP64", "[" + "1," * 200 + "1]"),
        "ragged": ("[2,2]", "INT8", "[[1,2],[3]]"),
        "too_deep": ("[1]", "INT8", "[[1]]"),
        "mixed_nesting": ("[2,1]", "INT8", "[1,[2]]"),
        "out_of_range": ("[1]", "UINT8", "[256]"),
        "becomes_infinite": ("[1]", "FP16", "[65520]"),
        "nan": ("[1]", "FP32", "[NaN]"),
        "huge_exponent": ("[1]", "FP32", "[1e99999999999999999999]"),
        "string_for_number": ("[1]", "FP32", '["1"]'),
        "number_for_boolean": ("[1]", "BOOL", "[1]"),
        "object": ("[1]", "INT8", '[{"a":1}]'),
        "null": ("[1]", "INT8", "[null]"),
        "no_type": ("[1]", "FP8", "[1]"),
    }.items():
        yield f"data_{name}", one_input(dims, datatype, data)
    yield "deep_100", b'{"x":' + b"[" * 99 + b"]" * 99 + b',"inputs":[]}'
    yield "deep_101", b'{"x":' + b"[" * 100 + b"]" * 100 + b',"inputs":[]}'
    yield "deep_in_data", one_input("[1]", "INT8", "[" * 300)
    yield "deep_objects", b'{"a":' * 300
    yield "key_repeats", one_input("[1]", "INT8", "[1]", ',"data":[2]')
    yield "parameter_repeats", b'{"parameters":{"a":1,"a":2},"inputs":[]}'
    yield "many_unknown_keys", json.dumps({f"k{i}": i for i in range(300)}).encode()
    yield "many_parameters", json.dumps({"parameters": {f"k{i}": i for i in range(300)}}).encode()
    yield "many_outputs", json.dumps({"inputs": [], "outputs": [{"name": ""}] * 1030}).encode()
    yield "parameter_object", b'{"parameters":{"a":{}},"inputs":[]}'
    yield "timeout_negative", b'{"parameters":{"timeout":-1},"inputs":[]}'
    yield "binary_without_header", one_input("[1]", "INT8", "[1]", ',"parameters":{"binary_data_size":1}')
    yield "byte_order_mark", b"\xef\xbb\xbf{}"
    yield "lone_surrogate", one_input("[1]", "BYTES", '["\\ud800"]')
    yield "not_utf8", one_input("[1]", "BYTES", '["\xff"]').decode().encode("latin-1")
    yield "behind_the_end", one_input("[1]", "INT8", "[1]") + b"{}"
    yield "half", one_input("[1]", "INT8", "[1]")[:-3]
    yield "empty", b""
    yield "list", b"[]"


def infer_json() -> Iterator[Seed]:
    yield from good_json()
    yield from refused_json()


# ---- infer_binary: how the header comes about (0: two bytes, 1: a line, 2: a line, sent twice), then the body.


def binary_body(*inputs: tuple[str, list[int], int], more: str = "") -> bytes:
    listed = [
        {"name": f"I{i}", "shape": dims, "datatype": datatype, "parameters": {"binary_data_size": size}}
        for i, (datatype, dims, size) in enumerate(inputs)
    ]
    return json.dumps({"inputs": listed})[:-1].encode() + more.encode() + b"}"


def counted(text: bytes, section: bytes, more: int = 0) -> bytes:
    return b"\0" + struct.pack("<H", len(text) + more) + text + section


def lined(line: str, body: bytes, *, twice: bool = False) -> bytes:
    return bytes([2 if twice else 1]) + line.encode() + b"\n" + body


def strings(*values: bytes) -> bytes:
    return b"".join(struct.pack("<I", len(value)) + value for value in values)


WIDTHS = {name: 1 if name == "BOOL" else int(name[-2:].lstrip("PTF")) // 8 for name in DATATYPES if name != "BYTES"}


def infer_binary() -> Iterator[Seed]:
    for datatype, width in WIDTHS.items():
        yield f"type_{datatype.lower()}", counted(binary_body((datatype, [2], 2 * width)), b"\1" * (2 * width))
    two = strings(b"a", b"\xff\0")
    yield "type_bytes", counted(binary_body(("BYTES", [2], len(two))), two)
    yield "bytes_empty", counted(binary_body(("BYTES", [0], 0)), b"")
    yield "bytes_of_nothing", counted(binary_body(("BYTES", [2], 8)), bytes(8))
    yield "bytes_too_few", counted(binary_body(("BYTES", [3], len(two))), two)
    yield "bytes_too_many", counted(binary_body(("BYTES", [1], len(two))), two)
    yield "bytes_beyond_end", counted(binary_body(("BYTES", [1], 8)), b"\xff\xff\xff\xff1234")
    yield "bytes_cut_length", counted(binary_body(("BYTES", [1], 3)), b"\1\0\0")
    yield "bool_2", counted(binary_body(("BOOL", [2], 2)), b"\1\2")
    pair = binary_body(("INT8", [3], 3), ("FP32", [1], 4))
    yield "two_inputs", counted(pair, b"abc1234")
    yield "section_too_short", counted(pair, b"abc123")
    yield "section_too_long", counted(pair, b"abc12345")
    yield "no_section", counted(pair, b"")
    yield (
        "json_and_binary",
        counted(
            b'{"inputs":[{"name":"A","shape":[1],"datatype":"INT8","data":[1]},'
            b'{"name":"B","shape":[2],"datatype":"INT8","parameters":{"binary_data_size":2}}]}',
            b"xy",
        ),
    )
    yield "data_and_size", counted(one_input("[1]", "INT8", "[1]", ',"parameters":{"binary_data_size":1}'), b"x")
    yield "json_only", counted(one_input("[1]", "INT8", "[1]"), b"")
    yield "json_only_and_rest", counted(one_input("[1]", "INT8", "[1]"), b"rest")
    yield "empty_tensor", counted(binary_body(("FP32", [0, 5], 0)), b"")
    yield "scalar", counted(binary_body(("FP64", [], 8)), bytes(8))
    yield "size_differs", counted(binary_body(("FP32", [2], 4)), bytes(4))
    yield "size_huge", counted(binary_body(("INT8", [1], 2**64 - 1)), b"x")
    yield "sizes_wrap", counted(binary_body(("INT8", [2], 2), ("INT8", [1], 2**64 - 2)), b"xy")
    yield "shape_overflow", counted(binary_body(("INT8", [2**32, 2**32], 0)), b"")
    yield "shape_huge", counted(binary_body(("FP64", [2**60], 8)), bytes(8))
    yield "size_negative", counted(binary_body(("INT8", [1], -1)), b"x")
    yield (
        "binary_output",
        counted(binary_body(("INT8", [1], 1), more=',"parameters":{"binary_data_output":true}'), b"x"),
    )
    text = binary_body(("INT8", [1], 1))
    yield "length_one_more", counted(text, b"x", 1)
    yield "length_one_less", counted(text, b"x", -1)
    yield "length_beyond_body", counted(text, b"x", 2)
    yield "length_0", b"\0\0\0" + text
    yield "line", lined(str(len(text)), text + b"x")
    yield "line_zeros", lined("000" + str(len(text)), text + b"x")
    yield "line_twice", lined(str(len(text)), text + b"x", twice=True)
    for name, line in {
        "empty": "",
        "negative": "-1",
        "plus": f"+{len(text)}",
        "hex": hex(len(text)),
        "blank": f" {len(text)}",
        "list": f"{len(text)}, {len(text)}",
        "overflow": str(2**64 + len(text)),
        "word": "all",
    }.items():
        yield f"line_{name}", lined(line, text + b"x")


def main() -> None:
    for target in (http1_session, infer_json, infer_binary):
        folder = CORPUS / target.__name__
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in target():
            (folder / name).write_bytes(content)


if __name__ == "__main__":
    main()
