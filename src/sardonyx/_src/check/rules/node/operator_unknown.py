"""SX201 operator-unknown: the imported version of an operator set has no operator of this name.

Clause: IR.md, "Operators"; Operators.md
Catalogue: NOD-02 FUN-23 SUB-14 TRN-06 TRN-08
Why:    the computation of the node is not defined; operator names are case-sensitive.
Bad:    g (float[2] x) => (float[2] y) { y = Abz(x) }
Good:   g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.engine.body import is_known_version
from sardonyx._src.proto.messages import NodeProto
from sardonyx._src.proto.record import brief
from sardonyx._src.schema import canonical, domains, last_version, operators, versions


@rule("SX201", visits=NodeProto, cached_by_fingerprint=True, suppressed_by="SX002")
def check_operator_unknown(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    body, domain = context.body, canonical(node.domain)
    if body is None or not node.op_type or context.schema is not None or domain not in domains():
        return
    version = body.imports.get(domain)
    if version is None or not is_known_version(domain, version) or context.callee is not None:
        return
    if (domain, node.op_type) in context.document.overloads:
        return  # SX412 reports the overload
    if last_version(domain, node.op_type) is not None:
        return  # SX217 and SX225 report withdrawn operators
    known = versions(domain, node.op_type)
    hint = f"; it requires version {known[0]}" if known else context.near(node.op_type, operators(domain))
    message = f"version {version} of {domain or 'ai.onnx'} has no operator {brief(node.op_type)}{hint}"
    help_ = (
        f"import version {known[0]} or later" if known else "correct the name, or define a function for it"
    )
    yield Finding("", message, help_)
