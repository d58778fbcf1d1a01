"""Observers of type inference: called for each node and each declared type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from sardonyx._src.errors import InferenceError
from sardonyx._src.infer.context import NodeInferenceContext
from sardonyx._src.infer.plan import InferencePlan
from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.ir.types import Type
from sardonyx._src.ops.inference import DimPair


class ContextFactory(Protocol):
    """Builds the context that the operator of a node is called with, and tells what its call required.

    is_certain: whether a run of the model may not pass the node by, as one in a branch.
    """

    @property
    def is_certain(self) -> bool: ...

    def new_context(self, node: Node, plan: InferencePlan) -> NodeInferenceContext: ...

    def equal_dims(self, node: Node) -> Sequence[DimPair]: ...


@runtime_checkable
class InferenceObserver(Protocol):
    """Called in the order of the walk; nodes of subgraphs and functions may be reported several times."""

    def on_node(
        self,
        contexts: ContextFactory,
        node: Node,
        plan: InferencePlan | None,
        types: Sequence[Type | None],
        error: InferenceError | None,
    ) -> Sequence[Type | None]:
        """Reports a node with its output types, or the error of its operator; returns the types to continue
        with.

        plan: None where the node calls a function or its operator is unknown.  Constants that hold a tensor
        are not reported.
        """
        ...

    def on_declared_type(
        self,
        contexts: ContextFactory,
        value: Value,
        producer: Node,
        declared: Type,
        inferred: Type,
        error: InferenceError | None,
    ) -> None:
        """Reports a value with a declared type and the type inferred for it; `error` if they contradict each
        other."""
        ...
