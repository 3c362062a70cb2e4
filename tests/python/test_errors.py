"""The classes of errors against the one status table."""

import pickle

import pytest

import asio_infer as ai
from asio_infer import _core

TABLE = _core.status_table()
CLASSES = sorted(
    {value for value in vars(ai).values() if isinstance(value, type) and issubclass(value, ai.AsioInferError)}
    - {ai.AsioInferError},
    key=lambda kind: kind.__name__,
)


@pytest.mark.parametrize(("code", "http_status", "grpc_code", "name"), TABLE)
def test_every_row_has_its_class(code: str, http_status: int, grpc_code: int, name: str) -> None:
    kind = getattr(ai, name)
    assert issubclass(kind, ai.AsioInferError)
    assert kind.__module__ == "asio_infer"
    assert name in ai.__all__


@pytest.mark.parametrize("kind", CLASSES)
def test_every_class_says_what_its_row_says(kind: type[ai.AsioInferError]) -> None:
    rows = [row for row in TABLE if row[3] == kind.__name__]
    assert (kind.code, kind.http_status, kind.grpc_code, kind.__name__) in rows


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (ai.InvalidRequest, ValueError),
        (ai.NotFound, KeyError),
        (ai.DeadlineExceeded, TimeoutError),
        (ai.NotImplementedFeature, NotImplementedError),
        (ai.RuntimeVersionError, ImportError),
    ],
)
def test_the_built_in_exception_that_a_class_is(kind: type[Exception], builtin: type[Exception]) -> None:
    assert issubclass(kind, builtin)


@pytest.mark.parametrize("kind", CLASSES)
def test_text_and_pickle(kind: type[ai.AsioInferError]) -> None:
    error = kind("model 'x': nichts da")
    error.code = "another"
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kind
    assert str(copy) == "model 'x': nichts da"
    assert copy.code == "another"


def test_an_error_of_the_core_carries_its_row(idle_server: ai.Server) -> None:
    with pytest.raises(ai.NotFound) as caught:
        idle_server.unregister("nobody")
    assert (caught.value.code, caught.value.http_status, caught.value.grpc_code) == ("not_found", 404, 5)
    assert "nobody" in str(caught.value)
    assert not str(caught.value).startswith(("'", '"'))
