"""Promotion of half precision to float32: nodes compute in float32, and round their results to half precision.

Each float16 or bfloat16 value that nodes compute with gets a *promoted* value: float32 with the same elements.  A
result is rounded by a Cast to half precision and a Cast back, which later fuse into the surrounding kernels.  So the
results equal the results of the reference kernels, which also compute in float32 and round once.  Half-precision
values remain where something else reads them: callers, fallback operations, and data movement of values that were
never promoted.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.codegen.element_types import HALF_TYPES
from sardonyx._src.compile.prepare.precision_classes import (
    HasLowering,
    PropagationClasses,
    dtype_of,
    has_half_values,
    is_exact_in_half,
    is_half,
)
from sardonyx._src.dtypes import DataType
from sardonyx._src.infer.incremental import IncrementalInference
from sardonyx._src.ir import Attribute, Graph, Model, Node, Shape, Tensor, TensorType, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.names import FreshNames
from sardonyx._src.ir.walk import graphs
from sardonyx._src.schema import lookup

MAX_PROMOTED_ELEMENTS = (
    1 << 14
)  # a constant with more elements stays in half precision, and kernels convert it
CAST_RULES = frozenset({"saturate", "round_mode"})  # attributes that Cast and CastLike share


def promote_half_precision(model: Model, facts: IncrementalInference, has_lowering: HasLowering) -> bool:
    """Rewrites the graphs of a typed model; returns whether anything changed, so that types must be inferred again."""
    has_any = any(has_half_values(n) for graph in graphs(model.graph) for n in graph.nodes)
    if not has_any or not has_cast_lowering(model, has_lowering):
        return False
    names = FreshNames.of_graphs([model.graph])
    promotions = [
        PrecisionPromotion(graph, PropagationClasses(graph, model, facts, has_lowering), names)
        for graph in graphs(model.graph)
    ]
    for promotion in promotions:
        for node in list(promotion.graph.nodes):
            promotion.rewrite(node)
    return True


def has_cast_lowering(model: Model, has_lowering: HasLowering) -> bool:
    """Whether the model's version of Cast has a lowering; versions of some legacy opsets have none."""
    schema = lookup("", "Cast", model.opset_imports.get("", 0))
    return schema is not None and has_lowering("", "Cast", schema.since_version)


class PrecisionPromotion:
    """The promotion of one graph, node by node.

    promoted: for each half-precision value, the float32 value with the same elements.
    """

    def __init__(self, graph: Graph, classes: PropagationClasses, names: FreshNames) -> None:
        self.graph, self.classes, self.names = graph, classes, names
        self.promoted: dict[Value, Value] = {}

    def rewrite(self, node: Node) -> None:
        match self.classes.by_node.get(node):
            case "computes":
                self.promote(node, exact=is_exact_in_half(node))
            case "moves":
                self.promote(node, exact=True)
            case "casts":
                self.rewrite_cast(node)
            case "reads_shape" if (value := node.inputs[0]) is not None and value in self.classes.promoted:
                node.set_input(0, self.promoted[value])

    # --- nodes -------------------------------------------------------------------------------

    def promote(self, node: Node, *, exact: bool) -> None:
        """Replaces a node by the same node in float32; exact: whether its results need no rounding."""
        if node.op_type == "Clip":
            self.add_clip_bounds(node)
        for slot, value in enumerate(node.inputs):
            if value is not None and is_half(value):
                node.set_input(slot, self.promote_value(value))
        outputs = [self.new_output(value) for value in node.outputs]
        promoted = Node(node.op_type, node.inputs, outputs, node.attributes, name=node.name)
        self.graph.insert_before(node, promoted)
        for slot, value in enumerate(node.outputs):
            if not is_half(value):
                promoted.take_output(slot, value)
            elif outputs[slot].name:
                self.round_result(value, outputs[slot], node, exact=exact)
        self.graph.remove(node)

    def add_clip_bounds(self, node: Node) -> None:
        """Gives a Clip its omitted bounds: the limits of its half-precision type, which float32 would exceed."""
        x = node.inputs[0]
        assert x is not None, f"{node!r} has no input"
        import ml_dtypes  # lazy: few models need it

        largest = ml_dtypes.finfo(known_dtype(x).numpy).max
        for slot, limit in ((1, -largest), (2, largest)):
            if slot >= len(node.inputs) or node.inputs[slot] is None:
                constant = self.new_value(x, "limit", shape=())
                constant.initializer = Tensor.of(np.asarray(limit, DataType.FLOAT.numpy))
                node.set_input(slot, self.graph.add_initializer(constant))

    def new_output(self, value: Value) -> Value:
        """The float32 result that replaces a half-precision output; unnamed for other outputs, and for outputs that are not read."""
        is_read = bool(value.name) and (bool(value.uses) or value in self.classes.outputs)
        if not is_half(value) or not is_read:
            return Value("")
        return self.new_value(value, "float")

    def rewrite_cast(self, node: Node) -> None:
        """Rewrites a Cast or CastLike from, to, or between half-precision types."""
        source, y = node.inputs[0], node.outputs[0]
        assert source is not None, f"{node!r} has no input"
        to = known_dtype(y)
        is_same_type = to is dtype_of(source)
        if is_half(source):
            if to is DataType.FLOAT and source not in self.promoted:
                self.promoted[source] = y
                return
            source = self.promote_value(source)
        if to is DataType.FLOAT:
            self.replace(node, Node("Identity", [source], [Value("")], name=node.name))
            return
        if to not in HALF_TYPES:
            cast = cast_node(source, Value(""), to, node.name)
            for name in CAST_RULES & node.attributes.keys():
                cast.set_attribute(node.attributes[name])
            self.replace(node, cast)
            return
        self.round_result(y, source, node, exact=is_same_type)
        self.graph.remove(node)

    def replace(self, node: Node, replacement: Node) -> None:
        self.graph.insert_before(node, replacement)
        replacement.take_output(0, node.outputs[0])
        self.graph.remove(node)

    # --- values ------------------------------------------------------------------------------

    def round_result(self, value: Value, source: Value, node: Node, *, exact: bool) -> None:
        """Inserts the Casts that round the float32 `source` of a half-precision value, before `node`, the former producer.

        exact: whether every element of the source is representable in half precision.
        """
        dtype = known_dtype(value)
        is_read_as_half, is_read_as_float32 = (
            self.classes.is_read_as_half(value),
            self.classes.is_read_as_float32(value),
        )
        if exact or not is_read_as_float32:
            self.promoted[value] = source
        elif is_read_as_half:
            half = self.insert_cast(source, self.new_value(value, "half", dtype), node)
            self.promoted[value] = self.insert_cast(half, self.new_value(value, "wide"), node)
        else:
            self.replace_output(value, source, node)
            self.promoted[value] = self.insert_cast(value, self.new_value(value, "wide"), node)
            return
        if is_read_as_half:
            self.replace_output(value, self.promoted[value], node)
        else:
            value.replace_by(self.promoted[value])

    def promote_value(self, value: Value) -> Value:
        """The promoted value of a half-precision value, which is computed here if there is none yet."""
        if value not in self.promoted:
            literal = value.initializer
            if isinstance(literal, Tensor) and literal.size <= MAX_PROMOTED_ELEMENTS:
                self.promoted[value] = self.promote_constant(value, literal)
            else:
                self.promoted[value] = self.new_value(value, "wide")
                self.insert_after_producer(cast_node(value, self.promoted[value], DataType.FLOAT))
        return self.promoted[value]

    def insert_after_producer(self, node: Node) -> None:
        """Inserts a node right after the producer of its input, so that its result is available to every fusion group."""
        value = node.inputs[0]
        producer = None if value is None else value.producer
        if producer is not None and producer.graph is self.graph:
            self.graph.insert_after(producer, node)
        else:
            self.graph.insert_before(self.graph.nodes[0], node)

    def promote_constant(self, value: Value, literal: Tensor) -> Value:
        promoted = self.new_value(value, "wide")
        promoted.initializer = Tensor.of(literal.numpy().astype(DataType.FLOAT.numpy))
        return self.graph.add_initializer(promoted)

    def new_value(
        self, value: Value, suffix: str, dtype: DataType = DataType.FLOAT, shape: Shape | None = None
    ) -> Value:
        """A value with a fresh name; of the same shape unless another one is passed."""
        assert isinstance(value.type, TensorType), f"{value!r} is not a tensor"
        dims = value.type.shape if shape is None else shape
        return Value(self.names.fresh(f"{value.name}/{suffix}"), TensorType(dtype, dims))

    def insert_cast(self, source: Value, result: Value, node: Node) -> Value:
        """Inserts before the node a Cast that computes a new value."""
        self.graph.insert_before(node, cast_node(source, result, known_dtype(result)))
        return result

    def replace_output(self, value: Value, source: Value, node: Node) -> None:
        """Inserts before the node a Cast that takes over one of its outputs."""
        cast = cast_node(source, Value(""), known_dtype(value), node.name)
        self.graph.insert_before(node, cast)
        cast.take_output(0, value)


def known_dtype(value: Value) -> DataType:
    dtype = dtype_of(value)
    assert dtype is not None, f"{value!r} is not a tensor"
    return dtype


def cast_node(source: Value, result: Value, to: DataType, name: str = "") -> Node:
    return Node("Cast", [source], [result], {"to": Attribute("to", AttributeType.INT, int(to))}, name=name)
