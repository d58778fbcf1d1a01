"""Attributes whose integer value names an element type, and the types that an operator allows there."""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.dtypes import DataType
from sardonyx._src.proto.messages import AttributeProto, NodeProto
from sardonyx._src.schema import OpSchema

OF_OUTPUT = frozenset(("to", "dtype", "output_datatype", "output_dtype"))  # the element type of the output
OF_STEPS = frozenset(("stash_type", "softmax_precision", "precision"))  # in which parts are computed
FLOATS = frozenset(("float16", "float", "double", "bfloat16"))
NAMES = OF_OUTPUT | OF_STEPS


def named_types(node: NodeProto, schema: OpSchema) -> Iterator[tuple[int, AttributeProto, DataType | None]]:
    """Index and attribute of each that names an element type, and the type; None for a number that names none.

    A zero that stands for "not given" is left out, and so are references.
    """
    if NAMES.isdisjoint(schema.attributes):
        return
    for i, one in enumerate(node.attribute):
        formal = schema.attributes.get(one.name)
        if formal is None or one.ref_attr_name or one.name not in NAMES:
            continue
        if formal.type == "STRING":  # Cast-1
            yield i, one, by_name(bytes(one.s).decode("utf-8", "replace"))
        elif formal.type == "INT" and (one.i or formal.default != 0):
            yield i, one, DataType.numbered(one.i) if 0 < one.i <= max(DataType) else None


def by_name(name: str) -> DataType | None:
    found = DataType.__members__.get(name)
    return None if found is DataType.UNDEFINED else found


def allowed_types(schema: OpSchema, attribute: str) -> frozenset[str]:
    """The element types that the operator takes there, as signatures write them."""
    if attribute in OF_STEPS:
        if schema.name == "LayerNormalization":
            return frozenset(map(inside, schema.type_constraints["U"]))
        return FLOATS
    return frozenset(map(inside, schema.allowed(schema.outputs[0])))


def inside(text: str) -> str:
    """The element type in `tensor(float)` or `seq(tensor(float))`."""
    return text.rstrip(")").rpartition("(")[2]
