"""Input sizes that operators require to be a number: models compiled for it, and runs that are held to it."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.ir import Array
from sardonyx.errors import SardonyxError

RNG = np.random.default_rng(4)
MODELS = {
    "Conv": (
        "g (float[N,C,H,W] x) => (float[N,M,I,J] y) {{ y = Conv <pads = [1,1,1,1]> (x, w) }}",
        (8, 3, 3, 3),
        {"C": 3},
    ),
    "grouped Conv": ("g (float[N,C,L] x) => (float[N,M,I] y) {{ y = Conv <group = 2> (x, w) }}", (4, 3, 2), {"C": 6}),
    "ConvTranspose": (
        "g (float[N,C,H,W] x) => (float[N,M,I,J] y) {{ y = ConvTranspose(x, w) }}",
        (5, 4, 2, 2),
        {"C": 5},
    ),
    "MatMul": ("g (float[N,K] x) => (float[N,M] y) {{ a = Relu(x) y = MatMul(a, w) }}", (6, 4), {"K": 6}),
    "Gemm": (
        "g (float[N,K] x) => (float[N,M] y) {{ y = Gemm <transB = 1> (x, w) }}", (4, 6), {"K": 6}
    ),
}  # fmt: skip
SIZES = {"N": 2, "C": 3, "H": 9, "W": 8, "L": 11, "K": 6}


def draw(*shape: int) -> Array:
    return RNG.normal(size=shape).astype(np.float32)


def model_text(name: str) -> str:
    text, shape, _ = MODELS[name]
    weights = draw(*shape)
    dims, elements = ",".join(map(str, shape)), ", ".join(map(str, weights.reshape(-1).tolist()))
    head, body = text.format().split(" {", 1)
    return f"{head} <float[{dims}] w = {{{elements}}}> {{{body}"


@pytest.mark.parametrize("name", MODELS)
def test_required_sizes_are_numbers_and_guarded(name: str) -> None:
    model, required = parse_model(model_text(name), opset=22), MODELS[name][2]
    program = compile_model(model, host_target(), verify=True).program
    assert [str(guard) for guard in program.guards] == [f"{size} == {n}" for size, n in required.items()]
    session, reference = (sx.Session(model, engine=e) for e in ("native", "reference"))
    assert session.stats.fallback_nodes == 0
    (value,) = model.graph.inputs
    sizes = SIZES | required
    shape = [sizes[dim.strip()] for dim in str(value.type).split("[")[1].rstrip("]").split(",")]
    x = draw(*shape)
    np.testing.assert_allclose(session.run({"x": x})["y"], reference.run({"x": x})["y"], 1e-4, 1e-5)
    assert not session.stats.bailouts
    shape[1] += 1
    with pytest.raises(SardonyxError):
        session.run({"x": draw(*shape)})


def test_subgraphs_require_nothing() -> None:
    """A run may not execute the branch."""
    text = """g (float[N,K] x, bool c) => (float[N,4] y) <float[3,4] w = {1,2,3,4,5,6,7,8,9,10,11,12}, float[4] z = {0,0,0,0}> {
      y = If <then_branch = t () => (float[N,4] a) { a = MatMul(x, w) },
              else_branch = e () => (float[N,4] b) { s = Shape <end = 1> (x)  f = Constant <value = int64[1] {4}> ()
                d = Concat <axis = 0> (s, f)  b = Expand(z, d) }> (c) }"""
    session = sx.Session(parse_model(text, opset=22), engine="native")
    result = session.run({"x": draw(2, 5), "c": np.array(False)})["y"]
    np.testing.assert_array_equal(result, np.zeros((2, 4)))
