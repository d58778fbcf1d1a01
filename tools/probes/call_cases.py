"""Cases of kernels that are no step of a model by itself: of control flow, of sizes that a run binds, and of packing.

The run loop calls the former and follows their flags; the latter are called while weights are packed.  Here each is called
once or twice, with results that Python's integers and NumPy give.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np

from compile.contracts.trial import Trial
from probes.step_cases import StepCase
from sardonyx._src.compile.executor.status import (
    FAULT,
    LOOP_LIMIT,
    MAX_ITERATIONS,
    MAX_NODES,
    NODES_CALLED,
    STATUS_SLOTS,
)
from sardonyx._src.compile.kernels.block_quantized import word_packing
from sardonyx._src.compile.kernels.gemm.packing import packing_kernel
from sardonyx._src.compile.kernels.winograd import weight_kernel
from sardonyx._src.compile.kernels.winograd.tiles import TileTransforms
from sardonyx._src.compile.kernels.winograd.transforms import F2X3, F4X3, WinogradTransform
from sardonyx._src.compile.lower.control_flow import moving_slices
from sardonyx._src.compile.lower.control_flow.jumps import COUNTER_SLOTS, branch_step, fault_step, loop_step
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView
from sardonyx._src.compile.program.encoding.binding_kernel import SizeBinding, SlotStore, binding_kernel
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import symbol

Argument: TypeAlias = "KernelArgument | tuple[KernelArgument, ...]"
LIMIT = 1000  # of nodes and of iterations
WIDTH = 16  # of panels


def cases() -> Iterator[StepCase]:
    for has_trip_tensor in (False, True):
        for has_condition in (False, True):
            for capacity in (0, 2):
                axes = {
                    "has_trip_tensor": has_trip_tensor,
                    "has_condition": has_condition,
                    "capacity": capacity,
                }
                yield StepCase(f"loop {[*axes.values()]}", loop, axes)
    for condition in (False, True):
        yield StepCase(f"branch, {condition}", branch, {"condition": condition})
    yield StepCase("fault", fault, {})
    yield StepCase("binding of a size", binding, {})
    yield StepCase("slices of an iteration", slices, {})
    for order in ((0, 1, 2), (0, 2, 1)):
        yield StepCase(f"packing of floats {order}", packed_floats, {"order": order})
    for exchanges in (False, True):
        yield StepCase(f"packing of words{' of nibbles' * exchanges}", packed_words, {"exchanges": exchanges})
    yield StepCase("packing of Winograd weights", winograd_weights, {})


def int64s(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


# --- control flow ----------------------------------------------------------------------------


def status_block(trial: Trial, nodes: int) -> TensorView:
    """A status with limits, in which the steps count nodes."""
    before = np.zeros(STATUS_SLOTS, np.int64)
    before[[MAX_NODES, MAX_ITERATIONS]] = LIMIT
    after = before.copy()
    after[NODES_CALLED] = nodes
    return trial.expect(trial.input(before), after)


def loop(trial: Trial, *, has_trip_tensor: bool, has_condition: bool, capacity: int) -> Sequence[Step]:
    """The start of three iterations of two nodes, and the end of the first."""
    counter = trial.allocate(DataType.INT64, (COUNTER_SLOTS,), 0)
    slots = int64s(1, 1, 1, 0) if capacity else int64s(1, 1)  # entry 1 of 2 has none after it
    trial.expect(trial.part(counter, slots.shape, (1,), 0), slots)
    flag, status = trial.result(int64s(1), np.int64), status_block(trial, nodes=2)
    count = trial.input(int64s(3)) if has_trip_tensor else 3
    condition = trial.input(np.array([True])) if has_condition else None
    return [
        loop_step(counter, flag, status, count, condition, 2, distance, LOOP_LIMIT, buffer_capacity=capacity)
        for distance in (5, -5)
    ]


def branch(trial: Trial, *, condition: bool) -> Sequence[Step]:
    """A jump unless the condition holds."""
    flag, status = trial.result(int64s(not condition), np.int64), status_block(trial, 3 if condition else 5)
    return [branch_step(flag, status, trial.input(np.array([condition])), (3, 5), 4)]


def fault(trial: Trial) -> Sequence[Step]:
    status = trial.allocate(DataType.INT64, (STATUS_SLOTS,), 0)
    trial.expect(trial.part(status, (1,), (1,), FAULT), int64s(1))
    return [fault_step(status, ())]


def binding(trial: Trial) -> Sequence[Step]:
    """A size of 7 elements, of which a later step has 2 * 7 + 1."""
    n = symbol("n")
    stores = (SlotStore(2 * n + 1), SlotStore(n, is_units=True))
    kernel = binding_kernel(SizeBinding(("n",), stores, (n,), (), ((n, 9),)), ())
    count, targets = (
        trial.input(int64s(7)),
        (trial.result(int64s(15), np.int64), trial.result(int64s(7), np.int64)),
    )
    return [call(kernel, status=trial.status(), count0=count, targets=targets)]


def slices(trial: Trial) -> Sequence[Step]:
    """The address of slice 3 of those from 1000 on that are 64 bytes apart."""
    slot, index = trial.result(int64s(1192), np.int64), trial.input(int64s(3))
    return [call(moving_slices.MOVE, count=1, slices=(slot, 1000, index, 64))]


def call(kernel: Kernel, units: int = 1, **arguments: Argument) -> Step:
    """A call with these arguments; its tensors are all that it may read and write."""
    slots: tuple[KernelArgument, ...] = kernel.parameters.pack(**arguments)
    tensors = tuple(slot for slot in slots if isinstance(slot, TensorView))
    return Step(kernel, slots, units, tensors, tensors)


# --- packing ---------------------------------------------------------------------------------


def packed_floats(trial: Trial, *, order: tuple[int, ...]) -> Sequence[Step]:
    """order: of the dims in memory; 2 taps, 5 rows and 19 columns in panels of 16."""
    b = trial.integers(2, 5, 19)
    y = trial.allocate(DataType.FLOAT, (2, 2, 5, WIDTH), 0)
    expect_panels(trial, y, b, (y.strides[1], y.strides[2]))
    stored = trial.input(np.ascontiguousarray(b.transpose(order)))
    strides = stored.permute([int(axis) for axis in np.argsort(order)]).strides
    sizes = {"taps": 2, "k": 5, "columns": 19, "width": WIDTH}
    steps = dict(zip(("b_tap", "b_row", "b_step"), strides, strict=True))
    return [call(packing_kernel.PACKING_KERNEL, 4, b=stored, panels=y, **sizes, **steps)]


def expect_panels(trial: Trial, panels: TensorView, columns: Array, strides: tuple[object, ...]) -> None:
    """Columns [..., n] in panels [panels, ..., WIDTH]; nothing is written past the last one."""
    for number in range(-(-columns.shape[-1] // WIDTH)):
        part = columns[..., number * WIDTH : (number + 1) * WIDTH]
        offset = int(str(panels.strides[0])) * number
        trial.expect(trial.part(panels, part.shape, (*map(int, map(str, strides)), 1), offset), part)


def packed_words(trial: Trial, *, exchanges: bool) -> Sequence[Step]:
    """Words of 19 columns, 2 in each of 3 blocks, in panels of 16."""
    words = trial.rng.integers(0, 1 << 32, (19, 6), np.uint32)
    shifts = np.arange(0, 32, 4).astype(np.uint32)
    nibbles = words[..., None] >> shifts & np.uint32(15)
    exchanged = nibbles[..., [0, 4, 1, 5, 2, 6, 3, 7]] << shifts
    expected = exchanged.sum(-1, dtype=np.uint32) if exchanges else words
    y = trial.allocate(DataType.UINT32, (2, 3, 2, WIDTH), 0)
    expect_panels(trial, y, expected.T.reshape(3, 2, 19), (y.strides[1], y.strides[2]))
    sizes = {
        "columns": 19,
        "word_row": 6,
        "blocks": 3,
        "block_words": 2,
        "block_row": 2 * WIDTH,
        "width": WIDTH,
    }
    kernel = word_packing.NIBBLE_WORDS if exchanges else word_packing.WORDS
    return [call(kernel, 2, words=trial.input(words), panels=y, **sizes)]


def winograd_weights(trial: Trial) -> Sequence[Step]:
    """U = G g G' of 3 channels to 19 features."""
    transforms = TileTransforms(F4X3, F2X3)
    weights = trial.integers(19, 3, 3, 3)
    left, right = weight_matrix(transforms.vertical), weight_matrix(transforms.horizontal)
    points = np.einsum("ai,fcij,bj->abcf", left, weights, right).astype(np.float32)
    y = trial.allocate(DataType.FLOAT, (2, transforms.num_points, 3, WIDTH), 0)
    expected = points.reshape(transforms.num_points, 3, 19)
    for number, part in enumerate((expected[..., :WIDTH], expected[..., WIDTH:])):
        view = trial.part(y, part.shape, (3 * WIDTH, WIDTH, 1), transforms.num_points * 3 * WIDTH * number)
        trial.expect(view, part, 1e-6)
    sizes = {"features": 19, "channels": 3, "width": WIDTH}
    kernel = weight_kernel.weight_kernel(transforms)
    return [call(kernel, 2, weights=trial.input(weights), panels=y, **sizes)]


def weight_matrix(transform: WinogradTransform) -> Array:
    """G: the powers of each finite point over the divisor of its interpolation, and the last tap."""
    points = transform.finite_points
    rows = [np.array([1, p, p * p]) / np.prod([p - q for q in points if q != p]) for p in points]
    return np.array([*rows, [0, 0, 1]])
