"""Addresses and ports: localhost is quick, a port has one owner, and a restart need not wait for old connections."""

import socket
import time
import urllib.request
from contextlib import ExitStack, closing

import pytest

import asio_infer as ai


def make(host: str = "127.0.0.1", port: int = 0) -> ai.Server:
    return ai.Server(host, port, log=ai.Log(level="off"))


def has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


def is_live(host: str, port: int) -> bool:
    with urllib.request.urlopen(f"http://{host}:{port}/v2/health/live", timeout=30) as answer:
        return bool(answer.read() == b'{"live":true}')


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1"])
def test_twenty_connections_by_name_are_quick(name: str) -> None:
    """A client that tries an address on which nobody listens is told so at once."""
    with make() as server:
        began = time.monotonic()
        for _ in range(20):
            assert is_live(name, server.port)
        assert time.monotonic() - began < 1.0


@pytest.mark.parametrize("host", ["localhost", "", "0.0.0.0", "::"])
def test_a_free_port_is_the_same_on_every_address(host: str) -> None:
    if host == "::" and not has_ipv6():
        pytest.skip("no IPv6")
    for _ in range(20):
        with make(host) as server:
            assert server.port != 0
            if host != "::":
                assert is_live("127.0.0.1", server.port)
            if host == "::" or (host == "localhost" and localhost_has_ipv6()):
                assert is_live("[::1]", server.port)


def localhost_has_ipv6() -> bool:
    return has_ipv6() and any(info[0] == socket.AF_INET6 for info in socket.getaddrinfo("localhost", 80))


@pytest.mark.parametrize("first", ["127.0.0.1", "0.0.0.0", "localhost"])
@pytest.mark.parametrize("second", ["127.0.0.1", "0.0.0.0", "localhost"])
def test_a_port_has_one_owner(first: str, second: str) -> None:
    with make(first) as server:
        other = make(second, server.port)
        with pytest.raises(ai.Unavailable, match=str(server.port)):
            other.start()
        assert is_live("127.0.0.1", server.port)
    with other:  # once it is free
        assert is_live("127.0.0.1", other.port)


def test_a_restart_does_not_wait_for_connections_that_the_server_closed() -> None:
    port = 0
    for _ in range(10):
        with make(port=port) as server, ExitStack() as stack:
            port = server.port
            for _ in range(5):
                connection = stack.enter_context(closing(socket.create_connection(("127.0.0.1", port), 30)))
                connection.sendall(b"GET /v2/health/live HTTP/1.1\r\nHost: a\r\n\r\n")
                assert connection.recv(4096).startswith(b"HTTP/1.1 200 ")
            server.stop()  # closes them first, which leaves them in TIME_WAIT
            assert connection.recv(4096) == b""


def test_the_port_is_known_from_start_to_start() -> None:
    server = make()
    with server:
        first = server.port
        assert server.url == f"http://127.0.0.1:{first}"
    with server:
        assert is_live("127.0.0.1", server.port)
