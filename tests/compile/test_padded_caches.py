"""A cache that a Pad extends for a TensorScatter is copied once, into the result."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.compile.program import Step, TensorView
from sardonyx._src.interp.interpreter import Interpreter

# The past, [B, 2, P, 4], with room for T entries, and one entry of it replaced.
NODES = """
    rows = Shape <start = 2, end = 3> (past)  total = Shape (mask)  most = Max (rows, total)
    before = Constant <value_ints = [0, 0, 0, 0, 0, 0]> ()  zero = Constant <value_ints = [0]> ()
    lack = Sub (most, rows)  pads = Concat <axis = 0> (before, lack, zero)
    cache = Pad (past, pads)
    present = TensorScatter <axis = 2> (cache, new, start)"""


def graph(outputs: str = "", more: str = "") -> sx.ir.Model:
    return parse_model(
        f"""g (float[B,2,P,4] past, float[B,2,1,4] new, int64[B] start, int64[T] mask)
        => (float[B,2,Q,4] present{outputs}) {{ {NODES} {more} }}""",
        opset=24,
        ir=11,
    )


def reads_of_past(model: sx.ir.Model) -> list[tuple[Step, TensorView]]:
    program = compile_model(model, host_target(), verify=True).program
    (past,) = (tensor.buffer for value, tensor in program.inputs.items() if value.name == "past")
    return [(step, step.writes[0]) for step in program.steps if past in {x.buffer for x in step.reads}]


def test_the_past_is_copied_into_the_result() -> None:
    program = compile_model(graph(), host_target(), verify=True).program
    ((_, target),) = reads_of_past(graph())
    assert target.buffer.role == "output"
    assert not [step for step in program.steps for x in step.reads if x.buffer.name.startswith("cache")]


@pytest.mark.parametrize(
    ("outputs", "more"), [(", float[B,2,R,4] cache", ""), (", float[B,2,R,4] y", "y = Neg (cache)")]
)
def test_a_cache_with_other_readers_is_computed(outputs: str, more: str) -> None:
    model = graph(outputs, more)
    assert_agrees(model)
    assert [step.kernel.key for step, _ in reads_of_past(model)]


def test_results_are_those_of_the_reference_engine() -> None:
    assert_agrees(graph())


def test_a_padded_update_is_no_cache() -> None:
    """The Pad whose result is inserted runs by itself."""
    model = parse_model(
        """g (float[B,2,6,4] cache, float[B,2,1,3] new, int64[B] start) => (float[B,2,6,4] present) {
        pads = Constant <value_ints = [0, 0, 0, 0, 0, 0, 0, 1]> ()
        update = Pad (new, pads)
        present = TensorScatter <axis = 2> (cache, update, start) }""",
        opset=24,
        ir=11,
    )
    draw = np.random.default_rng(1)
    feeds = {
        "cache": draw.standard_normal((2, 2, 6, 4), np.float32),
        "new": draw.standard_normal((2, 2, 1, 3), np.float32),
        "start": np.array([0, 5]),
    }
    expected = Interpreter(model).run(feeds)["present"]
    session = sx.Session(model, engine="native", threads=1)
    np.testing.assert_array_equal(np.asarray(session.run(feeds)["present"]), np.asarray(expected))


def assert_agrees(model: sx.ir.Model) -> None:
    """Sessions and the reference engine, with caches that grow, and with room left."""
    session, reference = sx.Session(model, engine="native", threads=1), Interpreter(model)
    for past, total in ((3, 4), (3, 9), (5, 2), (0, 1), (40, 41)):
        draw = np.random.default_rng(past)
        feeds = {
            "past": draw.standard_normal((2, 2, past, 4), np.float32),
            "new": draw.standard_normal((2, 2, 1, 4), np.float32),
            "start": np.array([0, max(past, total) - 1]),
            "mask": np.ones(total, np.int64),
        }
        results = session.run(feeds)
        for name, value in reference.run(feeds).items():
            np.testing.assert_array_equal(np.asarray(results[name]), np.asarray(value))
    assert session.stats.fallback_nodes == 0 and not session.stats.bailouts
