"""Small ONNX graphs for the tests, each made for one trait that a model server can get wrong.

A builder is a function that returns an `onnx.ModelProto`; `GRAPHS` maps the name of a model to its builder, and
`make_models.py` writes them as `<name>.onnx`. `EXAMPLES` holds, for the same names, inputs and the outputs that ONNX
Runtime gives for them. Everything is seeded: the same source gives the same bytes.

All graphs load in ONNX Runtime 1.19 and later (IR 8 to 10, opset 21 at most). Shapes are written as in ONNX: `[N, 4]`
has a dynamic first dimension, `[]` is a scalar. Datatypes are the names of the Open Inference Protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Shape = Sequence[int | str] | None

OIP_TYPES: dict[str, int] = {
    "BOOL": TensorProto.BOOL,
    "UINT8": TensorProto.UINT8,
    "UINT16": TensorProto.UINT16,
    "UINT32": TensorProto.UINT32,
    "UINT64": TensorProto.UINT64,
    "INT8": TensorProto.INT8,
    "INT16": TensorProto.INT16,
    "INT32": TensorProto.INT32,
    "INT64": TensorProto.INT64,
    "FP16": TensorProto.FLOAT16,
    "FP32": TensorProto.FLOAT,
    "FP64": TensorProto.DOUBLE,
    "BF16": TensorProto.BFLOAT16,
    "BYTES": TensorProto.STRING,
}
"""The datatypes of the Open Inference Protocol and the ONNX element types they stand for."""

FP32, INT64 = TensorProto.FLOAT, TensorProto.INT64


def _value(name: str, element_type: int, shape: Shape) -> onnx.ValueInfoProto:
    """A graph input or output; shape None means that not even the rank is known."""
    return helper.make_tensor_value_info(name, element_type, shape)


def _model(
    name: str,
    nodes: Iterable[onnx.NodeProto],
    inputs: Iterable[onnx.ValueInfoProto],
    outputs: Iterable[onnx.ValueInfoProto],
    initializers: Iterable[onnx.TensorProto] = (),
    *,
    opset: int = 17,
    ml_opset: int | None = None,
    ir_version: int = 8,
) -> onnx.ModelProto:
    """A model of one graph that asks for `opset` (and `ai.onnx.ml` at `ml_opset`, if given)."""
    opsets = [helper.make_opsetid("", opset)]
    if ml_opset is not None:
        opsets.append(helper.make_opsetid("ai.onnx.ml", ml_opset))
    graph = helper.make_graph(list(nodes), name, list(inputs), list(outputs), list(initializers))
    return helper.make_model(graph, opset_imports=opsets, ir_version=ir_version, producer_name="asio_infer.tests")


# ---- Plain graphs --------------------------------------------------------------------------------------------------


def add() -> onnx.ModelProto:
    """A + B.

    A, B FP32 [N, 4] -> Y FP32 [N, 4]. With 3 rows of A and 1 of B the runtime broadcasts silently and gives [3, 4].
    """
    return _model(
        "add",
        [helper.make_node("Add", ["A", "B"], ["Y"])],
        [_value("A", FP32, ["N", 4]), _value("B", FP32, ["N", 4])],
        [_value("Y", FP32, ["N", 4])],
    )


def tiny() -> onnx.ModelProto:
    """Two small dense layers: the least work a real model does; for speed tests.

    x FP32 [N, 16] -> MatMul, Relu, MatMul -> y FP32 [N, 4].
    """
    rng = np.random.default_rng(0)
    return _model(
        "tiny",
        [
            helper.make_node("MatMul", ["x", "w1"], ["a"]),
            helper.make_node("Relu", ["a"], ["b"]),
            helper.make_node("MatMul", ["b", "w2"], ["y"]),
        ],
        [_value("x", FP32, ["N", 16])],
        [_value("y", FP32, ["N", 4])],
        [
            numpy_helper.from_array(rng.standard_normal((16, 32)).astype(np.float32), "w1"),
            numpy_helper.from_array(rng.standard_normal((32, 4)).astype(np.float32), "w2"),
        ],
    )


def two_outputs() -> onnx.ModelProto:
    """Two outputs to choose from: X FP32 [N, L] -> Y = 2 X FP32 [N, L], Z = X + 1 FP32 [N, L]."""
    return _model(
        "two_outputs",
        [helper.make_node("Mul", ["X", "two"], ["Y"]), helper.make_node("Add", ["X", "one"], ["Z"])],
        [_value("X", FP32, ["N", "L"])],
        [_value("Y", FP32, ["N", "L"]), _value("Z", FP32, ["N", "L"])],
        [numpy_helper.from_array(np.float32(2), "two"), numpy_helper.from_array(np.float32(1), "one")],
    )


def cnn() -> onnx.ModelProto:
    """A small residual network: one convolution, two residual blocks, pooling and a dense layer.

    x FP32 [N, 3, 32, 32] -> y FP32 [N, 10]. Batchable: rows do not influence each other.
    """
    rng = np.random.default_rng(1)
    nodes: list[onnx.NodeProto] = []
    weights: list[onnx.TensorProto] = []

    def weight(name: str, *shape: int) -> str:
        scale = np.sqrt(2.0 / np.prod(shape[1:]))
        weights.append(numpy_helper.from_array((rng.standard_normal(shape) * scale).astype(np.float32), name))
        return name

    def conv(source: str, name: str, inputs: int, outputs: int, stride: int = 1) -> str:
        bias = numpy_helper.from_array((rng.standard_normal(outputs) * 0.1).astype(np.float32), f"{name}.b")
        weights.append(bias)
        nodes.append(
            helper.make_node(
                "Conv",
                [source, weight(f"{name}.w", outputs, inputs, 3, 3), bias.name],
                [name],
                kernel_shape=[3, 3],
                pads=[1, 1, 1, 1],
                strides=[stride, stride],
            )
        )
        return name

    def relu(source: str) -> str:
        nodes.append(helper.make_node("Relu", [source], [f"{source}.relu"]))
        return f"{source}.relu"

    last = relu(conv("x", "stem", 3, 16, stride=2))
    for block in ("block1", "block2"):
        branch = conv(relu(conv(last, f"{block}.1", 16, 16)), f"{block}.2", 16, 16)
        nodes.append(helper.make_node("Add", [last, branch], [f"{block}.sum"]))
        last = relu(f"{block}.sum")
    nodes.append(helper.make_node("GlobalAveragePool", [last], ["pooled"]))
    nodes.append(helper.make_node("Flatten", ["pooled"], ["flat"]))
    nodes.append(helper.make_node("Gemm", ["flat", weight("dense.w", 10, 16)], ["y"], transB=1))
    return _model("cnn", nodes, [_value("x", FP32, ["N", 3, 32, 32])], [_value("y", FP32, ["N", 10])], weights)


# ---- Datatypes and shapes ------------------------------------------------------------------------------------------


def identity(datatype: str) -> onnx.ModelProto:
    """X -> Y = X, both of the protocol's `datatype` and shape [N, D]."""
    element_type = OIP_TYPES[datatype]
    return _model(
        f"id_{datatype.lower()}",
        [helper.make_node("Identity", ["X"], ["Y"])],
        [_value("X", element_type, ["N", "D"])],
        [_value("Y", element_type, ["N", "D"])],
    )


def any_rank() -> onnx.ModelProto:
    """X FP32 of unknown rank -> Y = X.

    The runtime lists no dimensions for such an input, as it does for a scalar, yet any shape is right.
    """
    return _model(
        "any_rank",
        [helper.make_node("Identity", ["X"], ["Y"])],
        [_value("X", FP32, None)],
        [_value("Y", FP32, None)],
    )


def strings() -> onnx.ModelProto:
    """X BYTES [N] -> Y = X. Text with a NUL, empty text and non-ASCII text come back unchanged."""
    return _model(
        "str",
        [helper.make_node("Identity", ["X"], ["Y"])],
        [_value("X", TensorProto.STRING, ["N"])],
        [_value("Y", TensorProto.STRING, ["N"])],
    )


def passthrough() -> onnx.ModelProto:
    """No nodes at all: the graph's output X FP32 [N, 2] is the graph's input X FP32 [N, 2]."""
    return _model("pass", [], [_value("X", FP32, ["N", 2])], [_value("X", FP32, ["N", 2])])


def passthrough_beside() -> onnx.ModelProto:
    """The output X FP32 [N, 2] is the input X; beside it an Identity gives Y FP32 [N, 2]."""
    return _model(
        "pass_beside",
        [helper.make_node("Identity", ["X"], ["Y"])],
        [_value("X", FP32, ["N", 2])],
        [_value("X", FP32, ["N", 2]), _value("Y", FP32, ["N", 2])],
    )


def scalar() -> onnx.ModelProto:
    """X FP32 [] -> Y = X + X FP32 []. The runtime also takes shape [1] here."""
    return _model(
        "scalar", [helper.make_node("Add", ["X", "X"], ["Y"])], [_value("X", FP32, [])], [_value("Y", FP32, [])]
    )


def nonzero() -> onnx.ModelProto:
    """X FP32 [N] -> Y INT64 [1, K], the positions of values that are not 0: [1, 0] when all are 0."""
    return _model(
        "nz",
        [helper.make_node("NonZero", ["X"], ["Y"])],
        [_value("X", FP32, ["N"])],
        [_value("Y", INT64, [1, "K"])],
    )


def sum_all() -> onnx.ModelProto:
    """X FP32 [N, D] -> Y FP32 [], the sum over everything."""
    return _model(
        "sumall",
        [helper.make_node("ReduceSum", ["X"], ["Y"], keepdims=0)],
        [_value("X", FP32, ["N", "D"])],
        [_value("Y", FP32, [])],
    )


def compress() -> onnx.ModelProto:
    """X FP32 [N], M BOOL [N] -> Y FP32 [K], the elements of X whose M is true.

    Every leading dimension is dynamic, but the output has fewer rows than the input.
    """
    return _model(
        "comp",
        [helper.make_node("Compress", ["X", "M"], ["Y"], axis=0)],
        [_value("X", FP32, ["N"]), _value("M", TensorProto.BOOL, ["N"])],
        [_value("Y", FP32, ["K"])],
    )


def log() -> onnx.ModelProto:
    """X FP32 [N] -> Y = ln X FP32 [N]: NaN for -1, -Infinity for 0."""
    return _model(
        "log", [helper.make_node("Log", ["X"], ["Y"])], [_value("X", FP32, ["N"])], [_value("Y", FP32, ["N"])]
    )


def narrow(type_name: str) -> onnx.ModelProto:
    """X of a narrow ONNX type [N] -> Y FP32 [N], the same numbers.

    `type_name` is FLOAT16, BFLOAT16, INT4 or UINT4; the protocol has no datatype for the last two. COMPLEX64 makes a
    model that the runtime refuses to load.
    """
    four_bits = type_name.endswith("INT4")
    if four_bits:  # older runtimes have no Cast for them
        node = helper.make_node("DequantizeLinear", ["X", "one"], ["Y"])
    else:
        node = helper.make_node("Cast", ["X"], ["Y"], to=FP32)
    return _model(
        f"narrow_{type_name.lower()}",
        [node],
        [_value("X", TensorProto.DataType.Value(type_name), ["N"])],
        [_value("Y", FP32, ["N"])],
        [numpy_helper.from_array(np.array(1, np.float32), "one")] if four_bits else [],
        opset=21 if four_bits else 17,
        ir_version=10 if four_bits else 8,
    )


# ---- Batching ------------------------------------------------------------------------------------------------------


def reveal() -> onnx.ModelProto:
    """Tells how large the batch was in which a row ran.

    X FP32 [N, L] -> Y = X FP32 [N, L], BS INT64 [N, 1] = the rows that the runtime saw, LEN INT64 [N, 1] = L. Rows
    influence each other through BS only, so a probe that compares BS calls it not batchable.
    """
    return _model(
        "reveal",
        [
            helper.make_node("Identity", ["X"], ["Y"]),
            helper.make_node("Shape", ["X"], ["shape"]),
            helper.make_node("Gather", ["shape", "first"], ["rows"]),
            helper.make_node("Gather", ["shape", "second"], ["length"]),
            helper.make_node("Concat", ["rows", "ones"], ["column"], axis=0),
            helper.make_node("Expand", ["rows", "column"], ["BS"]),
            helper.make_node("Expand", ["length", "column"], ["LEN"]),
        ],
        [_value("X", FP32, ["N", "L"])],
        [_value("Y", FP32, ["N", "L"]), _value("BS", INT64, ["N", 1]), _value("LEN", INT64, ["N", 1])],
        [
            numpy_helper.from_array(np.array([0], np.int64), "first"),
            numpy_helper.from_array(np.array([1], np.int64), "second"),
            numpy_helper.from_array(np.array([1], np.int64), "ones"),
        ],
    )


def fixed_one() -> onnx.ModelProto:
    """X FP32 [1, 4] -> Y = X FP32 [1, 4]: the batch is fixed to one row, two are refused by the runtime."""
    return _model(
        "fix1",
        [helper.make_node("Identity", ["X"], ["Y"])],
        [_value("X", FP32, [1, 4])],
        [_value("Y", FP32, [1, 4])],
    )


def constant_beside() -> onnx.ModelProto:
    """X FP32 [N, 2] -> Y = X FP32 [N, 2] and a constant C FP32 [4, 1] = 0, 1, 2, 3 whatever N is."""
    return _model(
        "const",
        [
            helper.make_node("Identity", ["X"], ["Y"]),
            helper.make_node(
                "Constant", [], ["C"], value=numpy_helper.from_array(np.arange(4, dtype=np.float32).reshape(4, 1), "c")
            ),
        ],
        [_value("X", FP32, ["N", 2])],
        [_value("Y", FP32, ["N", 2]), _value("C", FP32, [4, 1])],
    )


def norm_over_batch() -> onnx.ModelProto:
    """x FP32 [N, 4] -> y = x minus the mean over the rows, FP32 [N, 4].

    Every leading dimension is dynamic, yet each row depends on the others: a single row gives zeros.
    """
    return _model(
        "norm_over_batch",
        [
            helper.make_node("ReduceMean", ["x"], ["mean"], axes=[0], keepdims=1),
            helper.make_node("Sub", ["x", "mean"], ["y"]),
        ],
        [_value("x", FP32, ["N", 4])],
        [_value("y", FP32, ["N", 4])],
    )


def quantised() -> onnx.ModelProto:
    """A dense layer, dynamically quantised: x FP32 [N, 16] -> y FP32 [N, 4].

    The scale comes from the smallest and largest value of the whole batch, so a row's result depends a little on the
    rows beside it, as in every model that `quantize_dynamic` made.
    """
    rng = np.random.default_rng(2)
    weight = rng.integers(-127, 128, (16, 4)).astype(np.int8)
    return _model(
        "quantised",
        [
            helper.make_node("DynamicQuantizeLinear", ["x"], ["x_q", "x_scale", "x_zero"]),
            helper.make_node("MatMulInteger", ["x_q", "w_q", "x_zero"], ["product"]),
            helper.make_node("Cast", ["product"], ["product_f"], to=FP32),
            helper.make_node("Mul", ["x_scale", "w_scale"], ["scale"]),
            helper.make_node("Mul", ["product_f", "scale"], ["y"]),
        ],
        [_value("x", FP32, ["N", 16])],
        [_value("y", FP32, ["N", 4])],
        [numpy_helper.from_array(weight, "w_q"), numpy_helper.from_array(np.float32(0.01), "w_scale")],
    )


# ---- Runs that fail or take long -----------------------------------------------------------------------------------


def gather() -> onnx.ModelProto:
    """IDX INT64 [N] -> Y FP32 [N] = 1.5 * IDX from a table of 10 values.

    -10 to 9 are right; any other index anywhere makes the whole run fail.
    """
    return _model(
        "gather",
        [helper.make_node("Gather", ["table", "IDX"], ["Y"])],
        [_value("IDX", INT64, ["N"])],
        [_value("Y", FP32, ["N"])],
        [numpy_helper.from_array(np.arange(10, dtype=np.float32) * np.float32(1.5), "table")],
    )


def div() -> onnx.ModelProto:
    """A, B INT32 [N] -> Y = A / B INT32 [N].

    A zero in B makes the run fail. Before version 1.25 the runtime raises SIGFPE instead, which ends the process.
    """
    return _model(
        "div",
        [helper.make_node("Div", ["A", "B"], ["Y"])],
        [_value("A", TensorProto.INT32, ["N"]), _value("B", TensorProto.INT32, ["N"])],
        [_value("Y", TensorProto.INT32, ["N"])],
    )


def loop() -> onnx.ModelProto:
    """Works as long as it is told to: ITERS INT64 [1] -> DONE FP32 [1] = ITERS.

    Each round multiplies two 256x256 matrices and takes Tanh: some tenths of a millisecond with one intra-op thread
    (calibrate before use). The runtime stops it between two nodes when told to terminate.
    """
    rng = np.random.default_rng(3)
    size = 256
    body = helper.make_graph(
        [
            helper.make_node("MatMul", ["state_in", "w"], ["product"]),
            helper.make_node("Tanh", ["product"], ["state_out"]),
            helper.make_node("Add", ["count_in", "one"], ["count_out"]),
            helper.make_node("Identity", ["go_in"], ["go_out"]),
        ],
        "body",
        [
            _value("round", INT64, []),
            _value("go_in", TensorProto.BOOL, []),
            _value("state_in", FP32, [size, size]),
            _value("count_in", FP32, [1]),
        ],
        [
            _value("go_out", TensorProto.BOOL, []),
            _value("state_out", FP32, [size, size]),
            _value("count_out", FP32, [1]),
        ],
    )
    return _model(
        "loop",
        [helper.make_node("Loop", ["ITERS", "go", "w", "zero"], ["state", "DONE"], body=body)],
        [_value("ITERS", INT64, [1])],
        [_value("DONE", FP32, [1])],
        [
            numpy_helper.from_array((rng.standard_normal((size, size)) * (1.5 / 16)).astype(np.float32), "w"),
            numpy_helper.from_array(np.array([0], np.float32), "zero"),
            numpy_helper.from_array(np.array([1], np.float32), "one"),
            numpy_helper.from_array(np.array(True), "go"),
        ],
    )


# ---- Optional inputs, values that are no tensors, weights outside the file -----------------------------------------


def overridable() -> onnx.ModelProto:
    """X FP32 [N], optionally K FP32 [1] (3 if absent) -> Y = X * K FP32 [N].

    K is an initializer that is also listed as an input: the runtime lists it among the overridable initializers.
    """
    return _model(
        "kopt",
        [helper.make_node("Mul", ["X", "K"], ["Y"])],
        [_value("X", FP32, ["N"]), _value("K", FP32, [1])],
        [_value("Y", FP32, ["N"])],
        [numpy_helper.from_array(np.array([3], np.float32), "K")],
    )


def optional() -> onnx.ModelProto:
    """X optional(FP32 [2]) -> Y FP32 [2] = X, or [-1, -1] if X is absent."""
    tensor_type = helper.make_tensor_type_proto(FP32, [2])
    absent = numpy_helper.from_array(np.array([-1, -1], np.float32), "absent")
    return _model(
        "opt",
        [
            helper.make_node("OptionalHasElement", ["X"], ["has"]),
            helper.make_node(
                "If",
                ["has"],
                ["Y"],
                then_branch=helper.make_graph(
                    [helper.make_node("OptionalGetElement", ["X"], ["there"])], "then", [], [_value("there", FP32, [2])]
                ),
                else_branch=helper.make_graph(
                    [helper.make_node("Constant", [], ["missing"], value=absent)],
                    "else",
                    [],
                    [_value("missing", FP32, [2])],
                ),
            ),
        ],
        [helper.make_value_info("X", helper.make_optional_type_proto(tensor_type))],
        [_value("Y", FP32, [2])],
        opset=18,
    )


def _zip_value(name: str) -> onnx.ValueInfoProto:
    """A graph output of type sequence(map(int64, float))."""
    of_float = helper.make_tensor_type_proto(FP32, [])
    return helper.make_value_info(name, helper.make_sequence_type_proto(helper.make_map_type_proto(INT64, of_float)))


def zip_map() -> onnx.ModelProto:
    """X FP32 [N, 3] -> Z sequence(map(int64, float)): per row the values under the labels 0, 1, 2.

    What classifiers exported from scikit-learn give unless told otherwise.
    """
    return _model(
        "zip",
        [helper.make_node("ZipMap", ["X"], ["Z"], domain="ai.onnx.ml", classlabels_int64s=[0, 1, 2])],
        [_value("X", FP32, ["N", 3])],
        [_zip_value("Z")],
        ml_opset=3,
    )


def zip_label() -> onnx.ModelProto:
    """X FP32 [N, 3] -> label INT64 [N] (the largest), Z sequence(map(int64, float)): one output is a tensor."""
    return _model(
        "zip_label",
        [
            helper.make_node("ArgMax", ["X"], ["label"], axis=1, keepdims=0),
            helper.make_node("ZipMap", ["X"], ["Z"], domain="ai.onnx.ml", classlabels_int64s=[0, 1, 2]),
        ],
        [_value("X", FP32, ["N", 3])],
        [_value("label", INT64, ["N"]), _zip_value("Z")],
        ml_opset=3,
    )


def sequence() -> onnx.ModelProto:
    """X FP32 [N, 2] -> S sequence(FP32 [1, 2]): one tensor per row."""
    of_rows = helper.make_sequence_type_proto(helper.make_tensor_type_proto(FP32, [1, 2]))
    return _model(
        "seq",
        [helper.make_node("SplitToSequence", ["X"], ["S"], axis=0)],
        [_value("X", FP32, ["N", 2])],
        [helper.make_value_info("S", of_rows)],
    )


EXTERNAL_WEIGHT = np.arange(4096, dtype="<f4")
"""W of `external`, FP32 [4096]: 0, 1, ... 4095; what belongs into the external file."""


def external(location: str = "w.bin") -> onnx.ModelProto:
    """X FP32 [N, 4096] -> Y = X + W FP32 [N, 4096] with W in a file of its own.

    `location` goes into the model as it is: relative to the model's folder, and what leaves that folder
    (`../w.bin`, an absolute path) the runtime refuses. The file must hold `EXTERNAL_WEIGHT.tobytes()`.
    """
    weight = TensorProto(name="W", data_type=FP32, dims=[EXTERNAL_WEIGHT.size], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", location), ("offset", "0"), ("length", str(EXTERNAL_WEIGHT.nbytes))):
        weight.external_data.add(key=key, value=value)
    return _model(
        "ext",
        [helper.make_node("Add", ["X", "W"], ["Y"])],
        [_value("X", FP32, ["N", EXTERNAL_WEIGHT.size])],
        [_value("Y", FP32, ["N", EXTERNAL_WEIGHT.size])],
        [weight],
    )


# ---- The tables ----------------------------------------------------------------------------------------------------

GRAPHS: dict[str, Callable[[], onnx.ModelProto]] = {
    "add": add,
    "any_rank": any_rank,
    "cnn": cnn,
    "comp": compress,
    "const": constant_beside,
    "div": div,
    "ext": external,
    "fix1": fixed_one,
    "gather": gather,
    **{f"id_{datatype.lower()}": partial(identity, datatype) for datatype in OIP_TYPES},
    "kopt": overridable,
    "log": log,
    "loop": loop,
    "narrow_bfloat16": partial(narrow, "BFLOAT16"),
    "narrow_float16": partial(narrow, "FLOAT16"),
    "narrow_int4": partial(narrow, "INT4"),
    "narrow_uint4": partial(narrow, "UINT4"),
    "norm_over_batch": norm_over_batch,
    "nz": nonzero,
    "opt": optional,
    "pass": passthrough,
    "pass_beside": passthrough_beside,
    "quantised": quantised,
    "reveal": reveal,
    "scalar": scalar,
    "seq": sequence,
    "str": strings,
    "sumall": sum_all,
    "tiny": tiny,
    "two_outputs": two_outputs,
    "zip": zip_map,
    "zip_label": zip_label,
}
"""Name of the model -> its builder. All of them load in ONNX Runtime."""

NOT_IN_PROTOCOL = frozenset({"narrow_int4", "narrow_uint4", "opt", "seq", "zip", "zip_label"})
"""The graphs with an input or output that no datatype of the protocol describes."""

REFUSED: dict[str, Callable[[], onnx.ModelProto]] = {"narrow_complex64": partial(narrow, "COMPLEX64")}
"""Name -> builder of models that ONNX Runtime refuses to load."""

EXTERNAL_FILES: dict[str, Callable[[], bytes]] = {"w.bin": EXTERNAL_WEIGHT.tobytes}
"""Name of a file that a graph needs beside it -> its content."""


class Example(NamedTuple):
    """Inputs of a graph by name, and the outputs that are right for them."""

    inputs: Mapping[str, np.ndarray]
    outputs: Mapping[str, np.ndarray]


def _same(x: np.ndarray) -> Example:
    return Example({"X": x}, {"Y": x})


def _f(*values: object) -> np.ndarray:
    return np.array(values, np.float32)


def _text(*values: str) -> np.ndarray:
    return np.array(values, object)


def _examples() -> dict[str, list[Example]]:
    """Exact examples for the graphs whose results are known without running them."""
    pair = _f([1, 2], [3, 4], [5, 6])
    table: dict[str, list[Example]] = {
        "add": [
            Example({"A": _f([1, 2, 3, 4]), "B": _f([10, 20, 30, 40])}, {"Y": _f([11, 22, 33, 44])}),
            Example({"A": np.ones((3, 4), np.float32), "B": _f([1, 2, 3, 4])}, {"Y": _f(*[[2, 3, 4, 5]] * 3)}),
        ],
        "any_rank": [_same(np.array(2.5, np.float32)), _same(pair), _same(pair.reshape(1, 3, 1, 2))],
        "comp": [Example({"X": _f(0, 1, 2, 3), "M": np.array([True, False, True, False])}, {"Y": _f(0, 2)})],
        "const": [Example({"X": pair}, {"Y": pair, "C": _f([0], [1], [2], [3])})],
        "div": [
            Example(
                {"A": np.array([7, -7, 9], np.int32), "B": np.array([2, 2, -3], np.int32)},
                {"Y": np.array([3, -3, -3], np.int32)},
            )
        ],
        "ext": [Example({"X": np.zeros((1, 4096), np.float32)}, {"Y": EXTERNAL_WEIGHT.reshape(1, -1)})],
        "fix1": [_same(_f([1, 2, 3, 4]))],
        "gather": [Example({"IDX": np.array([0, 9, -1], np.int64)}, {"Y": _f(0, 13.5, 13.5)})],
        "kopt": [Example({"X": _f(2)}, {"Y": _f(6)}), Example({"X": _f(2), "K": _f(10)}, {"Y": _f(20)})],
        "log": [Example({"X": _f(-1, 0, np.inf, 1)}, {"Y": _f(np.nan, -np.inf, np.inf, 0)})],
        "loop": [Example({"ITERS": np.array([3], np.int64)}, {"DONE": _f(3)})],
        "narrow_bfloat16": [
            Example({"X": np.array([0x3F80, 0xFF80, 0x0001], np.uint16)}, {"Y": _f(1, -np.inf, 2.0**-133)})
        ],
        "narrow_float16": [
            Example({"X": np.array([0x3C00, 0xFC00, 0x0001], "<u2").view(np.float16)}, {"Y": _f(1, -np.inf, 2.0**-24)})
        ],
        "norm_over_batch": [
            Example({"x": _f([1, 2, 3, 4])}, {"y": np.zeros((1, 4), np.float32)}),
            Example({"x": _f([1, 2, 3, 4], [3, 6, 5, 8])}, {"y": _f([-1, -2, -1, -2], [1, 2, 1, 2])}),
        ],
        "nz": [
            Example({"X": _f(0, 5, 0, 7)}, {"Y": np.array([[1, 3]], np.int64)}),
            Example({"X": np.zeros(4, np.float32)}, {"Y": np.zeros((1, 0), np.int64)}),
        ],
        "opt": [Example({"X": _f(1, 2)}, {"Y": _f(1, 2)})],
        "pass": [Example({"X": pair}, {"X": pair})],
        "pass_beside": [Example({"X": pair}, {"X": pair, "Y": pair})],
        "reveal": [
            Example({"X": x}, {"Y": x, "BS": np.full((rows, 1), rows), "LEN": np.full((rows, 1), length)})
            for rows, length in ((3, 2), (0, 2), (2, 0))
            for x in [np.arange(rows * length, dtype=np.float32).reshape(rows, length)]
        ],
        "scalar": [Example({"X": np.array(2.5, np.float32)}, {"Y": np.array(5, np.float32)})],
        "str": [_same(_text("a\0b", "", "é")), _same(_text())],
        "sumall": [Example({"X": np.ones((3, 2), np.float32)}, {"Y": np.array(6, np.float32)})],
        "two_outputs": [Example({"X": pair}, {"Y": pair * 2, "Z": pair + 1})],
    }
    for datatype in OIP_TYPES:
        if datatype == "BOOL":
            x = np.array([[True, False], [False, True]])
        elif datatype == "BYTES":
            x = np.array([["a\0b", ""], ["é", "😀"]], object)
        elif datatype == "BF16":
            x = np.array([[0x3F80, 0xFF80], [0x0001, 0x8000]], np.uint16)
        elif datatype.startswith("FP"):
            dtype = np.dtype(f"f{int(datatype[2:]) // 8}")
            x = np.array([[0.1, -0.0], [np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal]], dtype)
        else:
            info = np.iinfo(datatype.lower())
            x = np.array([[0, 1], [info.min, info.max]], info.dtype)
        table[f"id_{datatype.lower()}"] = [_same(x), _same(x[:0])]
    return table


EXAMPLES: dict[str, list[Example]] = _examples()
"""Name of the model -> examples with exact results. BF16 tensors are given as their bits, in UINT16 arrays."""
