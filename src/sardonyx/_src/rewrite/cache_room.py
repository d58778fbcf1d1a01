"""Caches with room: a cache that grows by Concat becomes the first entries of a larger array, into which new ones are written.

    present = Concat<axis>(past, new)

where `past` is an input and `present` an output, becomes a call of a function whose results are

    present = TensorScatter<axis>(past, new, number of entries)
    entries, _ = Split<axis>(present, [number of entries + number of new ones, the rest])

All nodes that read the former `present` read `entries`, which are views: kernels read them with the stride of the array.  So
a caller that passes one array as `past` and as `present` has only the new entries written.  The number of entries before the
run is the size of a new input, so that sizes stay symbols of the sizes of inputs.  Split has a part of exactly that size,
where a Slice would end with the array, so that the size of a mask is proved to be that of the entries.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Function, Graph, Model, Node, TensorType, Value
from sardonyx._src.ir.build import GraphBuilder
from sardonyx._src.ir.dims import Dim, from_param
from sardonyx._src.ir.model import clone
from sardonyx._src.ir.names import FreshNames

DOMAIN = "sardonyx.caches"  # of the functions
PLACES = "sardonyx.past_places"  # the new input, bool [entries before the run]; its elements are not read
ROOM = "sardonyx_room"  # the dim of a cache with room
OPSET = 24  # of the functions: the first one with TensorScatter
MIN_IR_VERSION = 8  # of models with functions


def add_cache_room(model: Model) -> Model:
    """A copy of the model whose growing caches have room; the model itself if it has no such caches.

    All of them have equally many entries before a run, as the declared dims must say.
    """
    if model.training or model.functions or PLACES in (value.name for value in model.graph.inputs):
        return model
    if not growing_caches(model.graph):
        return model
    copy = clone(model)
    graph, caches = copy.graph, growing_caches(copy.graph)
    places = graph.add_input(Value(PLACES, TensorType(DataType.BOOL, (caches[0].dim,))))
    names = FreshNames.of_graphs([graph])
    for cache in caches:
        cache.add_room(graph, places, names)
    for axis in {cache.axis for cache in caches}:
        for function in (insertion(axis), sizes_before(axis)):
            copy.functions[function.key] = function
    copy.opset_imports[DOMAIN] = 1
    copy.ir_version = max(copy.ir_version, MIN_IR_VERSION)
    return copy


@dataclass(frozen=True, slots=True)
class GrowingCache:
    """A cache that a Concat continues.

    axis: that of the Concat, at least 1.
    dim: the declared size of the input along the axis.
    """

    past: Value
    concat: Node
    axis: int
    dim: Dim

    def add_room(self, graph: Graph, places: Value, names: FreshNames) -> None:
        """Replaces the Concat, and what is asked for the sizes of the past."""
        self.keep_sizes(graph, places, names)
        (present,), new = self.concat.outputs, self.concat.inputs[1]
        written = Value(names.fresh(f"{present.name}_room"), with_dim(present, self.axis, None))
        entries = Value(names.fresh(f"{present.name}_entries"))
        call = Node(name_of("Insert", self.axis), [self.past, new, places], [written, entries], domain=DOMAIN)
        graph.insert_before(self.concat, call)
        for node, slot in present.uses:
            node.set_input(slot, entries)
        name, place = present.name, graph.outputs.index(present)
        graph.outputs[place] = written
        graph.remove(self.concat)
        written.name = name
        self.past.type = with_dim(self.past, self.axis, from_param(ROOM))

    def keep_sizes(self, graph: Graph, places: Value, names: FreshNames) -> None:
        """Lets nodes that read the sizes of the past read those of its entries."""
        readers = [(node, slot) for node, slot in self.past.uses if node is not self.concat]
        if not readers:
            return
        entries = Value(names.fresh(f"{self.past.name}_sizes"))
        call = Node(name_of("SizesBefore", self.axis), [self.past, places], [entries], domain=DOMAIN)
        graph.insert_before(graph.nodes[0], call)
        for node, slot in readers:
            node.set_input(slot, entries)


def growing_caches(graph: Graph) -> Sequence[GrowingCache]:
    """The caches of a graph that a Concat continues; none if their declared dims may differ."""
    matched = (cache_of(graph, output) for output in graph.outputs)
    caches = [cache for cache in matched if cache is not None]
    dims = {cache.dim for cache in caches}
    return caches if len(dims) == 1 and None not in dims else ()


def cache_of(graph: Graph, output: Value) -> GrowingCache | None:
    """The cache of which an output is the next value; None for another output.

    Besides the Concat, only Shape may read the input, and the output is listed once.
    """
    node = output.producer
    if node is None or (node.domain, node.op_type) != ("", "Concat") or len(node.inputs) != 2:
        return None
    past, axis = node.inputs[0], node.attributes["axis"].value
    if past is None or not graph.has_input(past) or past.initializer is not None or past is node.inputs[1]:
        return None
    if past in graph.outputs or graph.outputs.count(output) > 1 or not isinstance(axis, int):
        return None
    if any(user is not node and (user.domain, user.op_type) != ("", "Shape") for user, _ in past.uses):
        return None
    shape = past.type.shape if isinstance(past.type, TensorType) else None
    if shape is None or axis % len(shape) == 0 or isinstance(shape[axis], int):
        return None
    return GrowingCache(past, node, axis % len(shape), shape[axis])


def with_dim(value: Value, axis: int, dim: Dim) -> TensorType | None:
    """The declared type of a value with another dim; None if it declares none."""
    if not isinstance(value.type, TensorType) or value.type.shape is None:
        return None
    shape = value.type.shape
    return TensorType(value.type.dtype, (*shape[:axis], dim, *shape[axis + 1 :]))


def is_insertion(value: Value) -> bool:
    """Whether a value is a cache with room."""
    node = value.producer
    return node is not None and node.domain == DOMAIN


# --- functions -------------------------------------------------------------------------------


def name_of(base: str, axis: int) -> str:
    return f"{base}{axis}"


def insertion(axis: int) -> Function:
    """past, new, places: the array with the new entries, and its entries so far."""
    b = GraphBuilder(OPSET, name=name_of("Insert", axis))
    past, new, places = (b.graph.add_input(Value(name)) for name in ("past", "new", "places"))
    before = b.Shape(places)
    starts = b.Expand(before, b.Shape(past, start=0, end=1))
    b.graph.outputs.append(b.TensorScatter(past, new, starts, axis=axis))
    (present,) = b.graph.outputs
    total = b.Add(before, b.Shape(new, start=axis, end=axis + 1))
    free = b.Sub(b.Shape(present, start=axis, end=axis + 1), total)
    parts = b.node("Split", [present, b.Concat(total, free, axis=0)], 2, axis=axis)
    b.graph.outputs.append(parts.outputs[0])
    return function_of(b)


def sizes_before(axis: int) -> Function:
    """past, places: a value with the sizes of the entries before the run."""
    b = GraphBuilder(OPSET, name=name_of("SizesBefore", axis))
    past, places = (b.graph.add_input(Value(name)) for name in ("past", "places"))
    sizes = b.Concat(b.Shape(past, end=axis), b.Shape(places), b.Shape(past, start=axis + 1), axis=0)
    b.graph.outputs.append(b.Expand(b.Constant(value_int=0), sizes))
    return function_of(b)


def function_of(builder: GraphBuilder) -> Function:
    function = Function(DOMAIN, builder.graph.name, builder.graph)
    function.opset_imports = dict(builder.imports)
    return function
