"""SX408 function-import-differs: an operator in a function differs under the model's imports.

Clause: onnx.proto, ModelProto.opset_import, FunctionProto.opset_import
Catalogue: FUN-15
Why:    readers that inline functions use the model's version of the operator, which computes something else.
Bad:    <opset_import: ["": 21, "com.example": 1]> g (float[2, 2] x) => (float[2, 2] y) { y = com.example.F (x) }
        <domain: "com.example", opset_import: ["": 11]> F (v) => (w) { w = Softmax(v) }
Good:   <opset_import: ["": 21, "com.example": 1]> g (float[2, 2] x) => (float[2, 2] y) { y = com.example.F (x) }
        <domain: "com.example", opset_import: ["": 20]> F (v) => (w) { w = Softmax(v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.engine.body import key_of
from sardonyx._src.proto.messages import FunctionProto, GraphProto
from sardonyx._src.schema import canonical, lookup


@rule("SX408", "warning", visits=(FunctionProto, GraphProto), since=8)
def check_function_import_differs(
    record: FunctionProto | GraphProto, context: RuleContext
) -> Iterator[Finding]:
    """Reported once per operator of a function."""
    body = context.body
    assert body is not None, "a function or graph has a body"
    function, imports = body.function, context.document.imports
    if function is None or body.imports == imports:
        return
    for i in body.operators.values():
        node = record.node[i]
        mine = body.schema(node)
        version = imports.get(canonical(node.domain), 0)
        theirs = lookup(node.domain, node.op_type, version) if mine is not None and version > 0 else mine
        if mine is None or theirs is mine:
            continue
        other = f"{mine.name}-{theirs.since_version}" if theirs is not None else "no such operator"
        message = f"the function imports {mine.name}-{mine.since_version}, the model {other}"
        dedup_key = " ".join((*key_of(function), mine.domain, mine.name))
        yield Finding(f"node[{i}]", message, "import the same version in both", dedup_key=dedup_key)
