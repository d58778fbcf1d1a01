"""What rules that need types are asked about: a node with what it is given, a declaration, the whole model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from sardonyx._src.check.api import Finding, Severity, rule
from sardonyx._src.errors import InferenceError
from sardonyx._src.infer.question import Question
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.graph import Function, Model, Node, Value
from sardonyx._src.ir.types import Type
from sardonyx._src.schema import OpSchema


@dataclass(frozen=True, slots=True)
class Use:
    """A node of a known operator.

    `given`: types of its inputs, attributes with references replaced, and what is known of elements; `types`: of its
    outputs, none where the operator refuses, for which `fault` has the reason.
    """

    node: Node
    schema: OpSchema
    given: Question
    types: Sequence[Type | None]
    fault: InferenceError | None

    @property
    def name(self) -> str:
        """The operator with its version: `Add-14`."""
        return f"{self.schema.name}-{self.schema.since_version}"

    @property
    def why(self) -> str:
        """Why the operator refuses what it is given, without its name; "" where it does not."""
        return self.fault.why.removeprefix(f"{self.schema.name}: ") if self.fault is not None else ""


@dataclass(frozen=True, slots=True)
class RefusedCall:
    """A call of a function that declares other types for its inputs than it is given."""

    node: Node
    fault: InferenceError


@dataclass(frozen=True, slots=True)
class Declaration:
    """An output of a node: the type that the model declares, and the one that the operator makes.

    `fault` is there where the two contradict each other.
    """

    value: Value
    producer: Node
    declared: Type
    found: Type
    fault: InferenceError | None

    @property
    def at(self) -> str:
        """The place, as seen from the node."""
        return f"output[{self.producer.outputs.index(self.value)}]"


@dataclass(frozen=True, slots=True)
class Typed:
    """The model, with a type on every value.

    `declarations` are those that say something else than the operators; `agreements` have the sizes that operators
    want to be the same.
    """

    model: Model
    declarations: Sequence[Declaration]
    agreements: Sequence[tuple[Node, Dim, Dim]]
    path: Callable[[Node], str]  # to a node's record, from the model on


Subject: TypeAlias = type[Use] | type[RefusedCall] | type[Declaration] | type[Typed]
F = TypeVar("F", bound=Callable[..., Iterator[Finding]])
SUBJECTS: dict[str, Subject] = {}  # code of a rule that needs types -> what it is asked about


def typed(
    code: str, severity: Severity = "error", *, about: Subject, unless: str = "", since: int = 0
) -> Callable[[F], F]:
    """Registers a rule that is asked once the structure of a model is sound, with types at hand.

    A finding's place is seen from the node, of a rule about `Typed` from the model.  For the others see `rule`.
    """
    SUBJECTS[code] = about
    return rule(code, severity, visits=(), unless=unless, since=since)


def function_of(node: Node) -> Function | None:
    """The function in whose body a node stands."""
    graph = node.graph
    while graph is not None and graph.parent is not None:
        graph = graph.parent.graph
    return graph.function if graph is not None else None
