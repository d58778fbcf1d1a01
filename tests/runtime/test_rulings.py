"""Rulings of docs/rulings.md on names, inner values, sequences and opaque types, held by both engines."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_record
from sardonyx._src.ir import TensorType
from sardonyx._src.runtime.session.session import Engine

ENGINES: tuple[Engine, ...] = ("reference", "native")
X = np.array([1, -2], np.float32)
both_engines = pytest.mark.parametrize("engine", ENGINES)


@both_engines
@pytest.mark.parametrize("domain", ["", "ai.onnx"])
def test_a_local_function_hides_the_standard_operator_of_its_name(engine: Engine, domain: str) -> None:
    function = f'<domain: "{domain}", opset_import: ["": 21]> Relu (v) => (w) {{ w = Neg(v) }}'
    record = parse_record(f"g (float[2] x) => (float[2] y) {{ y = Relu(x) }} {function}")
    assert sx.check(record).ok
    np.testing.assert_array_equal(np.asarray(sx.Session(record, engine=engine).run({"x": X})["y"]), -X)


def test_the_body_of_a_function_that_hides_an_operator_may_not_call_it() -> None:
    function = '<domain: "", opset_import: ["": 21]> Relu (v) => (w) { w = Relu(v) }'
    record = parse_record(f"g (float[2] x) => (float[2] y) {{ y = Relu(x) }} {function}")
    assert "SX407" in {d.rule for d in sx.check(record).of("error")}
    with pytest.raises(sx.InvalidModel):
        sx.load(record)


def test_passes_and_inlining_keep_the_meaning_of_a_hidden_operator() -> None:
    function = '<domain: "", opset_import: ["": 21]> Relu (v) => (w) { w = Neg(v) }'
    record = parse_record(f"g (float[2] x) => (float[2] y) {{ y = Relu(x) }} {function}")
    optimized = sx.optimize(sx.load(record))
    np.testing.assert_array_equal(np.asarray(sx.Session(optimized).run({"x": X})["y"]), -X)


@both_engines
@pytest.mark.parametrize("declared", ["float[3]", "double[2]", "float[2,1]"])
def test_the_declared_type_of_an_inner_value_changes_no_result(engine: Engine, declared: str) -> None:
    record = parse_record(f"g (float[2] x) => (float[2] y) <{declared} a> {{ a = Neg(x) y = Abs(a) }}")
    y = sx.Session(record, engine=engine, shapes="off").run({"x": X})["y"]
    np.testing.assert_array_equal(np.asarray(y), np.abs(X))
    assert [d.rule for d in sx.check(record).of("error")] == ["SX701"]
    with pytest.raises(sx.InferenceError, match="contradicts inferred"):
        sx.infer(sx.load(record))


def test_the_declared_type_of_an_inner_value_adds_what_inference_leaves_open() -> None:
    text = "g (float[N] x, int64[2] s) => (float[?,?] y) <float[3,?] a> { a = Reshape(x, s) y = Abs(a) }"
    model = sx.load(parse_record(text))
    sx.infer(model)
    (value,) = model.graph.nodes[0].outputs
    assert isinstance(value.type, TensorType)
    assert str(value.type) == "float[3,?]"


@both_engines
def test_elements_of_a_sequence_have_one_element_type_and_any_sizes_that_are_declared(engine: Engine) -> None:
    record = parse_record("g (seq(float[?]) s, int64 i) => (float[?] y) { y = SequenceAt(s, i) }")
    session = sx.Session(record, engine=engine)
    feed = [X, np.array([5], np.float32)]
    assert np.asarray(session.run({"s": feed, "i": np.int64(-1)})["y"]).tolist() == [5]
    with pytest.raises(sx.InputError, match="must be float"):
        session.run({"s": [X, X.astype(np.float64)], "i": np.int64(0)})
    with pytest.raises(sx.InputError, match="must be a list"):
        session.run({"s": np.stack([X, X]), "i": np.int64(0)})
    for position in (2, -3):
        with pytest.raises(sx.EvaluationError, match="lies outside"):
            session.run({"s": feed, "i": np.int64(position)})


@both_engines
def test_an_opaque_value_passes_untouched(engine: Engine) -> None:
    text = "g (opaque(com.example, handle) x) => (opaque(com.example, handle) y) { y = Identity(x) }"
    value = object()
    assert sx.Session(parse_record(text, opset=28, ir=14), engine=engine).run({"x": value})["y"] is value


@both_engines
def test_group_normalization_18_runs_and_is_reported(engine: Engine) -> None:
    text = """g (float[1,2,2] x) => (float[1,2,2] y) <float[1] s = {1}, float[1] b = {0}>
        { y = GroupNormalization <num_groups = 1> (x, s, b) }"""
    record = parse_record(text, opset=18)
    assert not sx.check(record).of("error")
    (warning,) = (d for d in sx.check(record).of("warning") if d.rule == "SX214")
    assert "GroupNormalization-18 was deprecated when GroupNormalization-21 replaced it" in str(warning)
    x = np.array([[[1, 2], [3, 4]]], np.float32)
    y = np.asarray(sx.Session(record, engine=engine).run({"x": x})["y"])
    np.testing.assert_allclose(y.reshape(-1), (x.reshape(-1) - 2.5) / np.sqrt(1.25), rtol=1e-4)
