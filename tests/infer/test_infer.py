"""Inference: types, symbolic shapes, known elements."""

from __future__ import annotations

from pathlib import Path

import pytest

import sardonyx as sx
from models import only, parse_function, parse_model, parse_record
from sardonyx._src.errors import InferenceError
from sardonyx._src.infer.merge import join_types, merge_types
from sardonyx._src.ir import Model, TensorType
from sardonyx._src.ir.walk import graphs, values
from sardonyx._src.proto import messages as m


def infer_types(model: Model) -> dict[str, str]:
    sx.infer(model)
    return {v.name: str(v.type) for g in graphs(model.graph) for v in values(g)}


def y(text: str, *, opset: int = 21) -> str:
    """The inferred type of `y`, of which the model declares nothing but the element type."""
    return infer_types(parse_model(text, opset=opset))["y"]


# --- sizes that other tools lose -------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("g (float[N,2] x, float[M,2] z) => (float[] y) { y = Concat<axis = 0>(x, z) }", "float[M+N,2]"),
        ("g (float[N] x) => (float[] y) <int64[2] p = {1, 1}> { y = Pad(x, p) }", "float[N+2]"),
        (
            "g (float[1,3,H,W] x, float[8,3,3,3] w) => (float[] y) { y = Conv<strides = [2, 2], pads = [1, 1, 1, 1]>(x, w) }",
            "float[1,8,(H-1)//2+1,(W-1)//2+1]",
        ),
        ("g (float[N,C,4] x) => (float[] y) { y = Flatten<axis = 1>(x) }", "float[N,4*C]"),
        ("g (float[N,4,8] x) => (float[] y) <int64[2] s = {-1, 8}> { y = Reshape(x, s) }", "float[4*N,8]"),
        ("g (float[N,12] x) => (float[] y) <int64[3] s = {0, -1, 4}> { y = Reshape(x, s) }", "float[N,3,4]"),
        (
            """g (float[N,2] x) => (int64[] y) <int64 zero = {0}, int64 one = {1}> {
              s = Shape(x)  n = Gather<axis = 0>(s, zero)  y = Range(zero, n, one) }""",
            "int64[N]",
        ),
        (
            "g (float[N] x) => (float[] y) <int64[1] a = {1}, int64[1] b = {9223372036854775807}> { y = Slice(x, a, b) }",
            "float[max(N-1,0)]",
        ),
        ("g (float[N,6] x) => (float[] y) { y, z = Split<axis = 1, num_outputs = 2>(x) }", "float[N,3]"),
        ("g (float[N,2] x) => (float[] y) <int64[2] r = {2, 3}> { y = Tile(x, r) }", "float[2*N,6]"),
        (
            """g (float[N,D] x) => (float[] y) {
              s = Shape(x)  p = ReduceProd<keepdims = 1>(s)  y = Reshape(x, p) }""",
            "float[D*N]",
        ),
        (
            """g (float[N,D] x) => (float[] y) <int64[2] one = {1, 1}> {
              s = Shape(x)  c = Equal(one, one)  t = Where(c, s, one)  y = ConstantOfShape(t) }""",
            "float[N,D]",
        ),
        (
            """g (float[N,D] x, float[1,1] z) => (float[] y) { s = Shape(x)  y = Expand(z, s) }""",
            "float[N,D]",
        ),
        (
            "g (float[1,3,H,W] x) => (float[] y) <float[4] s = {1, 1, 2, 2}> { y = Resize(x, , s) }",
            "float[1,3,2*H,2*W]",
        ),
        (
            "g (float[1,4,H] x, float[4,2,3] w) => (float[] y) { y = ConvTranspose<strides = [2]>(x, w) }",
            "float[1,2,2*H+1]",
        ),
        (
            """g (float[N,D] x) => (float[] y) <int64[1] i = {1}, int64[1] two = {2}> {
              s = Shape(x)  d = Gather(s, i)  h = Div(d, two)  y = ConstantOfShape(h) }""",
            "float[D//2]",
        ),
    ],
)
def test_a_size_is_an_expression_over_the_inputs(text: str, expected: str) -> None:
    assert y(text) == expected


SHAPE_ARITHMETIC = """
g (float[B,S,64] x) => (float[] y) <int64 zero = {0}, int64 one = {1}, int64[1] heads = {4}, int64[1] width = {16}, int64[1] front = {0}> {
  shape = Shape(x)
  b = Gather<axis = 0>(shape, zero)
  s = Gather<axis = 0>(shape, one)
  b1 = Unsqueeze(b, front)
  s1 = Unsqueeze(s, front)
  target = Concat<axis = 0>(b1, s1, heads, width)
  split = Reshape(x, target)
  y = Transpose<perm = [0, 2, 1, 3]>(split)
}
"""


def test_the_shape_arithmetic_of_an_exporter_disappears() -> None:
    assert y(SHAPE_ARITHMETIC) == "float[B,4,S,16]"


# --- declared and inferred -------------------------------------------------------------------


def test_symbols_on_outputs_are_hints() -> None:
    types = infer_types(parse_model("g (float[N,2] x) => (float[A,B] y) { y = Identity(x) }"))
    assert types["y"] == "float[N,2]"


def test_what_is_declared_stays_where_nothing_is_inferred() -> None:
    types = infer_types(
        parse_model("g (float[N] x) => (float[K,3] y) { y = com.x.Foo(x) }", more='"com.x": 1')
    )
    assert types["y"] == "float[K,3]"


def test_numbers_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(
        InferenceError,
        match=r"'Identity' output 'y': declared length 3 of axis 0 contradicts inferred length 2",
    ):
        infer_types(parse_model("g (float[2] x) => (float[3] y) { y = Identity(x) }"))
    with pytest.raises(InferenceError, match=r"declared element type int64 contradicts inferred float"):
        infer_types(parse_model("g (float[2] x) => (int64[2] y) { y = Identity(x) }"))
    with pytest.raises(InferenceError, match="declared rank 2 contradicts inferred rank 1"):
        infer_types(parse_model("g (float[2] x) => (float[1,2] y) { y = Identity(x) }"))


def test_every_contradiction_can_be_collected() -> None:
    model = parse_model("g (float[2] x) => (float[3] y, float[4] z) { y = Identity(x)  z = Identity(x) }")
    inference = sx.tools.infer_partially(model)
    assert len(inference.errors) == 2 and not inference


def test_an_operator_that_refuses_its_types_names_the_node() -> None:
    with pytest.raises(InferenceError, match=r"node\[0\] 'join' \(Add\)"):
        infer_types(parse_model("g (float[2] x, float[3] z) => (float[] y) { [join] y = Add(x, z) }"))


def test_inferring_twice_changes_nothing() -> None:
    model = parse_model(SHAPE_ARITHMETIC)
    first = infer_types(model)
    assert infer_types(model) == first


def test_a_type_is_merged_field_by_field() -> None:
    from sardonyx._src.dtypes import DataType
    from sardonyx._src.ir.dims import symbol

    n = symbol("N")
    declared = TensorType(DataType.FLOAT, (2, None, symbol("K")), "IMAGE")
    inferred = TensorType(DataType.FLOAT, (None, 3, n))
    assert merge_types(declared, inferred) == TensorType(DataType.FLOAT, (2, 3, n), "IMAGE")
    assert merge_types(None, inferred) == inferred
    assert join_types(TensorType(DataType.FLOAT, (2, n)), TensorType(DataType.FLOAT, (3, n))) == TensorType(
        DataType.FLOAT, (None, n)
    )
    assert join_types(TensorType(DataType.FLOAT), TensorType(DataType.INT64)) is None


# --- subgraphs and functions -----------------------------------------------------------------


def test_values_of_branches_are_typed() -> None:
    types = infer_types(
        parse_model("""
        g (bool c, float[N] x) => (float[] y) {
          y = If(c) <then_branch = t () => (float[] p) { a = Neg(x)  p = Concat<axis = 0>(a, a) }, else_branch = e () => (float[] q) { q = Abs(x) }>
        }""")
    )
    assert (types["a"], types["p"], types["q"]) == ("float[N]", "float[2*N]", "float[N]")
    assert types["y"].startswith("float[unk_")  # a size that only the condition decides


def test_a_known_condition_decides() -> None:
    assert (
        y("""
        g (float[N] x) => (float[] y) <bool c = {1}> {
          y = If(c) <then_branch = t () => (float[] p) { p = Concat<axis = 0>(x, x) }, else_branch = e () => (float[] q) { q = Abs(x) }>
        }""")
        == "float[2*N]"
    )


def test_function_bodies_are_typed_and_propagate_elements() -> None:
    record = parse_record(
        "g (float[N,4] x) => (float[] y) { t = l.flat(x)  y = Reshape(x, t) }", more='"l": 1'
    )
    record.functions = [
        parse_function("""<domain: "l", opset_import: ["": 21]> flat (a) => (b) {
          s = Shape(a)  b = ReduceProd<keepdims = 1>(s) }""")
    ]
    model = sx.load(record)
    assert infer_types(model)["y"] == "float[4*N]"
    (body,) = (f.body for f in model.functions.values())
    assert str(only(body, "Shape").outputs[0].type) == "int64[2]"


def test_a_function_called_with_different_types_keeps_what_they_share() -> None:
    record = parse_record(
        "g (float[N,4] x, float[N,5] z) => (float[] y, float[] w) { y = l.f(x)  w = l.f(z) }", more='"l": 1'
    )
    record.functions = [parse_function('<domain: "l", opset_import: ["": 21]> f (a) => (b) { b = Neg(a) }')]
    model = sx.load(record)
    assert infer_types(model)["w"] == "float[N,5]"
    (body,) = (f.body for f in model.functions.values())
    assert str(body.outputs[0].type) == "float[N,?]"


def test_functions_that_multiply_end() -> None:
    record = parse_record("g (float[N] x) => (float[] y) { y = l.f0(x) }", more='"l": 1')
    record.functions = [
        *(
            parse_function(
                f'<domain: "l", opset_import: ["l": 1]> f{i} (a) => (c) {{ b = l.f{i + 1}(a)  c = l.f{i + 1}(b) }}'
            )
            for i in range(30)
        ),
        parse_function('<domain: "l", opset_import: ["": 21]> f30 (a) => (b) { b = Neg(a) }'),
    ]
    sx.infer(sx.load(record))


def test_training_graphs_are_typed() -> None:
    record = parse_record("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }")
    graph = m.GraphProto(
        name="t",
        node=[m.NodeProto(op_type="Sub", input=["w", "y"], output=["w2"])],
        output=[m.ValueInfoProto(name="w2")],
    )
    record.training_info = [m.TrainingInfoProto(algorithm=graph)]
    model = sx.infer(sx.load(record))
    algorithm = model.training[0].algorithm
    assert algorithm is not None
    assert str(algorithm.outputs[0].type) == "float[2]"


# --- data ------------------------------------------------------------------------------------


def test_external_data_that_are_not_there_are_not_needed(tmp_path: Path) -> None:
    b = sx.Builder(opset=21)
    x = b.input("x", sx.DataType.FLOAT, ["N", 64])
    y_ = b.MatMul(x, b.constant("w", [[1.0] * 32] * 64))
    sx.save(b.model(y=y_), tmp_path / "m.onnx", external="w.bin", threshold=1)
    (tmp_path / "w.bin").unlink()
    assert infer_types(sx.load(tmp_path / "m.onnx"))["y"] == "float[N,32]"


def test_an_inferred_model_says_so_in_its_file(tmp_path: Path) -> None:
    model = sx.infer(
        parse_model("g (float[N,2] x) => (float[] y) { a = Neg(x)  y = Concat<axis = 0>(a, a) }")
    )
    sx.save(model, tmp_path / "m.onnx")
    again = sx.load(tmp_path / "m.onnx")
    assert str(only(again.graph, "Neg").outputs[0].type) == "float[N,2]"
    assert str(again.graph.outputs[0].type) == "float[2*N,2]"
