"""Col2Im: writes blocks into an image, and adds their elements where blocks overlap.

Loop nest: units of work (rows of the image) -> taps of a block -> vectors of the row, or single elements where blocks are
more than one column apart.
"""

from __future__ import annotations

from functools import partial

from sardonyx._src.compile.codegen import LLVMType, LLVMValue, Parameters, Target
from sardonyx._src.compile.codegen.element_types import memory_type
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.loops.memory import load_at, store_at
from sardonyx._src.compile.kernels.loops.vectors import i64, load_typed, loop_vectors, sdiv, store_vector
from sardonyx._src.compile.program import Kernel, Step, TensorView, Window

SIZES = (
    "height", "width", "block_rows", "block_columns", "kernel_height", "kernel_width", "stride_height", "stride_width",
    "dilation_height", "dilation_width", "pad_top", "pad_left",
)  # fmt: skip
PARAMETERS = Parameters("x", "y", *SIZES)


def fold_columns_step(x: TensorView, y: TensorView, window: Window, blocks: tuple[int, int]) -> Step:
    """The step of y [N, C, H, W] from x [N, C, kernel height, kernel width, *blocks]; both dense, of one type of numbers.

    blocks: the number of blocks along the height and along the width.
    """
    _, _, height, width = y.shape
    sizes = (
        height, width, *blocks, *window.kernel, *window.strides, *window.dilations, *window.begin_pads,
    )  # fmt: skip
    element, is_adjacent = memory_type(y.dtype), window.strides[1] == 1
    source = partial(fold_columns_module, element=element, is_adjacent=is_adjacent)
    return Step(
        Kernel(f"fold_columns:{element}{'_rows' if is_adjacent else ''}", source, PARAMETERS),
        PARAMETERS.pack(x=x, y=y, **dict(zip(SIZES, sizes, strict=True))),
        y.shape[0] * y.shape[1] * height,
        (x,),
        (y,),
        flops=x.num_elements,
        bytes_accessed=x.nbytes + y.nbytes,
    )


def fold_columns_module(name: str, target: Target, element: LLVMType, *, is_adjacent: bool) -> str:
    b = KernelBuilder(target, PARAMETERS)
    x, y = b.pointers("x", "y")
    size = {word: b.integer(word) for word in SIZES}
    lanes = max(target.lanes * 32 // element.bits, 1)
    vector = LLVMType(element.element, lanes)
    taps = size["kernel_height"] * size["kernel_width"]
    with b.loop(b.first_unit, b.end_unit, name="row") as unit:
        plane, row = b.udivmod(unit, size["height"])
        line = b.gep(y, unit * size["width"], element.llvm_element)
        for i, mask in loop_vectors(b, 0, size["width"], lanes):
            store_vector(b, b.constant(0, vector), b.gep(line, i, element.llvm_element), mask)
        with b.loop(i64(b, 0), size["kernel_height"], name="tap_row") as tap_row:
            shifted = row + size["pad_top"] - tap_row * size["dilation_height"]
            block_row = sdiv(b, shifted, size["stride_height"])
            is_hit = (block_row * size["stride_height"]).eq(shifted) & (shifted >= 0)
            with (
                b.if_then(is_hit & (block_row < size["block_rows"])),
                b.loop(i64(b, 0), size["kernel_width"], name="tap") as tap_column,
            ):
                tap = plane * taps + tap_row * size["kernel_width"] + tap_column
                source = (tap * size["block_rows"] + block_row) * size["block_columns"]
                shift = tap_column * size["dilation_width"] - size["pad_left"]
                blocks = b.gep(x, source, element.llvm_element)
                if is_adjacent:
                    add_row(b, blocks, line, shift, size, vector)
                else:
                    add_elements(b, blocks, line, shift, size, element)
    return b.build_module(name)


def add_row(
    b: KernelBuilder, blocks: str, line: str, shift: LLVMValue, size: dict[str, LLVMValue], vector: LLVMType
) -> None:
    """Adds blocks[i] to line[i + shift] for all i for which the latter is in the image."""
    first = b.select(shift > 0, shift, i64(b, 0))
    end = b.min(size["width"], size["block_columns"] + shift)
    element = vector.llvm_element
    for i, mask in loop_vectors(b, first, end, vector.lanes):
        address = b.gep(line, i, element)
        value = load_typed(b, vector, b.gep(blocks, i - shift, element), mask)
        store_vector(b, load_typed(b, vector, address, mask) + value, address, mask)


def add_elements(
    b: KernelBuilder, blocks: str, line: str, shift: LLVMValue, size: dict[str, LLVMValue], element: LLVMType
) -> None:
    """Adds blocks[i] to line[i * stride + shift] for all i for which the latter is in the image."""
    with b.loop(i64(b, 0), size["block_columns"], name="block") as block:
        column = block * size["stride_width"] + shift
        with b.if_then((column >= 0) & (column < size["width"])):
            value = load_at(b, blocks, block, element.element)
            store_at(b, line, column, load_at(b, line, column, element.element) + value)
