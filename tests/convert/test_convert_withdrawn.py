"""Withdrawn experiments of the first releases are replaced by standard operators, or refused with the reason."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.convert.conversion import convert
from sardonyx._src.convert.partial_conversion import convert_partially
from sardonyx._src.errors import ConversionError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir.walk import nodes
from sardonyx._src.schema import last_version, withdrawn

IMAGES = "(float[N,3,6,7] x) => (float[N,3,?,?] y)"
# Graphs of one withdrawn operator each, and the shape of their input.
REPLACED = {
    "ImageScaler": f"g {IMAGES} {{ y = ImageScaler <scale = 0.5, bias = [1.0, -2.0, 3.0]> (x) }}",
    "Affine": f"g {IMAGES} {{ y = Affine <alpha = 0.1, beta = 3.0> (x) }}",
    "Scale": f"g {IMAGES} {{ y = Scale <scale = 0.1> (x) }}",
    "ScaledTanh": f"g {IMAGES} {{ y = ScaledTanh <alpha = 1.7, beta = 0.6> (x) }}",
    "ParametricSoftplus": f"g {IMAGES} {{ y = ParametricSoftplus <alpha = 1.7, beta = 0.6> (x) }}",
    "ThresholdedRelu": f"g {IMAGES} {{ y = ThresholdedRelu <alpha = 0.3> (x) }}",
    "MeanVarianceNormalization": f"g {IMAGES} {{ y = MeanVarianceNormalization (x) }}",
    "Crop": f"g {IMAGES} {{ y = Crop <border = [1, 2, 0, 1]> (x) }}",
    "ConstantFill": f"g {IMAGES} {{ f = ConstantFill <value = 2.5> (x) y = Add(f, x) }}",
    "GivenTensorFill": f"g {IMAGES} {{ f = GivenTensorFill <shape = [3, 1, 1], values = [1.0, 2.0, 3.0]> () y = Add(x, f) }}",
    "DynamicSlice": """g (float[N,3,6,7] x) => (float[N,3,?,?] y)
        <int64[2] s = {1, 2}, int64[2] e = {5, -1}, int64[2] a = {2, 3}> { y = DynamicSlice(x, s, e, a) }""",
    "GRUUnit": """g (float[N,3,6,7] x) => (float[N,3,?,?] y) <float[6] lengths = {0, 1, 2, 3, 4, 5}, float[1] t = {2}>
        { gates = Concat <axis = 3> (x, x, x) y = GRUUnit(x, gates, lengths, t) }""",
}
IMAGE = np.random.default_rng(3).standard_normal((2, 3, 6, 7)).astype(np.float32)


def results(model: sx.Model) -> np.ndarray:
    return np.asarray(Interpreter(model).run({"x": IMAGE})["y"])


def op_types(model: sx.Model) -> set[str]:
    return {node.op_type for node in nodes(model.graph)}


def test_every_withdrawn_operator_with_a_signature_has_a_model_here() -> None:
    assert {schema.name for schema in withdrawn()} == set(REPLACED)


@pytest.mark.parametrize("name", REPLACED)
@pytest.mark.parametrize("target", [10, 13, 23])
def test_a_withdrawn_operator_is_replaced_in_later_sets(name: str, target: int) -> None:
    model = parse_model(REPLACED[name], opset=8)
    converted = convert(model, target)
    if last_version("", name) is not None:
        assert name not in op_types(converted)
    assert sx.check(sx.from_text(sx.to_text(converted))).of("error") == []
    np.testing.assert_allclose(results(converted), results(model), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", [n for n in REPLACED if last_version("", n) is not None])
@pytest.mark.parametrize("target", [9, 23, 28])
def test_a_withdrawn_operator_is_replaced_in_a_model_of_a_set_without_it(name: str, target: int) -> None:
    model = parse_model(REPLACED[name], opset=23)
    converted = convert(model, target)
    assert name not in op_types(converted)
    np.testing.assert_allclose(results(converted), results(model), rtol=1e-5, atol=1e-6)


def test_a_withdrawn_operator_stays_in_the_sets_that_have_it() -> None:
    model = parse_model(REPLACED["ImageScaler"], opset=7)
    assert op_types(convert(model, 9)) == {"ImageScaler"}


def test_image_scaler_becomes_mul_and_add() -> None:
    model = parse_model(REPLACED["ImageScaler"], opset=9)
    assert op_types(convert(model, 10)) == {"Constant", "Mul", "Add"}


def test_a_withdrawn_operator_in_a_branch_is_replaced() -> None:
    text = """g (float[N,3,6,7] x) => (float[N,3,6,7] y) <bool c = {1}> {
        y = If <then_branch = t () => (float[N,3,6,7] p) { p = Affine <alpha = 2.0> (x) },
                else_branch = e () => (float[N,3,6,7] q) { q = Neg(x) }> (c) }"""
    converted = convert(parse_model(text, opset=23), 23)
    assert "Affine" not in op_types(converted)
    np.testing.assert_array_equal(results(converted), 2 * IMAGE)


@pytest.mark.parametrize("name", ["ATen", "Embedding", "FC", "LoopIndexTensor"])
def test_an_operator_without_a_substitute_is_refused(name: str) -> None:
    model = parse_model(f"g (float[2] x) => (float[2] y) {{ y = {name} (x) }}", opset=1)
    with pytest.raises(ConversionError, match=f"{name}.*it was withdrawn, and no standard operator replaces"):
        convert(model, 23)


def test_a_refused_operator_is_outlined_in_a_partial_conversion() -> None:
    model = parse_model("g (float[2] x) => (float[2] y) { y = ATen (x) }", opset=9)
    conversion = convert_partially(model, 23)
    converted, errors = conversion.model, conversion.errors
    (function,) = converted.functions.values()
    assert [error.op_type for error in errors] == ["ATen"]
    assert function.opset_imports == {"": 9}


def test_a_missing_attribute_without_default_is_refused() -> None:
    model = parse_model("g (float[2] x) => (float[2] y) { y = ScaledTanh <alpha = 1.0> (x) }", opset=9)
    with pytest.raises(ConversionError, match="attribute beta must be set"):
        convert(model, 10)


def test_a_bias_that_does_not_fit_the_channels_is_refused() -> None:
    text = "g (float[1,3,2,2] x) => (float[1,3,2,2] y) { y = ImageScaler <bias = [1.0, 2.0]> (x) }"
    with pytest.raises(ConversionError, match="bias must have 3 elements"):
        convert(parse_model(text, opset=9), 10)


def test_the_native_engine_compiles_the_substitutes() -> None:
    model = parse_model(REPLACED["ImageScaler"], opset=8)
    session = sx.Session(model, engine="native")
    assert session.stats.fallback_nodes == 0
    np.testing.assert_allclose(np.asarray(session.run({"x": IMAGE})["y"]), results(model), rtol=1e-6)
