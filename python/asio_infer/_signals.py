"""Waiting in a way that signals can end.

A lock, a condition or C++ code that waits in the main thread keeps Python's signal handlers from running, or must not
be touched by them. `queue.SimpleQueue` is made for this: its `put` is safe in a handler, its `get` lets handlers run.
"""

from __future__ import annotations

import queue
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Final

Handler = Callable[[int, FrameType | None], Any] | int | signal.Handlers | None

# A signal can come between the interpreter's last look and the wait for the lock, or to another thread; on Windows
# Ctrl-C never ends such a wait. Then its handler runs at the next look.
_LOOK_EVERY_S: Final = 0.2


def in_main_thread() -> bool:
    """Whether this thread runs signal handlers."""
    return threading.current_thread() is threading.main_thread()


class Events:
    """Numbers of signals, or None for "look again", in the order in which they come. Any thread may put."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[int | None] = queue.SimpleQueue()

    def put(self, event: int | None) -> None:
        """Wake the thread that waits. Safe in signal handlers."""
        self._queue.put(event)

    def get(self) -> int | None:
        """Wait for the next event. Signal handlers run meanwhile, and their exceptions leave from here."""
        while True:
            try:
                return self._queue.get(timeout=_LOOK_EVERY_S)
            except queue.Empty:
                continue


class SignalEvents(Events):
    """SIGINT and SIGTERM as events, while the context lasts.

    Only where Python's own handlers stand: what the program has installed stays, and runs. Outside of the main
    thread no signal is touched.
    """

    def __init__(self) -> None:
        super().__init__()
        self._replaced: dict[int, Handler] = {}

    def __enter__(self) -> SignalEvents:
        if in_main_thread():
            self._take(signal.SIGINT, signal.default_int_handler)
            self._take(signal.SIGTERM, signal.SIG_DFL)
            if sys.platform == "win32":
                self._take(signal.SIGBREAK, signal.SIG_DFL)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for number, handler in self._replaced.items():
            if signal.getsignal(number) == self._on_signal:
                signal.signal(number, handler)
        self._replaced.clear()

    def _take(self, number: int, default: Handler) -> None:
        if signal.getsignal(number) == default:
            self._replaced[number] = default
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.put(number)


def run_interruptibly(work: Callable[[], None], on_interrupt: Callable[[], None], events: Events) -> None:
    """Run `work` in a thread of its own; the first signal or KeyboardInterrupt meanwhile calls `on_interrupt`.

    `on_interrupt` makes `work` end soon. Its end is waited for in any case. While the interpreter ends there are no new
    threads: then `work` runs in this one.

    Raises:
        BaseException: What `work` raised, or what a signal handler raised.
    """
    if sys.is_finalizing():
        return work()
    failures: list[BaseException] = []
    done = threading.Event()

    def run() -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)
        finally:
            done.set()
            events.put(None)

    thread = threading.Thread(target=run, name="asio_infer-stop", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # at exit, from Python 3.12 on
        return work()
    interrupted: BaseException | None = None
    while not done.is_set():
        try:
            if events.get() is not None:
                on_interrupt()
        except BaseException as error:
            interrupted = interrupted or error
            on_interrupt()
    thread.join()
    if interrupted is not None:
        raise interrupted
    if failures:
        raise failures[0]
