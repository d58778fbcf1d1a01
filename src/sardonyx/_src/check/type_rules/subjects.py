"""The subjects of type rules: a node with its types, a refused call, a declared type of an output, the whole model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TypeAlias, TypeVar

from sardonyx._src.check.engine.api import Finding, Severity, rule
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InferenceError
from sardonyx._src.infer.context import NodeInferenceContext
from sardonyx._src.ir import Function, Graph, Model, Node, Type, Value
from sardonyx._src.ir.dims import Dim
from sardonyx._src.schema import OpSchema


@dataclass(frozen=True, slots=True)
class TypedNode:
    """A node of a known operator.

    inference: gives the input types, the attributes with references resolved, and known elements.
    types: the output types; empty if the operator refused its inputs.
    error: the reason for the refusal, else None.
    """

    node: Node
    schema: OpSchema
    inference: NodeInferenceContext
    types: Sequence[Type | None]
    error: InferenceError | None

    @property
    def name(self) -> str:
        """The operator with its version: `Add-14`."""
        return f"{self.schema.name}-{self.schema.since_version}"

    @property
    def why(self) -> str:
        """Why the operator refuses its inputs, without the name of the operator; "" if it accepts them."""
        return self.error.why.removeprefix(f"{self.schema.name}: ") if self.error is not None else ""


@dataclass(frozen=True, slots=True)
class RefusedCall:
    """A call of a function whose declared input types contradict the arguments."""

    node: Node
    error: InferenceError


@dataclass(frozen=True, slots=True)
class OutputDeclaration:
    """The declared and the inferred type of a node output; `error` is set if they contradict each other."""

    value: Value
    producer: Node
    declared: Type
    inferred: Type
    error: InferenceError | None

    @property
    def path(self) -> str:
        """The path from the node."""
        return f"output[{self.producer.outputs.index(self.value)}]"


@dataclass(frozen=True, slots=True)
class TypedModel:
    """The model with a type on every value.

    declarations: the declared types that differ from the inferred type without contradicting it.
    equal_sizes: a node, and two sizes that its operator requires to be equal.
    path: a function that returns the path from the model to a node's record.
    uncertain: the graphs that a run may not execute, such as branches.
    """

    model: Model
    declarations: Sequence[OutputDeclaration]
    equal_sizes: Sequence[tuple[Node, Dim, Dim]]
    path: Callable[[Node], str]
    uncertain: Collection[Graph]


Subject: TypeAlias = type[TypedNode] | type[RefusedCall] | type[OutputDeclaration] | type[TypedModel]
AnyTypeRule = TypeVar("AnyTypeRule", bound=Callable[..., Iterator[Finding]])
TYPE_RULE_SUBJECTS: dict[str, Subject] = {}  # code of a type rule -> its subject


def type_rule(
    code: str, severity: Severity = "error", *, about: Subject, suppressed_by: str = "", since: int = 0
) -> Callable[[AnyTypeRule], AnyTypeRule]:
    """Registers a rule that runs after type inference, if the structure of the model is sound.

    The path of a finding is relative to the node; for `TypedModel`, to the model.  Other arguments are as for `rule`.
    """
    TYPE_RULE_SUBJECTS[code] = about
    return rule(code, severity, visits=(), suppressed_by=suppressed_by, since=since)


def function_of(node: Node) -> Function | None:
    """The function whose body contains a node."""
    graph = node.graph
    while graph is not None and graph.parent is not None:
        graph = graph.parent.graph
    return graph.function if graph is not None else None
