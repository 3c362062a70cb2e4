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
    natural = np.asarray(value)  # refuses ragged lists
    if datatype is None:
        return natural
    target = bfloat16() if datatype == "BF16" else np.dtype(_DTYPES[datatype])
    if datatype == "BF16" and target.kind == "u":
        raise TypeError(f"input '{name}': give the bits of BF16 as a uint16 array, or install ml_dtypes")
    # One by one, for numpy takes several numbers together to a type that may hold none of them exactly.
    numbers = np.array(value, dtype=object)
    if datatype == "BOOL":
        _check_types(numbers, (bool, np.bool_), (), name, datatype)
        return numbers.astype(target)
    if target.kind in "iu":
        _check_types(numbers, (int, np.integer), (bool,), name, datatype)
        return _as_integers(numbers, target, name, datatype)
    _check_types(numbers, (float, int, np.floating, np.integer), (bool,), name, datatype)
    return _as_floats(numbers, target, name, datatype)


def _check_types(numbers: Array, right: tuple[type, ...], wrong: tuple[type, ...], name: str, datatype: str) -> None:
    for number in numbers.flat:
        if not isinstance(number, right) or isinstance(number, wrong):
            kind = type(number).__name__
            raise TypeError(f"input '{name}': {number!r:.40} is a {kind}, which does not fit the model's {datatype}")


def _as_integers(numbers: Array, target: np.dtype[Any], name: str, datatype: str) -> Array:
    low, high = int(np.iinfo(target).min), int(np.iinfo(target).max)
    for number in numbers.flat:
        if not low <= number <= high:
            raise InvalidRequest(f"input '{name}': {datatype} cannot hold {number}")
    return numbers.astype(target)


def _as_floats(numbers: Array, target: np.dtype[Any], name: str, datatype: str) -> Array:
    with np.errstate(over="ignore"):
        rounded = numbers.astype(np.float64).astype(target)
    for number, result in zip(numbers.flat, rounded.flat, strict=True):
        if _is_lost(number, float(result)):
            raise InvalidRequest(f"input '{name}': {datatype} cannot hold {number}")
    return rounded


def _is_lost(number: Any, result: float) -> bool:
    """Floats are rounded, but not to infinity; integers must be held exactly."""
    if isinstance(number, float | np.floating):
        return math.isinf(result) and math.isfinite(number)
    return math.isinf(result) or int(result) != int(number)
