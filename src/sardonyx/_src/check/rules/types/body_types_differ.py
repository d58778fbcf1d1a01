"""SX711 body-types-differ: the body of a Loop, Scan or SequenceMap does not match the types of the values passed in and out.

Clause: Operators.md, Loop, Scan, SequenceMap
Catalogue: SUB-17
Why:    values are carried from one iteration to the next, so their types must not change; the first inputs of a Loop's body
        are an int64 and a bool scalar, and its first output is a bool.
Bad:    g (int64 n, bool c, float[2] x) => (float[2] y) {
          y = Loop <body = b (int64 i, bool k, float[2] v) => (bool k2, int64[2] w) {
            k2 = Identity(k) w = Cast <to = 7> (v)
          }> (n, c, x)
        }
Good:   g (int64 n, bool c, float[2] x) => (float[2] y) {
          y = Loop <body = b (int64 i, bool k, float[2] v) => (bool k2, float[2] w) {
            k2 = Identity(k) w = Abs(v)
          }> (n, c, x)
        }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding
from sardonyx._src.check.type_rules.subjects import TypedNode, type_rule
from sardonyx._src.check.type_rules.type_names import format_type

OPERATORS_WITH_BODY = frozenset(("Loop", "Scan", "SequenceMap"))


@type_rule("SX711", about=TypedNode, suppressed_by="SX703 SX708")
def check_body_types_differ(typed_node: TypedNode) -> Iterator[Finding]:
    if typed_node.schema.name not in OPERATORS_WITH_BODY or typed_node.schema.domain:
        return
    if typed_node.error is not None:
        yield Finding(
            "",
            f"{typed_node.name}: {typed_node.why}",
            "correct the types in the body, or the values passed to it",
        )
        return
    body = next(iter(typed_node.node.subgraphs), None)
    if typed_node.schema.name == "Loop" and body is not None and body.outputs:
        condition = format_type(body.outputs[0].type)
        if condition not in (None, "tensor(bool)"):
            message = f"{typed_node.name}: the body's condition must be a tensor(bool); got {condition}"
            yield Finding("", message, "make the first output of the body a bool scalar")
