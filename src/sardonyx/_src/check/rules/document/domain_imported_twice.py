"""SX035 domain-imported-twice: a domain is imported more than once.

Clause: onnx.proto, ModelProto.opset_import, FunctionProto.opset_import
Catalogue: OPS-06 FUN-14
Why:    the highest version binds, but many readers take the last one.
Bad:    <opset_import: ["": 20, "": 21]> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <opset_import: ["": 21]> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import FunctionProto, ModelProto


@rule("SX035", "warning", visits=(ModelProto, FunctionProto))
def check_domain_imported_twice(
    holder: ModelProto | FunctionProto, context: RuleContext
) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for i, opset in enumerate(holder.opset_import):
        j = first.setdefault(opset.domain, i)
        if j != i:
            other = holder.opset_import[j].version
            message = f"{opset.domain or 'ai.onnx'!r} is imported as {other} at opset_import[{j}], and as {opset.version}"
            yield Finding(
                f"opset_import[{i}]", message, f"keep only version {max(opset.version, other)}, which binds"
            )
