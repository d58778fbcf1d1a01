"""Runs of sizes that an operator refuses: whatever inference takes as equal is proved or guarded, and both engines refuse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.ir import Array, Model

Shapes = Mapping[str, Sequence[int]]

# inputs; initializers; nodes; operator set; shapes of a valid run, and of one that the operator refuses
CASES: dict[str, tuple[str, str, str, int, Shapes, Shapes]] = {
    "rows of a constant C": (
        "float[m,2] x", "float[2,2] w = {1,0,0,1}, float[4,1] c = {0,0,0,0}", "y = Gemm(x, w, c)", 17,
        {"x": (4, 2)}, {"x": (2, 2)},
    ),
    "columns of a constant C": (
        "float[m,k] x, float[k,n] z", "float[1,3] c = {0,0,0}", "y = Gemm(x, z, c)", 13,
        {"x": (2, 4), "z": (4, 3)}, {"x": (2, 4), "z": (4, 8)},
    ),
    "C of the first versions": (
        "float[m,2] x, float[2,n] z", "float[2,3] c = {0,0,0,0,0,0}", "y = Gemm<broadcast = 1>(x, z, c)", 6,
        {"x": (2, 2), "z": (2, 3)}, {"x": (1, 2), "z": (2, 3)},
    ),
    "a condition longer than the axis": (
        "float[n,2] x, bool[k] z", "", "y = Compress<axis = 0>(x, z)", 21,
        {"x": (3, 2), "z": (2,)}, {"x": (3, 2), "z": (4,)},
    ),
    "a condition longer than the data": (
        "float[n,2] x, bool[k] z", "", "y = Compress(x, z)", 21, {"x": (3, 2), "z": (6,)}, {"x": (3, 2), "z": (7,)},
    ),
    "weights of other channels": (
        "float[1,4,n] x, float[m,1,3] z", "", "y, s = CausalConvWithState(x, z)", 27,
        {"x": (1, 4, 8), "z": (4, 1, 3)}, {"x": (1, 4, 8), "z": (64, 1, 3)},
    ),
    "weights with channels in a group": (
        "float[1,4,n] x, float[4,g,3] z", "", "y, s = CausalConvWithState(x, z)", 27,
        {"x": (1, 4, 8), "z": (4, 1, 3)}, {"x": (1, 4, 8), "z": (4, 2, 3)},
    ),
    "statistics of a training step": (
        "float[n,c] x, float[c] z, float[d] v", "",
        "y, m, w = BatchNormalization<training_mode = 1>(x, z, z, v, v)", 15,
        {"x": (4, 3), "z": (3,), "v": (3,)}, {"x": (4, 3), "z": (3,), "v": (1,)},
    ),
    "two gates": (
        "float[n,c] x, float[n,d] z", "", "y = SwiGLU(x, z)", 28,
        {"x": (2, 3), "z": (2, 3)}, {"x": (2, 3), "z": (2, 1)},
    ),
    "classes of a loss": (
        "float[n,c] x, int64[m] t", "", "y = NegativeLogLikelihoodLoss(x, t)", 22,
        {"x": (2, 3), "t": (2,)}, {"x": (2, 3), "t": (1,)},
    ),
    "a squeezed axis of an empty tensor": (
        "float[n,m] x", "int64[1] a = {0}", "y = Squeeze(x, a)", 21, {"x": (1, 0)}, {"x": (5, 0)},
    ),
    "equal parts before version 18": (
        "float[n,2] x", "", "y, z = Split(x)", 13, {"x": (4, 2)}, {"x": (5, 2)},
    ),
    "equal parts of a size that the run decides": (
        "float[n] x", "", "p = NonZero(x) y, z = Split<axis = 1>(p)", 13, {"x": (4,)}, {"x": (5,)},
    ),
    "a part that is longer than all": (
        "float[n] x, float[m] z", "",
        "a = Shape(x) b = Shape(z) c = Sub(a, b) d = Concat<axis = 0>(b, c) p, q = Split<axis = 0>(x, d) y = Neg(p)", 21,
        {"x": (4,), "z": (3,)}, {"x": (2,), "z": (3,)},
    ),
    "a mask of fewer keys before version 24": (
        "float[1,1,s,4] x, float[1,1,t,4] z", "float[1,3] m = {0,0,0}", "y = Attention(x, z, z, m)", 23,
        {"x": (1, 1, 2, 4), "z": (1, 1, 3, 4)}, {"x": (1, 1, 2, 4), "z": (1, 1, 5, 4)},
    ),
    "a stated size of 0, which copies another": (
        "float[n,m] x", "int64[1] o = {-1}", "s = Shape<start = 1>(x) t = Concat<axis = 0>(s, o) y = Reshape(x, t)", 21,
        {"x": (2, 3)}, {"x": (0, 0)},
    ),
    "a size that is left beside none": (
        "float[n,1] x", "int64[1] o = {-1}", "s = Shape<end = 1>(x) t = Concat<axis = 0>(s, o) y = Reshape(x, t)", 21,
        {"x": (2, 1)}, {"x": (0, 1)},
    ),
    "rows that another input has": (
        "float[n,6] x, float[m] z", "int64[1] o = {-1}, int64[1] c = {6}",
        "s = Shape(z) t = Concat<axis = 0>(s, c) f = Reshape(x, o) y = Reshape(f, t)", 21,
        {"x": (2, 6), "z": (2,)}, {"x": (2, 6), "z": (3,)},
    ),
    "a product in a branch": (
        "float[m,2] x, bool z", "float[2,2] w = {1,0,0,1}, float[4,1] c = {0,0,0,0}",
        "y = If<then_branch = a () => (p) { p = Gemm(x, w, c) }, else_branch = b () => (q) { q = Gemm(x, w, c) }>(z)",
        21, {"x": (4, 2), "z": ()}, {"x": (2, 2), "z": ()},
    ),
}  # fmt: skip


def model_of(name: str) -> Model:
    inputs, initializers, nodes, opset, *_ = CASES[name]
    model = parse_model(f"g ({inputs}) => (y) <{initializers}> {{ {nodes} }}", opset=opset)
    model.graph.outputs[0].type = None
    return model


def feeds(shapes: Shapes) -> dict[str, Array]:
    """Ones in the types of the inputs: `t` is int64, `z` may be bool."""
    return {name: np.ones(shape, np.int64 if name == "t" else np.float32) for name, shape in shapes.items()}


def fed(model: Model, shapes: Shapes) -> dict[str, Array]:
    types = {value.name: value.type for value in model.graph.inputs}
    return {
        name: array.astype(np.bool_) if "bool" in str(types[name]) else array
        for name, array in feeds(shapes).items()
    }


@pytest.mark.parametrize("name", CASES)
def test_sizes_that_disagree_are_refused_by_both_engines(name: str) -> None:
    model, valid, invalid = model_of(name), *CASES[name][4:]
    native, reference = (sx.Session(model_of(name), engine=engine) for engine in ("native", "reference"))
    for session in (reference, native, native):
        with pytest.raises(sx.SardonyxError):
            session.run(fed(model, invalid))
    before = sum(native.stats.bailouts.values())
    np.testing.assert_allclose(
        native.run(fed(model, valid))["y"], reference.run(fed(model, valid))["y"], 1e-5
    )
    assert before == sum(native.stats.bailouts.values()) == 2
    with pytest.raises(sx.SardonyxError):
        native.run(fed(model, invalid))


@pytest.mark.parametrize("name", CASES)
def test_a_guard_costs_no_native_form(name: str) -> None:
    assert sx.Session(model_of(name), engine="native").stats.fallback_nodes == 0


@pytest.mark.parametrize("rows", [(0, 1), (1, 0), (3, 1), (1, 3), (0, 0), (3, 3)])
def test_sizes_that_a_fallback_broadcasts(rows: tuple[int, int]) -> None:
    """The sizes of a result that a reference kernel computes are read before it; 0 and 1 broadcast to 0."""
    text = """g (float[B,8] x, float[C,12] z, bool k) => (float[?,?] y, float[?,?] m)
        <int64[1] o = {0}, int64[1] e = {4}, int64[1] a = {1}> {
      c = If (k) <then_branch = t () => (float[?,8] p) { p = Relu(x) },
                  else_branch = f () => (float[?,4] q) { q = Slice(x, o, e, a) }>
      d = Concat <axis = 1> (c, x)  m = Mul(d, z)  s = Shape(m)  y = ConstantOfShape(s) }"""
    given = {
        "x": np.ones((rows[0], 8), np.float32),
        "z": np.ones((rows[1], 12), np.float32),
        "k": np.array(False),
    }
    expected = (np.ones((rows[0], 12)) * np.ones((rows[1], 12))).shape
    for engine in ("reference", "native"):
        session = sx.Session(parse_model(text), engine=engine)
        for _ in range(3):
            results = session.run(given)
            assert np.shape(results["y"]) == np.shape(results["m"]) == expected
