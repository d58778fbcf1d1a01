"""Values of a run lie in the memory of outputs that are written after their last use, if these are large."""

from __future__ import annotations

import numpy as np

import sardonyx as sx
from models import parse_model
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.compile.program import Buffer
from sardonyx._src.compile.program.memory.arena import MemoryPlan
from sardonyx._src.compile.program.memory.live_range import LiveRange
from sardonyx._src.compile.program.memory.output_loans import Lender
from sardonyx._src.ir import Model

SIZE = 40_000  # elements of a row of the models, 160 kB


def chain(last: str, size: object = SIZE) -> Model:
    """A product of matrices, which is reduced before `last` computes the large output."""
    return parse_model(
        f"""g (float[4,8] v, float[8,8] w, float[8,{size}] x) => (float[4] s, float[8,{size}] y) {{
          axis = Constant<value = int64[1] {{1}}>() p = MatMul(v, x) s = ReduceMax<keepdims = 0>(p, axis) {last}
        }}""",
        opset=20,
    )


def plan_of(model: Model) -> MemoryPlan:
    return compile_model(model, host_target(), verify=True).plan


def test_values_that_end_before_an_output_begins_are_in_its_memory() -> None:
    model = chain("y = MatMul(w, x)")
    plan = plan_of(model)
    lent = {buffer.name: loan.output.name for buffer, loan in plan.loans.items()}
    assert set(lent.values()) == {"y"} and len(lent) >= 1
    rng = np.random.default_rng(3)
    feeds = {"v": rng.normal(size=(4, 8)), "w": rng.normal(size=(8, 8)), "x": rng.normal(size=(8, SIZE))}
    feeds = {name: array.astype(np.float32) for name, array in feeds.items()}
    expected = sx.Session(model, engine="reference").run(feeds)
    session = sx.Session(model, engine="native", threads=2)
    for _ in range(3):  # with new outputs, on the fast path, and with an array of the caller
        for name, array in session.run(feeds).items():
            np.testing.assert_allclose(array, expected[name], 1e-4, 1e-4)
    out = {"y": np.full((8, SIZE), np.nan, np.float32)}
    session.run(feeds, out=out)
    np.testing.assert_allclose(out["y"], expected["y"], 1e-4, 1e-4)


def test_outputs_of_unknown_size_lend_nothing() -> None:
    assert not plan_of(chain("y = MatMul(w, x)", "N")).loans


def test_lent_ranges_of_buffers_that_are_live_together_do_not_overlap() -> None:
    lender = Lender(Buffer("output", 1000, "y"), 1000, first=10)
    ranges = [
        LiveRange(Buffer("arena", 400, name), *live, 400)
        for name, live in zip("abcd", [(0, 4), (3, 6), (5, 9), (2, 9)], strict=True)
    ]
    loans = [lender.place(live_range) for live_range in ranges]
    offsets = [None if loan is None else loan.offset for loan in loans]
    assert offsets == [48, 496, 48, None]  # the last one is live with two others
    assert lender.place(LiveRange(Buffer("arena", 400, "e"), 9, 10, 400)) is None
