"""Guards of the sizes of inputs: least sizes, rounding, and sizes that a model requires to be equal."""

from __future__ import annotations

import pytest

from models import parse_model
from sardonyx._src.compile.partition.regions.registry import is_supported
from sardonyx._src.compile.prepare import size_guards
from sardonyx._src.compile.prepare.prepare import PreparedModel, prepare_model
from sardonyx._src.ir import TensorType

SIZE = "h = Shape<start = 2, end = 3>(x)"
STRIDED = (
    f"{SIZE} a = Add(h, minus) d = Div(a, two) n = Add(d, one) m = Concat<axis = 0>(one, n) e = Expand(v, m)"
)
ONES = ", ".join(["1"] * 54)
CONSTANTS = f"""int64[1] one = {{1}}, int64[1] two = {{2}}, int64[1] minus = {{-1}}, int64[4] column = {{1,1,-1,1}},
  float[2,3,3,3] w = {{{ONES}}}"""


def prepared(inputs: str, nodes: str, opset: int = 24) -> PreparedModel:
    model = parse_model(f"g ({inputs}) => (y) <{CONSTANTS}> {{ {nodes} }}", opset=opset)
    return prepare_model(model, is_supported)


def test_a_model_without_open_sizes_is_not_inferred_for_guards(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("no size can be guarded")

    monkeypatch.setattr(size_guards, "IncrementalInference", refuse)
    assert prepared("float[1,3,9,9] x", "y = Conv<strides = [2, 2]>(x, w)").guards == {}
    with pytest.raises(AssertionError, match="no size"):
        prepared("float[1,3,H,9] x", "y = Conv<strides = [2, 2]>(x, w)")


def output_shape(model: PreparedModel) -> list[str]:
    (output,) = model.model.graph.outputs
    assert isinstance(output.type, TensorType) and output.type.shape is not None
    return list(map(str, output.type.shape))


def test_the_size_of_a_convolution_and_that_of_its_exporter_are_one_expression() -> None:
    nodes = (
        f"{STRIDED} c = Conv<strides = [2,1], pads = [1,1,1,1]>(x, w) r = Reshape(e, column) y = Add(c, r)"
    )
    model = prepared("float[b,3,h,w] x, float[1,1] v", nodes)
    assert output_shape(model) == ["b", "2", "(h-1)//2+1", "w"]
    assert [str(guard) for guard in model.guards] == ["min(h,1) == 1"]


def test_a_slice_from_the_back_has_the_size_that_it_counts() -> None:
    """Decoders take the latest tokens so: with a size of 0, all would be taken."""
    model = prepared(
        "float[p,5] past, float[n,5] new",
        "all = Concat<axis = 0>(past, new) n = Shape<end = 1>(new) first = Neg(n) "
        "far = Constant<value_ints = [9223372036854775807]>() y = Slice(all, first, far)",
    )
    assert output_shape(model) == ["n", "5"]
    assert [str(guard) for guard in model.guards] == ["min(n,1) == 1"]


def test_no_size_is_assumed_where_no_quotient_is_rounded() -> None:
    model = prepared(
        "float[b,3,h,w] x, float[1,1] v",
        f"{SIZE} d = Div(h, two) m = Concat<axis = 0>(one, d) y = Expand(v, m)",
    )
    assert output_shape(model) == ["1", "h//2"]
    assert not model.guards


@pytest.mark.parametrize(
    ("inputs", "nodes", "guards"),
    [
        ("float[n,k] x, float[j,m] z", "y = MatMul(x, z)", ["j == k"]),
        ("float[n,k] x, float[k,3] z, float[m] c", "y = Gemm(x, z, c)", ["m*m-4*m+3 == 0"]),
        ("float[n,c,h,w] x", "y = Conv(x, w)", ["c == 3"]),
        ("float[n,2] x, bool[k] z", "y = Compress<axis = 0>(x, z)", ["k == min(k,n)"]),
        ("float[n,k] x, float[k,n] z", "t = Transpose(z) y = SwiGLU(x, t)", []),
    ],
)
def test_what_operators_require_of_sizes_is_guarded(inputs: str, nodes: str, guards: list[str]) -> None:
    assert [str(guard) for guard in prepared(inputs, nodes, 28).guards] == guards


def test_dims_that_must_be_equal_are_one_symbol() -> None:
    model = prepared(
        "float[n,c] x, int64[m] t", 'y = NegativeLogLikelihoodLoss<reduction = "none">(x, t)', 22
    )
    assert output_shape(model) == ["n"]
    assert {str(value.type) for value in model.model.graph.inputs} == {"float[n,c]", "int64[n]"}
    assert [str(guard) for guard in model.guards] == ["m == n"]


def test_sizes_in_floats_are_bounded() -> None:
    nodes = (
        f"{SIZE} f = Cast<to = 1>(h) d = Div(f, three) c = Ceil(d) n = Cast<to = 7>(c) y = ConstantOfShape(n)"
    )
    nodes = f"three = Constant<value = float[1] {{3}}>() {nodes}"
    model = prepared("float[b,3,h,w] x", nodes)
    assert [str(guard) for guard in model.guards] == [
        "h == min(h,16777215)",
        "h == min(h,16777213)",
        "(h-1)//3+1 == min((h-1)//3+1,16777215)",
    ]
