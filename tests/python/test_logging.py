"""Log records in Python's logging."""

import logging
import time
import urllib.request

import pytest

import asio_infer as ai


def wait_for(caplog: pytest.LogCaptureFixture, text: str) -> logging.LogRecord:
    guard = time.monotonic() + 10
    while time.monotonic() < guard:
        for record in caplog.records:
            if text in record.getMessage():
                return record
        time.sleep(0.005)
    raise AssertionError([record.getMessage() for record in caplog.records])


def test_records_reach_the_logger(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "asio_infer")
    before = time.time()
    server = ai.Server(port=0, log="logging")
    server.register("écho", ai.Identity())
    record = wait_for(caplog, "model registered")
    assert record.name == "asio_infer"
    assert record.levelno == logging.INFO
    assert before - 1 <= record.created <= time.time() + 1
    fields = record.__dict__["fields"]
    assert (fields["model"], fields["version"]) == ("écho", 1)
    assert "model=écho" in record.getMessage()


def test_levels(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "asio_infer")
    server = ai.Server(port=0, log=ai.Log(format="logging", level="error"))
    server.register("quiet", ai.Identity())
    other = ai.Server(port=0, log="logging")
    other.register("loud", ai.Identity())
    wait_for(caplog, "model=loud")
    assert not any("model=quiet" in record.getMessage() for record in caplog.records)


def test_an_access_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "asio_infer")
    with ai.Server(port=0, log=ai.Log(format="logging", access=True)) as server:
        request = urllib.request.Request(f"{server.url}/v2/health/live", headers={"X-Request-Id": "it-is-me"})
        urllib.request.urlopen(request).close()
        record = wait_for(caplog, "/v2/health/live")
    assert "it-is-me" in record.getMessage()


def test_a_handler_that_fails_does_no_harm(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    caplog.set_level(logging.DEBUG, "asio_infer")

    class Broken(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise RuntimeError("broken")

    unraisable: list[object] = []
    monkeypatch.setattr("sys.unraisablehook", unraisable.append)
    handler = Broken()
    logging.getLogger("asio_infer").addHandler(handler)
    try:
        server = ai.Server(port=0, log="logging")
        for _ in range(3):
            server.register("m", ai.Identity(), replace=True)
        guard = time.monotonic() + 10
        while len(unraisable) < 3 and time.monotonic() < guard:
            time.sleep(0.005)
        assert len(unraisable) == 3
    finally:
        logging.getLogger("asio_infer").removeHandler(handler)
    server.register("after", ai.Identity())
    wait_for(caplog, "model=after")
