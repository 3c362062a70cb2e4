"""A model in service, as its metadata shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike

    from asio_infer import _core
    from asio_infer.server import Server


@dataclass(frozen=True, kw_only=True, slots=True)
class Tensor:
    """One input or output of a model.

    Attributes:
        name: What requests call it.
        datatype: The protocol's name of the element type ("FP32", "INT64", "BYTES", ...).
        shape: The dimensions with the batch axis; -1 is any size.
        symbols: The names of symbolic dimensions, one per dimension, "" for the others.
        optional: An input that may be left out.
        unsupported: Why this tensor cannot travel by the protocol; "" if it can.
    """

    name: str
    datatype: str
    shape: tuple[int, ...]
    symbols: tuple[str, ...] = ()
    optional: bool = False
    unsupported: str = ""

    @classmethod
    def from_core(cls, spec: _core.TensorSpec) -> Tensor:
        """Copy what the server says about a tensor."""
        return cls(
            name=spec.name,
            datatype=spec.datatype,
            shape=tuple(spec.shape),
            symbols=tuple(spec.symbols),
            optional=spec.optional,
            unsupported=spec.unsupported,
        )

    def to_dict(self) -> dict[str, Any]:
        """As in the protocol's metadata, with what goes beyond it only where it says something."""
        described: dict[str, Any] = {"name": self.name, "datatype": self.datatype, "shape": list(self.shape)}
        if any(self.symbols):
            described["symbols"] = list(self.symbols)
        if self.optional:
            described["optional"] = True
        if self.unsupported:
            described["unsupported"] = self.unsupported
        return described


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelInfo:
    """What a loaded model takes and gives, and how it runs.

    Attributes:
        name: The model's name.
        version: Its version.
        platform: "onnxruntime_onnx" or "identity".
        inputs: Its inputs, in the model's order.
        outputs: Its outputs, in the model's order.
        max_batch_size: Most rows in one run; 0 when requests are never joined.
        batching_reason: Why requests are joined or not.
        instances: Copies that run at the same time.
        providers: Execution providers in use, best first.
    """

    name: str
    version: int
    platform: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    max_batch_size: int
    batching_reason: str
    instances: int
    providers: tuple[str, ...]

    @classmethod
    def from_core(cls, spec: _core.ModelSpec) -> ModelInfo:
        """Copy what the server says about a model."""
        return cls(
            name=spec.name,
            version=spec.version,
            platform=spec.platform,
            inputs=tuple(map(Tensor.from_core, spec.inputs)),
            outputs=tuple(map(Tensor.from_core, spec.outputs)),
            max_batch_size=spec.max_batch_rows,
            batching_reason=spec.batching_reason,
            instances=spec.instances,
            providers=tuple(spec.providers),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and dicts, fit for JSON."""
        return {
            "name": self.name,
            "version": self.version,
            "platform": self.platform,
            "inputs": [tensor.to_dict() for tensor in self.inputs],
            "outputs": [tensor.to_dict() for tensor in self.outputs],
            "batchable": self.max_batch_size > 0,
            "max_batch_size": self.max_batch_size,
            "batching_reason": self.batching_reason,
            "instances": self.instances,
            "providers": list(self.providers),
        }


class Model:
    """A model that a server serves. Made by `Server.register`; thread-safe, immutable."""

    __slots__ = ("_info", "_server")

    def __init__(self, server: Server, info: ModelInfo) -> None:
        self._server = server
        self._info = info

    def __repr__(self) -> str:
        return f"<asio_infer.Model {self.name!r} version {self.version} on {self._info.platform}>"

    @property
    def name(self) -> str:
        """The name it is served under."""
        return self._info.name

    @property
    def version(self) -> int:
        """Its version."""
        return self._info.version

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """Its inputs, in the model's order."""
        return self._info.inputs

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """Its outputs, in the model's order."""
        return self._info.outputs

    @property
    def info(self) -> ModelInfo:
        """All that is known about it."""
        return self._info

    @property
    def metadata(self) -> dict[str, Any]:
        """The same as plain lists and dicts, fit for JSON."""
        return self._info.to_dict()

    def infer(
        self, inputs: Mapping[str, ArrayLike], *, outputs: Sequence[str] | None = None, timeout_s: float | None = None
    ) -> dict[str, np.ndarray[Any, Any]]:
        """Run this version of the model: `Server.infer` with its name and version."""
        return self._server.infer(self.name, inputs, outputs=outputs, version=self.version, timeout_s=timeout_s)
