"""Attribute mutants: one to three attributes of a node take other values of their types, or of other types."""

from __future__ import annotations

import random
from collections.abc import Sequence

from fuzz.seeds import Subject
from fuzz.structure_mutants import graphs, open_dims
from mutations import value_for
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import decode, encode
from sardonyx._src.schema import OpSchema, lookup

INTEGERS = (
    0, 1, -1, 2, -2, 3, 4, 5, 7, 8, 16, 63, 64, 1000, 1 << 15, (1 << 31) - 1, 1 << 31, -(1 << 31), 1 << 32, 1 << 53,
    1 << 58, 1 << 62, (1 << 63) - 1, -(1 << 63), -(1 << 62),
)  # fmt: skip
FLOATS = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.0,
    1e-45,
    1e-7,
    1e7,
    3.4e38,
    -3.4e38,
    float("inf"),
    float("-inf"),
    float("nan"),
)
STRINGS = (
    b"", b"x", b"linear", b"nearest", b"cubic", b"constant", b"reflect", b"edge", b"wrap", b"SAME_UPPER", b"SAME_LOWER",
    b"VALID", b"NOTSET", b"zeros", b"border", b"reflection", b"none", b"add", b"mul", b"max", b"min", b"mean", b"sum",
    b"DCR", b"CRD", b"forward", b"reverse", b"bidirectional", b"Sigmoid", b"tanh", b"ij->ji", b"i,j->ij", b"...i->i",
    b"half_pixel", b"asymmetric", b"align_corners", b"tf_crop_and_resize", b"floor", b"ceil", b"round_prefer_floor",
    b"avg", b"LEFT", b"RIGHT", b"\xff\xfe", b"\x00", b"(", b"[a-z]+",
)  # fmt: skip
INT, FLOAT, STRING, TENSOR, FLOATS_TYPE, INTS, STRINGS_TYPE = 2, 1, 3, 4, 6, 7, 8
TYPES = {
    "FLOAT": FLOAT,
    "INT": INT,
    "STRING": STRING,
    "FLOATS": FLOATS_TYPE,
    "INTS": INTS,
    "STRINGS": STRINGS_TYPE,
}


def mutated_attributes(subject: Subject, rng: random.Random) -> bytes:
    """The bytes of a mutant of a subject, with fixed or with open dims."""
    model = decode(subject.model, m.ModelProto)
    assert model.graph is not None, "a subject has a graph"
    versions = {entry.domain: entry.version for entry in model.opset_import}
    nodes = [node for graph in graphs(model.graph) for node in graph.node]
    for _ in range(rng.choice((1, 1, 2, 3))):
        mutate_attribute(rng.choice(nodes), versions, rng)
    if rng.random() < 0.7:
        for value in model.graph.output:
            value.clear("type")
    if rng.random() < 0.4:
        open_dims(model.graph, rng)
    return encode(model)


def mutate_attribute(node: m.NodeProto, versions: dict[str, int], rng: random.Random) -> None:
    """Changes, adds or removes an attribute, mostly one that the operator declares."""
    schema = lookup(node.domain, node.op_type, versions.get(node.domain, 1))
    declared = dict(schema.attributes) if isinstance(schema, OpSchema) else {}
    present = {attribute.name: attribute for attribute in node.attribute}
    names = sorted({*declared, *present})
    if not names:
        return
    name = rng.choice(names)
    kind = TYPES.get(declared[name].type, 0) if name in declared else 0
    attribute = present.get(name)
    draw = rng.random()
    if attribute is not None and draw < 0.06:
        node.attribute = [other for other in node.attribute if other is not attribute]
        return
    if attribute is None:
        attribute = m.AttributeProto(name=name, type=kind or INT)
        node.attribute = [*node.attribute, attribute]
    if draw < 0.1:
        attribute.type = kind = rng.choice((INT, FLOAT, STRING, FLOATS_TYPE, INTS, STRINGS_TYPE))
    change_value(attribute, kind or attribute.type, rng)


def change_value(attribute: m.AttributeProto, kind: int, rng: random.Random) -> None:
    match kind:
        case 2:
            attribute.i = rng.choice(INTEGERS)
        case 1:
            attribute.f = rng.choice(FLOATS)
        case 3:
            attribute.s = rng.choice(STRINGS)
        case 4 if attribute.t is not None:
            field = rng.choice(type(attribute.t).FIELDS)
            if not field.repeated:
                attribute.t.set(field.name, value_for(field, [attribute.t], rng))
        case 7:
            attribute.ints = changed_list(attribute.ints, INTEGERS, rng)
        case 6:
            attribute.floats = changed_list(attribute.floats, FLOATS, rng)
        case 8:
            attribute.strings = changed_list(attribute.strings, STRINGS, rng)


def changed_list(values: Sequence[object], pool: Sequence[object], rng: random.Random) -> list:  # type: ignore[type-arg]
    """The list with an element changed, added, removed, or in another order."""
    result = list(values)
    draw = rng.random()
    if result and draw < 0.6:
        result[rng.randrange(len(result))] = rng.choice(pool)
    elif draw < 0.75:
        result.insert(rng.randrange(len(result) + 1), rng.choice(pool))
    elif draw < 0.9:
        rng.shuffle(result)
    elif result:
        result.pop()
    return result
