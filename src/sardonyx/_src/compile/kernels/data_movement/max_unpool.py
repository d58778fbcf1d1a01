"""MaxUnpool kernel: writes elements at given positions into a tensor of zeros.

There is one unit of work, so that the last of several elements with the same position wins.  Zeros are written in blocks, just
before the first element of a block: positions mostly ascend, so that a block is still in the cache when its elements are written.
"""

from __future__ import annotations

from functools import partial

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.data_movement.memcpy import INTEGERS_BY_WIDTH, emit_fill
from sardonyx._src.compile.kernels.loops.lanes import reduce_to_scalar
from sardonyx._src.compile.kernels.loops.memory import load_at, store_at
from sardonyx._src.compile.kernels.loops.vectors import i64, load_typed, loop_vectors
from sardonyx._src.compile.program import Kernel, Step, TensorView, element_bytes

PARAMETERS = Parameters("x", "places", "y", "status", "count", "size")
CHUNK = 256  # positions whose bounds are checked together
BLOCK_ELEMENTS = 1024  # filled at a time, in the level-1 cache


def max_unpool_step(x: TensorView, places: TensorView, y: TensorView, status: TensorView) -> Step:
    """The step that writes the elements of x into y; places: int64, the flat index in y of each element; all dense.

    An index that is out of bounds is reported in `status`, and neither its element nor those with it in a chunk are written.
    """
    element = LLVMType(INTEGERS_BY_WIDTH[element_bytes(x.dtype)])
    return Step(
        Kernel(f"max_unpool_{element}", partial(max_unpool_module, element=element), PARAMETERS),
        PARAMETERS.pack(x=x, places=places, y=y, status=status, count=x.num_elements, size=y.num_elements),
        1,
        (x, places),
        (y, status),
        bytes_accessed=x.nbytes + places.nbytes + 2 * y.nbytes,
    )


def max_unpool_module(name: str, target: Target, element: LLVMType) -> str:
    b = KernelBuilder(target, PARAMETERS)
    x, places, y, status = b.pointers("x", "places", "y", "status")
    count, size = b.integers("count", "size")
    filled = b.new_slot("filled", I64)  # the number of elements of y that are zeros or elements of x
    with b.loop(b.first_unit, b.end_unit, name="unit"):
        b.store(filled, i64(b, 0))
        with b.loop(i64(b, 0), count + (CHUNK - 1), CHUNK, "chunk") as first:
            end = b.min(first + CHUNK, count)
            lowest, highest = find_bounds(b, b.gep(places, first, "i64"), end - first)
            is_inside = (lowest >= 0) & (highest < size)
            with b.if_then(is_inside & (highest >= b.load(filled))):
                fill_up_to(b, y, element, filled, b.min(highest + BLOCK_ELEMENTS, size))
            with b.if_then(is_inside), b.loop(first, end, name="element") as i:
                store_at(b, y, load_at(b, places, i, "i64"), load_at(b, x, i, element.element))
            with b.if_then(is_inside.eq(0)):
                b.lines.append(f" atomicrmw max ptr {status}, i64 1 monotonic, align 8")
        fill_up_to(b, y, element, filled, size)
    return b.build_module(name)


def find_bounds(b: KernelBuilder, places: str, count: LLVMValue) -> tuple[LLVMValue, LLVMValue]:
    """The lowest and the highest of some positions, and 0."""
    lanes = max(b.target.lanes // 2, 1)
    operations = [partial(b.call_intrinsic, name) for name in ("smin", "smax")]
    slots = [b.new_slot(name, LLVMType("i64", lanes)) for name in ("lowest", "highest")]
    for slot in slots:
        b.store(slot, b.constant(0, slot.type))
    for i, mask in loop_vectors(b, 0, count, lanes):
        value = load_typed(b, LLVMType("i64", lanes), b.gep(places, i, "i64"), mask)
        for slot, operation in zip(slots, operations, strict=True):
            b.store(slot, operation(b.load(slot), value))
    lowest, highest = (
        reduce_to_scalar(b, operation, b.load(slot))
        for slot, operation in zip(slots, operations, strict=True)
    )
    return lowest, highest


def fill_up_to(b: KernelBuilder, y: str, element: LLVMType, filled: MemoryLocation, end: LLVMValue) -> None:
    """Writes zeros from the first element that is not filled up to an end."""
    first = b.load(filled)
    emit_fill(b, b.constant(0, element), b.gep(y, first, element.llvm_element), end - first)
    b.store(filled, end)
