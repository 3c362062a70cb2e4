"""Records of the server in Python's `logging`. Called on the thread that carries results into Python."""

from __future__ import annotations

import logging
from typing import Any, Final

_LOGGER: Final = logging.getLogger("asio_infer")


def emit(level: int, message: str, fields: dict[str, Any], created_s: float) -> None:
    """Log one record; its fields are in the text and, as a dict, in the record's attribute `fields`."""
    if not _LOGGER.isEnabledFor(level):
        return
    text = " ".join([message, *(f"{name}={value}" for name, value in fields.items())])
    record = _LOGGER.makeRecord(
        _LOGGER.name, level, "asio_infer", 0, text, (), None, extra={"fields": fields, "event": message}
    )
    record.created = created_s
    record.msecs = created_s % 1 * 1000
    _LOGGER.handle(record)


def emit_dropped(count: int, created_s: float) -> None:
    """Log that records were lost because Python took them too slowly."""
    emit(logging.WARNING, "log records dropped", {"count": count}, created_s)
