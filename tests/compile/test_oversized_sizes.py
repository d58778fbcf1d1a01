"""Sizes at the limits of their expressions: equal sizes of other spelling, and sizes that no expression holds."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from compile.stages import AVX2
from models import parse_model
from sardonyx._src.compile.pipeline import compile_model, compile_stages
from sardonyx._src.ir.tensors import Array

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
    "a convolution": sum_of_sizes(
        63,
        1,
        """k = Constant <value = float[1,1,3,3] {1, 2, 3, 4, 5, 6, 7, 8, 9}> ()  axes = Constant <value_ints = [0, 1]> ()
           u = Unsqueeze(b, axes)  v = Conv <pads = [1, 1, 1, 1]> (u, k)  y = Neg(v)""",
    ),
    "a branch": sum_of_sizes(
        9,
        2,
        """d = Mul(a, b)  n = Size(c)  ten = Constant <value_int = 10> ()  k = Less(n, ten)
           y = If (k) <then_branch = p () => (t) { s = Softmax(d)  t = MatMul(s, d) }, else_branch = q () => (e) { e = Neg(d) }>""",
    ),
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
        np.testing.assert_allclose(session.run(feeds)["y"], expected, 1e-5, 1e-6)  # type: ignore[arg-type]


def test_a_node_whose_step_is_oversized_becomes_a_fallback() -> None:
    laid_out, executable = compile_stages(parse_model(OVERSIZED["a convolution"], opset=19), AVX2)
    fallbacks = [region.anchor.op_type for region in laid_out.graph.regions if region.kind == "Fallback"]
    assert fallbacks == ["Conv"]
    assert [step.kernel.key for step in executable.program.steps]  # the other nodes are native
