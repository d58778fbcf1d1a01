"""Inference plans: the facets and the signature of an operator version, prepared once for all its nodes.

A facet is a function of the operator: the infer facet returns output types, the value facet elements of outputs.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from functools import cache

from sardonyx._src.infer.elements import Elements
from sardonyx._src.infer.memo_cache import MEMO_CACHE, Key, OutputTypes, elements_key
from sardonyx._src.ir import Node, TensorType, Type
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ops.api import BodyFacet, InferFacet, Operator, ReferenceKernel, ValueFacet
from sardonyx._src.ops.bind import plan_of
from sardonyx._src.schema import OpSchema

# Attributes of other types, such as tensors, are not in keys: they equal no others, and would keep the model's data alive.
KEY_ATTRIBUTE_TYPES = frozenset(
    AttributeType[name] for name in ("FLOAT", "INT", "STRING", "FLOATS", "INTS", "STRINGS", "TYPE_PROTO")
)
CACHE_TOKENS: dict[Key, object] = {}  # the results of `cache_token_of`, by facet, version and defaults


class InferencePlan:
    """Facets of an operator version, and its keys in the memo cache.

    kernel: the kernel with which elements of outputs can be computed, if any.
    infers_elements: whether elements of outputs can be inferred.
    maps_elements: whether the value facet maps each element of input 0 to one of output 0.
    cache_token: the part of the keys that identifies the operator version.
    key_attributes: the types of the attributes that can be part of a key, by name.
    """

    __slots__ = (
        "attributes",
        "cache_token",
        "has_subgraphs",
        "infer",
        "infers_elements",
        "kernel",
        "key_attributes",
        "maps_elements",
        "op",
        "schema",
        "value",
        "version",
    )

    def __init__(self, op: Operator, schema: OpSchema, infer: InferFacet | None) -> None:
        """infer: the infer facet; None for an operator with a body of other operators, which determines the types."""
        self.op = op
        self.schema = schema
        version = self.version = schema.since_version
        self.attributes = plan_of(schema)
        self.infer = infer
        self.value: ValueFacet | None = op.values.get(version)
        self.kernel: ReferenceKernel | None = None
        self.key_attributes, self.has_subgraphs = key_attributes_of(schema)
        if not op.is_random and not self.has_subgraphs:
            self.kernel = op.kernels.get(version)
        self.infers_elements = self.value is not None or self.kernel is not None
        self.maps_elements = self.value is not None and op.elementwise
        self.cache_token = cache_token_of(infer or op.bodies[version].text, schema)

    def accepts(self, types: Sequence[Type | None], is_given: Sequence[bool]) -> bool:
        """Whether the schema allows inputs of these types, which kernels and value facets assume."""
        schema = self.schema
        if not schema.min_inputs <= len(is_given) <= (schema.max_inputs or len(is_given)):
            return False
        for i, type_ in enumerate(types):
            parameter = schema.input(i)
            if parameter is None or not (is_given[i] or parameter.option == "optional"):
                return False
            if isinstance(type_, TensorType):
                text = f"tensor({type_.dtype.text})"
                if text not in schema.allowed_types(parameter):
                    return False
        return True

    def key(self, node: Node) -> Key | None:
        """The key of the node in the memo cache: operator version, number of outputs, input types, attributes.

        None if the caller of a function determines an attribute, or if an attribute is not in `key_attributes` with its
        type: such results are not shared with other nodes.
        """
        key: list[Hashable] = [self.cache_token, len(node._outputs)]
        for value in node._inputs:
            key.append(0 if value is None else value.type)
        if node.attributes:
            kinds = self.key_attributes
            for name, attribute in node.attributes.items():
                if attribute.ref or kinds.get(name) is not attribute.type:
                    return None
                key.append(name)
                key.append(attribute.value)
        return tuple(key)

    def look_up(self, key: Key | None, node: Node, elements: Elements) -> OutputTypes | None:
        """The cached output types for a key; if they depend on elements of inputs, for the key extended by these."""
        entry = MEMO_CACHE.entries.get(key)
        if key is not None and isinstance(entry, tuple):
            entry = MEMO_CACHE.entries.get(extend_key(key, entry, node, elements))
        assert not isinstance(entry, tuple), "a key is extended once"
        return entry

    def store(
        self,
        key: Key | None,
        inputs_read: Collection[int],
        result: OutputTypes,
        node: Node,
        elements: Elements,
    ) -> None:
        """Caches output types that depend on the elements of `inputs_read`."""
        if key is None:
            return
        if inputs_read:
            entry = MEMO_CACHE.entries.get(key)
            indices = tuple(sorted({*inputs_read, *(entry if isinstance(entry, tuple) else ())}))
            if indices != entry:
                MEMO_CACHE.put(key, indices)
            key = extend_key(key, indices, node, elements)
        MEMO_CACHE.put(key, result)


@cache
def key_attributes_of(schema: OpSchema) -> tuple[dict[str, AttributeType], bool]:
    """The attributes that are part of keys, and whether there are subgraphs."""
    kinds = plan_of(schema).kinds
    return {
        name: kind for name, kind in kinds.items() if kind in KEY_ATTRIBUTE_TYPES
    }, AttributeType.GRAPH in kinds.values()


@cache
def cache_token_of(infer: InferFacet | BodyFacet, schema: OpSchema) -> object:
    """The object that identifies an operator version in a key: one for each facet, version and set of defaults."""
    attributes = plan_of(schema)
    identity = (infer, schema.since_version, attributes.required, *attributes.defaults.items())
    return CACHE_TOKENS.setdefault(identity, object())


def extend_key(key: Key, indices: tuple[int, ...], node: Node, elements: Elements) -> Key:
    """The key extended by the elements of the inputs with these indices."""
    inputs = node.inputs
    return key, indices, *[elements_key(elements, inputs[i] if i < len(inputs) else None) for i in indices]
