"""Replacement of vendors' operators by their bodies, which consist of standard operators."""

from __future__ import annotations

from collections.abc import Collection

from sardonyx._src.convert.converter import Converter
from sardonyx._src.convert.vendor_operators import CLASSICAL_DOMAIN, OperatorName, is_foreign
from sardonyx._src.errors import ConversionError, EvaluationError, InferenceError
from sardonyx._src.ir import Node
from sardonyx._src.ir.walk import nodes
from sardonyx._src.ops.bind import schema_of
from sardonyx._src.ops.registry import find


def replace_operators(converter: Converter, selected: Collection[OperatorName], *, target: int) -> None:
    """Replace the selected operators in the converter's scope by their bodies.

    target: the version of ai.onnx that a scope without an import of it will import.

    An operator that has no body, or none for the types of its inputs, is refused: ConversionError is raised, or appended to
    the converter's errors, and the node stays.
    """
    scope = converter.scope
    calls = [n for root in scope.roots for n in nodes(root) if is_selected(n, selected, converter)]
    for node in calls:
        scope.imports.setdefault("", target)
        replace_node(converter, node, scope.imports[""])
    used = {node.domain for root in scope.roots for node in nodes(root)}
    for domain in {node_domain for node_domain, _ in selected} - used - {""}:
        scope.imports.pop(domain, None)


def is_selected(node: Node, selected: Collection[OperatorName], converter: Converter) -> bool:
    is_call = (node.domain, node.op_type, node.overload) in converter.functions
    is_replaceable = node.domain == CLASSICAL_DOMAIN or is_foreign(node, converter.scope.imports)
    return (node.domain, node.op_type) in selected and is_replaceable and not is_call


def replace_node(converter: Converter, node: Node, target: int) -> None:
    """Replace a node by its operator's body, or refuse it.  target: the version of ai.onnx that the body may use."""
    schema = schema_of(node, converter.scope.imports)
    op = find(node.domain, node.op_type)
    adapter = converter.adapter_of(node, schema, target)
    try:
        if rejection := converter.rejections.get(node):  # the body might accept such a node
            adapter.refuse(f"it is invalid in its own version: {rejection.why}")
        if op is None or schema.since_version not in op.bodies:
            adapter.refuse("no function of standard operators computes it")
        converter.shared = {}
        converter.expand_body(adapter, op)
    except (ConversionError, InferenceError, EvaluationError) as error:
        refused = error if isinstance(error, ConversionError) else adapter.refusal(error.why)
        if converter.errors is None:
            raise refused from None
        converter.errors.append(refused)
