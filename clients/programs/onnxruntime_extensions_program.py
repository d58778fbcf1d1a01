"""onnxruntime-extensions: operators that are Python functions, in a model of its own, and a hook between two nodes of another."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import onnxruntime_extensions
from numpy.typing import NDArray
from onnx import TensorProto, helper
from onnxruntime_extensions import OrtPyFunction, PyCustomOpDef, hook_model_op, make_onnx_model, onnx_op

Texts = NDArray[np.object_]
Integers = NDArray[np.int64]
Floats = NDArray[np.float32]
SEEN: list[list[float]] = []


@onnx_op(  # type: ignore[untyped-decorator]  # the package has no types
    op_type="CountLetter",
    inputs=[PyCustomOpDef.dt_string],
    outputs=[PyCustomOpDef.dt_int64, PyCustomOpDef.dt_string],
    attrs={
        "letter": PyCustomOpDef.dt_string,
        "add": PyCustomOpDef.dt_int64,
        "factor": PyCustomOpDef.dt_float,
    },
)
def count_letter(texts: Texts, letter: str, add: int, factor: float) -> tuple[Integers, Texts]:
    counts = [int(text.count(letter) * factor) + add for text in texts]
    return np.array(counts), np.array([text.replace(letter, letter.upper()) for text in texts])


def observe(x: Floats) -> Floats:
    SEEN.append(x.tolist())
    return x


def make_counts() -> onnx.ModelProto:
    node = helper.make_node(
        "CountLetter", ["x"], ["n", "y"], domain="ai.onnx.contrib", letter="n", add=10, factor=2.0
    )
    strings = [helper.make_tensor_value_info(name, TensorProto.STRING, ["N"]) for name in "xy"]
    counts = helper.make_tensor_value_info("n", TensorProto.INT64, ["N"])
    twice = helper.make_node("Add", ["n", "n"], ["twice"])
    doubled = helper.make_tensor_value_info("twice", TensorProto.INT64, ["N"])
    return make_onnx_model(
        helper.make_graph([node, twice], "g", strings[:1], [counts, strings[1], doubled]), 17
    )


def make_exponentials() -> onnx.ModelProto:
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N"]) for name in "xy")
    nodes = [
        helper.make_node("Exp", ["x"], ["e"], name="exp"),
        helper.make_node("Neg", ["e"], ["y"], name="neg"),
    ]
    return helper.make_model(
        helper.make_graph(nodes, "g", [x], [y]), opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    )


HOOKED = hook_model_op(
    make_exponentials(), "neg", observe, [PyCustomOpDef.dt_float]
)  # defines an operator, once a process


def run() -> dict[str, object]:
    SEEN.clear()
    counts = OrtPyFunction.from_model(make_counts())(np.array(["onnx runs", "none", "été"], object))
    y = OrtPyFunction.from_model(HOOKED)(np.array([0, 1, 2], np.float32))
    return {
        "counts": [value.tolist() for value in counts],
        "hooked": y.tolist(),
        "seen": SEEN,
        "error": onnxruntime_extensions.ONNXRuntimeError is onnxruntime.capi.onnxruntime_pybind11_state.Fail,
        "device": onnxruntime.get_device(),
    }
