"""Memory planning: live buffers do not overlap, and in-place steps reuse their operands' memory."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import pytest

import sardonyx as sx
from compile.small_programs import NOTHING, X, plan, program, step, tensor
from models import parse_record
from sardonyx._src.compile.program import Buffer, Step, TensorView
from sardonyx._src.compile.program.memory.arena import MemoryPlan
from sardonyx._src.compile.program.memory.live_range import LiveRange
from sardonyx._src.compile.program.memory.memory_plan import (
    MAX_PACKED_BY_SIZE,
    pack_in_order,
    pack_offsets,
    share_slots,
)
from sardonyx._src.compile.program.operands.lazy_constants import CACHE_LINE_BYTES
from sardonyx._src.compile.program.steps.step import Jump
from sardonyx._src.compile.program.verification.verify import verify_program
from sardonyx._src.compile.program.verification.verify_memory_plan import verify_memory_plan
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import symbol
from sardonyx._src.runtime.engine.engine import NativeEngine
from sardonyx._src.runtime.runs.native_program import NativeProgram

Packing: TypeAlias = Callable[[Sequence[LiveRange]], tuple[dict[Buffer, int], int]]


def offset_of(memory_plan: MemoryPlan, tensor: TensorView) -> int:
    """The offset of a tensor's buffer, or its slot."""
    offsets = memory_plan.offsets
    return offsets[tensor.buffer] if offsets else memory_plan.slot_of[tensor.buffer]


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


@pytest.mark.parametrize("pack", [pack_offsets, pack_in_order])
@pytest.mark.parametrize("seed", range(20))
def test_live_buffers_do_not_overlap(seed: int, pack: Packing) -> None:
    rng = random.Random(seed)
    live_ranges = []
    for i in range(40):
        first, size = rng.randrange(30), rng.choice([0, 1, 64, 100, 4096])
        live_ranges.append(LiveRange(Buffer("arena", size, str(i)), first, first + rng.randrange(8), size))
    offsets, total = pack(live_ranges)
    _, slots = share_slots(sorted(live_ranges, key=lambda r: r.first), {})
    for i, a in enumerate(live_ranges):
        start, end = offsets[a.buffer], offsets[a.buffer] + a.size
        assert start % CACHE_LINE_BYTES == 0
        assert end <= total
        for b in live_ranges[i + 1 :]:
            if overlaps(a, b):
                other = offsets[b.buffer]
                assert end <= other or other + b.size <= start or not a.size or not b.size
                assert slots[a.buffer] != slots[b.buffer]


def test_long_chains_take_the_memory_of_two_buffers() -> None:
    """Many buffers are packed in the order of use, which takes time proportional to their number."""
    count = MAX_PACKED_BY_SIZE + 2
    tensors = [tensor(f"t{i}", 2, 3 + i % 2) for i in range(count)]
    steps = [step([a], b, in_place=False) for a, b in pairwise([X, *tensors])]
    memory_plan = plan(*steps)
    assert memory_plan.size == 2 * CACHE_LINE_BYTES
    assert len(memory_plan.live_ranges) == count
    verify_memory_plan(program(steps), memory_plan)


# --- random programs -------------------------------------------------------------------------


def random_steps(rng: random.Random, *, is_symbolic: bool) -> list[Step]:
    """Steps that read what earlier ones have written, some in place, and loops that may be nested."""
    rows = symbol("n") if is_symbolic else 5
    flag = tensor("flag", 1, dtype=DataType.INT64)
    steps, written = [step([], flag)], [X]
    for i in range(rng.randrange(4, 30)):
        if len(steps) > 2 and rng.random() < 0.2:
            jump = Jump(flag, -rng.randrange(1, len(steps)))
            steps.append(Step(NOTHING, (), 1, (flag,), (), jump=jump))
        else:
            result = tensor(str(i), rows, rng.choice([1, 1, 8, 40]))
            steps.append(
                step(rng.sample(written[-4:], min(len(written), 2)), result, in_place=rng.random() < 0.7)
            )
            written.append(result)
    return steps


def assert_results_are_not_overwritten(steps: list[Step], memory_plan: MemoryPlan) -> None:
    """Executes the steps, every jump once: each step reads what the last writer of the buffer has written."""
    owners: dict[int, Buffer] = {}  # by cache line, or by slot
    taken: set[int] = set()
    i = 0
    while i < len(steps):
        for operand in steps[i].reads:
            is_kept = all(owners.get(line) is operand.buffer for line in lines_of(memory_plan, operand))
            assert is_kept or operand is X, f"step {i} reads {operand.buffer.name}, which is overwritten"
        for result in steps[i].writes:
            owners.update(dict.fromkeys(lines_of(memory_plan, result), result.buffer))
        jump = None if i in taken else steps[i].jump
        taken.add(i)
        i += 1 if jump is None else jump.distance


def lines_of(memory_plan: MemoryPlan, tensor: TensorView) -> range:
    """The cache lines of a buffer, or its slot."""
    if tensor.buffer.role != "arena":
        return range(0)
    start, size = offset_of(memory_plan, tensor), tensor.buffer.size
    if memory_plan.slots or not isinstance(size, int):
        return range(start, start + 1)
    return range(start // CACHE_LINE_BYTES, (start + size - 1) // CACHE_LINE_BYTES + 1)


@pytest.mark.parametrize("is_symbolic", [False, True])
@pytest.mark.parametrize("first", range(0, 200, 50))
def test_plans_of_random_programs_keep_what_is_read_later(first: int, is_symbolic: bool) -> None:
    for seed in range(first, first + 50):
        steps = random_steps(random.Random(seed), is_symbolic=is_symbolic)
        whole = program(steps, ("n",) if is_symbolic else ())
        verify_program(whole)
        memory_plan = plan(*steps, sizes=("n",) if is_symbolic else ())
        verify_memory_plan(whole, memory_plan)
        assert_results_are_not_overwritten(steps, memory_plan)


def test_a_step_in_a_loop_does_not_overwrite_what_the_next_iteration_reads() -> None:
    a, b, flag = tensor("a", 2, 3), tensor("b", 2, 3), tensor("flag", 1, dtype=DataType.INT64)
    back_edge = Step(NOTHING, (), 1, (flag,), (), jump=Jump(flag, -1))
    steps = [step([], flag), step([X], a), step([a], b), back_edge]
    memory_plan = plan(*steps)
    assert offset_of(memory_plan, a) != offset_of(memory_plan, b)
    assert_results_are_not_overwritten(steps, memory_plan)


def test_an_alias_set_is_live_as_long_as_all_its_buffers() -> None:
    a, b, c, d = (tensor(name, 2, 3) for name in "abcd")
    memory_plan = plan(step([X], a), step([a], b), step([X], c), step([b, c], d, in_place=False))
    (first, *_) = memory_plan.alias_sets
    assert (first.buffer, first.first, first.last) == (a.buffer, 0, 3)
    assert offset_of(memory_plan, b) == offset_of(memory_plan, a) != offset_of(memory_plan, c)


# --- sessions --------------------------------------------------------------------------------


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
        np.testing.assert_allclose(session.run(feeds)["y"], expected, rtol=2e-6)


def test_an_arena_grows_by_at_least_half() -> None:
    session, program = native(
        "g (float[N,8] x) => (float[N,8] y) { a = Softmax(x)  b = Sin(a)  y = Softmax(b) }"
    )
    sizes = set()
    for rows in range(1000, 3000, 20):
        session.run({"x": np.zeros((rows, 8), np.float32)})
        sizes.add(program.idle_contexts[0].memory.arena.size)
    assert len(sizes) <= 4
