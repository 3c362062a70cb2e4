"""Lists and numbers as arrays of the type that a model takes. Called by the compiled part; imports numpy."""

from __future__ import annotations

import functools
import math
from typing import Any, Final

import numpy as np

from asio_infer.errors import InvalidRequest

Array = np.ndarray[Any, Any]

_DTYPES: Final[dict[str, str]] = {
    "BOOL": "?",
    "UINT8": "u1",
    "UINT16": "u2",
    "UINT32": "u4",
    "UINT64": "u8",
    "INT8": "i1",
    "INT16": "i2",
    "INT32": "i4",
    "INT64": "i8",
    "FP16": "f2",
    "FP32": "f4",
    "FP64": "f8",
    "BYTES": "O",
}
_PLAIN: Final = (bool, int, float, str, bytes, list, tuple)


@functools.cache
def bfloat16() -> np.dtype[Any]:
    """`ml_dtypes.bfloat16`, or `uint16` for its bits where ml_dtypes is not installed."""
    try:
        import ml_dtypes
    except ImportError:
        return np.dtype(np.uint16)
    bfloat16_type: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return bfloat16_type


def as_array(value: object, name: str, datatype: str | None) -> Array:
    """What an input that is no array stands for.

    Lists, tuples and plain Python values take the type of the model's input, `datatype`, if it can hold them: floats
    are rounded to it, everything else must fit exactly. Objects that numpy knows how to read (`__array__`, the buffer
    protocol, numpy's scalars) keep their own type.

    Raises:
        TypeError: The type does not fit.
        InvalidRequest: A value does not fit, or nested lists are ragged.
    """
    if type(value) not in _PLAIN:
        array = np.asarray(value)
        if array.dtype != object or isinstance(value, np.generic) or hasattr(value, "__array__"):
            return array
        raise TypeError(f"input '{name}': {type(value).__name__} is neither an array nor a list of numbers")
    try:
        return _convert(value, name, datatype)
    except (OverflowError, ValueError) as error:
        if isinstance(error, InvalidRequest):
            raise
        raise InvalidRequest(f"input '{name}': {error}") from None


def _convert(value: object, name: str, datatype: str | None) -> Array:
    if datatype == "BYTES":
        return np.array(value, dtype=object)
    natural = np.asarray(value)
    if datatype is None:
        return natural
    target = bfloat16() if datatype == "BF16" else np.dtype(_DTYPES[datatype])
    if datatype == "BF16" and target.kind == "u":
        raise TypeError(f"input '{name}': give the bits of BF16 as a uint16 array, or install ml_dtypes")
    if natural.size == 0 and natural.dtype == np.float64:
        return natural.astype(target)
    if datatype == "BOOL":
        return _checked_kind(natural, "b", name, datatype)
    if target.kind in "iu":
        # By way of Python's integers: numpy alone would wrap some and round others.
        _checked_kind(natural, "iu", name, datatype)
        return np.array(natural.tolist(), dtype=target)
    return _as_floats(_checked_kind(natural, "iuf", name, datatype), target, name, datatype)


def _checked_kind(array: Array, kinds: str, name: str, datatype: str) -> Array:
    if array.dtype.kind not in kinds:
        raise TypeError(f"input '{name}': values of type {array.dtype} do not fit the model's {datatype}")
    return array


def _as_floats(natural: Array, target: np.dtype[Any], name: str, datatype: str) -> Array:
    with np.errstate(over="ignore"):
        rounded = natural.astype(target)
    if natural.dtype.kind == "f":
        lost = np.isinf(rounded) & np.isfinite(natural)
    else:
        lost = np.array([_differs(a, b) for a, b in zip(natural.flat, rounded.flat, strict=True)], dtype=bool)
    if lost.any():
        first = natural.reshape(-1)[int(np.argmax(lost.reshape(-1)))]
        raise InvalidRequest(f"input '{name}': {datatype} cannot hold {first}")
    return rounded


def _differs(integer: Any, rounded: Any) -> bool:
    number = float(rounded)
    return not math.isfinite(number) or int(number) != int(integer)
