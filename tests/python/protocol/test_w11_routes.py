"""Paths, methods and percent-encoding: near misses get a code that says what is wrong, and decoding happens once."""

import re

import pytest
import wire
from servers import ADD, Served

BODY = ADD.split(b"\r\n\r\n", 1)[1]
READS = [
    "/",
    "/v2",
    "/v2/health/live",
    "/v2/health/ready",
    "/v2/models/add",
    "/v2/models/add/versions/1",
    "/v2/models/add/ready",
    "/v2/models/add/versions/1/ready",
    "/v2/models/add/config",
    "/v2/models/add/versions/1/config",
    "/v2/models/add/stats",
    "/v2/models/add/versions/1/stats",
    "/v2/models/stats",
    "/metrics",
]
INFERS = ["/v2/models/add/infer", "/v2/models/add/versions/1/infer"]
OPTIONAL = {"content-encoding", "vary"}


def post(target: str) -> bytes:
    return wire.request("POST", target, BODY)


@pytest.mark.parametrize("target", READS)
def test_what_is_read(target: str, served: Served) -> None:
    got = served.get(target)
    assert got.status == 200
    assert set(got.headers) - OPTIONAL == {"date", "content-type", "content-length", "keep-alive", "x-request-id"}
    with served.connect() as connection:
        head = connection.ask(wire.request("HEAD", target))
        assert head.status == 200
        assert head.body == b""
        assert head.headers["content-type"] == got.headers["content-type"]
        if "stats" not in target and "metrics" not in target:
            assert head.headers["content-length"] == got.headers["content-length"]
        assert connection.ask(wire.request("GET", "/v2/health/live")).json() == {"live": True}


@pytest.mark.parametrize("target", [*READS, *INFERS])
def test_options(target: str, served: Served) -> None:
    with served.connect() as connection:
        answer = connection.ask(wire.request("OPTIONS", target))
        assert answer.status in (200, 204)
        assert allowed(answer) == ({"POST", "OPTIONS"} if target in INFERS else {"GET", "HEAD", "OPTIONS"})
        assert connection.ask(wire.request("GET", "/v2/health/live")).json() == {"live": True}


def allowed(answer: wire.Answer) -> set[str]:
    return set(answer.headers["allow"].split(", "))


def test_options_of_the_server(served: Served) -> None:
    answer = served.ask(wire.request("OPTIONS", "*"))
    assert answer.status in (200, 204)
    assert {"GET", "POST"} <= allowed(answer)
    assert served.ask(wire.request("GET", "*")).status in (400, 404)


METHODS = ["DELETE", "PUT", "PATCH", "TRACE", "CONNECT", "PROPFIND", "M-SEARCH", "X", "get", "Post", "x" * 100]


@pytest.mark.parametrize("method", [*METHODS, "POST"])
@pytest.mark.parametrize("target", ["/", "/v2", "/v2/health/live", "/v2/models/add", "/metrics"])
def test_another_method_than_get(method: str, target: str, served: Served) -> None:
    answer = served.ask(wire.request(method, target))
    assert answer.status == 405
    assert allowed(answer) == {"GET", "HEAD", "OPTIONS"}
    answer.error()


@pytest.mark.parametrize("method", [*METHODS, "GET"])
@pytest.mark.parametrize("target", INFERS)
def test_another_method_than_post(method: str, target: str, served: Served) -> None:
    answer = served.ask(wire.request(method, target))
    assert answer.status == 405
    assert allowed(answer) == {"POST", "OPTIONS"}
    answer.error()


def test_head_of_an_inference(served: Served) -> None:
    answer = served.ask(wire.request("HEAD", INFERS[0]))
    assert answer.status == 405
    assert answer.body == b""


@pytest.mark.parametrize("target", INFERS)
def test_an_inference(target: str, served: Served) -> None:
    assert served.ask(post(target)).outputs()["Y"].tolist() == [[11, 22, 33, 44]]


MISSING = [
    "/v1",
    "/V2",
    "/v2x",
    "/v2/Health/live",
    "/v2/health",
    "/v2/health/",
    "/v2/health/dead",
    "/v2/health/live/x",
    "/v2/models",
    "/v2/models/",
    "/v2/models//ready",
    "/v2/models/nothing",
    "/v2/models/nothing/ready",
    "/v2/models/nothing/infer",
    "/v2/models/nothing/config",
    "/v2/models/nothing/stats",
    "/v2/models/nothing/versions/1",
    "/v2/models/Add",
    "/v2/models/add/infers",
    "/v2/models/add/versions",
    "/v2/models/add/versions/",
    "/v2/models/add/versions//ready",
    "/v2/models/add/1/infer",
    "//v2",
    "/v2//health/live",
    "//",
    "/v2/models/add//infer",
    "/v2/./health/live",
    "/v2/models/../health/live",
    "/v2/models/%2e%2e/health/live",
    "/v2/models/./ready",
    "/v2/models/../ready",
    "/v2/models/%2e%2e/ready",
    "/v2/models/..%2fadd",
    "/v2/models/..%2fadd/ready",
    "/v2/models/a%2Fb",
    "/v2/models%2Fadd",
    "/v2%2Fhealth%2Flive",
    "/v2/models/add%2Finfer",
    "/v2/models/add%2Fversions%2F1",
    "/v2/models/add%5c..%5cx",
    "/v2/models/%2561dd%2Finfer",
    "/v2/models/add%20/ready",
    "/v2/models/%20add/ready",
    "/v2/models/add%3F/ready",
    "/v2/models/add;v=1/ready",
    "/v2/models/add%0d%0aX:%20y/ready",
    "/v2/models/%ff/ready",
    "/v2/models/%c0%afadd/ready",
    "/v2/models/" + "x" * 257 + "/ready",
    "/v2/models/" + "a/" * 5000,
    "/favicon.ico",
    "/etc/passwd",
    "/%2e%2e/%2e%2e/etc/passwd",
]


@pytest.mark.parametrize("target", MISSING)
def test_what_is_not_there(target: str, served: Served) -> None:
    answers = [served.ask(data) for data in (wire.request("GET", target), post(target))]
    fitting, other = reversed(answers) if target.endswith("/infer") else answers
    assert fitting.status == 404
    assert other.status in (404, 405)
    for answer in answers:
        answer.error()


VERSIONS = ["0", "2", "99", "-1", "+1", "01", "1.0", "1e0", "abc", "1x", "%31%20", " ", "9" * 30, str(2**63), "\u0661"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("rest", ["", "/ready", "/infer", "/config", "/stats"])
def test_a_version_that_is_not_there(version: str, rest: str, served: Served) -> None:
    target = f"/v2/models/add/versions/{version}{rest}".replace(" ", "%20").encode().decode("latin-1")
    answer = served.ask(post(target) if rest == "/infer" else wire.request("GET", target))
    assert answer.status == 404
    assert "version" in answer.error()


@pytest.mark.parametrize("escape", ["%", "%4", "%zz", "%4g", "%g4", "%%", "%-1", "%+1", "% 1", "%u0041", "%\xe9"])
def test_a_broken_escape(escape: str, served: Served) -> None:
    target = f"/v2/models/add{escape}".replace(" ", "+")
    answer = served.ask(wire.request("GET", target))
    assert answer.status == 400, answer.body
    answer.error()


def test_a_nul_in_a_path(served: Served) -> None:
    for target in ("/v2/models/add%00", "/v2/models/add%00/ready", "/%00"):
        assert served.get(target).status in (400, 404)


@pytest.mark.parametrize("target", ["/v2/", "/v2/health/live/", "/v2/models/add/", "/v2/models/add/ready/"])
def test_a_slash_at_the_end(target: str, served: Served) -> None:
    assert served.get(target).body == served.get(target[:-1]).body


def test_an_inference_with_a_slash_at_the_end(served: Served) -> None:
    assert served.ask(post("/v2/models/add/infer/")).outputs()["Y"].tolist() == [[11, 22, 33, 44]]


@pytest.mark.parametrize(
    ("segment", "name"),
    [
        ("%61dd", "add"),
        ("%61%64%64", "add"),
        ("a%64d", "add"),
        ("a%20b", "a b"),
        ("%2561dd", "%61dd"),
        ("%C3%A4%C3%B6%c3%bc", "äöü"),
        ("äöü".encode().decode("latin-1"), "äöü"),
    ],
)
def test_names_are_decoded_once(segment: str, name: str, served: Served) -> None:
    assert served.get(f"/v2/models/{segment}").json()["name"] == name
    assert served.get(f"/v2/models/{segment}/ready").json() == {"name": name, "ready": True}
    assert served.get(f"/v2/models/{segment}/versions/%31").json()["name"] == name
    assert served.get(f"/v2/%6dodels/{segment}/%72eady").json()["name"] == name


def test_a_plus_is_a_plus(served: Served) -> None:
    assert served.get("/v2/models/a+b").status == 404
    assert served.get("/v2/models/a%2Bb").status == 404


@pytest.mark.parametrize("query", ["?", "?x=1", "?a=b&c=/d?e", "?%zz", "?%00", "?x=" + "y" * 1000])
def test_a_query_changes_nothing(query: str, served: Served) -> None:
    assert served.get("/v2/health/live" + query).json() == {"live": True}
    assert served.ask(post("/v2/models/add/infer" + query)).outputs()["Y"].tolist() == [[11, 22, 33, 44]]
    assert served.get("/v2/models/add/ready" + query).status == 200


@pytest.mark.parametrize("start", ["http://test", "HTTP://other:8000", "https://[::1]:1", "http://test:", "http://a@b"])
def test_the_absolute_form(start: str, served: Served) -> None:
    assert served.get(start + "/v2/health/live").json() == {"live": True}
    assert served.get(start + "/v2/health/live?x=1").json() == {"live": True}
    assert served.get(start).body == served.get("/").body
    assert served.ask(post(start + "/v2/models/add/infer")).outputs()["Y"].tolist() == [[11, 22, 33, 44]]
    assert served.get(start + "/nothing").status == 404


@pytest.mark.parametrize(
    "target", ["v2", "v2/health/live", "http://", "http:///v2", "ftp://a/v2", "?x", "#", "test:80"]
)
def test_a_target_that_is_none(target: str, served: Served) -> None:
    answer = served.ask(wire.request("GET", target))
    assert answer.status in (400, 404)
    answer.error()


def test_a_fragment(served: Served) -> None:
    assert served.get("/v2/health/live#x").status in (200, 400, 404)


# ---- Health and readiness


def test_health(served: Served) -> None:
    assert served.get("/v2/health/live").json() == {"live": True}
    assert served.get("/v2/health/ready").json() == {"ready": True, "live": True}
    assert served.get("/v2/models/add/ready").json() == {"name": "add", "ready": True}
    assert served.get("/v2/models/two/versions/1/ready").json() == {"name": "two", "ready": True}


# ---- Headers


@pytest.mark.parametrize("given", ["a", "42", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "!#$%&'*+-.^_`|~:/?=", "x" * 128])
def test_a_request_id_comes_back(given: str, served: Served) -> None:
    for data in (
        wire.request("GET", "/v2", headers=[("X-Request-Id", given)]),
        wire.request("GET", "/nothing", headers=[("x-request-id", f"  {given}\t")]),
        wire.request("HEAD", "/v2", headers=[("X-REQUEST-ID", given)]),
        wire.request("OPTIONS", "/v2", headers=[("X-Request-ID", given)]),
        wire.request("POST", "/v2/models/add/infer", BODY, [("X-Request-Id", given)]),
        wire.request("POST", "/v2/models/add/infer", b"{", [("X-Request-Id", given)]),
    ):
        assert served.ask(data).headers["x-request-id"] == given


@pytest.mark.parametrize("given", ["", "a b", "é", "x" * 129, "\ta\tb"])
def test_a_request_id_that_cannot_be_used_is_replaced(given: str, served: Served) -> None:
    answer = served.ask(wire.request("GET", "/v2", headers=[("X-Request-Id", given.encode().decode("latin-1"))]))
    assert re.fullmatch("[0-9a-f]{32}", answer.headers["x-request-id"])


def test_every_request_without_an_id_gets_its_own(served: Served) -> None:
    with served.connect() as connection:
        ids = [connection.ask(wire.request("GET", "/v2")).headers["x-request-id"] for _ in range(200)]
    ids += [served.get("/v2").headers["x-request-id"] for _ in range(50)]
    assert len(set(ids)) == 250
    assert all(re.fullmatch("[0-9a-f]{32}", each) for each in ids)


@pytest.mark.parametrize(
    ("headers", "status"),
    [([("Content-Length", "3000000000")], 413), ([("Expect", "x")], 417), ([("Transfer-Encoding", "gzip")], 501)],
)
def test_a_refused_request_keeps_its_id(headers: wire.Headers, status: int, served: Served) -> None:
    data = wire.request("POST", "/v2/models/add/infer", headers=[("X-Request-Id", "mine"), *headers])
    answer = served.ask(data)
    assert answer.status == status
    assert answer.headers["x-request-id"] == "mine"


def test_the_date(served: Served) -> None:
    date = served.get("/v2").headers["date"]
    assert re.fullmatch(r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT", date)


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "application/json",
        "application/json; charset=utf-8",
        "application/octet-stream",
        "text/plain",
        "*/*",
        "",
        "application/x-www-form-urlencoded",
    ],
)
def test_any_content_type_is_read_as_the_protocol(content_type: str | None, served: Served) -> None:
    headers = [] if content_type is None else [("Content-Type", content_type)]
    answer = served.ask(wire.request("POST", "/v2/models/add/infer", BODY, headers))
    assert answer.outputs()["Y"].tolist() == [[11, 22, 33, 44]]


@pytest.mark.parametrize("content_type", ["multipart/form-data; boundary=x", "multipart/mixed", "Multipart/Form-Data"])
def test_wrapped_content_is_not_read(content_type: str, served: Served) -> None:
    answer = served.ask(wire.request("POST", "/v2/models/add/infer", BODY, [("Content-Type", content_type)]))
    assert answer.status == 415
    answer.error()


@pytest.mark.parametrize("coding", ["br", "zstd", "compress", "gzip, br", "x", "identity, identity", "gzip gzip"])
def test_a_content_coding_that_is_not_known(coding: str, served: Served) -> None:
    answer = served.ask(wire.request("POST", "/v2/models/add/infer", BODY, [("Content-Encoding", coding)]))
    assert answer.status == 415
    assert "Content-Encoding" in answer.error()


@pytest.mark.parametrize("coding", ["identity", "Identity", ""])
def test_no_content_coding(coding: str, served: Served) -> None:
    answer = served.ask(wire.request("POST", "/v2/models/add/infer", BODY, [("Content-Encoding", coding)]))
    assert answer.outputs()["Y"].tolist() == [[11, 22, 33, 44]]


def test_a_second_content_coding_is_not_overlooked(served: Served) -> None:
    headers = [("Content-Encoding", "identity"), ("Content-Encoding", "br")]
    assert served.ask(wire.request("POST", "/v2/models/add/infer", BODY, headers)).status == 415
