"""Verifiers of programs and memory plans: asserts what encoding and the executor rely on.

Every check raises AssertionError with the action or the buffers that violate it.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from heapq import heappop, heappush
from itertools import groupby, product
from typing import NamedTuple, TypeAlias

from sardonyx._src.compile.program.guards import can_hold
from sardonyx._src.compile.program.lazy_constants import CACHE_LINE_BYTES
from sardonyx._src.compile.program.live_range import LiveRange
from sardonyx._src.compile.program.memory_plan import MemoryPlan
from sardonyx._src.compile.program.program import Action, FallbackOp, Program
from sardonyx._src.compile.program.size_facts import SizeFacts
from sardonyx._src.compile.program.step import ArgumentSlot, Step
from sardonyx._src.compile.program.tensor import Buffer, TensorView, element_bytes
from sardonyx._src.compile.program.verify_bindings import verify_bindings, verify_slot_stages
from sardonyx._src.ir.dims import Expr, Known, dim_min, exact_div, known_equal, known_ge, symbol
from sardonyx._src.ir.dims.atoms import DimCall

Where: TypeAlias = Callable[[], str]  # describes an action, for messages


def verify_program(program: Program) -> None:
    """Asserts that on every path through a program buffers are written before they are read, and that its steps are valid."""
    previous: Action | None = None
    facts = SizeFacts(program.guards)
    for i, action in enumerate(program.actions):
        if isinstance(action, Step):
            where = partial(describe_action, program.actions, i)
            verify_step(action, previous, where)
            verify_in_place(action, facts, where)
            verify_slots(program.actions, i)
            verify_jump(program.actions, i)
        previous = action
    verify_inputs(program, facts)
    verify_bindings(program, partial(describe_action, program.actions))
    written = verify_order(program.actions)
    for value, tensor in program.outputs.items():
        is_written = tensor is None or tensor.buffer.role != "output" or tensor.buffer in written
        assert is_written, f"no action writes the output {value.name}"
    for guard in program.guards:
        assert can_hold(guard), f"the guard {guard} never holds"


def verify_inputs(program: Program, facts: SizeFacts) -> None:
    """A dim of an input is the size that callers may choose, or a guard says what it must be."""
    tensors = {value.name: tensor for value, tensor in program.inputs.items()}
    for name, (of, axis) in program.sizes.items():
        if of in tensors:
            dim, size = tensors[of].shape[axis], symbol(name)
            is_known = isinstance(dim, Expr) and dim.substitute({name: size}) == size
            assert is_known or facts.are_equal(dim, size), (
                f"dim {axis} of the input {of} is {dim}, which is neither {name} nor guarded"
            )


def verify_step(step: Step, previous: Action | None, where: Where) -> None:
    """Arguments are tensors, which the step declares to read or write, or dims; amounts are not negative.  where: describes
    the step.

    Adjacent steps of a node may share a signature: tensors that only the previous one uses are declared there.
    """
    declared = {tensor.buffer for tensor in (*step.reads, *step.writes)}
    if isinstance(previous, Step) and previous.nodes == step.nodes:
        declared.update(tensor.buffer for tensor in (*previous.reads, *previous.writes))
    for argument in step.args:
        is_valid = isinstance(argument, TensorView | int | Expr | ArgumentSlot) and not isinstance(
            argument, bool
        )
        assert is_valid, f"{where()}: expected a tensor or a dim as argument, got {argument!r}"
        if isinstance(argument, TensorView):
            assert argument.buffer in declared, (
                f"{where()}: neither reads nor writes have the argument {argument}"
            )
    for name, amount in (("units", step.units), ("FLOPs", step.flops), ("scratch", step.scratch)):
        assert known_ge(amount, 0) is not False, f"{where()}: {name} must not be negative; got {amount}"
    verify_row_groups(step, where)
    for tensor in step.writes:
        is_writable = tensor.buffer.role in ("arena", "output", "status")
        assert is_writable, f"{where()} writes to a buffer of role {tensor.buffer.role}"


def verify_row_groups(step: Step, where: Where) -> None:
    """The units of a grid are whole panels; not checked for symbolic sizes."""
    count = 0 if step.row_groups is None else step.row_groups.count
    if isinstance(count, int) and isinstance(step.units, int) and count:
        assert step.units % count == 0, f"{where()}: {step.units} units are no grid of {count} row groups"


def verify_slots(actions: Sequence[Action], index: int) -> None:
    """Argument slots that a step changes hold addresses of tensors, in steps after it."""
    step = actions[index]
    slots = [arg for arg in step.args if isinstance(arg, ArgumentSlot)] if isinstance(step, Step) else []
    for slot in slots:
        where, target = describe_action(actions, index), index + slot.distance
        assert index < target < len(actions), f"{where} changes arguments of action {target}"
        action = actions[target]
        assert isinstance(action, Step) and isinstance(action.args[slot.index], TensorView), (
            f"{where} changes argument {slot.index} of action {target}, which must be a tensor"
        )


def verify_in_place(step: Step, facts: SizeFacts, where: Where) -> None:
    """Of a buffer that it reads and writes, a step that works in place reads the elements that it writes, in the same
    order, or none of them: a slice beside the one that it writes."""
    if step.in_place:
        for output, operand in product(step.writes, step.reads):
            is_safe = operand.buffer is not output.buffer or keeps_elements(operand, output, facts)
            assert is_safe or keeps_elements(rewrite(operand, facts), rewrite(output, facts), facts), (
                f"{where()} overwrites {output.buffer.name} and reads other elements of it"
            )


def rewrite(tensor: TensorView, facts: SizeFacts) -> TensorView:
    """A tensor in sizes that guards have rewritten."""
    shape, strides = (tuple(map(facts.rewrite, sizes)) for sizes in (tensor.shape, tensor.strides))
    return replace(tensor, offset=facts.rewrite(tensor.offset), shape=shape, strides=strides)


def keeps_elements(operand: TensorView, output: TensorView, facts: SizeFacts) -> bool:
    """Whether a step that goes through both tensors of a buffer in order provably reads no element that it has written."""
    is_empty = 0 in (*operand.shape, *output.shape)
    return is_empty or has_equal_strides(operand, output) or are_adjacent_slices(operand, output, facts)


def has_equal_strides(a: TensorView, b: TensorView) -> bool:
    """Whether two tensors have each element at the same address, regardless of unit dims."""
    layouts = [
        [(dim, stride) for dim, stride in zip(t.shape, t.strides, strict=True) if dim != 1] for t in (a, b)
    ]
    return layouts[0] == layouts[1] and (a.offset, element_bytes(a.dtype)) == (
        b.offset,
        element_bytes(b.dtype),
    )


def are_adjacent_slices(a: TensorView, b: TensorView, facts: SizeFacts) -> bool:
    """Whether two tensors provably are slices of one tensor along an axis that do not overlap, as the inputs of a Concat
    whose copies are elided."""
    common = with_common_strides(a, b, facts)
    if common is None or element_bytes(a.dtype) != element_bytes(b.dtype):
        return False
    a, b = common
    first, second = (a, b) if known_ge(b.offset, a.offset) else (b, a)
    return any(are_adjacent_along(axis, first, second) for axis in range(a.rank))


def with_common_strides(
    a: TensorView, b: TensorView, facts: SizeFacts
) -> tuple[TensorView, TensorView] | None:
    """Views of the same elements as two tensors with the same strides; None if there are none.

    A dim that is repeated, with a stride of 0, has the elements of a unit dim, and a unit dim has any stride.  One that is
    repeated in some runs, as its source has the size n or 1, has the stride `stride * min(n - 1, 1)` and n elements.
    """
    if a.rank != b.rank:
        return None
    shapes: tuple[list[Known], list[Known]] = [], []
    strides: list[Known] = []
    for m, stride, n, other in zip(a.shape, a.strides, b.shape, b.strides, strict=True):
        m, stride = with_stride(m, stride, other, facts)
        n, other = with_stride(n, other, stride, facts)
        if stride != other:
            return None
        shapes[0].append(m)
        shapes[1].append(n)
        strides.append(stride)
    first, second = (
        replace(view, shape=tuple(shape), strides=tuple(strides))
        for view, shape in zip((a, b), shapes, strict=True)
    )
    return first, second


def with_stride(dim: Known, stride: Known, other: Known, facts: SizeFacts) -> tuple[Known, Known]:
    """The dim and the stride of an axis: another stride, if the same elements have it."""
    if stride == 0 or dim == 1:
        return 1, other if other != 0 else stride
    if isinstance(stride, Expr) and stride != other:
        for size in repeated_sizes(stride):
            if stride == other * dim_min(size - 1, 1) and facts.is_broadcast(size, dim):
                return size, other
    return dim, stride


def repeated_sizes(stride: Expr) -> Iterator[Known]:
    """The n of each factor min(n - 1, 1) in a stride."""
    for atom in {atom for monomial in stride.terms for atom in monomial}:
        match atom:
            case DimCall(op="min", args=(rest, 1)):
                yield rest + 1


def are_adjacent_along(axis: int, first: TensorView, second: TensorView) -> bool:
    """Whether, in every line along an axis, the elements of one tensor end before those of another with its strides begin.

    Lines are as long as the least stride of the outer axes; an element of the axis has room for the inner axes.
    """
    stride, distance = first.strides[axis], second.offset - first.offset
    end = distance + second.shape[axis] * stride
    others = [i for i in range(first.rank) if i != axis]
    lines = [first.strides[i] for i in others if known_ge(first.strides[i], end)]
    outer_axes = [[i for i in others if is_multiple(first.strides[i], line)] for line in lines]
    inner_axes = [[i for i in others if i not in outer] for outer in (*outer_axes, [])]
    return known_ge(distance, first.shape[axis] * stride) is True and any(
        all(known_ge(stride, span(view, inner)) for view in (first, second)) for inner in inner_axes
    )


def is_multiple(a: Known, b: Known) -> bool:
    """Whether a stride, which is not 0, provably is a multiple of another one."""
    if a == b or b == 0 or (isinstance(a, int) and isinstance(b, int)):
        return a == b or (b != 0 and known_equal(a % b, 0) is True)
    return exact_div(a, b) * b == a


def span(view: TensorView, axes: Sequence[int]) -> Known:
    """The number of elements from the first to the last along these axes."""
    return sum(((view.shape[i] - 1) * view.strides[i] for i in axes), start=1)


def verify_jump(actions: Sequence[Action], index: int) -> None:
    """A jump stays inside the program, and its flag is a tensor that the step declares."""
    step = actions[index]
    if isinstance(step, Step) and step.jump is not None:
        where, target = describe_action(actions, index), index + step.jump.distance
        assert step.jump.distance != 0, f"{where} jumps to itself"
        assert 0 <= target <= len(actions), f"{where} jumps to action {target} of {len(actions)}"
        declared = {tensor.buffer for tensor in (*step.reads, *step.writes)}
        assert step.jump.flag.buffer in declared, f"{where} does not declare the flag of its jump"


def verify_order(actions: Sequence[Action]) -> set[Buffer]:
    """On every path, a buffer of the program is written before it is read; returns those written on all paths.

    A jump back adds no path: what is written before a loop is written in each iteration.
    """
    arriving: dict[int, set[Buffer]] = {}  # written on all paths that jump forward to an action
    written: set[Buffer] | None = set()  # None after an unconditional jump
    for i, action in enumerate(actions):
        written = join_paths(written, arriving.pop(i, None))
        for tensor in action.reads:
            is_filled = tensor.buffer.role not in ("arena", "output") or tensor.buffer in written
            assert is_filled, (
                f"{describe_action(actions, i)} reads {tensor.buffer.name}, which is not written on every path to it"
            )
        written.update(tensor.buffer for tensor in action.writes)
        jump = action.jump if isinstance(action, Step) else None
        if jump is not None and jump.distance > 0:
            target = i + jump.distance
            arriving[target] = join_paths(set(written), arriving.get(target))
            written = None if jump.flag.buffer.role == "constant" else written
    return join_paths(written, arriving.pop(len(actions), None))


def join_paths(a: set[Buffer] | None, b: set[Buffer] | None) -> set[Buffer]:
    """The buffers that are written on both paths; None for a path that does not exist."""
    if a is None or b is None:
        return (a or set()) if b is None else b
    return a & b


def describe_action(actions: Sequence[Action], index: int) -> str:
    """The number of an action, its kernel and its nodes, for messages."""
    match actions[index]:
        case Step(kernel=kernel, nodes=nodes):
            return f"step {index}, {kernel.key} ({' + '.join(nodes)}),"
        case FallbackOp(node=node):
            return f"action {index}, fallback {node.op_type},"
    return f"action {index}"


# --- memory ----------------------------------------------------------------------------------


def verify_memory_plan(program: Program, plan: MemoryPlan) -> None:
    """Asserts that each arena buffer has memory, which no other one overlaps while both are live.

    A buffer may follow another one in its memory at a step that works in place.
    """
    verify_slot_stages(program, plan)
    verify_live_ranges(program.actions, plan.live_ranges)
    verify_loops(program.actions, plan.live_ranges)
    for a, b in sharing_ranges(plan):
        where = f"{a.buffer.name} and {b.buffer.name} share memory"
        assert a.last == b.first, f"{where} while both are live"
        step = program.actions[b.first]
        is_in_place = isinstance(step, Step) and step.in_place
        assert is_in_place, f"{where} at {describe_action(program.actions, b.first)}"
    verify_loans(program.actions, plan)
    for buffer, offset in plan.offsets.items():
        is_inside = offset % CACHE_LINE_BYTES == 0 and known_ge(plan.size, offset + buffer.size)
        assert is_inside, f"{buffer.name} is at {offset} of {plan.size}"


def verify_loans(actions: Sequence[Action], plan: MemoryPlan) -> None:
    """A buffer in the memory of an output fits there, and is not live any more when the output is used."""
    by_buffer = {live_range.buffer: live_range for live_range in plan.live_ranges}
    lenders = {loan.output for loan in plan.loans.values()}
    first_use: dict[Buffer, int] = {}
    for i, action in enumerate(actions):
        for tensor in (*action.reads, *action.writes):
            if tensor.buffer in lenders:
                first_use.setdefault(tensor.buffer, i)
    for buffer, loan in plan.loans.items():
        assert known_ge(loan.output.size, loan.offset + buffer.size), (
            f"{buffer.name} exceeds {loan.output.name}"
        )
        assert by_buffer[buffer].last < first_use[loan.output], (
            f"{buffer.name} is live when {loan.output.name} is written, which lends its memory"
        )


def verify_live_ranges(actions: Sequence[Action], live_ranges: Sequence[LiveRange]) -> None:
    """Every use of an arena buffer is in its live range."""
    by_buffer = {live_range.buffer: live_range for live_range in live_ranges}
    for i, action in enumerate(actions):
        for tensor in (*action.reads, *action.writes):
            if tensor.buffer.role == "arena":
                live_range = by_buffer.get(tensor.buffer)
                is_live = live_range is not None and live_range.first <= i <= live_range.last
                assert is_live, f"{tensor.buffer.name} is used by {describe_action(actions, i)} and not live"


def verify_loops(actions: Sequence[Action], live_ranges: Sequence[LiveRange]) -> None:
    """A buffer that is live when a loop begins, and used in it, is live until the loop ends."""
    for end, action in enumerate(actions):
        if isinstance(action, Step) and action.jump is not None and action.jump.distance < 0:
            start = end + action.jump.distance
            for r in live_ranges:
                is_carried = not r.first < start <= r.last < end
                assert is_carried, (
                    f"{r.buffer.name} is live until {r.last}, in the loop from {start} to {end}"
                )


class PlacedRange(NamedTuple):
    """The memory of a live range: bytes of the arena, of an output that lends it, or a slot.  number: makes it unique."""

    memory: int
    start: int
    end: int
    number: int
    live_range: LiveRange


def sharing_ranges(plan: MemoryPlan) -> Iterator[tuple[LiveRange, LiveRange]]:
    """The pairs of live ranges that overlap and have memory in common, in the order of their beginnings.

    The caller rejects a pair unless the first range ends where the second one begins.  So those that began before an action,
    and are live at it, have memory of their own, and are in the order of both ends of it.
    """
    live: list[PlacedRange] = []  # sorted
    endings: list[tuple[int, PlacedRange]] = []  # a heap
    in_order = enumerate(sorted(plan.live_ranges, key=lambda r: r.first))
    for first, group in groupby(in_order, lambda pair: pair[1].first):
        while endings and endings[0][0] < first:
            del live[bisect_left(live, heappop(endings)[1])]
        begun: list[PlacedRange] = []
        for number, live_range in group:
            place = place_of(plan, live_range, number)
            yield from ((other.live_range, live_range) for other in overlapping(live, place))
            yield from ((other.live_range, live_range) for other in begun if overlapping([other], place))
            begun.append(place)
        for place in begun:
            insort(live, place)
            heappush(endings, (place.live_range.last, place))


def overlapping(sorted_places: Sequence[PlacedRange], place: PlacedRange) -> list[PlacedRange]:
    """The places that have memory in common with another one, of places that have none with each other."""
    end = start = bisect_left(sorted_places, (place.memory, place.end))
    while (
        start > 0
        and sorted_places[start - 1][0] == place.memory
        and sorted_places[start - 1].end > place.start
    ):
        start -= 1
    return [*sorted_places[start:end]]


def place_of(plan: MemoryPlan, live_range: LiveRange, number: int) -> PlacedRange:
    buffer = live_range.buffer
    if plan.slots:
        return PlacedRange(plan.slot_of[buffer], 0, 1, number, live_range)
    loan = plan.loans.get(buffer)
    memory, start = (0, plan.offsets[buffer]) if loan is None else (id(loan.output), loan.offset)
    return PlacedRange(memory, start, start + live_range.size, number, live_range)
