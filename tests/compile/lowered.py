"""Graphs run by native steps alone, beside what the reference engine makes of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from models import model
from sardonyx._src.compile.program import HostCall
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import RunLimits
from sardonyx._src.runtime.native import NativeProgram, compile_model

ROUNDING = 2e-5  # of sums of hundreds of float32, relative to the largest element


def runs(text: str, *feeds: Mapping[str, Array], native: bool = True, opset: int = 28) -> list[Array]:
    """The first output for each of several feeds of one program; asserts that it is the reference engine's.

    native: whether no node may be left to the host.
    """
    graph = model(text, opset=opset)
    program = NativeProgram(compile_model(graph), 1)
    calls = [action.node.op_type for action in program.program.actions if isinstance(action, HostCall)]
    assert not (native and calls), f"{calls} are run by the host"
    name, reference = graph.graph.outputs[0].name, Interpreter(graph)
    found = []
    for feed in feeds:
        result = program.run(feed, RunLimits(), np.random.default_rng(0))[name]
        assert isinstance(result, np.ndarray), f"{name} is {result!r}"
        assert_close(result, np.asarray(reference.run(feed)[name]))
        found.append(result)
    return found


def assert_close(found: Array, wanted: Array) -> None:
    assert found.dtype == wanted.dtype, f"{found.dtype} where {wanted.dtype} is wanted"
    finite = np.abs(wanted[np.isfinite(wanted)], dtype=np.float64) if wanted.dtype.kind == "f" else wanted[:0]
    np.testing.assert_allclose(found, wanted, 0, ROUNDING * max(finite.max(initial=0), 1e-30))


def normal(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)
