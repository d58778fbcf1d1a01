"""An operator in one version, made ready to be asked about many nodes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cache

from sardonyx._src.infer.answers import MEMORY, Answer, Key, content
from sardonyx._src.infer.elements import Elements
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.graph import Node
from sardonyx._src.ir.types import TensorType, Type
from sardonyx._src.ops.api import InferFacet, Kernel, Operator, ValueFacet
from sardonyx._src.ops.bind import plan_of
from sardonyx._src.schema import OpSchema

# Attributes of other types, as tensors, equal only themselves and hold on to a model's data.
KEYED = frozenset(
    AttributeType[name] for name in ("FLOAT", "INT", "STRING", "FLOATS", "INTS", "STRINGS", "TYPE_PROTO")
)
FAMILIES: dict[Key, object] = {}  # a token for each facet with its version and defaults


class Plan:
    """What a node's operator is asked, and which of its answers hold for other nodes."""

    __slots__ = (
        "attributes",
        "family",
        "finds_elements",
        "has_subgraphs",
        "infer",
        "kernel",
        "keyed",
        "schema",
        "value",
        "version",
    )

    def __init__(self, op: Operator, schema: OpSchema, infer: InferFacet) -> None:
        self.schema = schema
        version = self.version = schema.since_version
        self.attributes = plan_of(schema)
        self.infer = infer
        self.value: ValueFacet | None = op.values.get(version)
        self.kernel: Kernel | None = None
        self.keyed, self.has_subgraphs = keyed_of(schema)
        if not op.is_random and not self.has_subgraphs:
            self.kernel = op.kernels.get(version)  # run where all inputs are numbers, and few
        self.finds_elements = self.value is not None or self.kernel is not None
        self.family = family_of(infer, schema)

    def takes(self, types: Sequence[Type | None], given: Sequence[bool]) -> bool:
        """Whether the operator takes inputs of these types: kernels and value facets rely on it."""
        schema = self.schema
        if not schema.min_inputs <= len(given) <= (schema.max_inputs or len(given)):
            return False
        for i, found in enumerate(types):
            parameter = schema.input(i)
            if parameter is None or not (given[i] or parameter.option == "optional"):
                return False
            if isinstance(found, TensorType):
                text = f"tensor({found.dtype.text})"
                if text not in schema.allowed(parameter):
                    return False
        return True

    def key(self, node: Node) -> Key | None:
        """What the answer depends on: the facet, the number of outputs, input types, attributes.

        None where a call decides attributes, and where they have a fault, for which no other node's answer will do.
        """
        key: list[Hashable] = [self.family, len(node.outputs)]
        for value in node.inputs:
            key.append(0 if value is None else value.type)
        if node.attributes:
            kinds = self.keyed
            for name, attribute in node.attributes.items():
                if attribute.ref or kinds.get(name) is not attribute.type:
                    return None
                key.append(name)
                key.append(attribute.value)
        return tuple(key)

    def recall(self, key: Key | None, node: Node, elements: Elements) -> Answer | None:
        """The answer to an earlier question like this one."""
        found = MEMORY.found.get(key)
        if key is not None and isinstance(found, tuple):
            found = MEMORY.found.get(extended(key, found, node, elements))
        assert not isinstance(found, tuple), "a key is extended once"
        return found

    def remember(
        self, key: Key | None, asked: Sequence[int], answer: Answer, node: Node, elements: Elements
    ) -> None:
        """Keeps an answer for which the elements of the inputs `asked` were looked at."""
        if key is None:
            return
        if asked:
            before = MEMORY.found.get(key)
            wanted = tuple(sorted({*asked, *(before if isinstance(before, tuple) else ())}))
            if wanted != before:
                MEMORY.put(key, wanted)
            key = extended(key, wanted, node, elements)
        MEMORY.put(key, answer)


@cache
def keyed_of(schema: OpSchema) -> tuple[dict[str, AttributeType], bool]:
    """The attributes that stand in keys, and whether there are subgraphs."""
    kinds = plan_of(schema).kinds
    return {
        name: kind for name, kind in kinds.items() if kind in KEYED
    }, AttributeType.GRAPH in kinds.values()


@cache
def family_of(infer: InferFacet, schema: OpSchema) -> object:
    """What stands in a key for the operator: those with one facet, version and set of defaults answer alike."""
    attributes = plan_of(schema)
    family = (infer, schema.since_version, attributes.required, *attributes.defaults.items())
    return FAMILIES.setdefault(family, object())


def extended(key: Key, asked: tuple[int, ...], node: Node, elements: Elements) -> Key:
    """The key with the elements of the inputs that are asked for."""
    inputs = node.inputs
    return key, asked, *[content(elements, inputs[i] if i < len(inputs) else None) for i in asked]
