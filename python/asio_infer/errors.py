"""What goes wrong, as exceptions.

Every failure of a call or a request has a code; one table gives its HTTP status, its gRPC status and its class here.
Catch `AsioInferError` for all of them, or the built-in exception that a class also is: `ValueError` for
`InvalidRequest`, `KeyError` for `NotFound`, `TimeoutError` for `DeadlineExceeded`.
"""

from __future__ import annotations


class AsioInferError(Exception):
    """The base of all failures that have a row in the status table.

    Attributes:
        code: The failure in one lower-case word, the same on every protocol ("queue_full").
        http_status: What the same failure is over HTTP.
        grpc_code: What it is over gRPC, as a number.
    """

    code: str = "internal"
    http_status: int = 500
    grpc_code: int = 13

    def __str__(self) -> str:
        # KeyError would show its argument's repr.
        return str(self.args[0]) if len(self.args) == 1 else super().__str__()


class InvalidRequest(AsioInferError, ValueError):
    """The call or request is malformed, or contradicts what the model takes."""

    code = "invalid_request"
    http_status = 400
    grpc_code = 3


class Unauthenticated(AsioInferError):
    """Credentials are missing or unknown."""

    code = "unauthenticated"
    http_status = 401
    grpc_code = 16


class PermissionDenied(AsioInferError):
    """The caller is known and not allowed to do this."""

    code = "permission_denied"
    http_status = 403
    grpc_code = 7


class NotFound(AsioInferError, KeyError):
    """There is no such route, model or version."""

    code = "not_found"
    http_status = 404
    grpc_code = 5


class AlreadyExists(AsioInferError):
    """A model of that name and version is registered; `replace=True` swaps it."""

    code = "already_exists"
    http_status = 409
    grpc_code = 6


class TooLarge(AsioInferError):
    """A body or a header is over its limit."""

    code = "too_large"
    http_status = 413
    grpc_code = 8


class QueueFull(AsioInferError):
    """The model's queue is at its limit: try again later."""

    code = "queue_full"
    http_status = 429
    grpc_code = 8


class ModelError(AsioInferError):
    """The model failed: it could not be loaded, or a run of it failed."""

    code = "model_error"
    http_status = 500
    grpc_code = 13


class InternalError(AsioInferError):
    """A fault of this program."""

    code = "internal"
    http_status = 500
    grpc_code = 13


class NotImplementedFeature(AsioInferError, NotImplementedError):
    """A feature that this version does not have."""

    code = "not_implemented"
    http_status = 501
    grpc_code = 12


class BadUpstream(AsioInferError):
    """Another server answered wrongly."""

    code = "bad_upstream"
    http_status = 502
    grpc_code = 14


class Unavailable(AsioInferError):
    """Known, but not ready: not started, draining, stopped, or over a budget."""

    code = "unavailable"
    http_status = 503
    grpc_code = 14


class DeadlineExceeded(AsioInferError, TimeoutError):
    """The request's or the queue's time ran out before the model ran."""

    code = "deadline_exceeded"
    http_status = 504
    grpc_code = 4


class Cancelled(AsioInferError):
    """The caller went away before the model ran."""

    code = "cancelled"
    http_status = 499
    grpc_code = 1


class RuntimeVersionError(ImportError):
    """An ONNX Runtime is installed that this package cannot use; the text gives both versions."""
