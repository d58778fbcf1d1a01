"""Layout assignment: the tensors of every region's operands and results, with copies where layouts differ.

A value may be held in several layouts at once: dense, as a view of another value's elements, or with its channels
innermost.  Regions are visited in order.  If a region reads a value in a layout that no tensor of the value has, a
copy is appended to the items; later regions share the copy.  No other stage makes copies between layouts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sardonyx._src.compile.layouts.concat_elision import Concat, ConcatElision
from sardonyx._src.compile.layouts.constants import ConstantPool
from sardonyx._src.compile.layouts.fallback_order import order_fallback_ops
from sardonyx._src.compile.layouts.laid_out import (
    LaidOutGraph,
    LaidOutRegion,
    LayoutCopy,
    LayoutItem,
    SizeWrite,
)
from sardonyx._src.compile.layouts.registry import lay_out_bodies
from sardonyx._src.compile.partition import Alias, FusedEpilogue, Read, Region, RegionGraph
from sardonyx._src.compile.partition.regions.region import Fallback
from sardonyx._src.compile.program import CHANNELS_LAST, DENSE, Buffer, Guard, TensorView, row_major_strides
from sardonyx._src.compile.program.operands.layout import (
    ChannelsLast,
    CustomLayout,
    Follow,
    Layout,
    Permuted,
    UnitStride,
)
from sardonyx._src.compile.program.operands.tensor import (
    channels_first_permutation,
    channels_last_permutation,
    dense_bytes,
    dense_temporary,
)
from sardonyx._src.compile.program.operands.views import slice_axis
from sardonyx._src.compile.program.steps.program import BindSizes, CopyIn, FallbackOp
from sardonyx._src.compile.program.verification.defects import DEFECTS, RefusedRegions
from sardonyx._src.ir import Node, TensorType, Value
from sardonyx._src.ir.dims import Known
from sardonyx._src.ir.walk import captures
from sardonyx._src.phases import phase


@phase("layouts")
def assign_layouts(graph: RegionGraph) -> LaidOutGraph:
    """Assigns tensors to the operands and results of all regions of a model's graph.

    Raises RefusedRegions for a region at which layout assignment fails.
    """
    assignment = LayoutAssignment(graph, ConstantPool())
    inputs = {value: assignment.bind_input(value) for value in graph.scope.graph.inputs}
    for region in graph.regions:
        assignment.place(region)
    outputs = {value: assignment.output_tensor(value) for value in graph.scope.outputs}
    known_inputs = {value: tensor for value, tensor in inputs.items() if tensor is not None}
    items = order_fallback_ops(assignment.items)
    return LaidOutGraph(graph, items, known_inputs, outputs, assignment.constants, assignment.guards)


class LayoutAssignment:
    """The tensors of each value of a graph, and the regions and copies that compute the tensors, in order.

    items: the regions and copies so far.
    tensors: the tensors that hold each value, in one or several layouts.
    destinations: for a subgraph, the tensors that its outputs are written to; None for the graph of a model, whose
        outputs are arrays of callers.
    nodes: the names of the nodes to which the next copies are attributed.
    rounded: the tensors of values that a layout rounds, such as to bfloat16.
    guards: the guards of the regions so far, including regions of bodies.
    bound: the symbols of the sizes that are bound when the next item is executed.
    """

    def __init__(
        self,
        graph: RegionGraph,
        constants: ConstantPool,
        destinations: Mapping[Value, TensorView] | None = None,
    ) -> None:
        self.graph, self.scope, self.constants, self.destinations = (
            graph,
            graph.scope,
            constants,
            destinations,
        )
        self.items: list[LayoutItem] = []
        self.tensors: dict[Value, list[TensorView]] = {}
        self.rounded: dict[tuple[Value, CustomLayout], TensorView] = {}
        self.nodes: tuple[str, ...] = ()
        self.guards: dict[Guard, None] = {}
        self.bound = set(self.scope.sizes)
        self.concat_elision = ConcatElision(graph, self.bound)

    # --- regions -----------------------------------------------------------------------------

    def place(self, region: Region[object]) -> None:
        """Assigns the tensors of a region, and appends it to the items unless it is a view or a Concat."""
        nodes, self.nodes = self.nodes, region.node_names
        self.guards.update(dict.fromkeys(region.guards))
        try:
            self.place_parts(region)
        except DEFECTS as defect:
            node = region.anchor
            raise RefusedRegions(frozenset({node}), "assign_layouts", {node: defect}) from defect
        self.nodes = nodes

    def place_parts(self, region: Region[object]) -> None:
        """Assigns the tensors of a region, by its kind."""
        match region.config:
            case Fallback():
                self.items.append(self.fallback_op(region.anchor))
            case Concat(axis=axis):
                self.place_concat(region.reads, region.writes[0].value, axis)
            case _:
                self.place_kernel(region)
        self.bind_sizes(region)

    def bind_sizes(self, region: Region[object]) -> None:
        """Appends the items that bind the data-dependent sizes of a node's results, unless the region's actions do.

        A result without uses has no value to read sizes from; if it shares sizes with other results, these bind them.
        """
        for value in region.anchor.outputs:
            if not (value.uses or value.is_graph_output):
                continue
            if symbols := self.scope.data_dependent_axes(value):
                assert isinstance(value.type, TensorType), "only tensors have sizes"
                if not region.binds_sizes:
                    self.items.append(BindSizes(value, len(value.type.shape or ()), symbols))
                self.bound.update(symbols.values())

    def place_kernel(self, region: Region[object]) -> None:
        follows = any(self.has_channels_last(read.value) for read in region.reads if read.decides_layout)
        operands = tuple(self.read(read.value, resolve(read.layout, follows)) for read in region.reads)
        epilogue = () if region.epilogue is None else self.read_epilogue(region.epilogue)
        results = tuple(self.write(write.value, resolve(write.layout, follows)) for write in region.writes)
        for alias in region.aliases:
            self.bind_alias(alias)
        if region.kind != "View":
            layouts = tuple(tuple(self.tensors_of(read.value)) for read in region.reads)
            item = LaidOutRegion(region, operands, epilogue, results, follows, layouts)
            bodies = lay_out_bodies(item, self.constants)
            self.items.append(replace(item, bodies=bodies))
            for body in bodies:
                self.guards.update(body.guards)

    def read_epilogue(self, epilogue: FusedEpilogue) -> tuple[TensorView, ...]:
        """The operands of an epilogue: a matrix with the dims of the result, any other operand as a vector."""
        kinds = epilogue.epilogue.operand_layouts[-len(epilogue.reads) :] if epilogue.reads else ()
        operands = []
        for read, shape, kind in zip(epilogue.reads, epilogue.shapes, kinds, strict=True):
            tensor = self.read(read.value, read.layout)
            if kind == "matrix":
                order = channels_last_permutation(len(shape)) if read.layout == CHANNELS_LAST else None
                dims = shape if order is None else tuple(shape[i] for i in order)
                operands.append(broadcast_to(tensor, dims))
            else:
                operands.append(tensor.reshape((tensor.num_elements,)))
        return tuple(operands)

    def bind_alias(self, alias: Alias) -> None:
        """Binds a result to views of every tensor of its source; a copy where no strides express it."""
        tensors = self.tensors_of(alias.source)
        views = [view for tensor in tensors if (view := alias.view(tensor)) is not None]
        if not views and (copy := self.copy_for_alias(alias, tensors[0])) is not None:
            views = [copy]
        if not views:
            # Equal numbers of elements may be guarded rather than proved.
            views = [self.read(alias.source, DENSE).reshape(self.scope.known_shape(alias.value))]
        self.tensors[alias.value] = views

    def copy_for_alias(self, alias: Alias, source: TensorView) -> TensorView | None:
        """A channels-last copy for a Reshape of a channels-last tensor that splits or merges channels; None in other cases."""
        shape = self.scope.known_shape(alias.value)
        if alias.inverse is None or len(shape) < 3 or source.rank == 0 or source.strides[-1] == 1:
            return None
        result = CHANNELS_LAST.allocate(source.dtype, shape, alias.value.name)
        target = alias.inverse(result, source.shape)
        if target is None:
            return None
        self.items.append(LayoutCopy(alias.value, source, target, self.nodes))
        return result

    def place_concat(self, reads: tuple[Read, ...], value: Value, axis: int) -> None:
        """Copies those inputs of a Concat into its output that concat elision has not placed there already."""
        for read in reads:
            self.tensors_of(read.value)  # a deferred input, too, may be written directly into its slice
        output = self.concat_elision.outputs.get(value)
        if output is None:
            channels_last = axis == 1 and any(self.has_channels_last(read.value) for read in reads)
            result = self.write(value, CHANNELS_LAST if channels_last else DENSE)
            output = result.permute(channels_first_permutation(result.rank)) if channels_last else result
        start: Known = 0
        for read in reads:
            size = self.scope.known_shape(read.value)[axis]
            target = slice_axis(output, axis, start, size)
            if not self.concat_elision.is_elided(read.value, value):
                self.items.append(LayoutCopy(read.value, self.tensors_of(read.value)[0], target, self.nodes))
            start = start + size
        self.tensors[value] = [output]

    def fallback_op(self, node: Node) -> FallbackOp:
        """The call of the node's reference kernel, with the tensors of the inputs that native steps compute."""
        read = [value for value in node.inputs if value is not None]
        inside = {value for graph in node.subgraphs for value in captures(graph)}
        read += sorted(inside, key=lambda value: value.name)
        for value in read:
            is_lazy = value in self.scope.deferred or self.scope.size_elements(value) is not None
            if not self.tensors.get(value) and is_lazy:
                self.tensors_of(value)
        native = [v for v in dict.fromkeys(read) if v.initializer is None and self.tensors.get(v)]
        # A body may read a captured value many times: one dense copy is cheaper than many strided reads.
        return FallbackOp(
            node, {v: self.read(v, DENSE) if v in inside else self.tensors[v][0] for v in native}
        )

    # --- reading -----------------------------------------------------------------------------

    def read(self, value: Value, layout: Layout) -> TensorView:
        """The value in a layout, by a copy if no tensor of it has the layout."""
        if isinstance(layout, CustomLayout) and layout.element is not None:
            return self.read_rounded(value, layout)
        tensors = self.tensors_of(value)
        for tensor in tensors:
            if (view := layout.view(tensor)) is not None:
                return view
        if isinstance(layout, UnitStride):
            return self.read(value, layout.otherwise)
        target = layout.allocate(tensors[0].dtype, tensors[0].shape, value.name)
        self.items.append(LayoutCopy(value, tensors[0], target, self.nodes))
        tensors.append(target)
        view = layout.view(target)
        assert view is not None, f"a new tensor of layout {layout} must have it"
        return view

    def read_rounded(self, value: Value, layout: CustomLayout) -> TensorView:
        """The value rounded to the element type of a layout; all regions that read it in this layout share the tensor."""
        target = self.rounded.get((value, layout))
        if target is None:
            source = self.read(value, layout.otherwise)
            target = layout.allocate(source.dtype, source.shape, value.name)
            self.items.append(LayoutCopy(value, source, target, self.nodes))
            self.rounded[value, layout] = target
        view = layout.view(target)
        assert view is not None, f"a new tensor of layout {layout} must have it"
        return view

    def tensors_of(self, value: Value) -> list[TensorView]:
        """The tensors that hold a value; a deferred value is computed at its first use."""
        deferred = self.scope.deferred.get(value)
        if not self.tensors.get(value) and deferred is not None and self.scope.constant(value) is None:
            self.place(deferred)
        if not self.tensors.get(value):
            self.tensors[value] = [self.first_tensor(value)]
        return self.tensors[value]

    def first_tensor(self, value: Value) -> TensorView:
        """A dense tensor of a value that has no tensor: a constant, sizes of inputs, or a copy of a fallback's result."""
        elements = self.scope.constant(value)
        if elements is not None:
            return self.constants.tensor(elements, (value, "plain"))
        tensor = dense_temporary(self.scope.dtype(value), self.scope.known_shape(value), value.name)
        sizes = self.scope.size_elements(value)
        if sizes is None:
            self.items.append(CopyIn(value, tensor))
        else:
            self.items.append(SizeWrite(value, sizes, tensor, self.nodes))
        return tensor

    def has_channels_last(self, value: Value) -> bool:
        """Whether the value is held with its channels innermost, and not dense in its own order."""
        tensors = self.tensors.get(value, [])
        if not tensors or tensors[0].rank <= 2:
            return False
        return any(CHANNELS_LAST.view(t) is not None and not t.is_dense for t in tensors)

    # --- writing -----------------------------------------------------------------------------

    def write(self, value: Value, layout: Layout) -> TensorView:
        """A tensor for a result, as the kernel sees it: a slice of a Concat's output, an output, or a temporary."""
        if isinstance(layout, CustomLayout) and not self.is_free(value):
            layout = layout.otherwise
        shape, dtype = self.scope.known_shape(value), self.scope.dtype(value)
        tensor = None
        if isinstance(layout, ChannelsLast) and len(shape) > 2:
            tensor = self.concat_elision.slice_of(value) or layout.allocate(dtype, shape, value.name)
        elif isinstance(layout, CustomLayout | Permuted):
            tensor = layout.allocate(dtype, shape, value.name)
        else:
            tensor = self.allocate(value)
        self.tensors[value] = [tensor]
        view = layout.view(tensor)
        assert view is not None, f"a new tensor of layout {layout} must have it"
        return view

    def is_free(self, value: Value) -> bool:
        """Whether a region may choose the layout of a result: it is no output, and no input of a Concat that may be elided."""
        return value not in self.scope.outputs and value not in self.concat_elision.concats

    def allocate(self, value: Value) -> TensorView:
        """A dense tensor for a value: the output itself, or a temporary."""
        shape, dtype = self.scope.known_shape(value), self.scope.dtype(value)
        if value not in self.scope.outputs:
            return dense_temporary(dtype, shape, value.name)
        if self.destinations is not None:
            return self.destinations.get(value) or dense_temporary(dtype, shape, value.name)
        buffer = Buffer("output", dense_bytes(dtype, shape), value.name)
        return TensorView(dtype, shape, row_major_strides(shape), buffer)

    def bind_input(self, value: Value) -> TensorView | None:
        """Binds an input of the graph to a tensor; None if kernels cannot read it."""
        shape = self.scope.shape(value)
        if shape is None:
            return None
        dtype = self.scope.dtype(value)
        buffer = Buffer("input", dense_bytes(dtype, shape), value.name)
        tensor = TensorView(dtype, shape, row_major_strides(shape), buffer)
        self.tensors[value] = [tensor]
        return tensor

    def output_tensor(self, value: Value) -> TensorView | None:
        """The tensor of an output that callers receive; None if a fallback computes it."""
        self.nodes = (value.name,)
        if value in self.scope.deferred:
            self.tensors_of(value)
        tensors = self.tensors.get(value, [])
        for tensor in tensors:
            if tensor.buffer.role == "output" and tensor.buffer.name == value.name:
                return tensor
        sizes = None if tensors else self.scope.size_elements(value)
        if not tensors and sizes is None:
            return None
        output = self.allocate(value)
        if sizes is None:
            self.items.append(LayoutCopy(value, tensors[0], output, self.nodes))
        else:
            self.items.append(SizeWrite(value, sizes, output, self.nodes))
        return output


def resolve(layout: Layout, channels_last: bool) -> Layout:
    """The layout; for a `Follow`, the layout that it chooses."""
    return layout.choose(channels_last=channels_last) if isinstance(layout, Follow) else layout


def broadcast_to(tensor: TensorView, shape: tuple[Known, ...]) -> TensorView:
    """A tensor with leading dims of stride 0, and the dims of the result."""
    lead = len(shape) - tensor.rank
    return replace(tensor, shape=shape, strides=(0,) * lead + tensor.strides)
