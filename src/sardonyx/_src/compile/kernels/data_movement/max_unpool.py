"""MaxUnpool kernel: writes elements at given positions into a tensor of zeros.

There is one unit of work, so that the last of several elements with the same position wins.
"""

from __future__ import annotations

from functools import partial

from sardonyx._src.compile.codegen import LLVMType, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.data_movement.memcpy import INTEGERS_BY_WIDTH, emit_fill
from sardonyx._src.compile.kernels.loops.memory import load_at, store_at
from sardonyx._src.compile.kernels.loops.vectors import i64
from sardonyx._src.compile.program import Kernel, Step, TensorView, element_bytes

PARAMETERS = Parameters("x", "places", "y", "status", "count", "size")


def max_unpool_step(x: TensorView, places: TensorView, y: TensorView, status: TensorView) -> Step:
    """The step that writes the elements of x into y; places: int64, the flat index in y of each element; all dense.

    An index that is out of bounds is reported in `status`, and its element is not written.
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
    with b.loop(b.first_unit, b.end_unit, name="unit"):
        emit_fill(b, b.constant(0, element), y, size)
        with b.loop(i64(b, 0), count, name="element") as i:
            index = load_at(b, places, i, "i64")
            is_inside = (index >= 0) & (index < size)
            with b.if_then(is_inside):
                store_at(b, y, index, load_at(b, x, i, element.element))
            with b.if_then(is_inside.eq(0)):
                b.lines.append(f" atomicrmw max ptr {status}, i64 1 monotonic, align 8")
    return b.build_module(name)
