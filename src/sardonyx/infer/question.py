"""What one node asks its operator, and the answers that hold for every node that asks the same."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np

from sardonyx.infer.elements import Elements, may_be_small
from sardonyx.ir.attributes import AttributeType
from sardonyx.ir.dims import Dim
from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.ir.types import TensorType, Type
from sardonyx.ops.api import InferFacet, Kernel, Operator, ValueFacet
from sardonyx.ops.bind import plan_of
from sardonyx.ops.inference import Inference, Known, Result
from sardonyx.schema import OpSchema

Key = tuple[Hashable, ...]


@dataclass(slots=True)
class Question(Inference):
    """An Inference that looks elements up when a facet asks for them, and notes what the answer depends on."""

    values: Sequence[Value | None] = ()
    elements: Elements = field(default_factory=Elements)
    asked: tuple[int, ...] = ()  # inputs whose elements a facet has asked for
    is_unique: bool = False  # whether the answer has symbols of its own, or comes of a subgraph
    at: int = 0  # the output that a value facet is asked about
    looked: bool = False  # whether it has looked which one that is

    def value(self, i: int) -> Known | None:
        if i not in self.asked:
            self.asked = (*self.asked, i)
        return self.elements.get(self.values[i]) if i < len(self.values) else None

    def new_dim(self) -> Dim:
        self.is_unique = True
        return Inference.new_dim(self)

    def subgraph(
        self, name: str, inputs: Sequence[Type | None], known: Sequence[Known | None] = ()
    ) -> list[Type | None] | None:
        self.is_unique = True
        return Inference.subgraph(self, name, inputs, known)

    def subgraph_elements(self, name: str) -> Sequence[Known | None] | None:
        graph = self.attributes.get(name)
        return [self.elements.get(v) for v in graph.outputs] if isinstance(graph, Graph) else None

    def output(self) -> int:
        self.looked = True
        return self.at


class Answer:
    """Types of a node's outputs, and whether one may be small enough for its elements to be known."""

    __slots__ = ("may_be_small", "types")

    def __init__(self, found: Result) -> None:
        if isinstance(found, TensorType):
            self.types: Sequence[Type | None] = (found,)
            self.may_be_small = may_be_small(found)
        else:
            self.types = found if isinstance(found, Sequence) else (found,)
            self.may_be_small = any(map(may_be_small, self.types))


Answers = dict[Key | None, Answer | tuple[int, ...]]


class Plan:
    """An operator in one version, ready to be asked about many nodes."""

    __slots__ = ("answers", "attributes", "finds_elements", "infer", "kernel", "value", "version")

    def __init__(
        self, op: Operator, schema: OpSchema, infer: InferFacet, answers: dict[Key, Answers]
    ) -> None:
        """`answers` of all plans: operators that share a facet and its defaults share what it answers."""
        version = self.version = schema.since_version
        self.attributes = plan_of(schema)
        self.infer = infer
        self.value: ValueFacet | None = op.values.get(version)
        self.kernel: Kernel | None = None
        has_subgraphs = AttributeType.GRAPH in self.attributes.kinds.values()
        if (self.value is not None or op.elementwise) and not op.is_random and not has_subgraphs:
            self.kernel = op.kernels.get(version)
        self.finds_elements = self.value is not None or self.kernel is not None
        self.answers = answers.setdefault((infer, version, *self.attributes.defaults.items()), {})

    def key(self, node: Node) -> Key | None:
        """What the answer depends on: the number of outputs, input types, attributes.

        None where a call decides attributes, and where they have a fault, for which no other node's answer will do.
        """
        key: list[Hashable] = [len(node.outputs)]
        for value in node.inputs:
            key.append(0 if value is None else value.type)
        if node.attributes:
            kinds = self.attributes.kinds
            for name, attribute in node.attributes.items():
                if attribute.ref or kinds.get(name) is not attribute.type:
                    return None
                key.append(name)
                key.append(attribute.value)
        return tuple(key)

    def recall(self, key: Key | None, node: Node, elements: Elements) -> Answer | None:
        """The answer to an earlier question like this one.

        For a key whose answers depend on elements of inputs as well, those inputs are on record.
        """
        found = self.answers.get(key)
        if key is not None and isinstance(found, tuple):
            found = self.answers.get(extended(key, found, node, elements))
        assert not isinstance(found, tuple), "a key is extended once"
        return found

    def remember(self, key: Key | None, question: Question, answer: Answer, node: Node) -> None:
        """Keeps an answer for nodes that ask the same."""
        if key is None or question.is_unique:
            return
        if question.asked:
            before = self.answers.get(key)
            asked = tuple(sorted({*question.asked, *(before if isinstance(before, tuple) else ())}))
            self.answers[key] = asked
            key = extended(key, asked, node, question.elements)
        self.answers[key] = answer


def extended(key: Key, asked: Sequence[int], node: Node, elements: Elements) -> Key:
    """The key with the elements of some inputs."""
    inputs = node.inputs
    return key, *[content(elements.get(inputs[i])) if i < len(inputs) else None for i in asked]


def content(known: Known | None) -> Hashable:
    """Known elements as something that equals that of equal ones."""
    if known is None:
        return None
    content = tuple(known.reshape(-1).tolist()) if known.dtype == np.object_ else known.tobytes()
    return known.dtype, known.shape, content
