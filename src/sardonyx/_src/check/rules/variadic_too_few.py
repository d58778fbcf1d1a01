"""SX207 variadic-too-few: a node gives fewer values for a variadic parameter than its operator wants.

Clause: IR.md, "Variadic Inputs and Outputs"; Operators.md
Catalogue: NOD-08
Why:    the operator states the fewest values that make sense to it.
Bad:    g (float[2] x) => (float[2] y) { y = Concat <axis = 0> () }
Good:   g (float[2] x) => (float[2] y) { y = Concat <axis = 0> (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import NodeProto


@rule("SX207", visits=NodeProto, unless="SX123", by_form=True)
def variadic_too_few(node: NodeProto, context: Context) -> Iterator[Finding]:
    schema = context.schema
    if schema is None:
        return
    for field, formals, given in (
        ("input", schema.inputs, node.input),
        ("output", schema.outputs, node.output),
    ):
        last = formals[-1] if formals else None
        if last is not None and last.option == "variadic" and len(given) < len(formals) - 1 + last.min_arity:
            found = max(len(given) - len(formals) + 1, 0)
            says = f"{node.op_type}-{schema.since_version} wants at least {last.min_arity} {last.name}, not {found}"
            yield Finding(field, says, f"name at least {last.min_arity} values")
