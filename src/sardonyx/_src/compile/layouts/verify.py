"""Verifier of layouts: asserts that the items of a graph read tensors that hold their values, in the layouts requested.

Every check raises AssertionError with the item that violates it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from sardonyx._src.compile.layouts.laid_out import (
    LaidOutBody,
    LaidOutGraph,
    LaidOutRegion,
    LayoutCopy,
    LayoutItem,
    SizeWrite,
)
from sardonyx._src.compile.layouts.verify_elements import Boxes, TensorBoxes, WrittenElements
from sardonyx._src.compile.layouts.verify_sizes import verify_sizes
from sardonyx._src.compile.partition import Read, Write
from sardonyx._src.compile.partition.partitioner.verify_roles import RoleVerifier
from sardonyx._src.compile.partition.regions.region import describe
from sardonyx._src.compile.program import Buffer, TensorView
from sardonyx._src.compile.program.operands.layout import (
    ChannelsLast,
    CustomLayout,
    Dense,
    DenseRows,
    Follow,
    Layout,
    Permuted,
    UnitStride,
)
from sardonyx._src.compile.program.operands.tensor import channels_last_permutation
from sardonyx._src.compile.program.steps.program import BindSizes, CopyIn, FallbackOp
from sardonyx._src.compile.program.verification.size_facts import SizeFacts
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node, Value
from sardonyx._src.ir.dims import Expr, evaluate
from sardonyx._src.phases import phase

Where: TypeAlias = Callable[[], str]  # describes an item, for messages
# Sample sizes of symbolic dims: dims get this size or one of the next two numbers.  Of each row, the first
# size is used that leaves no dim negative.
SAMPLE_SIZES = ((61, 127), (2, 5, 11, 23))


@phase("verify")
def verify_layouts(graph: LaidOutGraph) -> None:
    """Asserts that each tensor is written before it is read, in bounds and by one item, and holds the value it is read for."""
    facts = SizeFacts((*graph.guards, *graph.graph.scope.prepared.guards))
    verify_sizes(graph, facts)
    rows = SAMPLE_SIZES if graph.graph.scope.symbols else SAMPLE_SIZES[:1]
    samples = [sample for firsts in rows if (sample := find_sample(graph, facts, firsts)) is not None]
    verifier = LayoutVerifier(graph, TensorBoxes(samples), facts, {})
    verifier.verify_items(graph.items)
    for value, output in graph.outputs.items():
        verifier.verify_output(value, output)


def find_sample(graph: LaidOutGraph, facts: SizeFacts, firsts: Sequence[int]) -> Mapping[str, int] | None:
    """Sizes that a run may have: the guards hold, and no tensor has a negative dim."""
    symbols, dims = graph.graph.scope.symbols, symbolic_dims(graph.items)
    for first in firsts:
        sizes = facts.sample(symbols, first)
        if sizes is not None and all((evaluate(dim, sizes) or 0) >= 0 for dim in dims):
            return sizes
    return None


def symbolic_dims(items: Sequence[LayoutItem]) -> set[Expr]:
    """The symbolic dims of the tensors of items and of their bodies."""
    dims: set[Expr] = set()
    for item in items:
        for tensor in (*tensors_read(item), *tensors_written(item)):
            dims.update(dim for dim in tensor.shape if isinstance(dim, Expr))
        for body in item.bodies if isinstance(item, LaidOutRegion) else ():
            dims |= symbolic_dims(body.items)
    return dims


class LayoutVerifier:
    """The verification of a graph or of a body.

    tensor_boxes: the elements of tensors at sample sizes.
    facts: answers whether sizes are equal, given the guards of the program.
    written: the elements of each buffer that have been written so far, at each sample.
    own: the buffers that items of this graph or body have written to.
    fallbacks: the nodes executed so far that leave their results in Python.
    """

    def __init__(
        self,
        graph: LaidOutGraph | LaidOutBody,
        tensor_boxes: TensorBoxes,
        facts: SizeFacts,
        written: Mapping[Buffer, tuple[WrittenElements, ...]],
    ) -> None:
        self.scope, self.tensor_boxes, self.facts = graph.graph.scope, tensor_boxes, facts
        self.written, self.own = dict(written), set[Buffer]()
        self.fallbacks: set[Node] = set()

    def verify_items(self, items: Sequence[LayoutItem]) -> None:
        for item in items:
            where = partial(describe_item, item)
            for tensor in tensors_read(item):
                self.verify_read(tensor, where)
            if isinstance(item, LaidOutRegion):
                self.verify_region(item, where)
                for body in item.bodies:
                    self.verify_body(body, where)
            self.verify_values(item, where)
            for tensor in tensors_written(item):
                self.verify_write(tensor, where)
            if isinstance(item, FallbackOp):
                self.fallbacks.add(item.node)
            elif isinstance(item, BindSizes) and item.value.producer is not None:
                self.fallbacks.add(item.value.producer)

    def verify_body(self, body: LaidOutBody, where: Where) -> None:
        """Verifies a body, whose items may read what is written before it, and the tensors that control flow fills for it."""
        verifier = LayoutVerifier(body, self.tensor_boxes, self.facts, self.written)
        for tensors in body.bound.values():
            for tensor in tensors:
                verifier.written.setdefault(tensor.buffer, self.tensor_boxes.none_written)
        verifier.verify_items(body.items)
        for tensor in body.results:
            verifier.verify_read(tensor, lambda: f"{where()}, {body.name}")

    def verify_read(self, tensor: TensorView, where: Where) -> None:
        """The tensor is in bounds; its buffer is filled by callers, by the program, or by an earlier item."""
        is_filled = tensor.buffer.role in ("input", "constant", "status") or tensor.buffer in self.written
        assert is_filled, f"{where()} reads {tensor.buffer.name}, which nothing has written"
        boxes = self.verify_bounds(tensor, where)
        for box, written in zip(boxes, self.written.get(tensor.buffer, ()), strict=False):
            is_complete = box is None or written.may_hold(box)
            assert is_complete, f"{where()} reads {tensor.buffer.name}, of which a part is not written"

    def verify_write(self, tensor: TensorView, where: Where) -> None:
        """The tensor is in bounds, and has no elements that are written already."""
        buffer = tensor.buffer
        assert buffer.role in ("arena", "output"), f"{where()} writes to a buffer of role {buffer.role}"
        boxes = self.verify_bounds(tensor, where)
        if buffer not in self.own:  # copied, since a body must not change the record of the graph around it
            self.own.add(buffer)
            before = self.written.get(buffer, self.tensor_boxes.none_written)
            self.written[buffer] = tuple(written.copy() for written in before)
        for box, written in zip(boxes, self.written[buffer], strict=True):
            is_new = box is None or written.add(box)
            assert is_new, f"{where()} writes elements of {buffer.name} again"

    def verify_bounds(self, tensor: TensorView, where: Where) -> Boxes:
        """The elements of a tensor; asserts that they are inside of its buffer."""
        boxes = self.tensor_boxes.of(tensor)
        for box in boxes:
            if box is not None:
                assert box.is_inside, (
                    f"{where()} accesses {tensor.buffer.name} up to byte {box.end} of {box.buffer_bytes}"
                )
        return boxes

    def verify_region(self, item: LaidOutRegion[object], where: Where) -> None:
        """Operands and results hold the region's values, in the layouts that the region requests."""
        region = item.region
        assert len(item.operands) == len(region.reads), f"{where()} has {len(item.operands)} operands"
        assert len(item.results) == len(region.writes), f"{where()} has {len(item.results)} results"
        ports: tuple[Read | Write, ...] = (*region.reads, *region.writes)
        for port, tensor in zip(ports, (*item.operands, *item.results), strict=True):
            self.verify_port(port, tensor, item, where)
        epilogue = region.epilogue
        reads = () if epilogue is None else epilogue.reads
        assert len(item.epilogue_operands) == len(reads), (
            f"{where()} has {len(item.epilogue_operands)} epilogue operands"
        )
        for read, tensor in zip(reads, item.epilogue_operands, strict=True):
            assert tensor.dtype is self.scope.dtype(read.value), (
                f"{where()}: {read.value.name} has the type {tensor.dtype}"
            )
        if epilogue is not None:
            result = item.results[[write.value for write in region.writes].index(epilogue.result)]
            roles = RoleVerifier(self.scope, region, epilogue, self.facts)
            roles.verify_tensors(item.epilogue_operands, result)

    def verify_port(
        self, port: Read | Write, tensor: TensorView, item: LaidOutRegion[object], where: Where
    ) -> None:
        value, layout = port.value, port.layout
        if isinstance(layout, Follow):
            layout = layout.choose(channels_last=item.channels_last)
        if isinstance(layout, CustomLayout):
            return  # only its kernel family knows the dims and strides
        dims = self.scope.known_shape(value)
        if isinstance(layout, ChannelsLast):
            dims = tuple(dims[i] for i in channels_last_permutation(len(dims)))
        assert self.facts.have_equal_dims(tensor.shape, dims), (
            f"{where()}: {value.name} has dims {dims}, its tensor {tensor.shape}"
        )
        assert tensor.dtype is self.scope.dtype(value), (
            f"{where()}: the tensor of {value.name} has the type {tensor.dtype}"
        )
        assert has_layout(tensor, layout), (
            f"{where()}: the layout of {value.name} is not {layout}: {tensor.strides}"
        )

    def verify_values(self, item: LayoutItem, where: Where) -> None:
        """Copies and writes of sizes have tensors with the dims of the value."""
        match item:
            case LayoutCopy():
                is_rounding = (item.source.dtype, item.target.dtype) == (DataType.FLOAT, DataType.BFLOAT16)
                assert is_rounding or item.source.dtype is item.target.dtype, f"{where()} converts elements"
                assert self.facts.have_equal_dims(item.source.shape, item.target.shape), (
                    f"{where()} has different dims"
                )
            case SizeWrite():
                assert self.facts.are_equal(item.target.num_elements, len(item.sizes)), (
                    f"{where()} has another size"
                )
            case CopyIn():
                assert item.value.producer in self.fallbacks, f"{where()}: no fallback has computed the value"
                dims = self.scope.known_shape(item.value)
                assert self.facts.have_equal_dims(item.tensor.shape, dims), (
                    f"{where()}: the value has dims {dims}"
                )

    def verify_output(self, value: Value, tensor: TensorView | None) -> None:
        """An output is a dense tensor in an output buffer that is written; or none, if a fallback or a caller provides the value."""
        where = f"output {value.name}"
        if tensor is None:
            is_provided = value.producer in (None, *self.fallbacks) or self.scope.shape(value) is None
            assert is_provided, f"{where} has no tensor, and no fallback computes it"
            return
        assert tensor.buffer.role == "output", f"{where} is in a buffer of role {tensor.buffer.role}"
        assert tensor.buffer in self.written, f"{where} is not written"
        assert tensor.is_dense, f"{where} must be dense; got strides {tensor.strides}"
        dims = self.scope.known_shape(value)
        assert self.facts.have_equal_dims(tensor.shape, dims), (
            f"{where} has dims {dims}, its tensor {tensor.shape}"
        )


def describe_item(item: LayoutItem) -> str:
    """A description of an item, for messages."""
    match item:
        case LaidOutRegion():
            return describe(item.region)
        case LayoutCopy():
            return f"copy of {item.value.name} for {' + '.join(item.nodes)}"
        case FallbackOp():
            return f"fallback {item.node.op_type}"
        case BindSizes():
            return f"bind sizes of {item.value.name}"
    return f"{'sizes' if isinstance(item, SizeWrite) else 'copy in'} of {item.value.name}"


def tensors_read(item: LayoutItem) -> Iterator[TensorView]:
    match item:
        case LaidOutRegion():
            yield from (*item.operands, *item.epilogue_operands)
        case LayoutCopy():
            yield item.source
        case FallbackOp():
            yield from item.reads


def tensors_written(item: LayoutItem) -> Sequence[TensorView]:
    match item:
        case LaidOutRegion():
            return item.results
        case LayoutCopy() | SizeWrite():
            return (item.target,)
    return item.writes


# --- tensors ---------------------------------------------------------------------------------


def has_layout(tensor: TensorView, layout: Layout) -> bool:
    """Whether a tensor, as the kernel sees it, has a layout."""
    match layout:
        case Dense():
            return tensor.is_dense
        case DenseRows():
            return tensor.is_dense or tensor.row_stride is not None
        case ChannelsLast(is_dense=is_dense):
            return tensor.is_dense if is_dense else tensor.row_stride is not None
        case UnitStride(axis=axis, otherwise=otherwise):
            return (tensor.rank > 0 and tensor.strides[axis] == 1) or has_layout(tensor, otherwise)
        case Permuted(order=order):
            return tensor.permute(order).is_dense
    return True
