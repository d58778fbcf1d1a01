"""Sizes at the limits of their expressions: equal sizes of other spelling, and sizes that no expression holds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from unittest.mock import patch

import numpy as np
import pytest

import replay_corpus
import sardonyx as sx
from compile.stages import AVX2, no_compilation
from models import parse_model
from sampling import FACTOR
from sardonyx._src.compile.pipeline import compile_model, compile_stages
from sardonyx._src.compile.prepare.graph_info import has_room_for_base
from sardonyx._src.errors import SardonyxError
from sardonyx._src.infer.memo_cache import MEMO_CACHE
from sardonyx._src.io.loading.load import load
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import polynomials
from sardonyx._src.ir.dims.division import floordiv_by_expr, floordiv_by_int
from sardonyx._src.ir.dims.extrema import extreme

NEAREST = '<mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">'
# The pooled height is (H-1)//8+1, and the least of it and H is the same.
RESIZED = """g (float[2,3,H,W] x) => (float[A,B,C,D] y)
  <int64[2] two = {{2, 2}}, int64[1] z = {{0}}, int64[1] mid = {{2}}, int64[1] end = {{4}}, float[1,3,1,1] c = {{1, 2, 3}}> {{
  p = MaxPool <kernel_shape = [1, 1], strides = [8, 8]> (x)
  s = Shape(x)  t = Shape(p)  m = Min(s, t)  h = Slice(m, mid, end, z)  l = Slice(t, z, mid, z)
  d = {sizes}  q = Concat <axis = 0> (l, d)
  r = Resize {NEAREST} (p, , , q)  y = {tail} }}"""


@pytest.mark.parametrize("sizes", ["Identity(h)", "Mul(h, two)"])
@pytest.mark.parametrize("tail", ["Neg(r)", "Add(r, c)", "Mul(c, r)"])
def test_an_upsampling_to_a_size_of_another_spelling(sizes: str, tail: str) -> None:
    model = parse_model(RESIZED.format(NEAREST=NEAREST, sizes=sizes, tail=tail), opset=19)
    compile_model(model, AVX2, verify=True)
    session, reference = sx.Session(model, engine="native"), sx.Session(model, engine="reference")
    for height, width in ((9, 17), (1, 1), (16, 40)):
        x = np.random.default_rng(height).standard_normal((2, 3, height, width)).astype(np.float32)
        np.testing.assert_array_equal(session.run({"x": x})["y"], reference.run({"x": x})["y"])
    assert session.stats.bailouts == {}


# Where no proof is possible that sizes are equal, as of a map and the coarser one upsampled, the larger is the result's.
PYRAMID = """g (float[N,3,H,W] x) => (float[N,3,A,B] y) <float[4] twice = {{1, 1, 2, {factor}}}, float[1,3,1,1] c = {{1, 2, 3}}> {{
  c2 = MaxPool <{window}, strides = [4, 4]> (x)   c3 = MaxPool <{window}, strides = [2, 2]> (c2)
  c4 = MaxPool <{window}, strides = [2, 2]> (c3)  c5 = MaxPool <{window}, strides = [2, 2]> (c4)
  u5 = Resize <mode = "nearest"> (c5, , twice)  p4 = Add(c4, u5)
  u4 = Resize <mode = "nearest"> (p4, , twice)  p3 = Add(u4, c3)
  u3 = Resize <mode = "nearest"> (p3, , twice)  p2 = {tail}  y = Relu(p2) }}"""
POINT, WINDOW = "kernel_shape = [1, 1]", "kernel_shape = [3, 3], pads = [1, 1, 1, 1]"


@pytest.mark.parametrize("window", [POINT, WINDOW], ids=["1x1", "3x3"])
@pytest.mark.parametrize("factor", [2, 1])
@pytest.mark.parametrize("tail", ["Add(u3, c2)", "Mul(c, u3)", "Sub(x, u3)"])
def test_a_pyramid_of_maps_whose_sizes_are_not_known_to_be_equal(tail: str, factor: int, window: str) -> None:
    model = parse_model(PYRAMID.format(tail=tail, factor=factor, window=window), opset=19)
    assert "2*max((H-1)//8+1,2*max((H-1)//16+1,2*((H-1)//32)+2))" in str(sx.infer(model).graph.value("u3"))
    compile_model(model, AVX2, verify=True)
    native, reference = sx.Session(model, engine="native"), sx.Session(model, engine="reference")
    for height, width in ((64, 64), (1, 1), (32, 1), (33, 31), (2, 3)):
        x = np.random.default_rng(height).integers(-4, 5, (2, 3, height, width)).astype(np.float32)
        expected, actual = outcome(reference, x), outcome(native, x)
        assert type(actual) is type(expected)
        if isinstance(expected, np.ndarray):
            np.testing.assert_array_equal(actual, expected)


def outcome(session: sx.Session, x: Array) -> object:
    """The output y, or the error of a run."""
    try:
        return session.run({"x": x})["y"]
    except sx.EvaluationError as error:
        return error


def sum_of_sizes(inputs: int, rank: int, nodes: str) -> str:
    """A model that concatenates the elements of inputs of different sizes as `c`, of which `a` is a column and `b` a row."""
    ports = ", ".join(f"float[{','.join(f'A{i}_{j}' for j in range(rank))}] x{i}" for i in range(inputs))
    parts = " ".join(f"r{i} = Reshape(x{i}, flat)" for i in range(inputs))
    names = ", ".join(f"r{i}" for i in range(inputs))
    return f"""g ({ports}) => (y) <int64[1] flat = {{-1}}, int64[2] column = {{-1, 1}}, int64[2] row = {{1, -1}}, int64[2] twos = {{2, 2}}> {{
      {parts}  c = Concat <axis = 0> ({names})  a = Reshape(c, column)  b = Reshape(c, row)  {nodes} }}"""


OVERSIZED = {
    "work": sum_of_sizes(9, 2, "d = Mul(a, b)  y = Softmax(d)"),
    "work of a product": sum_of_sizes(9, 2, "d = MatMul(a, b)  e = MatMul(d, d)  y = Relu(e)"),
    "strides": sum_of_sizes(9, 2, "d = Mul(a, b)  e = Transpose(d)  y = Neg(e)"),
    "elements": sum_of_sizes(60, 1, "d = Add(a, b)  y = Neg(d)"),
    "a dim": sum_of_sizes(70, 1, "y = Neg(c)"),
    "copies": sum_of_sizes(
        9, 2, "d = Mul(a, b)  e = Concat <axis = 1> (d, d)  f = Tile(e, twos)  y = Neg(f)"
    ),
    "a convolution to one channel": sum_of_sizes(
        63,
        1,
        """k = Constant <value = float[1,1,3,3] {1, 2, 3, 4, 5, 6, 7, 8, 9}> ()  axes = Constant <value_ints = [0, 1]> ()
           u = Unsqueeze(b, axes)  v = Conv <pads = [1, 1, 1, 1]> (u, k)  y = Neg(v)""",
    ),
    "a convolution": sum_of_sizes(
        63,
        1,
        """dims = Constant <value_ints = [8, 1, 3, 3]> ()  k = ConstantOfShape <value = float[1] {2}> (dims)
           axes = Constant <value_ints = [0, 1]> ()
           u = Unsqueeze(b, axes)  v = Conv <pads = [1, 1, 1, 1]> (u, k)  y = Neg(v)""",
    ),
    "a branch": sum_of_sizes(
        9,
        2,
        """d = Mul(a, b)  n = Size(c)  ten = Constant <value_int = 10> ()  k = Less(n, ten)
           y = If (k) <then_branch = p () => (t) { s = Softmax(d)  t = MatMul(s, d) }, else_branch = q () => (e) { e = Neg(d) }>""",
    ),
}
# The number of elements is a polynomial of as many terms as there may be, and has no room for an address.
FULL = {
    "read by a caller": "y = Shape(c)",
    "read by a kernel": "s = Shape(c)  f = Cast <to = 1> (s)  y = Mul(c, f)",
    "read as a shape": "s = Shape(c)  q = ConstantOfShape(s)  y = Add(q, c)",
    "read by a fallback": "s = Shape(c)  q = NonZero(s)  y = Add(q, s)",
    "computed with": "s = Shape(c)  one = Constant <value_ints = [1]> ()  y = Sub(s, one)",
}
OVERSIZED |= {
    f"a full size {reader}": sum_of_sizes(polynomials.MAX_TERMS, 1, nodes) for reader, nodes in FULL.items()
}


def feeds_of(model: sx.Model) -> dict[str, Array]:
    """One element for each input, so that all sums of sizes are small."""
    rng = np.random.default_rng(0)
    shapes = {v.name: [1] * len(v.type.shape) for v in model.graph.inputs}  # type: ignore[union-attr, arg-type]
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


@pytest.mark.parametrize("text", OVERSIZED.values(), ids=OVERSIZED)
def test_sizes_that_no_expression_holds(text: str) -> None:
    model = parse_model(text, opset=19)
    compile_model(model, AVX2, verify=True)
    feeds = feeds_of(model)
    session = sx.Session(model, engine="native")
    for _ in range(2):
        expected = sx.Session(model, engine="reference").run(feeds)["y"]
        np.testing.assert_allclose(session.run(feeds)["y"], expected, 1e-5, 1e-6)


def test_a_node_whose_step_is_oversized_becomes_a_fallback() -> None:
    laid_out, executable = compile_stages(parse_model(OVERSIZED["a convolution"], opset=19), AVX2)
    fallbacks = [region.anchor.op_type for region in laid_out.graph.regions if region.kind == "Fallback"]
    assert fallbacks == ["Conv"]
    assert [step.kernel.key for step in executable.program.steps]  # the other nodes are native


def forget_results() -> None:
    """Forgets what was computed of sizes, and inferred from it."""
    MEMO_CACHE.clear()
    for remembered in (has_room_for_base, floordiv_by_int, floordiv_by_expr, extreme):
        remembered.cache_clear()


@contextmanager
def limits_of_expressions(terms: int, size: int) -> Iterator[None]:
    """Smaller limits, which many models exceed; nothing that is inferred within them is remembered, and no kernel compiled."""
    limits = patch.multiple(polynomials, MAX_TERMS=terms, MAX_SIZE=size)
    forget_results()
    try:
        with limits, no_compilation():
            yield
    finally:
        forget_results()


@pytest.mark.parametrize(("terms", "size"), [(1, 2), (2, 8), (4, 12)])
def test_official_cases_compile_whatever_sizes_are_oversized(
    terms: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay_corpus, "CASES_PER_OPERATOR", FACTOR)
    models = list(models_of(replay_corpus.node_cases()))
    assert len(models) > 300
    with limits_of_expressions(terms, size):
        for model in models:
            compile_model(model, AVX2, verify=True)


def models_of(cases: Iterator[replay_corpus.Case]) -> Iterator[sx.Model]:
    """The models of the cases that are valid."""
    for case in cases:
        with suppress(SardonyxError):
            yield load(case.model)


def test_a_refused_node_is_no_part_of_the_region_of_another_one() -> None:
    """The copy of the result to the caller's layout is oversized, so that the last node is refused."""
    text = "g (float[2,3,32,W] x) => (y) { v = LpPool <kernel_shape = [1, 1], strides = [2, 2], p = 3> (x)  y = Relu(v) }"
    with limits_of_expressions(4, 12):
        laid_out, _ = compile_stages(parse_model(text, opset=19), AVX2)
    regions = {region.anchor.op_type: region.kind for region in laid_out.graph.regions}
    assert regions == {"LpPool": "Pool", "Relu": "Fallback"}
