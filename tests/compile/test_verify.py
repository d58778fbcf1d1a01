"""Verifiers: each violation of what a later stage relies on is an AssertionError that names the region or the item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from compile.small_programs import X, plan, program, step, tensor
from compile.stages import AVX2, Stages, model_of, stages_of
from sardonyx._src.compile.codegen.expressions import Local
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.layouts.laid_out import LayoutCopy, LayoutItem
from sardonyx._src.compile.layouts.verify import verify_layouts
from sardonyx._src.compile.lower import LaidOutRegion
from sardonyx._src.compile.partition import Alias, Region, RegionGraph, Write
from sardonyx._src.compile.partition.partitioner.verify import verify_regions
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.compile.program import Guard, Step, TensorView
from sardonyx._src.compile.program.memory.arena import ArenaSlot, MemoryPlan
from sardonyx._src.compile.program.memory.live_range import LiveRange
from sardonyx._src.compile.program.steps.program import Action, BindSizes, CopyIn, FallbackOp
from sardonyx._src.compile.program.steps.step import Jump, RowGroups
from sardonyx._src.compile.program.verification.verify import verify_program
from sardonyx._src.compile.program.verification.verify_memory_plan import verify_memory_plan
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node, TensorType, Value
from sardonyx._src.ir.dims import dim_min, symbol

TEXT = "g (float[2,8] x, float[8,4] w, float[2,4] r) => (float[2,4] y) { a = MatMul (x, w)  b = Mul (a, r)  y = Softmax (b) }"


@pytest.fixture
def stages() -> Stages:
    """A product with a fused multiplication, and a softmax."""
    return stages_of(TEXT)


# --- regions ---------------------------------------------------------------------------------


def assert_invalid(stages: Stages, regions: Sequence[Region[object]], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        verify_regions(RegionGraph(stages.regions.scope, regions))


def test_each_node_is_in_one_region(stages: Stages) -> None:
    product, softmax = stages.regions.regions
    assert_invalid(stages, [product], "no region has the node y")
    more = replace(product, nodes=(*product.nodes, softmax.anchor))
    assert_invalid(
        stages, [more, softmax], r"region Softmax \(y\) has the node y of region MatMul \(a \+ b \+ y\)"
    )


def test_values_are_computed_before_they_are_read(stages: Stages) -> None:
    assert_invalid(
        stages, [*stages.regions.regions][::-1], r"region Softmax \(y\) reads b, which is not computed yet"
    )


def test_values_are_computed_once(stages: Stages) -> None:
    product, softmax = stages.regions.regions
    twice = replace(
        softmax, aliases=(Alias(softmax.writes[0].value, softmax.reads[0].value, lambda view: view),)
    )
    assert_invalid(stages, [product, twice], r"region Softmax \(y\) writes y, as region Softmax \(y\) does")


def test_values_inside_a_region_are_not_read_outside(stages: Stages) -> None:
    product, softmax = stages.regions.regions
    a, b = (node.outputs[0] for node in product.nodes)
    assert_invalid(
        stages,
        [replace(product, writes=(Write(a),)), softmax],
        r"region MatMul \(a \+ b\) does not write b, which is read",
    )
    inside = replace(product, writes=(Write(b), Write(softmax.writes[0].value)))
    assert_invalid(
        stages, [inside, replace(softmax, writes=())], "writes y, which none of its nodes computes"
    )


def test_outputs_are_computed(stages: Stages) -> None:
    product, softmax = stages.regions.regions
    assert_invalid(
        stages, [product, replace(softmax, writes=())], r"Softmax \(y\) does not write y, which is read"
    )


def test_an_epilogue_has_a_shape_and_a_layout_for_each_operand(stages: Stages) -> None:
    product, softmax = stages.regions.regions
    fused = product.epilogue
    assert fused is not None
    for changed, message in (
        (replace(fused, shapes=()), "has 0 shapes"),
        (replace(fused, reads=(), shapes=()), "1 operands of the epilogue are not read"),
        (replace(fused, reads=(*fused.reads, *fused.reads)), "reads 2 operands and has 1 layouts"),
        (replace(fused, epilogue=Epilogue(Local("o1"), ("matrix",))), r"has no operands \['o1'\]"),
        (replace(fused, nodes=(softmax.anchor,)), "a fused node is not in the region"),
    ):
        assert_invalid(stages, [replace(product, epilogue=changed), softmax], message)


def test_guards_can_hold(stages: Stages) -> None:
    product, softmax = stages.regions.regions
    assert_invalid(stages, [replace(product, guards=(Guard(3, 4),)), softmax], "the guard 3 == 4 never holds")


# --- layouts ---------------------------------------------------------------------------------


def assert_invalid_items(stages: Stages, items: Sequence[LayoutItem], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        verify_layouts(replace(stages.laid_out, items=items))


def item_of(stages: Stages, index: int) -> LaidOutRegion[object]:
    item = stages.laid_out.items[index]
    assert isinstance(item, LaidOutRegion)
    return item


def test_tensors_are_written_before_they_are_read(stages: Stages) -> None:
    items = list(stages.laid_out.items)
    assert_invalid_items(stages, items[::-1], r"region Softmax \(y\) reads b, which nothing has written")
    assert_invalid_items(stages, items[:1], "output y is not written")


def test_tensors_have_the_dims_type_and_layout_of_their_values(stages: Stages) -> None:
    product, softmax = item_of(stages, 0), item_of(stages, 1)
    (b,) = product.results
    for changed, message in (
        (replace(b, shape=(2, 3)), r"b has dims \(2, 4\), its tensor \(2, 3\)"),
        (replace(b, dtype=DataType.INT32), "the tensor of b has the type"),
        (replace(b, strides=(1, 2)), "the layout of b is not dense"),
    ):
        assert_invalid_items(stages, [replace(product, results=(changed,)), softmax], message)


def test_tensors_are_inside_their_buffers(stages: Stages) -> None:
    product, softmax = item_of(stages, 0), item_of(stages, 1)
    outside = replace(softmax.operands[0], offset=1)
    assert_invalid_items(
        stages, [product, replace(softmax, operands=(outside,))], "accesses b up to byte 36 of 32"
    )


def test_bodies_write_tensors_before_they_read_them() -> None:
    text = """g (float[2,4] x, bool b) => (float[2,4] y) { y = If (b)
        <then_branch = p () => (float[2,4] u) { m = Softmax (x)  u = Softmax <axis = 0> (m) },
         else_branch = q () => (float[2,4] v) { v = Neg (x) }> }"""
    stages = stages_of(text)
    choice = item_of(stages, 0)
    then_branch, else_branch = choice.bodies
    for changed, message in (
        (
            replace(then_branch, items=then_branch.items[::-1]),
            "Softmax .* reads m, which nothing has written",
        ),
        (replace(then_branch, items=then_branch.items[:1]), "then_branch reads y, which nothing has written"),
    ):
        assert_invalid_items(stages, [replace(choice, bodies=(changed, else_branch))], message)


def test_no_element_is_written_twice(stages: Stages) -> None:
    items = list(stages.laid_out.items)
    assert_invalid_items(stages, [items[0], items[0], items[1]], r"\(a \+ b\) writes elements of b again")


def test_slices_of_a_concat_are_disjoint() -> None:
    stages = stages_of(
        """g (float[1,8,6,5] x, float[1,8,6,5] z, float[4,8,1,1] w1, float[6,8,1,1] w2) => (float[1,10,6,5] y) {
        a = Conv (x, w1)  b = Conv (z, w2)  c = Concat <axis = 1> (a, b)  y = Relu (c) }"""
    )
    items = list(stages.laid_out.items)
    index = next(
        i for i, item in enumerate(items) if isinstance(item, LaidOutRegion) and item.results[0].offset == 4
    )
    conv = item_of(stages, index)
    items[index] = replace(conv, results=(replace(conv.results[0], offset=3),))
    assert_invalid_items(stages, items, r"region Conv \(b\) writes elements of .* again")
    del items[index]
    assert_invalid_items(stages, items, "of which a part is not written")


# --- programs --------------------------------------------------------------------------------


A, B, FLAG = tensor("a", 2, 3), tensor("b", 2, 3), tensor("flag", 1, dtype=DataType.INT64)


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([step([A], B)], "step 0, nothing .* reads a, which is not written on every path to it"),
        ([replace(step([X], A), units=-1)], "units must not be negative; got -1"),
        ([replace(step([X], A), args=(X, A, B))], "neither reads nor writes have the argument"),
        ([replace(step([X], A), args=(True,))], "expected a tensor or a dim as argument, got True"),
        ([replace(step([X], A), units=9, row_groups=RowGroups(4, 8))], "9 units are no grid of 4 row groups"),
        ([step([X], X)], "writes to a buffer of role input"),
        (
            [step([X], A), step([A, replace(A, strides=(1, 2))], A)],
            "overwrites a and reads other elements of it",
        ),
        ([replace(step([X], FLAG), jump=Jump(FLAG, 2))], "jumps to action 2 of 1"),
        ([replace(step([X], FLAG), jump=Jump(FLAG, -1))], "jumps to action -1 of 1"),
        ([replace(step([X], A), jump=Jump(FLAG, 1))], "does not declare the flag of its jump"),
    ],
)
def test_steps_are_valid(actions: list[Step], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        verify_program(program(actions))


def test_a_buffer_that_only_one_branch_writes_is_not_read_after_it() -> None:
    branch = replace(step([X], FLAG), jump=Jump(FLAG, 2))
    with pytest.raises(AssertionError, match=r"step 2, .* reads a, which is not written on every path"):
        verify_program(program([branch, step([X], A), step([A], B)]))
    always = tensor("always", 1, role="input", dtype=DataType.INT64)
    always.buffer.role = "constant"
    both = (
        replace(branch, jump=Jump(FLAG, 3)),
        step([X], A),
        Step(branch.kernel, (), 0, (always,), (), jump=Jump(always, 2)),
        step([X], A),
        step([A], B),
    )
    verify_program(program(both))


def test_elements_are_compared_at_sizes_that_a_run_may_have() -> None:
    """The second part is as long as the input is longer than the other one: never less than 0."""
    laid_out = stages_of(
        """g (float[A] x, float[B] z) => (float[?] y) {
             n = Shape(x) m = Shape(z) r = Sub(n, m) l = Concat<axis = 0>(m, r) p, q = Split<axis = 0>(x, l)
             y = Concat<axis = 0>(q, z)
           }"""
    ).laid_out
    verify_layouts(laid_out)
    shortened = [item for item in laid_out.items if not isinstance(item, LayoutCopy)]
    with pytest.raises(AssertionError, match="output y"):
        verify_layouts(replace(laid_out, items=shortened))


# --- sizes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("g (float[N] x, bool[N] b, bool[N] c) => (float[?] y) { p = Compress(x, b) q = Compress(x, c) y = Add(p, q) }", r"Elementwise \(y\): y: unk_\d must broadcast to max\(unk_\d,unk_\d\)"),
    ],
)  # fmt: skip
def test_sizes_that_must_be_equal_are_proved_or_guarded(text: str, message: str) -> None:
    laid_out = stages_of(text).laid_out
    assert laid_out.guards
    with pytest.raises(AssertionError, match=f"{message}, which is neither proved nor guarded"):
        verify_layouts(replace(laid_out, guards={}))


N = symbol("N")
LATE = BindSizes(Value("x", TensorType(DataType.FLOAT, (None,))), 1, {0: "M"})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"args": (), "writes": (tensor("b", symbol("M")),)}, "uses the size of b, 4\\*M, before"),
        ({"reads": (replace(X, offset=symbol("M")),)}, "uses a dim, stride or offset of x, M, before"),
        ({"args": (N, symbol("M"))}, "uses the argument, M, before"),
        ({"units": N + symbol("M")}, "uses the units, M\\+N, before"),
        ({"scratch": symbol("M")}, "uses the scratch size, M, before"),
    ],
)
def test_sizes_are_bound_before_they_are_used(changed: dict[str, Any], message: str) -> None:
    late = replace(step([X], tensor("a", N)), **changed)
    verify_program(program([LATE, late], ["N"]))
    with pytest.raises(AssertionError, match=message + r" \['M'\] are bound"):
        verify_program(program([late, LATE], ["N"]))


def test_dims_of_inputs_are_those_of_callers_or_guarded() -> None:
    """An input of N elements is no input of 64, unless a guard says so."""
    value = Value("in", TensorType(DataType.FLOAT, (64,)))
    operand = replace(X, shape=(64,))
    narrowed = replace(program([step([operand], A)]), sizes={"N": ("in", 0)}, inputs={value: operand})
    verify_program(replace(narrowed, guards=(Guard(N, 64),)))
    verify_program(replace(narrowed, inputs={value: replace(X, shape=(symbol("N", low=2),))}))
    with pytest.raises(AssertionError, match="dim 0 of the input in is 64, which is neither N nor guarded"):
        verify_program(narrowed)


@pytest.mark.parametrize("reads", ["sizes", "copy"])
def test_actions_of_python_read_values_that_exist(reads: str) -> None:
    computed = Value("y", TensorType(DataType.INT64, (1, None)))
    action = BindSizes(computed, 2, {1: "M"}) if reads == "sizes" else CopyIn(computed, tensor("b", 4))
    verify_program(program([FallbackOp(Node("NonZero", [Value("x")], [computed]), {}), action]))
    with pytest.raises(AssertionError, match="reads y, which has no value"):
        verify_program(program([action]))


def test_slots_are_in_the_order_in_which_their_sizes_are_bound() -> None:
    actions: list[Action] = [step([X], tensor("a", N)), LATE, step([X], tensor("b", symbol("M")))]
    memory_plan = plan(*actions, sizes=["N"])
    verify_memory_plan(program(actions, ["N"]), memory_plan)
    early, late = memory_plan.slots
    mixed = ArenaSlot([*early.buffers, *late.buffers])
    for slots, message in (
        ((late, early), "slot 1 of stage 0 is after"),
        ((mixed,), r"of the stages \[0, 1\]"),
    ):
        with pytest.raises(AssertionError, match=message):
            verify_memory_plan(program(actions, ["N"]), replace(memory_plan, slots=slots))


# --- memory ----------------------------------------------------------------------------------


def test_live_buffers_do_not_share_memory() -> None:
    actions = [step([X], A), step([X], B), step([A, B], tensor("c", 2, 3), in_place=False)]
    memory_plan = plan(*actions)
    verify_memory_plan(program(actions), memory_plan)
    for changed, message in (
        (
            replace(memory_plan, offsets=dict.fromkeys(memory_plan.offsets, 0)),
            "share memory while both are live",
        ),
        (replace(memory_plan, size=64), "is at .* of 64"),
        (
            replace(memory_plan, live_ranges=memory_plan.live_ranges[:1]),
            "b is used by step 1, .* and not live",
        ),
    ):
        with pytest.raises(AssertionError, match=message):
            verify_memory_plan(program(actions), changed)


def halves(whole: TensorView, axis: int) -> tuple[TensorView, TensorView]:
    """The two halves of a tensor along an axis."""
    size = whole.shape[axis] // 2
    shape = (*whole.shape[:axis], size, *whole.shape[axis + 1 :])
    return replace(whole, shape=shape), replace(whole, shape=shape, offset=size * whole.strides[axis])


@pytest.mark.parametrize("axis", range(4))
@pytest.mark.parametrize("perm", [(0, 1, 2, 3), (0, 3, 1, 2)])
def test_a_step_in_place_may_read_what_is_beside_its_output(axis: int, perm: tuple[int, ...]) -> None:
    n, h, c = symbol("N"), symbol("H"), symbol("C")
    whole = tensor("a", n * 2, h * 2, 6, 8 if axis < 3 else 2 * c)
    first, second = (half.permute(perm) for half in halves(whole, axis))
    fill = step([X], whole, in_place=False)
    verify_program(program([fill, step([first], second)], sizes=["N", "H", "C"]))
    verify_program(program([fill, step([second], first)], sizes=["N", "H", "C"]))


@pytest.mark.parametrize(
    ("shape", "strides"),
    [
        ((7, 1, 1, 3), (12, 0, 0, 1)),  # the strides of unit dims, where views are broadcast
        ((7, 4, 1, 3), (12, 0, 0, 1)),  # a slice that is repeated
        ((7, 1, 1, 1), (12, 0, 0, 0)),
    ],
)
def test_what_is_beside_an_output_may_be_broadcast(shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    whole = tensor("a", 7, 4, 1, 3)
    operand = replace(whole, shape=shape, strides=strides)
    output = replace(whole, shape=(7, 1, 1, 3), offset=3)
    fill = step([X], whole, in_place=False)
    verify_program(program([fill, step([operand], output)]))
    overlapping = step([replace(operand, offset=4)], output)
    with pytest.raises(AssertionError, match="overwrites a and reads other elements of it"):
        verify_program(program([fill, overlapping]))


def test_guards_tell_what_is_beside_an_output() -> None:
    """Channels of pixels, as a Concat of channels-last images has them; the operand broadcasts a row that may be one pixel."""
    n, m = symbol("N"), symbol("M")
    whole = tensor("a", n, 2)
    operand = replace(whole, shape=(n, 1), strides=(2 * dim_min(n - 1, 1), 0))
    output = replace(whole, shape=(m, 1), strides=(2, 1), offset=1)
    actions = [step([X], whole, in_place=False), step([operand], output)]
    verify_program(replace(program(actions, ["M", "N"]), guards=(Guard(n, m),)))
    shifted = replace(output, offset=2)
    with pytest.raises(AssertionError, match="overwrites a and reads other elements of it"):
        verify_program(
            replace(program([actions[0], step([operand], shifted)], ["M", "N"]), guards=(Guard(n, m),))
        )


def test_a_guard_tells_how_many_elements_a_broadcast_has() -> None:
    """N channels of M pixels or of one, 1 or 8 of them, and 8 that are computed from them."""
    n, m = symbol("N"), symbol("M")
    whole = tensor("a", m, n + 8)
    operand = replace(whole, shape=(m, 8), strides=((n + 8) * dim_min(m - 1, 1), dim_min(n - 1, 1)))
    output = replace(whole, shape=(m, 8), offset=n)
    steps = [step([X], whole, in_place=False), step([operand], output)]
    valid = replace(program(steps, ["M", "N"]), guards=(Guard((n - 8) * (n - 1), 0),))
    verify_program(valid)
    with pytest.raises(AssertionError, match="overwrites a and reads other elements of it"):
        verify_program(replace(valid, guards=()))


@pytest.mark.parametrize("axis", range(4))
def test_a_step_in_place_reads_no_other_elements_of_its_output(axis: int) -> None:
    whole = tensor("a", 4, 8, 6, 8)
    first, second = halves(whole, axis)
    ahead = replace(second, offset=second.offset - whole.strides[axis])
    actions = [step([X], whole, in_place=False), step([first], ahead)]
    with pytest.raises(AssertionError, match="overwrites a and reads other elements of it"):
        verify_program(program(actions))


def test_only_steps_in_place_write_into_the_memory_of_an_operand() -> None:
    actions = [step([X], A), step([A], B)]
    memory_plan = plan(*actions)
    verify_memory_plan(program(actions), memory_plan)
    elsewhere = [actions[0], replace(actions[1], in_place=False)]
    with pytest.raises(AssertionError, match=r"a and b share memory at step 1"):
        verify_memory_plan(program(elsewhere), memory_plan)


def test_what_a_loop_reads_is_live_until_it_ends() -> None:
    back_edge = Step(step([X], A).kernel, (), 1, (), (FLAG,), jump=Jump(FLAG, -1))
    actions = [step([X], A), step([A], B, in_place=False), back_edge]
    ranges = LiveRange(A.buffer, 0, 1, 24), LiveRange(B.buffer, 1, 1, 24), LiveRange(FLAG.buffer, 2, 2, 8)
    offsets = {A.buffer: 0, B.buffer: 64, FLAG.buffer: 128}
    with pytest.raises(AssertionError, match="a is live until 1, in the loop from 1 to 2"):
        verify_memory_plan(program(actions), MemoryPlan(ranges, offsets, 192, (), {}))


def test_a_compilation_is_verified_on_request() -> None:
    executable = compile_model(model_of(TEXT), AVX2, verify=True)
    assert len(executable.program.steps) == 2
