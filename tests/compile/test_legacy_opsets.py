"""Legacy opsets: valid nodes are lowered, and invalid ones raise the reference engine's error."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.compile.program import Step
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Model
from sardonyx._src.runtime.runs.native_program import compile_for_host

VALID = {
    "one shape": ("x [N,3]  y [N,3]", "Add(x, y)"),
    "one element": ("x [N,3]  y [1,1]", "Sub<broadcast = 1>(x, y)"),
    "a scalar": ("x [N,3]  y []", "Mul(x, y)"),
    "the last dims": ("x [N,3,4]  y [3,4]", "Div<broadcast = 1>(x, y)"),
    "dims from an axis on": ("x [N,3,4]  y [3]", "Add<broadcast = 1, axis = 1>(x, y)"),
    "several of one shape": ("x [N,3]  y [N,3]", "Sum(x, y, x)"),
    "slopes of channels": ("x [N,3,4]  y [3]", "PRelu(x, y)"),
    "a product's rows": ("x [N,3]  y [3,3]  z [3]", "Gemm<broadcast = 1>(x, y, z)"),
}
INVALID = {
    "dims of their own": ("x [N,3]  y [M,3]", "Add(x, y)"),
    "fewer dims": ("x [N,3]  y [3]", "Mul(x, y)"),
    "B is larger": ("x [N,1]  y [N,3]", "Sub<broadcast = 1>(x, y)"),
    "a higher rank": ("x [N]  y [1,1]", "Add<broadcast = 1>(x, y)"),
    "several": ("x [N,3]  y [M,3]", "Max(x, y, x)"),
    "slopes of the last dim": ("x [N,3,4]  y [4]", "PRelu(x, y)"),
    "a product's C": ("x [N,3]  y [3,3]  z [3]", "Gemm(x, y, z)"),
}


def legacy_model(inputs: str, node: str) -> Model:
    declarations = ", ".join(f"float{dims} {name}".replace("[]", "") for name, dims in parse_inputs(inputs))
    legacy = parse_model(f"g ({declarations}) => (float r) {{ r = {node} }}", opset=6, ir=4)
    legacy.graph.outputs[0].type = None
    return legacy


def parse_inputs(inputs: str) -> list[tuple[str, str]]:
    return [(name, dims) for name, dims in (step.split() for step in inputs.split("  "))]


def feeds(inputs: str, n: int, m: int) -> dict[str, Array]:
    sizes = {"N": n, "M": m}
    shapes = {
        name: [sizes.get(d) or int(d) for d in dims[1:-1].split(",") if d]
        for name, dims in parse_inputs(inputs)
    }
    return {
        name: np.arange(1, 1 + np.prod(s, dtype=int), dtype=np.float32).reshape(s)
        for name, s in shapes.items()
    }


@pytest.mark.parametrize("name", VALID)
def test_a_legacy_broadcast_that_provably_fits_is_lowered(name: str) -> None:
    inputs, node = VALID[name]
    program = compile_for_host(legacy_model(inputs, node)).program
    assert all(isinstance(step, Step) for step in program.actions), program.actions
    native, reference = (sx.Session(legacy_model(inputs, node), engine=e) for e in ("native", "reference"))
    fed = feeds(inputs, 2, 2)
    result, expected = (np.asarray(session.run(fed)["r"]) for session in (native, reference))
    np.testing.assert_allclose(result, expected, 1e-6)


@pytest.mark.parametrize("name", INVALID)
def test_broadcasting_that_only_later_opsets_allow_is_an_error(name: str) -> None:
    inputs, node = INVALID[name]
    native, reference = (sx.Session(legacy_model(inputs, node), engine=e) for e in ("native", "reference"))
    fed = feeds(inputs, 2, 1)
    with pytest.raises(EvaluationError) as reference_error:
        reference.run(fed)
    for _ in range(3):
        with pytest.raises(EvaluationError) as native_error:
            native.run(fed)
        assert str(native_error.value) == str(reference_error.value)


def test_dims_that_are_equal_at_run_time_are_accepted() -> None:
    inputs, node = INVALID["dims of their own"]
    native = sx.Session(legacy_model(inputs, node), engine="native")
    fed = feeds(inputs, 2, 2)
    np.testing.assert_array_equal(native.run(fed)["r"], fed["x"] + fed["y"])
