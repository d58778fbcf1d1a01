"""Max, average and Lp pooling of dense planes of floats: the rows under a window are reduced first, then its columns.

    for block of rows of results (units of work):
        for row: for vector of columns of x: for tap row: combine; store in a line in scratch
        for row: for vector of results: for tap column: combine elements of the line

Lines begin and end with padding, so that no window needs a mask.  Those of a block are written before the first one is read,
since a load that is not aligned with the stores before it waits for these.  `plane_pooling` gathers each tap, and also has
positions of maxima, bytes and three dims; `pooling` has channels in its lanes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from sardonyx._src.compile.codegen import (
    I64,
    Element,
    LLVMType,
    LLVMValue,
    MemoryLocation,
    Parameters,
    Target,
)
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.channels_last.sliding_window_loops import tap_range
from sardonyx._src.compile.kernels.loops.lanes import shuffle
from sardonyx._src.compile.kernels.loops.memory import load_at, load_lanes, load_vector_at, store_at
from sardonyx._src.compile.kernels.loops.rows import (
    full_vector_type,
    lane_numbers,
    loop_vector_blocks,
)
from sardonyx._src.compile.kernels.loops.vectors import i64
from sardonyx._src.compile.kernels.pooling.pooling import PoolingAlgorithm, maximum
from sardonyx._src.compile.kernels.tuning import ReductionTuning
from sardonyx._src.compile.program import Kernel, Step, TensorView, Window
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import ceil_div, dim_max, dim_product

SIZES = (
    "height", "width", "out_height", "out_width", "pad_top", "pad_bottom", "pad_left", "pad_right", "line",
    "lines",
)  # fmt: skip
PARAMETERS = Parameters("x", "y", *SIZES)
LINE_TYPES: dict[DataType, Element] = {DataType.FLOAT: "float", DataType.DOUBLE: "double"}
MAX_VECTOR_BYTES = 64  # of the widest target
MAX_UNROLLED_TAPS = 8
BLOCK_ELEMENTS = 2048  # of the lines of a block, which stay in the level-1 cache


@dataclass(frozen=True, slots=True)
class LineVariant:
    """The specialization of a kernel.

    rows, columns: the number of taps, the stride and the dilation of a window along each axis.
    """

    algorithm: PoolingAlgorithm
    element: Element
    rows: tuple[int, int, int]
    columns: tuple[int, int, int]

    @property
    def key(self) -> str:
        window = "_".join(map(str, (*self.rows, *self.columns)))
        return f"pool_lines:{self.algorithm.key}:{self.element}:{window}"


def line_pooling_step(x: TensorView, y: TensorView, algorithm: PoolingAlgorithm, window: Window) -> Step:
    """The pooling of x [..., H, W] into y [..., Ho, Wo], both dense, of one type of floats; an Lp norm is of order 1 or 2."""
    (height, width), (out_height, out_width) = x.shape[-2:], y.shape[-2:]
    rows, columns = zip(window.kernel, window.strides, window.dilations, strict=True)
    variant = LineVariant(algorithm, LINE_TYPES[x.dtype], rows, columns)
    itemsize = x.dtype.numpy.itemsize
    most_lanes = MAX_VECTOR_BYTES // itemsize
    vectors = ceil_div(out_width, most_lanes)
    (top, left), (bottom, right) = window.begin_pads, window.end_pads
    taps, stride, dilation = columns
    line = dim_max(vectors * (most_lanes * stride) + (taps - 1) * dilation, width + left, 1)
    lines = dim_max(1, BLOCK_ELEMENTS // line)
    return Step(
        Kernel(variant.key, partial(line_pooling_module, variant=variant), PARAMETERS),
        PARAMETERS.pack(
            x=x, y=y, height=height, width=width, out_height=out_height, out_width=out_width,
            pad_top=top, pad_bottom=bottom, pad_left=left, pad_right=right, line=line, lines=lines,
        ),
        dim_product(y.shape[:-1]),
        (x,),
        (y,),
        scratch=(lines * line + vectors * most_lanes) * itemsize,
        flops=y.num_elements * window.num_taps,
        bytes_accessed=x.nbytes + y.nbytes,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class LinePooling:
    """The kernel while it is emitted.

    size: the arguments, by name.
    shares: the address in scratch of 1 / the number of elements of each window of a row, for means.
    """

    b: KernelBuilder
    variant: LineVariant
    size: dict[str, LLVMValue]
    shares: str

    @property
    def vector_type(self) -> LLVMType:
        return full_vector_type(self.b.target, self.variant.element)

    @property
    def padding(self) -> float:
        return self.variant.algorithm.padding_value(LLVMType(self.variant.element))


def line_pooling_module(name: str, target: Target, variant: LineVariant) -> str:
    b = KernelBuilder(target, PARAMETERS)
    x, y = b.pointers("x", "y")
    size = {name: b.integer(name) for name in SIZES}
    shares = b.gep(b.scratch, size["line"] * size["lines"], variant.element)
    kernel = LinePooling(b, variant, size, shares)
    fill_lines(kernel)
    counted = b.new_slot("counted", I64)
    b.store(counted, i64(b, -1))
    readers, writers = (new_cursor(kernel, name) for name in ("read", "written"))
    with b.loop(b.first_unit, b.end_unit + (size["lines"] - 1), size["lines"], "block") as first:
        end = b.min(first + size["lines"], b.end_unit)
        with loop_rows(kernel, readers, first, end) as row:
            source = b.gep(x, row.plane * size["height"] * size["width"], variant.element)
            reduce_rows(kernel, source, row)
        with loop_rows(kernel, writers, first, end) as row:
            if variant.algorithm.averages:
                update_shares(kernel, row, counted)
            reduce_columns(kernel, row, b.gep(y, row.unit * size["out_width"], variant.element))
    return b.build_module(name)


@dataclass(frozen=True, slots=True)
class ResultRow:
    """A row of results.

    unit: its number.
    plane: the plane that it belongs to.
    start: the row of the plane at which its windows begin, which may be outside.
    taps: the tap rows [first, end) that are inside the plane.
    line: the address of its line in scratch: `pad_left` elements of padding, a row of x, and padding.
    """

    unit: LLVMValue
    plane: LLVMValue
    start: LLVMValue
    taps: tuple[LLVMValue, LLVMValue]
    line: str


def new_cursor(kernel: LinePooling, name: str) -> tuple[MemoryLocation, MemoryLocation]:
    """The plane, and the row of its results, of the first unit."""
    b = kernel.b
    plane, row = b.new_slot(f"{name}_plane", I64), b.new_slot(f"{name}_row", I64)
    for slot, number in zip((plane, row), b.udivmod(b.first_unit, kernel.size["out_height"]), strict=True):
        b.store(slot, number)
    return plane, row


@contextmanager
def loop_rows(
    kernel: LinePooling, cursor: tuple[MemoryLocation, MemoryLocation], first: LLVMValue, end: LLVMValue
) -> Iterator[ResultRow]:
    """The loop over the rows of a block, which moves a cursor from row to row: one division for all rows is enough."""
    b, size = kernel.b, kernel.size
    with b.loop(first, end, name="row") as unit:
        plane, row = map(b.load, cursor)
        start = row * kernel.variant.rows[1] - size["pad_top"]
        taps = window_rows(kernel, start, i64(b, 0), size["height"])
        line = b.gep(b.scratch, (unit - first) * size["line"], kernel.variant.element)
        yield ResultRow(unit, plane, start, taps, line)
        is_last = (row + 1).eq(size["out_height"])
        b.store(cursor[0], b.select(is_last, plane + 1, plane))
        b.store(cursor[1], b.select(is_last, i64(b, 0), row + 1))


def window_rows(
    kernel: LinePooling, start: LLVMValue, low: LLVMValue, high: LLVMValue
) -> tuple[LLVMValue, LLVMValue]:
    """The tap rows [first, end) of a window at row `start` that are rows [low, high) of a plane."""
    taps, _, dilation = kernel.variant.rows
    return tap_range(kernel.b, start, low, high, i64(kernel.b, taps), i64(kernel.b, dilation))


def fill_lines(kernel: LinePooling) -> None:
    """Fills all lines with padding."""
    value = kernel.b.constant(kernel.padding, kernel.vector_type)
    count = kernel.size["line"] * kernel.size["lines"]
    for i, _, mask in loop_vector_blocks(kernel.b, count, kernel.vector_type.lanes, 1):
        store_at(kernel.b, kernel.b.scratch, i, value, mask)


def reduce_rows(kernel: LinePooling, plane: str, windows: ResultRow) -> None:
    """Reduces the rows of a plane under a row of windows, element by element, into the line."""
    b, size, vector_type = kernel.b, kernel.size, kernel.vector_type
    unroll = ReductionTuning.row_unroll
    totals = [b.new_slot("total", vector_type) for _ in range(unroll)]
    identity = b.constant(kernel.padding, vector_type)
    for i, count, mask in loop_vector_blocks(b, size["width"], vector_type.lanes, unroll):
        for total in totals[:count]:
            b.store(total, identity)
        for tap in tap_rows(kernel, windows):
            row = b.gep(
                plane, (windows.start + tap * kernel.variant.rows[2]) * size["width"], vector_type.element
            )
            for v, total in enumerate(totals[:count]):
                value = load_vector_at(b, row, i + v * vector_type.lanes, vector_type, mask, kernel.padding)
                value = transform(kernel, value)
                b.store(total, combine(kernel, value, b.load(total)))
        for v, total in enumerate(totals[:count]):
            place = size["pad_left"] + i + v * vector_type.lanes
            store_at(b, windows.line, place, b.load(total), mask)


def tap_rows(kernel: LinePooling, windows: ResultRow) -> Iterator[LLVMValue]:
    """The tap rows inside the plane: code for all rows of a window, and a loop for windows at the edge."""
    b, (first, end), taps = kernel.b, windows.taps, kernel.variant.rows[0]
    if taps <= MAX_UNROLLED_TAPS:
        is_whole = (end - first).eq(taps)
        with b.if_then(is_whole):
            yield from (i64(b, tap) for tap in range(taps))
        first = b.select(is_whole, end, first)
    with b.loop(first, end, name="tap") as tap:
        yield tap


def reduce_columns(kernel: LinePooling, windows: ResultRow, results: str) -> None:
    """Reduces the elements of the line under each window of a row, and stores the results."""
    b, vector_type = kernel.b, kernel.vector_type
    taps, stride, dilation = kernel.variant.columns
    total = b.new_slot("result", vector_type)
    for i, _, mask in loop_vector_blocks(b, kernel.size["out_width"], vector_type.lanes, 1):
        b.store(total, b.constant(kernel.padding, vector_type))
        if taps <= MAX_UNROLLED_TAPS:
            for tap in range(taps):
                value = load_tap(kernel, windows.line, i * stride, tap * dilation)
                b.store(total, combine(kernel, value, b.load(total)))
        else:
            with b.loop(i64(b, 0), i64(b, taps), name="tap") as number:
                value = load_windows(kernel, windows.line, i * stride + number * dilation)
                b.store(total, combine(kernel, value, b.load(total)))
        store_at(b, results, i, finish(kernel, b.load(total), i), mask)


def load_tap(kernel: LinePooling, line: str, first: LLVMValue, offset: int) -> LLVMValue:
    """The element of the line at a constant offset of each window of a vector; windows of stride 2 share the vectors of two taps."""
    b, lanes, element = kernel.b, kernel.vector_type.lanes, kernel.variant.element
    if kernel.variant.columns[1] != 2 or lanes == 1:
        return load_windows(kernel, line, first + offset)
    index = first + (offset - offset % 2)
    low, high = (load_at(b, line, index + part * lanes, element, lanes) for part in range(2))
    return shuffle(b, low, high, range(offset % 2, 2 * lanes, 2))


def load_windows(kernel: LinePooling, line: str, first: LLVMValue) -> LLVMValue:
    """One element of the line for each window of a vector, that of the first one at an index."""
    b, lanes, element = kernel.b, kernel.vector_type.lanes, kernel.variant.element
    stride = kernel.variant.columns[1]
    if stride == 1 or lanes == 1:
        return load_at(b, line, first, element, lanes)
    steps = lane_numbers(b, LLVMType("i64", lanes)) * b.splat(i64(b, stride), lanes)
    return load_lanes(b, line, b.splat(first, lanes) + steps, element)


# --- operations ------------------------------------------------------------------------------


def transform(kernel: LinePooling, value: LLVMValue) -> LLVMValue:
    """The term of an element of x."""
    if kernel.variant.algorithm.kind != "lp":
        return value
    return kernel.b.fabs(value) if kernel.variant.algorithm.p == 1 else value * value


def combine(kernel: LinePooling, value: LLVMValue, total: LLVMValue) -> LLVMValue:
    is_max = kernel.variant.algorithm.kind == "max"
    return maximum(kernel.b, value, total) if is_max else total + value


def finish(kernel: LinePooling, total: LLVMValue, i: LLVMValue) -> LLVMValue:
    """The results of the windows from i on."""
    b, algorithm, vector_type = kernel.b, kernel.variant.algorithm, kernel.vector_type
    if algorithm.averages:
        return total * load_at(b, kernel.shares, i, vector_type.element, vector_type.lanes)
    is_root = algorithm.kind == "lp" and algorithm.p == 2
    return b.call_intrinsic("sqrt", total) if is_root else total


def update_shares(kernel: LinePooling, windows: ResultRow, counted: MemoryLocation) -> None:
    """Computes the shares of a row of windows, if its windows have another number of rows than those of the row before."""
    b, size, taps = kernel.b, kernel.size, windows.taps
    if kernel.variant.algorithm.kind == "mean_with_pads":
        taps = window_rows(kernel, windows.start, -size["pad_top"], size["height"] + size["pad_bottom"])
    count = taps[1] - taps[0]
    with b.if_then(count.ne(b.load(counted))):
        b.store(counted, count)
        with b.loop(i64(b, 0), size["out_width"], name="column") as column:
            elements = count * count_columns(kernel, column)
            store_at(b, kernel.shares, column, 1 / elements.convert("sitofp", kernel.variant.element))


def count_columns(kernel: LinePooling, column: LLVMValue) -> LLVMValue:
    """The number of columns of a window that count for its mean."""
    b, size, variant = kernel.b, kernel.size, kernel.variant
    low, high = i64(b, 0), size["width"]
    if variant.algorithm.kind == "mean_with_pads":
        low, high = -size["pad_left"], size["width"] + size["pad_right"]
    taps, stride, dilation = variant.columns
    start = column * stride - size["pad_left"]
    first, end = tap_range(b, start, low, high, i64(b, taps), i64(b, dilation))
    return end - first
