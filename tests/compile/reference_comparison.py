"""Comparison of native programs with the reference engine, and random feeds."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from models import parse_model
from sardonyx._src.compile.program.steps.program import FallbackOp
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.interp.run_state import RandomSource
from sardonyx._src.ir import Array
from sardonyx._src.ops.api import RunLimits
from sardonyx._src.runtime.runs.native_program import NativeProgram, compile_for_host

ROUNDING = 2e-5  # tolerance of sums of hundreds of float32, relative to the largest element


def assert_matches_reference(
    text: str, *feeds: Mapping[str, Array], native: bool = True, opset: int = 28
) -> list[Array]:
    """Asserts that the first output of a native program matches the reference engine for each feed; returns these outputs.

    native: whether to assert that no node becomes a fallback operation.
    """
    graph = parse_model(text, opset=opset)
    program = NativeProgram(compile_for_host(graph), 1)
    fallbacks = [action.node.op_type for action in program.program.actions if isinstance(action, FallbackOp)]
    assert not (native and fallbacks), f"fallback operations: {fallbacks}"
    name, reference = graph.graph.outputs[0].name, Interpreter(graph)
    results = []
    for feed in feeds:
        output = program.run(feed, RunLimits(), RandomSource(0))[name]
        assert isinstance(output, np.ndarray), f"{name} must be an array; got {output!r}"
        assert_close(output, np.asarray(reference.run(feed)[name]))
        results.append(output)
    return results


def assert_close(result: Array, expected: Array) -> None:
    assert result.dtype == expected.dtype, f"expected {expected.dtype}, got {result.dtype}"
    finite = (
        np.abs(expected[np.isfinite(expected)], dtype=np.float64)
        if expected.dtype.kind == "f"
        else expected[:0]
    )
    np.testing.assert_allclose(result, expected, 0, ROUNDING * max(finite.max(initial=0), 1e-30))


def normal(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)
