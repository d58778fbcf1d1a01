"""Observers of type inference: called for each node and each declared type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from sardonyx._src.errors import InferenceError
from sardonyx._src.infer.context import NodeInferenceContext
from sardonyx._src.infer.plan import InferencePlan
from sardonyx._src.ir import Node, Type, Value
from sardonyx._src.ops.inference import DimPair


class ContextFactory(Protocol):
    """What an observer may ask about a node."""

    @property
    def is_certain(self) -> bool:
        """Whether every run of the model executes the node; False in a branch."""
        ...

    def new_context(self, node: Node, plan: InferencePlan) -> NodeInferenceContext:
        """The context with which the facets of the node's operator can be called."""
        ...

    def equal_dims(self, node: Node) -> Sequence[DimPair]:
        """The pairs of input sizes that the node's operator requires to be equal."""
        ...


@runtime_checkable
class InferenceObserver(Protocol):
    """Called in the order in which inference visits nodes; nodes of subgraphs and functions may be reported repeatedly."""

    def on_node(
        self,
        contexts: ContextFactory,
        node: Node,
        plan: InferencePlan | None,
        types: Sequence[Type | None],
        error: InferenceError | None,
    ) -> Sequence[Type | None]:
        """Reports a node with its output types, or the error of its operator; returns the types to continue with.

        plan: None if the node calls a function or its operator is unknown.  Constants that hold a tensor are not
        reported.
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
        """Reports a value with its declared and its inferred type.  error: an error if they contradict each other."""
        ...


class NodeObserver:
    """The base of observers of nodes alone, which ignore declared types."""

    def on_declared_type(
        self,
        contexts: ContextFactory,
        value: Value,
        producer: Node,
        declared: Type,
        inferred: Type,
        error: InferenceError | None,
    ) -> None:
        pass
