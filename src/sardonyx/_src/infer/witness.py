"""Who is told what an inference asks and finds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sardonyx._src.errors import InferenceError
from sardonyx._src.infer.plan import Plan
from sardonyx._src.infer.question import Question
from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.ir.types import Type


class Asker(Protocol):
    """What can put the question again that a node asks its operator."""

    def question(self, node: Node, plan: Plan) -> Question: ...


class Witness(Protocol):
    """Told of the nodes in the order of the walk; those of subgraphs and functions may come several times."""

    def asked(
        self,
        asker: Asker,
        node: Node,
        plan: Plan | None,
        types: Sequence[Type | None],
        fault: InferenceError | None,
    ) -> Sequence[Type | None]:
        """A node, the answer of its operator or why it refuses; returns the types with which the walk goes on.

        Without a plan the node calls a function, or nobody knows its operator.  Nodes that hand out a tensor of
        their own are not told.
        """
        ...

    def declared(
        self, value: Value, producer: Node, declared: Type, found: Type, fault: InferenceError | None
    ) -> None:
        """A value with a declared type and what its producer makes; `fault` when the two contradict each other."""
        ...
