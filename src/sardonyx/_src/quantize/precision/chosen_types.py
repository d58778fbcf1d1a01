"""Results whose element type no input of the same type variable determines: an attribute does, or all inputs together."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Attribute, Node, Tensor, TensorType, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.quantize.precision.element_types import converted, dtype_of, with_dtype
from sardonyx._src.quantize.precision.type_groups import TypeGroup, TypeGroups
from sardonyx._src.schema import OpSchema

TYPE_ATTRIBUTES = ("to", "dtype")  # integers that state the element type of a result
FILL_ATTRIBUTE = "value"  # a tensor of one element that fills a result


def choose_types(groups: TypeGroups) -> None:
    """Finds out for each group of results alone how it gets the new type, and keeps the type of those that cannot."""
    for group in list(groups.all):
        node = group.node
        is_merged = node is None or group not in groups.by_node[node]
        if not is_merged and node is not None and not group.reads and not group.why and not node.subgraphs:
            choose_type(groups, group, node)


def choose_type(groups: TypeGroups, group: TypeGroup, node: Node) -> None:
    operator = groups.edit.operator_of(node)
    assert operator is not None, f"{node!r} has groups of its type variables"
    attributes = type_attributes(node, operator.schema, groups.change.target)
    if attributes and gets_type(groups, group, node, attributes, node.inputs):
        group.attributes = attributes
        return
    inputs = [changed_value(groups, value) for value in node.inputs]
    if not gets_type(groups, group, node, {}, inputs):
        group.keep("its operator gives the result this type")
        return
    others = [other for other in groups.by_node[node] if other is not group]
    for other in others:
        groups.merge(other, group)


def type_attributes(node: Node, schema: OpSchema, target: DataType) -> dict[str, Attribute]:
    """The attributes that would give the result of a node a type; none if its schema has no such attribute."""
    for name in TYPE_ATTRIBUTES:
        if name in schema.attributes and schema.attributes[name].type == "INT":
            return {name: Attribute(name, AttributeType.INT, int(target))}
    declared = schema.attributes.get(FILL_ATTRIBUTE)
    if declared is None or declared.type != "TENSOR":
        return {}
    fill = node.attributes.get(FILL_ATTRIBUTE)
    tensor = (
        fill.value
        if fill is not None and isinstance(fill.value, Tensor)
        else Tensor.of([0.0], DataType.FLOAT)
    )
    return {
        FILL_ATTRIBUTE: Attribute(
            FILL_ATTRIBUTE, AttributeType.TENSOR, converted(tensor, target, tensor.name)
        )
    }


def gets_type(
    groups: TypeGroups,
    group: TypeGroup,
    node: Node,
    attributes: dict[str, Attribute],
    inputs: Sequence[Value | None],
) -> bool:
    """Whether inference gives the results of a group the new type, with these attributes and inputs."""
    outputs = [Value(value.name) for value in node.outputs]
    trial = Node(node.op_type, inputs, outputs, {**node.attributes, **attributes}, domain=node.domain)
    groups.edit.facts.infer_node(trial, groups.edit.imports_of(node))
    trial.set_inputs(())
    types = [outputs[value.index].type for value in group.results]
    return all(dtype_of(type) is groups.change.target for type in types)


def changed_value(groups: TypeGroups, value: Value | None) -> Value | None:
    """A value of the new type in the place of another one."""
    if value is None or not groups.is_affected(value) or not isinstance(value.type, TensorType):
        return value
    return Value(value.name, with_dtype(value.type, groups.change.target))
