"""SX408 function-import-differs: an operator in a function is another one under the model's imports.

Clause: onnx.proto, ModelProto.opset_import, FunctionProto.opset_import
Catalogue: FUN-15
Why:    readers that inline functions take the model's version of the operator, which means something else.
Bad:    <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F (x) }
        <domain: "com.example", opset_import: ["": 11]> F (v) => (w) { w = Softmax(v) }
Good:   <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F (x) }
        <domain: "com.example", opset_import: ["": 20]> F (v) => (w) { w = Softmax(v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx.check.api import Finding, rule
from sardonyx.check.context import Context
from sardonyx.proto.messages import FunctionProto
from sardonyx.schema import canonical, lookup


@rule("SX408", "warning", visits=FunctionProto, since=8)
def function_import_differs(function: FunctionProto, context: Context) -> Iterator[Finding]:
    """Once for each operator."""
    body = context.body
    assert body is not None, "a function has a body"
    told: set[tuple[str, str]] = set()
    for i, node in enumerate(function.node):
        mine = body.schema(node)
        version = context.document.imports.get(canonical(node.domain), 0)
        theirs = lookup(node.domain, node.op_type, version) if mine is not None and version > 0 else mine
        if mine is None or theirs is mine or (mine.domain, mine.name) in told:
            continue
        told.add((mine.domain, mine.name))
        other = f"{mine.name}-{theirs.since_version}" if theirs is not None else "no such operator"
        says = f"the function means {mine.name}-{mine.since_version}, the model's import {other}"
        yield Finding(f"node[{i}]", says, "import the same version in both")
