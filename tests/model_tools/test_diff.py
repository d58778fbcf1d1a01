"""`diff`: what is reported, and what counts as equal."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from model_tools.agreement import load_shared_model
from models import parse_model, parse_record
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Model, Tensor
from sardonyx._src.ir.devices import DeviceConfiguration
from sardonyx._src.proto import messages as m
from sardonyx._src.tools.diff import diff
from sardonyx._src.tools.diff.weights import CHUNK_ELEMENTS, distance

TEXT = """g (float[N,2] x) => (float[N,2] y) <float[2] k = {1, 2}> {
  ["one"] a = Neg(x)  ["two"] b = Mul(a, k)  ["three"] y = Clip(b)
}"""


def difference_texts(a: Model, b: Model, tolerance: float = 0.0) -> list[str]:
    return [str(change) for change in diff(a, b, weights_tolerance=tolerance)]


def diff_after_replacement(old: str, new: str, text: str = TEXT) -> list[str]:
    assert old in text
    return difference_texts(parse_model(text), parse_model(text.replace(old, new)))


def test_a_model_equals_itself() -> None:
    assert difference_texts(parse_model(TEXT), parse_model(TEXT)) == []


def test_a_weight_is_reported_with_its_error() -> None:
    (result,) = diff(parse_model(TEXT), parse_model(TEXT.replace("{1, 2}", "{1, 2.5}")))
    assert (result.kind, result.place, result.distance is not None) == ("weight", "'k'", True)
    assert str(result) == ("~ weight 'k': 1 elements differ, by 0.5 at [1], relative 0.25, L2 0.5 of 2.236")
    assert difference_texts(parse_model(TEXT), parse_model(TEXT.replace("{1, 2}", "{1, 2.5}")), 0.5) == []


def test_a_weight_of_another_type_or_shape_is_reported() -> None:
    assert diff_after_replacement("float[2] k = {1, 2}", "float[1,2] k = {1, 2}") == [
        "~ weight 'k': float[2] -> float[1,2]"
    ]


def test_an_operator_between_two_nodes_is_reported_as_such() -> None:
    assert diff_after_replacement('["three"] y = Clip(b)', 'r = Relu(b)  ["three"] y = Clip(r)') == [
        "~ edge 'three' (Clip) input 0: 'b' -> 'r'",
        "+ node Relu of 'r'",
    ]


def test_a_node_of_another_operator_is_reported_as_one_change() -> None:
    assert diff_after_replacement("Neg(x)", "Abs(x)") == ["~ node 'one' (Neg): ai.onnx.Neg -> ai.onnx.Abs"]


def test_nodes_without_names_are_found_by_what_they_compute() -> None:
    a = "g (float x) => (float y) { a = Neg(x)  b = Abs(a)  y = Neg(b) }"
    b = "g (float x) => (float y) { p = Neg(x)  q = Abs(p)  r = Exp(q)  y = Neg(r) }"
    assert difference_texts(parse_model(a), parse_model(b)) == [
        "~ edge Neg of 'y' input 0: 'b' -> 'r'",
        "+ node Exp of 'r'",
        "~ name 'a': a -> p",
        "~ name 'b': b -> q",
    ]


def test_attributes_are_reported() -> None:
    text = "g (float[2,3] x) => (float[3,2] y) { y = Transpose<perm = [1, 0]>(x) }"
    assert diff_after_replacement("[1, 0]", "[0, 1]", text) == [
        "~ attribute Transpose of 'y' perm: [1, 0] -> [0, 1]"
    ]
    assert diff_after_replacement("<perm = [1, 0]>", "", text) == [
        "- attribute Transpose of 'y' perm: [1, 0]"
    ]


def test_a_tensor_in_an_attribute_is_reported_with_its_error() -> None:
    text = "g () => (float[2] y) { y = Constant<value = float[2] {1, 2}>() }"
    (result,) = diff_after_replacement("{1, 2}", "{1, 4}", text)
    assert result.startswith("~ attribute Constant of 'y' value: 1 elements differ, by 2 at [1]")


def test_a_change_inside_a_branch_has_a_location() -> None:
    text = """g (bool c, float x) => (float y) { y = If(c) <
      then_branch = t () => (float p) { p = Neg(x) }, else_branch = e () => (float q) { q = Abs(x) }> }"""
    assert diff_after_replacement("Abs(x)", "Exp(x)", text) == [
        "~ node If of 'y' else_branch.Abs of 'q': ai.onnx.Abs -> ai.onnx.Exp"
    ]


def test_inputs_and_outputs_are_reported() -> None:
    text = "g (float[N] x, float u) => (float[N] y, float v) { y = Neg(x)  v = Abs(u) }"
    assert diff_after_replacement("float[N] x", "float[4] x", text) == [
        "~ input 'x': float[N] -> float[4] (breaks callers)"
    ]
    assert diff_after_replacement("(float[N] y, float v)", "(float v, float[N] y)", text) == [
        "~ output order: y, v -> v, y (breaks callers)"
    ]
    assert diff_after_replacement("float u)", "float u, int64 w)", text) == [
        "+ input 'w': int64[] (breaks callers)"
    ]


def test_imports_functions_metadata_and_texts_are_reported() -> None:
    a = parse_model('g (float x) => (float y) { y = my.f(x) } <opset_import: ["": 21], domain: "my"> f (p) => (q) { q = Neg(p) }', more='"my": 1')  # fmt: skip
    b = parse_model('g (float x) => (float y) { y = my.f(x) } <opset_import: ["": 20], domain: "my"> f (p) => (q) { q = Abs(p) }', more='"my": 2')  # fmt: skip
    a.metadata["k"], b.metadata["k"], b.doc = "1", "2", "text"
    assert difference_texts(a, b) == [
        "~ doc model:  -> text",
        "~ metadata model 'k': 1 -> 2",
        "~ import 'my': 1 -> 2",
        "~ import my.f 'ai.onnx': 21 -> 20",
        "~ node my.f.Neg of 'q': ai.onnx.Neg -> ai.onnx.Abs",
    ]


def test_training_steps_annotations_and_devices_are_reported() -> None:
    original = parse_record("g (float x) => (float y) <float w = {1}> { y = Mul(x, w) }", ir=11)
    step = m.TrainingInfoProto()
    step.algorithm = parse_record("t () => (float v) { v = Add(w, w) }").graph
    step.update_binding = [m.StringStringEntryProto(key="w", value="v")]
    a = sx.load(original)
    original.training_info = [step]
    entry = m.StringStringEntryProto(key="SCALE_TENSOR", value="w")
    assert original.graph is not None
    original.graph.quantization_annotation = [
        m.TensorAnnotation(tensor_name="y", quant_parameter_tensor_names=[entry])
    ]
    b = sx.load(original)
    b.configurations = [DeviceConfiguration("gpus", 2)]
    kinds = [(change.what, change.kind) for change in diff(a, b)]
    assert kinds == [("added", "device"), ("added", "annotation"), ("added", "training")]
    assert difference_texts(b, b) == []


def test_where_weights_are_stored_makes_no_difference(tmp_path: Path) -> None:
    b = sx.Builder(opset=21)
    x = b.input("x", DataType.FLOAT, [3000])
    whole = b.model(y=b.Add(x, b.constant("w", np.arange(3000, dtype=np.float32))))
    sx.save(whole, tmp_path / "in.onnx")
    sx.save(whole, tmp_path / "out.onnx", external="w.bin")
    assert difference_texts(sx.load(tmp_path / "in.onnx"), sx.load(tmp_path / "out.onnx")) == []


def test_an_element_in_a_late_piece_is_found() -> None:
    values = np.zeros((2, CHUNK_ELEMENTS), np.float32)
    other = values.copy()
    other[1, CHUNK_ELEMENTS - 1] = 3
    result = distance(Tensor.of(values), Tensor.of(other))
    assert result is not None
    assert (result.elements, result.max_abs, list(result.index), result.norm) == (
        1,
        3.0,
        [1, CHUNK_ELEMENTS - 1],
        3.0,
    )


@pytest.mark.parametrize(
    ("a", "b", "max_abs"),
    [
        (np.array([np.nan, 1], np.float32), np.array([np.nan, 1], np.float32), None),
        (np.array([np.nan, 1], np.float32), np.array([0, 1], np.float32), np.inf),
        (np.array([np.inf, 1], np.float32), np.array([np.inf, 1], np.float32), None),
        (np.array([1, 2], np.int64), np.array([1, 5], np.int64), 3),
        (np.array([1 << 60, 2], np.int64), np.array([(1 << 60) + 1, 2], np.int64), 1),
        (np.array([True, False]), np.array([True, True]), 1),
        (np.array(["a", "b"], object), np.array(["a", "c"], object), 1),
        (np.array([1j, 0], np.complex64), np.array([1, 0], np.complex64), np.sqrt(2)),
        (np.array([1, 2], DataType.BFLOAT16.numpy), np.array([1, 2.5], DataType.BFLOAT16.numpy), 0.5),
        (np.array([-8, 7], DataType.INT4.numpy), np.array([7, 7], DataType.INT4.numpy), 15),
        (np.array([], np.float32), np.array([], np.float32), None),
    ],
)
def test_elements_of_every_kind_are_compared(
    a: np.typing.NDArray[np.generic], b: np.typing.NDArray[np.generic], max_abs: float | None
) -> None:
    result = distance(Tensor.of(a), Tensor.of(b))
    if max_abs is None:
        assert result is None
    else:
        assert result is not None
        assert result.max_abs == pytest.approx(max_abs)


@pytest.mark.parametrize("name", ["ort_nuphar_loop", "dtln_2", "ort_gh18338_functions"])
def test_a_real_model_equals_its_copy_in_text(name: str) -> None:
    whole = load_shared_model(name)
    assert difference_texts(whole, sx.from_text(sx.to_text(whole))) == []
