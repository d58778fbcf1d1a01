"""Propagation classes of half precision: how each node treats its float16 and bfloat16 values.

Kernels compute in float32, so `promote_half` rewrites half-precision models by these classes:
- computes: computes in float32 once promoted;
- moves: copies elements of either type;
- casts: converts from or to half precision;
- reads_shape: reads no elements;
- stays: needs half precision, because it is a fallback operation or has no float32 signature.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from sardonyx._src.compile.codegen.element_types import HALF_TYPES, STORED_ELEMENTS
from sardonyx._src.compile.prepare.bound_node import is_typed
from sardonyx._src.dtypes import DataType
from sardonyx._src.infer.incremental import IncrementalInference
from sardonyx._src.ir import Graph, Model, Node, TensorType, Value
from sardonyx._src.ir.walk import graphs
from sardonyx._src.ops.bind import schema_of
from sardonyx._src.ops.registry import find
from sardonyx._src.schema import OpSchema

HasLowering: TypeAlias = Callable[[str, str, int], bool]  # arguments: domain, name and version of an operator
PropagationClass = Literal["computes", "moves", "casts", "reads_shape", "stays"]


class PropagationClasses:
    """The propagation classes of a graph's nodes, and the values that nodes compute in float32."""

    def __init__(
        self, graph: Graph, model: Model, facts: IncrementalInference, has_lowering: HasLowering
    ) -> None:
        self.model, self.facts, self.has_lowering = model, facts, has_lowering
        self.outputs = {value for each in graphs(model.graph) for value in each.outputs}
        self.by_node: dict[Node, PropagationClass] = {
            node: self.classify(node) for node in graph.nodes if has_half_values(node)
        }
        self.promoted: set[Value] = set()  # half-precision values that are computed in float32, then rounded
        for node, propagation in self.by_node.items():
            if propagation == "moves" and not self.moves_float32(node):
                self.by_node[node] = "stays"
            elif propagation in ("computes", "moves") or (
                propagation == "casts" and is_half(node.outputs[0])
            ):
                self.promoted.update(filter(is_half, node.outputs))

    def moves_float32(self, node: Node) -> bool:
        """Whether a data movement should copy float32: all inputs are promoted, or some are and no reader needs half precision."""
        is_promoted = [value in self.promoted for value in node.inputs if is_half(value)]
        return any(is_promoted) and (all(is_promoted) or not any(map(self.is_read_as_half, node.outputs)))

    def is_read_as_half(self, value: Value) -> bool:
        """Whether a value is read in half precision: by a caller, or by a node that does not compute in float32."""
        return value in self.outputs or any(
            self.by_node.get(node, "stays") == "stays" for node, _ in value.uses
        )

    def is_read_as_float32(self, value: Value) -> bool:
        return any(self.by_node.get(node) in ("computes", "moves", "casts") for node, _ in value.uses)

    def classify(self, node: Node) -> PropagationClass:
        schema, op = self.bound_schema(node), find(node.domain, node.op_type)
        if schema is None or op is None or not all(map(has_known_dims, (*node.inputs, *node.outputs))):
            return "stays"
        if op.casts:
            return "casts" if is_supported_cast(node) else "stays"
        if op.reads_bits or not accepts_float32(node, schema):
            return "stays"
        if op.reads_shape:
            return "reads_shape"
        if not self.has_lowering(node.domain, node.op_type, schema.since_version):
            return "stays"
        if op.is_data_movement(node):
            return "moves"
        return "computes" if op.elementwise or op.computes_in_float32 else "stays"

    def bound_schema(self, node: Node) -> OpSchema | None:
        """The signature of a well-typed node; None for function calls and for nodes with subgraphs."""
        is_function = (node.domain, node.op_type, node.overload) in self.model.functions
        if is_function or node.domain or node.subgraphs or self.facts.is_rejected(node):
            return None
        schema = schema_of(node, self.model.opset_imports)
        return schema if is_typed(node, schema) else None


def dtype_of(value: Value | None) -> DataType | None:
    """The element type of a tensor; None if it is unknown."""
    return value.type.dtype if value is not None and isinstance(value.type, TensorType) else None


def is_half(value: Value | None) -> bool:
    return dtype_of(value) in HALF_TYPES


def has_known_dims(value: Value | None) -> bool:
    """Whether a half-precision value has known dims, without which no kernel can hold it; True for other values."""
    if value is None or not isinstance(value.type, TensorType) or value.type.dtype not in HALF_TYPES:
        return True
    return value.type.shape is not None and None not in value.type.shape


def has_half_values(node: Node) -> bool:
    return any(map(is_half, (*node.inputs, *node.outputs)))


def accepts_float32(node: Node, schema: OpSchema) -> bool:
    """Whether all half-precision inputs may be float32 instead, so that the half-precision outputs become float32, too.

    An input of unknown type must not share a type variable with them: it may turn out to be in half precision.
    """
    inputs = [schema.input(i) for i, value in enumerate(node.inputs) if is_half(value)]
    outputs = [schema.output(i) for i, value in enumerate(node.outputs) if is_half(value)]
    type_variables = {parameter.type for parameter in inputs if parameter is not None}
    unknown = [schema.input(i) for i, value in enumerate(node.inputs) if has_unknown_type(value)]
    if any(parameter is None or parameter.type in type_variables for parameter in unknown):
        return False
    if None in inputs or any(
        parameter is None or parameter.type not in type_variables for parameter in outputs
    ):
        return False
    return all(
        "tensor(float)" in schema.allowed_types(parameter) for parameter in inputs if parameter is not None
    )


def has_unknown_type(value: Value | None) -> bool:
    return value is not None and not isinstance(value.type, TensorType)


def is_exact_in_half(node: Node) -> bool:
    """Whether the results of a node need no rounding to half precision."""
    op = find(node.domain, node.op_type)
    return op is not None and op.exact_in_half


def is_supported_cast(node: Node) -> bool:
    """Whether kernels support both element types of a Cast."""
    return dtype_of(node.inputs[0]) in STORED_ELEMENTS and dtype_of(node.outputs[0]) in STORED_ELEMENTS
