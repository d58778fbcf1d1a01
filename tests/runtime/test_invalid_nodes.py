"""Nodes that are invalid are refused by both engines alike, whatever a newer version or an optimization makes of them."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.ir import Array, Attribute
from sardonyx._src.ir.attributes import AttributeType
from sardonyx.errors import EvaluationError

F = np.float32
CASES = {  # model, opset, feeds, part of the message
    "two types for one variable": ("g (float[2] x, int32[2] z) => (y) { y = Mul(x, z) }", 21, "as input 0"),
    "a type that is not allowed": ("g (int32[2] z) => (y) { y = Exp(z) }", 21, "got tensor\\(int32\\)"),
    "a type that is not allowed for a transpose": (
        """g (int4[A,B] i4) => (y) { y = Einsum <equation = "ij->ji"> (i4) }""",
        28,
        "got tensor\\(int4\\)",
    ),
    "half precision and float32": (
        "g (float16[A,B] h, int64[C,1] i, float[C,B] f) => (y) { y = ScatterND(h, i, f) }",
        11,
        "as input 0",
    ),
    "bfloat16 and float32": (
        "g (bfloat16[1,1,2,2] b, float[A,B,C,D] x4) => (y) { y = ConvTranspose(b, x4) }",
        22,
        "as input 0",
    ),
    "half precision of an unknown type and float32": (
        """g ({name: "u", type: {tensor_type: {}}}, float[2] x) => (y) { y = LayerNormalization(u, x) }""",
        17,
        "as input 0",
    ),
    "a type that only newer versions accept": (
        """g ({name: "z", type: {tensor_type: {}}}) => (y) { y = Relu(z) }""",
        13,
        "got tensor\\(int32\\)",
    ),
    "an axis outside of the rank": (
        "g (float[N] x) => (y) { y = Softmax <axis = 3> (x) }",
        1,
        "axis must be in",
    ),
    "of LogSoftmax": ("g (float[N] x) => (y) { y = LogSoftmax <axis = 3> (x) }", 1, "axis must be in"),
    "of Hardmax": ("g (float[N] x) => (y) { y = Hardmax <axis = 3> (x) }", 1, "axis must be in"),
    "a scale below 1": (
        "g (float[2] x) => (y) { y = Upsample <scales = [0.5]> (x) }",
        7,
        "scales must be finite",
    ),
    "repeats of two axes": (
        "g (float[2] x) => (y) <int64[1,1] r = {2}> { y = Tile(x, r) }",
        21,
        "repeats must have shape",
    ),
    "too few directions": (
        """g (float s, float[N] x) => (f, y) { f, y = Scan <num_scan_inputs = 1, scan_input_directions = [0, 1],
           body = b (float a, float e) => (float c, float o) { c = Add(a, e)  o = Identity(c) }> (s, x) }""",
        21,
        "must have 1 entries",
    ),
    "too many axes of scan outputs": (
        """g (float s, float[N] x) => (f, y) { f, y = Scan <num_scan_inputs = 1, scan_output_axes = [0, 1],
           body = b (float a, float e) => (float c, float o) { c = Add(a, e)  o = Identity(c) }> (s, x) }""",
        21,
        "scan_output_axes must have 1 entries",
    ),
    "too many directions of scan outputs": (
        """g (float s, float[2] x) => (f, y) { f, y = Scan <num_scan_inputs = 1, scan_output_directions = [0, 1],
           body = b (float a, float e) => (float c, float o) { c = Add(a, e)  o = Identity(c) }> (s, x) }""",
        21,
        "scan_output_directions must have 1 entries",
    ),
    "a bias of too few channels": (
        "g (float[A,B,C,D] x4) => (y) { y = ImageScaler <scale = 2.0, bias = [1.0]> (x4) }",
        1,
        "bias must have 2 elements",
    ),
}
FEEDS = {
    "x": np.array([1, 2], F),
    "z": np.array([3, 4], np.int32),
    "s": np.array(0, F),
    "x4": np.ones((1, 2, 1, 1), F),
    "i4": np.ones((2, 3), ml_dtypes.int4),
    "h": np.ones((2, 3), np.float16),
    "u": np.ones(2, np.float16),
    "b": np.ones((1, 1, 2, 2), ml_dtypes.bfloat16),
    "i": np.zeros((1, 1), np.int64),
    "f": np.ones((1, 3), F),
}


@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize(("text", "opset", "message"), CASES.values(), ids=CASES)
def test_both_engines_refuse(text: str, opset: int, message: str, engine: str) -> None:
    session = sx.Session(parse_model(text, opset=opset), engine=engine)  # type: ignore[arg-type]
    with pytest.raises(EvaluationError, match=message):
        session.run({value.name: FEEDS[value.name] for value in session.inputs})


VALID = {  # of which a newer version would be another node: model, opset, feeds
    "half precision of an unknown type": (
        """g ({name: "u", type: {tensor_type: {}}}, float16[2] h2) => (y) { y = LayerNormalization(u, h2) }""",
        17,
        {"u": np.array([300, -300], np.float16), "h2": np.ones(2, np.float16)},
    ),
    "a type that only older versions accept": (
        """g ({name: "x0", type: {tensor_type: {}}}) => (y) { y = ReduceLogSumExp(x0) }""",
        13,
        {"x0": np.array([-1000, -1000])},
    ),
    "a logarithm that integers cannot hold": (
        "g (int32[N] x0) => (y) { y = ReduceLogSum(x0) }",
        18,
        {"x0": np.array([128, -(2**31)], np.int32)},
    ),
    "a sum that integers cannot hold": (
        "g (int32[N] x0) => (y) { y = ReduceLogSum(x0) }",
        18,
        {"x0": np.array([2**31 - 1] * 2, np.int32)},
    ),
}


@pytest.mark.parametrize(("text", "opset", "feeds"), VALID.values(), ids=VALID)
def test_both_engines_compute_what_the_own_version_means(
    text: str, opset: int, feeds: dict[str, Array]
) -> None:
    model = parse_model(text, opset=opset)
    expected, actual = (
        np.asarray(sx.Session(model, engine=engine).run(feeds)["y"]) for engine in ("reference", "native")
    )
    assert actual.dtype == expected.dtype == next(iter(feeds.values())).dtype
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("alpha", ["inf", "-inf", "nan"])
@pytest.mark.parametrize("operator", ["Elu", "Celu"])
def test_infinite_attributes_mean_the_same_in_both_engines(operator: str, alpha: str) -> None:
    x = np.array([-2, 0, 3, -np.inf, np.inf, np.nan], F)
    model = parse_model(f"g (float[N] x) => (y) {{ y = {operator} <alpha = 1.0> (x) }}", opset=21)
    (node,) = model.graph.nodes
    node.attributes["alpha"] = Attribute("alpha", AttributeType.FLOAT, float(alpha))
    results = [sx.Session(model, engine=engine).run({"x": x})["y"] for engine in ("reference", "native")]
    np.testing.assert_array_equal(results[1], results[0])
