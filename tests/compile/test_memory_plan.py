"""Memory planning: live buffers do not overlap, and in-place steps reuse their operands' memory."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

import sardonyx as sx
from models import parse_record
from sardonyx._src.compile.program.memory_plan import (
    CACHE_LINE_BYTES,
    LiveRange,
    MemoryPlan,
    pack_offsets,
    plan_memory,
    share_slots,
)
from sardonyx._src.compile.program.program import Program
from sardonyx._src.compile.program.step import Jump, Kernel, Step
from sardonyx._src.compile.program.tensor import Buffer, TensorView, row_major_strides
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known, symbol
from sardonyx._src.ir.graph import Graph
from sardonyx._src.ir.model import Model
from sardonyx._src.runtime.engine import NativeEngine
from sardonyx._src.runtime.native_program import NativeProgram

NOTHING = Kernel("nothing", lambda name, target: "")
STATUS = TensorView(DataType.INT64, (1,), (1,), Buffer("status", 8, "status"))


def tensor(name: str, *shape: Known, role: str = "arena", dtype: DataType = DataType.FLOAT) -> TensorView:
    size: Known = 4
    for dim in shape:
        size = size * dim
    buffer = Buffer("arena" if role == "arena" else "input", size, name)
    return TensorView(dtype, shape, row_major_strides(shape), buffer)


def step(reads: list[TensorView], *writes: TensorView, in_place: bool = True) -> Step:
    return Step(NOTHING, (*reads, *writes), 1, tuple(reads), writes, in_place=in_place)


def plan(*steps: Step, sizes: tuple[str, ...] = ()) -> MemoryPlan:
    program = Program(
        Model(Graph(), ir_version=10, opset_imports={}),
        list(steps),
        {name: (name, 0) for name in sizes},
        {},
        {},
        STATUS,
    )
    return plan_memory(program)


def offset_of(memory_plan: MemoryPlan, tensor: TensorView) -> int:
    """The offset of a tensor's buffer, or its slot."""
    offsets = memory_plan.offsets
    return offsets[tensor.buffer] if offsets else memory_plan.slot_of[tensor.buffer]


X = tensor("x", 2, 3, role="input")


def chain(*, in_place: bool = True, more: bool = False) -> tuple[MemoryPlan, list[TensorView]]:
    """x -> a -> b -> c, and maybe a reader of `a` at the end."""
    a, b, c = (tensor(name, 2, 3) for name in "abc")
    steps = [step([X], a), step([a], b, in_place=in_place), step([b], c, in_place=in_place)]
    if more:
        steps.append(step([a], tensor("d", 2, 3)))
    return plan(*steps), [a, b, c]


def test_in_place_steps_overwrite_operands_at_their_last_use() -> None:
    memory_plan, (a, b, c) = chain()
    assert offset_of(memory_plan, a) == offset_of(memory_plan, b) == offset_of(memory_plan, c)
    assert memory_plan.size == CACHE_LINE_BYTES
    assert len(memory_plan.alias_sets) == 1
    assert len(memory_plan.live_ranges) == 3


def test_other_steps_do_not_overwrite_operands() -> None:
    memory_plan, (a, b, c) = chain(in_place=False)
    assert offset_of(memory_plan, a) != offset_of(memory_plan, b) != offset_of(memory_plan, c)


def test_operands_that_are_read_later_are_not_overwritten() -> None:
    memory_plan, (a, b, _) = chain(more=True)
    assert offset_of(memory_plan, a) != offset_of(memory_plan, b)


@pytest.mark.parametrize(
    "output",
    [
        tensor("y", 3, 2),
        tensor("y", 2, 3, dtype=DataType.DOUBLE),
        tensor("y", 2, 4),
        replace(tensor("y", 2, 3), strides=(1, 2)),
        replace(tensor("y", 2, 3), offset=1),
    ],
)
def test_outputs_of_another_layout_do_not_overwrite_operands(output: TensorView) -> None:
    a = tensor("a", 2, 3)
    memory_plan = plan(step([X], a), step([a], output))
    assert offset_of(memory_plan, a) != offset_of(memory_plan, output)


def test_a_buffer_read_in_two_layouts_is_not_overwritten() -> None:
    a, y = tensor("a", 3, 3), tensor("y", 3, 3)
    transposed = replace(a, strides=(1, 3))
    memory_plan = plan(step([X], a), step([a, transposed], y))
    assert offset_of(memory_plan, a) != offset_of(memory_plan, y)


def test_an_output_buffer_that_is_live_already_is_not_aliased() -> None:
    a, y = tensor("a", 2, 3), tensor("y", 2, 3)
    memory_plan = plan(step([X], a), step([X], y, in_place=False), step([a], y))
    assert offset_of(memory_plan, a) != offset_of(memory_plan, y)


def test_buffers_of_symbolic_size_share_slots_in_place() -> None:
    n = symbol("n")
    a, b, c = (tensor(name, n, 3) for name in "abc")
    memory_plan = plan(step([X], a), step([a], b), step([X, b], c, in_place=False), sizes=("n",))
    assert offset_of(memory_plan, a) == offset_of(memory_plan, b) != offset_of(memory_plan, c)
    assert len(memory_plan.slots) == 2


def test_values_read_in_a_loop_are_live_until_its_end() -> None:
    """Otherwise the second iteration would read overwritten memory."""
    a, b, c, d, flag = (tensor(name, 2, 3) for name in ("a", "b", "c", "d", "flag"))
    back_edge = Step(NOTHING, (), 1, (), (flag,), jump=Jump(flag, -3))
    body = [step([a], b), step([b], c, in_place=False), step([c], d, in_place=False)]
    straight = plan(step([X], a), step([X], flag), *body)
    looped = plan(step([X], a), step([X], flag), *body, back_edge)
    assert offset_of(straight, a) == offset_of(straight, b)
    assert offset_of(looped, a) not in {offset_of(looped, tensor) for tensor in (b, c, d, flag)}
    assert offset_of(looped, b) == offset_of(looped, d)


def test_values_read_in_an_inner_loop_are_live_until_the_end_of_the_outer_loop() -> None:
    a, b, c, flag = (tensor(name, 2, 3) for name in ("a", "b", "c", "flag"))
    back_edges = [Step(NOTHING, (), 1, (), (flag,), jump=Jump(flag, -n)) for n in (1, 3)]
    memory_plan = plan(
        step([X], a),
        step([X], flag),
        step([a], b, in_place=False),
        back_edges[0],
        step([X], c),
        back_edges[1],
    )
    assert offset_of(memory_plan, a) != offset_of(memory_plan, c)
    live_ranges = {live_range.buffer: live_range for live_range in memory_plan.live_ranges}
    assert live_ranges[a.buffer].last == live_ranges[flag.buffer].last == 5
    assert live_ranges[b.buffer].last == 2


def overlaps(a: LiveRange, b: LiveRange) -> bool:
    return a.first <= b.last and b.first <= a.last


@pytest.mark.parametrize("seed", range(20))
def test_live_buffers_do_not_overlap(seed: int) -> None:
    rng = random.Random(seed)
    live_ranges = []
    for i in range(40):
        first, size = rng.randrange(30), rng.choice([0, 1, 64, 100, 4096])
        live_ranges.append(LiveRange(Buffer("arena", size, str(i)), first, first + rng.randrange(8), size))
    offsets, total = pack_offsets(live_ranges)
    _, slots = share_slots(sorted(live_ranges, key=lambda r: r.first))
    for i, a in enumerate(live_ranges):
        start, end = offsets[a.buffer], offsets[a.buffer] + a.size
        assert start % CACHE_LINE_BYTES == 0
        assert end <= total
        for b in live_ranges[i + 1 :]:
            if overlaps(a, b):
                other = offsets[b.buffer]
                assert end <= other or other + b.size <= start or not a.size or not b.size
                assert slots[a.buffer] != slots[b.buffer]


def native(text: str) -> tuple[sx.Session, NativeProgram]:
    session = sx.Session(parse_record(text), engine="native", threads=1)
    assert isinstance(session._runner, NativeEngine)
    return session, session._runner.native


def test_a_network_of_in_place_steps_computes_the_same_results() -> None:
    text = """g (float[N,96] x, float[96] w) => (float[N,96] y) {
  a = Softmax(x)  b = Mul(a, w)  c = Softmax(b)  d = Exp(c)  e = Softmax(d)  f = Add(e, c)  y = Softmax(f) }"""
    session, program = native(text)
    assert len(program.plan.alias_sets) <= len(program.plan.live_ranges)
    draw = np.random.default_rng(1)
    feeds = {"x": draw.standard_normal((50, 96), np.float32), "w": draw.standard_normal(96, np.float32)}
    expected = sx.Session(parse_record(text), engine="reference").run(feeds)["y"]
    for _ in range(3):  # softmax and exp are accurate to some ulp
        np.testing.assert_allclose(session.run(feeds)["y"], expected, rtol=2e-6)  # type: ignore[arg-type]


def test_an_arena_grows_by_at_least_half() -> None:
    session, program = native(
        "g (float[N,8] x) => (float[N,8] y) { a = Softmax(x)  b = Sin(a)  y = Softmax(b) }"
    )
    sizes = set()
    for rows in range(1000, 3000, 20):
        session.run({"x": np.zeros((rows, 8), np.float32)})
        sizes.add(program.idle_contexts[0].arena.size)
    assert len(sizes) <= 4
