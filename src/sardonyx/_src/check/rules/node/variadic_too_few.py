"""SX207 variadic-too-few: a node has fewer values for a variadic parameter than its operator requires.

Clause: IR.md, "Variadic Inputs and Outputs"; Operators.md
Catalogue: NOD-08
Why:    the operator declares a minimum number of values.
Bad:    g (float[2] x) => (float[2] y) { y = Concat <axis = 0> () }
Good:   g (float[2] x) => (float[2] y) { y = Concat <axis = 0> (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import NodeProto


@rule("SX207", visits=NodeProto, suppressed_by="SX123", cached_by_fingerprint=True)
def check_variadic_too_few(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    schema = context.schema
    if schema is None:
        return
    for field, formals, names in (
        ("input", schema.inputs, node.input),
        ("output", schema.outputs, node.output),
    ):
        last = formals[-1] if formals else None
        if last is not None and last.option == "variadic" and len(names) < len(formals) - 1 + last.min_arity:
            count = max(len(names) - len(formals) + 1, 0)
            message = f"{node.op_type}-{schema.since_version} must have at least {last.min_arity} {last.name}; got {count}"
            yield Finding(field, message, f"provide at least {last.min_arity} values")
