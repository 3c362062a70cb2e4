"""Results of the compiled part on their way into asyncio."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asio_infer import _core

    Outputs = dict[str, Any]


class InferFuture(asyncio.Future["Outputs"]):
    """The outputs of a call that is under way. Cancelling it ends the call, and a run that only it waits for."""

    _call: _core.AsyncCall | None = None
    _server: _core.Server | None = None

    def attach(self, call: _core.AsyncCall, server: _core.Server) -> None:
        """Say which call this future stands for."""
        self._call, self._server = call, server

    def cancel(self, msg: Any | None = None) -> bool:
        """Cancel the call and this future."""
        cancelled = super().cancel(msg)
        if cancelled and self._call is not None and self._server is not None:
            self._call.cancel(self._server)
        return cancelled


def complete(finished: list[tuple[InferFuture, _core.AsyncCall]]) -> None:
    """Give futures of this event loop their results; runs in the loop."""
    for future, call in finished:
        future._call = future._server = None
        if future.done():
            continue
        try:
            outputs = call.result()
        except BaseException as error:
            # Its traceback would keep this list, and with it every call, for as long as the exception is kept.
            future.set_exception(error.with_traceback(None))
        else:
            future.set_result(outputs)
