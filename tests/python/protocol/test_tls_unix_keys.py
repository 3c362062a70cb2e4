"""TLS, the Unix-domain socket and keys, from outside; shared memory with Triton's client."""

import http.client
import json
import os
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import http2
import httpx
import numpy as np
import pytest
import tritonclient.grpc as triton_grpc
import tritonclient.http as triton_http
import wire
from servers import Served, StartServer
from tritonclient.grpc import service_pb2, service_pb2_grpc
from tritonclient.utils import InferenceServerException, shared_memory

import asio_infer as ai

ECHO = {"name": "echo", "identity": {"shape": [-1, -1]}}
OTHER = {"name": "other", "identity": {}}


def make_certificate(folder: Path, name: str) -> tuple[str, str]:
    certificate, key = str(folder / f"{name}.pem"), str(folder / f"{name}.key")
    subject = ["-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "2",
    ]
    subprocess.run([*command, "-keyout", key, "-out", certificate, *subject], check=True, capture_output=True)
    return certificate, key


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    for name in ("server", "client", "stranger"):
        make_certificate(folder, name)
    return folder


def get(server: Served, context: ssl.SSLContext, path: str = "/v2/health/live") -> int:
    connection = http.client.HTTPSConnection("localhost", server.address[1], context=context, timeout=10)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


def trusting(files: Path, name: str = "server") -> ssl.SSLContext:
    return ssl.create_default_context(cafile=files / f"{name}.pem")


@pytest.fixture(scope="module")
def secure(files: Path, start_server: StartServer) -> Served:
    tls = {"certificate": str(files / "server.pem"), "key": str(files / "server.key")}
    return start_server(ECHO, server={"tls": tls, "unix": str(files / "socket")}, limits={"handshake_timeout_s": 1.0})


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_tls_versions(version: ssl.TLSVersion, secure: Served, files: Path) -> None:
    context = trusting(files)
    context.minimum_version = context.maximum_version = version
    assert get(secure, context) == 200


def test_alpn(secure: Served, files: Path) -> None:
    for offered, chosen in ((["h2", "http/1.1"], "h2"), (["http/1.1"], "http/1.1"), ([], None)):
        context = trusting(files)
        if offered:
            context.set_alpn_protocols(offered)
        with (
            socket.create_connection(secure.address) as plain,
            context.wrap_socket(plain, server_hostname="localhost") as s,
        ):
            assert s.selected_alpn_protocol() == chosen
    context = trusting(files)
    context.set_alpn_protocols(["spdy/3"])
    with socket.create_connection(secure.address) as plain, pytest.raises(ssl.SSLError):
        context.wrap_socket(plain, server_hostname="localhost")


def test_http2_over_tls(secure: Served, files: Path) -> None:
    with httpx.Client(http1=False, http2=True, verify=trusting(files)) as client:
        answer = client.get(f"https://localhost:{secure.address[1]}/v2")
        assert (answer.status_code, answer.http_version) == (200, "HTTP/2")


def test_large_bodies_over_tls(secure: Served, files: Path) -> None:
    x = np.random.default_rng(0).random((4, 1 << 20), np.float32)
    credentials: Any = {"ssl": True, "root_certificates": str(files / "server.pem")}
    with triton_grpc.InferenceServerClient(f"localhost:{secure.address[1]}", **credentials) as client:
        made = triton_grpc.InferInput("INPUT0", list(x.shape), "FP32")
        made.set_data_from_numpy(x)
        for _ in range(2):
            assert np.array_equal(client.infer("echo", [made]).as_numpy("OUTPUT0"), x)


def test_plaintext_on_the_tls_port_is_refused(secure: Served) -> None:
    answer = secure.get("/v2")
    assert answer.status == 400
    assert "https" in answer.error()
    with secure.connect() as connection:
        connection.send(b"\0\1\2garbage" * 100)
        connection.finish()
        assert b"HTTP" not in connection.rest()


def test_a_stalled_handshake_is_closed(secure: Served, files: Path) -> None:
    stalled = [secure.connect() for _ in range(20)]
    for connection in stalled:
        connection.send(b"\x16\x03\x01")
    assert get(secure, trusting(files)) == 200
    for connection in stalled:
        connection.rest()
        connection.socket.close()


def test_mutual_tls(files: Path, start_server: StartServer) -> None:
    tls = {"certificate": str(files / "server.pem"), "key": str(files / "server.key")}
    server = start_server(ECHO, server={"tls": {**tls, "client_ca": str(files / "client.pem")}})
    for name, welcome in (("client", True), ("stranger", False), (None, False)):
        context = trusting(files)
        if name:
            context.load_cert_chain(files / f"{name}.pem", files / f"{name}.key")
        if welcome:
            assert get(server, context) == 200
        else:
            with pytest.raises((ssl.SSLError, ConnectionError, http.client.RemoteDisconnected)):
                get(server, context)


def test_certificates_that_change(tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path, "first")
    server = ai.Server(port=0, tls=ai.Tls(certificate, key), log=ai.Log(level="off"))
    with server:
        assert server.url.startswith("https://")

        def trusted(path: str) -> bool:
            context = ssl.create_default_context(cafile=path)
            try:
                with socket.create_connection(("127.0.0.1", server.port)) as plain:
                    context.wrap_socket(plain, server_hostname="localhost").close()
            except ssl.SSLError:
                return False
            return True

        old = str(tmp_path / "old.pem")
        Path(old).write_bytes(Path(certificate).read_bytes())
        context = ssl.create_default_context(cafile=old)
        kept = http.client.HTTPSConnection("localhost", server.port, context=context, timeout=10)
        kept.request("GET", "/v2")
        assert kept.getresponse().read()
        second, second_key = make_certificate(tmp_path, "second")
        Path(key).write_bytes(Path(second_key).read_bytes())
        Path(certificate).write_bytes(Path(second).read_bytes())
        wire.wait_for(lambda: trusted(second), "the new certificate is used", 10)
        kept.request("GET", "/v2")
        assert kept.getresponse().status == 200
        kept.close()
        Path(certificate).write_text("broken")
        assert trusted(second)


def test_wrong_files_are_named(files: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.pem"
    broken.write_text("nothing")
    pem, key = files / "server.pem", files / "server.key"
    for tls, text in (
        (lambda: ai.Tls(pem, tmp_path / "none"), "none"),
        (lambda: ai.Tls(broken, key), "broken.pem"),
        (lambda: ai.Tls(pem, files / "client.key"), "does not belong"),
        (lambda: ai.Tls(pem, key, broken), "client_ca"),
    ):
        with pytest.raises(ai.InvalidRequest, match=text):
            ai.Server(port=0, tls=tls())


# ---- Unix-domain socket


def test_unix_socket(secure: Served, files: Path) -> None:
    path = files / "socket"
    assert path.stat().st_mode & 0o777 == 0o600
    with httpx.Client(transport=httpx.HTTPTransport(uds=str(path))) as client:
        assert client.get("http://here/v2/health/live").status_code == 200
    with grpc.insecure_channel(f"unix:{path}") as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        assert stub.ServerLive(service_pb2.ServerLiveRequest()).live
    with pytest.raises(ai.Unavailable, match="in use"):
        ai.Server(port=0, unix=path).start()


def test_unix_paths(tmp_path: Path) -> None:
    taken = tmp_path / "file"
    taken.write_text("mine")
    with pytest.raises(ai.InvalidRequest, match="no socket"):
        ai.Server(port=0, unix=taken).start()
    with pytest.raises(ai.InvalidRequest, match="107"):
        ai.Server(port=0, unix=tmp_path / ("x" * 200)).start()
    stale = tmp_path / "stale"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(stale))
    with ai.Server(port=0, unix=stale):
        assert stale.is_socket()
    assert not stale.exists()


# ---- Keys

READER, CALLER, NARROW = "reader-reader-reader", "caller-caller-caller", "narrow-narrow-narrow"
ROUTES = [
    "/", "/v2", "/v2/health/live", "/v2/health/ready", "/v2/models/echo", "/v2/models/echo/ready", "/metrics",
    "/v2/models/echo/config", "/v2/models/echo/stats", "/v2/models/stats", "/v2/models/echo/infer",
    "/v2/models/echo/versions/1/infer", "/v2/systemsharedmemory/status", "/v2/systemsharedmemory/region/r/register",
    "/v2/systemsharedmemory/unregister", "/nothing/here",
]  # fmt: skip
RPCS = [
    "inference.GRPCInferenceService/" + name
    for name in ("ServerLive", "ServerReady", "ModelReady", "ServerMetadata", "ModelMetadata", "ModelInfer",
                 "ModelStreamInfer", "ModelConfig", "ModelStatistics", "SystemSharedMemoryStatus", "RepositoryIndex")
]  # fmt: skip
RPCS += ["grpc.health.v1.Health/Check", "grpc.health.v1.Health/Watch"]
RPCS += ["grpc.reflection.v1.ServerReflection/ServerReflectionInfo"]


def spellings(route: str) -> list[str]:
    return [
        route, route + "/", "/" + route, route.replace("/v2", "//v2"), route.replace("v2", "V2"), route + "?x=1",
        route.replace("/v2/", "/v2%2F"), route.replace("e", "%65"), "/." + route, "/x/.." + route,
        "http://test" + route,
    ]  # fmt: skip


WRONG: list[list[tuple[str, str]]] = [
    [],
    [("authorization", "Bearer ")],
    [("authorization", f"Bearer {CALLER[:-1]}x")],
    [("authorization", f"Bearer {CALLER[:-1]}")],
    [("authorization", f"Basic {CALLER}")],
    [("authorization", CALLER)],
    [("authorization", f"Bearer {CALLER}"), ("authorization", f"Bearer {CALLER}")],
    [("x-http-method-override", "GET"), ("proxy-authorization", f"Bearer {CALLER}")],
]


@pytest.fixture(scope="module")
def locked(start_server: StartServer, tmp_path_factory: pytest.TempPathFactory) -> tuple[Served, str]:
    keys = [
        {"name": "reader", "token": READER, "scopes": ["read"]},
        {"name": "caller", "token": CALLER},
        {"name": "narrow", "token": NARROW, "models": ["ech?"]},
    ]
    path = str(tmp_path_factory.mktemp("locked") / "socket")
    return start_server(ECHO, OTHER, server={"auth": {"keys": keys}, "unix": path}, log="debug", access=True), path


def statuses(link: socket.socket, http2_too: bool, method: str, target: str, fields: Any) -> int:
    link.settimeout(wire.GUARD_S)
    if http2_too:
        with http2.Connection(("", 0), sock=link) as connection:
            block = http2.request_fields(method, target, fields)
            connection.send(connection.headers(1, block))
            reply = connection.reply(1)
            return reply.status if reply.reset is None else 401  # malformed for HTTP/2: nobody has looked at it
    connection = wire.Connection.__new__(wire.Connection)
    connection.socket, connection._got = link, b""
    with connection:
        return connection.ask(wire.request(method, target, headers=fields)).status


@pytest.mark.parametrize("transport", ["http1", "http2", "unix http1", "unix http2"])
def test_nothing_is_reachable_without_a_key(transport: str, locked: tuple[Served, str]) -> None:
    server, path = locked
    for number, route in enumerate(ROUTES):
        for target in spellings(route):
            for method in ("GET", "POST", "OPTIONS"):
                fields = WRONG[number % len(WRONG)]
                link = socket.socket(socket.AF_UNIX if "unix" in transport else socket.AF_INET)
                link.connect(path if "unix" in transport else server.address)
                assert statuses(link, "http2" in transport, method, target, fields) == 401, (method, target, fields)
    for fields in WRONG:
        link = socket.create_connection(server.address)
        assert statuses(link, "http2" in transport, "GET", "/v2", fields) == 401, fields


def test_no_rpc_is_reachable_without_a_key(locked: tuple[Served, str]) -> None:
    server, path = locked
    for target in (f"{server.address[0]}:{server.address[1]}", f"unix:{path}"):
        with grpc.insecure_channel(target) as channel:
            for method in RPCS:
                for fields in (WRONG[0], *WRONG[2:6]):
                    with pytest.raises(grpc.RpcError) as caught:
                        next(channel.unary_stream("/" + method)(b"", metadata=fields, timeout=10))
                    assert caught.value.code() in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.UNIMPLEMENTED)
                    assert caught.value.code() == grpc.StatusCode.UNAUTHENTICATED or "Repository" in method


def test_scopes_and_patterns(locked: tuple[Served, str]) -> None:
    server, _ = locked

    def status(token: str, method: str, target: str) -> int:
        return server.ask(wire.request(method, target, headers=[("Authorization", f"bearer {token}")])).status

    assert status(READER, "GET", "/v2") == status(CALLER, "GET", "/metrics") == 200
    assert status(READER, "POST", "/v2/models/echo/infer") == 403
    assert status(CALLER, "POST", "/v2/models/echo/infer") == 400
    assert status(CALLER, "POST", "/v2/systemsharedmemory/unregister") == 403
    assert status(NARROW, "GET", "/v2/models/echo") == 200
    assert status(NARROW, "GET", "/v2/models/other") == status(NARROW, "GET", "/v2/models/unknown") == 403
    assert status(NARROW, "GET", "/metrics") == 403
    listed = server.ask(wire.request("GET", "/v2/models/stats", headers=[("Authorization", f"Bearer {NARROW}")])).json()
    assert [entry["name"] for entry in listed["model_stats"]] == ["echo"]
    with triton_grpc.InferenceServerClient(f"{server.address[0]}:{server.address[1]}") as client:
        for model, code in (("echo", None), ("other", "PERMISSION_DENIED")):
            made = triton_grpc.InferInput("INPUT0", [1, 1], "FP32")
            made.set_data_from_numpy(np.ones((1, 1), np.float32))
            call: Any = {"inputs": [made], "headers": {"authorization": f"Bearer {NARROW}"}}
            if code is None:
                assert client.infer(model, **call).as_numpy("OUTPUT0").tolist() == [[1]]
            else:
                with pytest.raises(InferenceServerException, match=code):
                    client.infer(model, **call)


def test_an_upload_without_a_key_is_refused_before_it_is_read(locked: tuple[Served, str]) -> None:
    server, _ = locked
    with server.connect() as connection:
        connection.send(wire.request("POST", "/v2/models/echo/infer", headers=[("Content-Length", str(60 << 20))]))
        answer = connection.answer()
        assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")


def test_no_secret_is_logged(files: Path) -> None:
    keys = [{"name": "the caller", "token": CALLER}]
    with Served([ECHO], server={"auth": {"keys": keys}}, log="debug", access=True) as server:
        server.ask(wire.request("GET", "/v2", headers=[("Authorization", f"Bearer {CALLER}")]))
        server.ask(wire.request("GET", "/v2", headers=[("Authorization", "Bearer wrong-wrong-wrong-wrong")]))
        log = server.stop()
    assert "the caller" in log
    assert CALLER not in log
    assert "wrong-wrong" not in log


def test_liveness_is_public_only_if_asked(start_server: StartServer) -> None:
    auth = {"keys": [{"name": "k", "token": CALLER}], "public_liveness": True}
    server = start_server(ECHO, server={"auth": auth})
    assert server.get("/v2/health/live").status == 200
    assert server.ask(wire.request("POST", "/v2/health/live")).status == 401
    assert server.get("/v2/health/ready").status == server.get("/v2").status == 401


def test_files_of_keys(tmp_path: Path) -> None:
    file = tmp_path / "keys.toml"
    command = ["asio-infer", "key", "--name", "ci", "--models", "echo", "--file", str(file)]
    token = subprocess.run([sys.executable, "-m", "asio_infer", *command[1:]], capture_output=True, text=True)
    assert token.returncode == 0, token.stderr
    assert file.stat().st_mode & 0o777 == 0o600
    secret = token.stdout.split()[0]
    assert secret not in file.read_text()
    (key,) = ai.Auth(file=file).keys
    assert (key.name, key.models) == ("ci", ("echo",))
    assert key == ai.Key("ci", secret, models=["echo"])
    assert secret not in repr(key)
    for text, message in (("[[key]]\nname='x'\n", ":1"), ("[[key]]\nsha='1'\n", "unknown"), ("x=1\n", "only")):
        file.write_text(text)
        with pytest.raises(ai.InvalidRequest, match=message):
            ai.Auth(file=file)
    with pytest.raises(ai.InvalidRequest, match="16"):
        ai.Key("short", "short")
    with pytest.raises(ai.InvalidRequest, match="no keys"):
        ai.Auth()


# ---- Shared memory


@pytest.fixture(scope="module")
def sharing(start_server: StartServer, models: Path) -> Served:
    strings = {"name": "str", "model": str(models / "str.onnx")}
    return start_server(ECHO, strings, server={"allow_client_shared_memory": True})


@pytest.fixture
def region() -> Iterator[Any]:
    made = shared_memory.create_shared_memory_region("both", "/asio_infer_test_region", 4 << 20)
    yield made
    shared_memory.destroy_shared_memory_region(made)


@pytest.mark.parametrize("triton", [triton_http, triton_grpc], ids=["http", "grpc"])
def test_tensors_in_shared_memory(triton: Any, sharing: Served, region: Any) -> None:
    x = np.random.default_rng(0).random((2, 1 << 18), np.float32)
    shared_memory.set_shared_memory_region(region, [x])
    with triton.InferenceServerClient(f"{sharing.address[0]}:{sharing.address[1]}") as client:
        client.register_system_shared_memory("both", "/asio_infer_test_region", 4 << 20)
        made = triton.InferInput("INPUT0", list(x.shape), "FP32")
        made.set_shared_memory("both", x.nbytes)
        wanted = triton.InferRequestedOutput("OUTPUT0")
        wanted.set_shared_memory("both", x.nbytes, offset=x.nbytes)
        client.infer("echo", [made], outputs=[wanted])
        got = shared_memory.get_contents_as_numpy(region, np.float32, x.shape, offset=x.nbytes)
        assert np.array_equal(got, x)
        wanted.set_shared_memory("both", x.nbytes - 4, offset=x.nbytes)
        with pytest.raises(InferenceServerException, match="shared_memory_byte_size"):
            client.infer("echo", [made], outputs=[wanted])
        wanted.set_shared_memory("both", x.nbytes, offset=(4 << 20) - 8)
        with pytest.raises(InferenceServerException, match="ends before"):
            client.infer("echo", [made], outputs=[wanted])
        with pytest.raises(InferenceServerException, match="registered already"):
            client.register_system_shared_memory("both", "/asio_infer_test_region", 4 << 20)
        os.truncate("/dev/shm/asio_infer_test_region", 100)  # behind the server's back
        with pytest.raises(InferenceServerException, match="shorter than it was"):
            client.infer("echo", [made])
        os.truncate("/dev/shm/asio_infer_test_region", 4 << 20)
        client.unregister_system_shared_memory("both")
        with pytest.raises(InferenceServerException, match="no shared memory region"):
            client.infer("echo", [made])


HOSTILE = [
    ("/no_such_thing", 0, 10), ("/../etc/passwd", 0, 10), ("/a/b", 0, 10), ("", 0, 10), ("/", 0, 10), ("/..", 0, 10),
    ("/.", 0, 10), ("/sem.x", 0, 10), ("/x\0y", 0, 10), ("/x\ny", 0, 10), ("/" + "x" * 300, 0, 10),
    ("/asio_infer_test_region", 0, 0), ("/asio_infer_test_region", 0, (4 << 20) + 1),
    ("/asio_infer_test_region", 2**63, 2**63), ("/asio_infer_test_region", 2**64 - 1, 2),
    ("/asio_infer_test_region", 1, 2**64 - 1),
]  # fmt: skip


def test_regions_that_cannot_be(sharing: Served, region: Any) -> None:
    texts = set()
    for key, offset, size in HOSTILE:
        body = json.dumps({"key": key, "offset": offset, "byte_size": size}).encode()
        answer = sharing.ask(wire.request("POST", "/v2/systemsharedmemory/region/r/register", body))
        assert answer.status == 400, (key, offset, size, answer.body)
        texts.add(answer.error())
    assert len(texts) == 1, texts
    for body in (b"", b"[]", b'{"key":1,"byte_size":1}', b'{"key":"/x"}', b'{"key":"/x","byte_size":-1}', b"{" * 1000):
        assert sharing.ask(wire.request("POST", "/v2/systemsharedmemory/region/r/register", body)).status == 400
    assert sharing.get("/v2/systemsharedmemory/status").json() == []
    assert "system_shared_memory" in sharing.get("/v2").json()["extensions"]


def test_shared_memory_is_off_by_default(served: Served) -> None:
    assert served.get("/v2/systemsharedmemory/status").status == 501
    where = {"shared_memory_region": "r", "shared_memory_byte_size": 16}
    inputs = [{"name": name, "shape": [1, 4], "datatype": "FP32", "parameters": where} for name in ("A", "B")]
    answer = served.infer("add", inputs)
    assert answer.status == 400
    assert "does not offer" in answer.error()
