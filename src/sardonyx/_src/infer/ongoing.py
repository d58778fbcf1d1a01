"""An inference that goes on while its model is edited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sardonyx._src.errors import InferenceError
from sardonyx._src.infer.body import Body
from sardonyx._src.infer.findings import Findings
from sardonyx._src.infer.plan import Plan
from sardonyx._src.infer.walk import model_walk, run
from sardonyx._src.infer.witness import Asker
from sardonyx._src.io.load import without_collection
from sardonyx._src.io.nesting import nesting_limited
from sardonyx._src.ir.graph import Model, Node, Value
from sardonyx._src.ir.tensors import Tensor
from sardonyx._src.ir.types import Type
from sardonyx._src.ops.inference import Known


class Refusals:
    """A witness that notes the nodes that their operators refuse."""

    def __init__(self) -> None:
        self.nodes: set[Node] = set()

    def asked(
        self,
        asker: Asker,
        node: Node,
        plan: Plan | None,
        types: Sequence[Type | None],
        fault: InferenceError | None,
    ) -> Sequence[Type | None]:
        if fault is not None:
            self.nodes.add(node)
        else:
            self.nodes.discard(node)
        return types

    def declared(
        self, value: Value, producer: Node, declared: Type, found: Type, fault: InferenceError | None
    ) -> None:
        """What a model says of a value says nothing against the node that makes it."""


class Ongoing:
    """Types and known elements of a model's values; new nodes are typed one by one.

    Contradictions between what is declared and what operators make raise nothing: the operators are believed.
    """

    def __init__(self, model: Model) -> None:
        """Nothing is typed before `walk`."""
        self.errors: list[InferenceError] = []
        self.refusals = Refusals()
        self.findings = Findings(model, self.errors, witness=self.refusals)

    def walk(self) -> None:
        """Types all values, as `infer` does."""
        with without_collection(), nesting_limited():
            run(model_walk(self.findings.model, self.findings))
            self.findings.settle()

    def node(self, node: Node, imports: Mapping[str, int]) -> None:
        """Types the outputs of a node whose inputs are typed, and what is inside it; `imports` are those it goes by."""
        run(Body(self.findings, imports).node(node, None))

    def refuses(self, node: Node) -> bool:
        """Whether the node's operator does not take what the node gives it, so that it cannot run."""
        return node in self.refusals.nodes

    def elements(self, value: Value | None) -> Known | None:
        """What is known of a small tensor's elements: numbers, or an object array of int, Expr and None."""
        return self.findings.elements.get(value)

    def put(self, value: Value, found: Known | Tensor | None) -> None:
        """Notes elements, as of a new constant; None: nothing is known of them any more."""
        self.findings.elements.put(value, found)

    def forget(self, value: Value) -> None:
        """Leaves nothing of what was found for a value, type included."""
        value.type = None
        self.findings.declared.pop(value, None)
        self.put(value, None)
