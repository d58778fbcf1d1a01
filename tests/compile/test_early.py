"""Nodes of the first operator sets: what they do not take is refused natively, too, and what they take is lowered."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import model
from sardonyx._src.compile.step import Step
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.graph import Model
from sardonyx._src.ir.tensors import Array
from sardonyx._src.runtime.native import compile_model

FIT = {
    "one shape": ("x [N,3]  y [N,3]", "Add(x, y)"),
    "one element": ("x [N,3]  y [1,1]", "Sub<broadcast = 1>(x, y)"),
    "a scalar": ("x [N,3]  y []", "Mul(x, y)"),
    "the last dims": ("x [N,3,4]  y [3,4]", "Div<broadcast = 1>(x, y)"),
    "dims from an axis on": ("x [N,3,4]  y [3]", "Add<broadcast = 1, axis = 1>(x, y)"),
    "several of one shape": ("x [N,3]  y [N,3]", "Sum(x, y, x)"),
    "slopes of channels": ("x [N,3,4]  y [3]", "PRelu(x, y)"),
    "a product's rows": ("x [N,3]  y [3,3]  z [3]", "Gemm<broadcast = 1>(x, y, z)"),
}
UNFIT = {
    "dims of their own": ("x [N,3]  y [M,3]", "Add(x, y)"),
    "fewer dims": ("x [N,3]  y [3]", "Mul(x, y)"),
    "B is larger": ("x [N,1]  y [N,3]", "Sub<broadcast = 1>(x, y)"),
    "a higher rank": ("x [N]  y [1,1]", "Add<broadcast = 1>(x, y)"),
    "several": ("x [N,3]  y [M,3]", "Max(x, y, x)"),
    "slopes of the last dim": ("x [N,3,4]  y [4]", "PRelu(x, y)"),
    "a product's C": ("x [N,3]  y [3,3]  z [3]", "Gemm(x, y, z)"),
}


def made(inputs: str, node: str) -> Model:
    given = ", ".join(f"float{dims} {name}".replace("[]", "") for name, dims in pairs(inputs))
    found = model(f"g ({given}) => (float r) {{ r = {node} }}", opset=6, ir=4)
    found.graph.outputs[0].type = None
    return found


def pairs(inputs: str) -> list[tuple[str, str]]:
    return [(name, dims) for name, dims in (one.split() for one in inputs.split("  "))]


def feeds(inputs: str, n: int, m: int) -> dict[str, Array]:
    sizes = {"N": n, "M": m}
    shapes = {
        name: [sizes.get(d) or int(d) for d in dims[1:-1].split(",") if d] for name, dims in pairs(inputs)
    }
    return {
        name: np.arange(1, 1 + np.prod(s, dtype=int), dtype=np.float32).reshape(s)
        for name, s in shapes.items()
    }


@pytest.mark.parametrize("name", FIT)
def test_what_provably_fits_is_lowered(name: str) -> None:
    inputs, node = FIT[name]
    program = compile_model(made(inputs, node))
    assert all(isinstance(one, Step) for one in program.actions), program.actions
    native, reference = (sx.Session(made(inputs, node), engine=e) for e in ("native", "reference"))
    fed = feeds(inputs, 2, 2)
    found, wanted = (np.asarray(one.run(fed)["r"]) for one in (native, reference))
    np.testing.assert_allclose(found, wanted, 1e-6)


@pytest.mark.parametrize("name", UNFIT)
def test_what_only_later_versions_take_is_refused(name: str) -> None:
    inputs, node = UNFIT[name]
    native, reference = (sx.Session(made(inputs, node), engine=e) for e in ("native", "reference"))
    fed = feeds(inputs, 2, 1)
    with pytest.raises(EvaluationError) as theirs:
        reference.run(fed)
    for _ in range(3):
        with pytest.raises(EvaluationError) as mine:
            native.run(fed)
        assert str(mine.value) == str(theirs.value)


def test_dims_that_happen_to_be_equal_are_taken() -> None:
    inputs, node = UNFIT["dims of their own"]
    native = sx.Session(made(inputs, node), engine="native")
    fed = feeds(inputs, 2, 2)
    np.testing.assert_array_equal(native.run(fed)["r"], fed["x"] + fed["y"])
