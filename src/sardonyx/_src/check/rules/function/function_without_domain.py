"""SX402 function-without-domain: a function of a model does not state its domain.

Clause: IR.md, "Functions", domain; onnx.proto, FunctionProto.domain
Catalogue: FUN-03
Why:    calls refer to the function by domain and name; an explicitly empty domain is that of the ONNX set.
Bad:    g (float[2] x) => (float[2] y) { y = Abs(x) }  <opset_import: ["": 21]> F (v) => (w) { w = Abs(v) }
Good:   g (float[2] x) => (float[2] y) { y = Abs(x) }
        <domain: "com.example", opset_import: ["": 21]> F (v) => (w) { w = Abs(v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import FunctionProto


@rule("SX402", visits=FunctionProto, since=8)
def check_function_without_domain(function: FunctionProto, context: RuleContext) -> Iterator[Finding]:
    if not function.has("domain") and context.document.model is not None:
        yield Finding("domain", "the function has no domain", 'state one, such as "com.example"')
