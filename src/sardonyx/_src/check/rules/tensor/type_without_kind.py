"""SX365 type-without-kind: a type does not state its kind: tensor, sequence or another one.

Clause: IR.md, "Standard data types"; onnx.proto, TypeProto.value
Catalogue: TYP-07 TYP-09 TYP-02 TYP-04 TYP-05 TYP-10
Why:    such a type describes nothing; a value of unknown type has no type at all.  A warning for inputs and
        outputs of nested graphs, which may leave types out: exporters write empty ones.
Bad:    g (? x) => (float[2] y) { y = Abs(x) }
Good:   g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, Severity, rule
from sardonyx._src.check.engine.api import RuleGroup
from sardonyx._src.proto.messages import TypeProto, ValueInfoProto


@rule("SX365", visits=TypeProto, cached_by_fingerprint=True, suppressed_by="SX003")
def check_type_without_kind(type_: TypeProto, context: RuleContext) -> Iterator[Finding]:
    if type_.which("value") is None:
        message = "none of tensor_type, sequence_type and so on is set"
        harmless = may_be_left_out(context)
        severity: Severity | None = "warning" if harmless else None
        group: RuleGroup | None = "strict" if harmless else None
        yield Finding("", message, "set one, or drop the type", severity, group=group)


def may_be_left_out(context: RuleContext) -> bool:
    """Whether the type is that of an input or output of a nested graph, which exporters write as an empty record."""
    parent = context.record_path.parent
    if parent is None or not isinstance(parent.record, ValueInfoProto) or parent.field is None:
        return False
    is_border = parent.field.name in ("input", "output")
    return is_border and context.body is not None and context.body.kind == "nested"
