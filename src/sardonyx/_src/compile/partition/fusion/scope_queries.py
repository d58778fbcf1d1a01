"""Adapts a partition scope to the pattern matcher of rewrite passes, so that the compiler's patterns can be text as well."""

from __future__ import annotations

from collections.abc import Mapping

from sardonyx._src.compile.partition import Scope
from sardonyx._src.compile.partition.fusion.elementwise_operands import scalar_constant
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Node, Value
from sardonyx._src.ops.registry import find
from sardonyx._src.rewrite.engine.view import ResolvedOperator


@dataclass(frozen=True, slots=True)
class ScopeQueries:
    """The `GraphQueries` of a scope."""

    scope: Scope

    def operator_of(self, node: Node) -> ResolvedOperator | None:
        bound, op = self.scope.bind_node(node), find(node.domain, node.op_type)
        return None if bound is None or op is None else ResolvedOperator.of(bound.schema, op)

    def is_a(self, node: Node | None, op_type: str, domain: str = "") -> bool:
        if node is None or (node.op_type, node.domain) != (op_type, domain):
            return False
        return self.operator_of(node) is not None

    def attributes(self, node: Node) -> Mapping[str, object]:
        bound = self.scope.bind_node(node)
        assert bound is not None, f"{node!r} has no known operator"
        return bound.attributes

    def is_internal(self, value: Value) -> bool:
        return value not in self.scope.outputs and not value.is_graph_output

    def scalar(self, value: Value | None) -> float | None:
        return scalar_constant(self.scope.constant(value))

    def rank(self, value: Value | None) -> int | None:
        shape = self.scope.shape(value)
        return None if shape is None else len(shape)
