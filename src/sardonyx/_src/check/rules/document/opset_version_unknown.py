"""SX034 opset-version-unknown: an imported version of an operator set does not exist.

Clause: IR.md, "Models", opset_import; Versioning.md, "Operator set versioning"
Catalogue: OPS-05
Why:    the operators of a version that was never published are unknown.
Bad:    <opset_import: ["": 9999]> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <opset_import: ["": 21]> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import OperatorSetIdProto
from sardonyx._src.proto.record import brief
from sardonyx._src.schema import canonical, domains, newest


@rule("SX034", visits=OperatorSetIdProto, suppressed_by="SX033")
def check_opset_version_unknown(opset: OperatorSetIdProto, context: RuleContext) -> Iterator[Finding]:
    domain = canonical(opset.domain)
    if domain in domains() and not 1 <= opset.version <= newest(domain):
        message = (
            f"the version of {domain or 'ai.onnx'!r} must be from 1 to {newest(domain)}; got {opset.version}"
        )
        yield Finding("version", message, "import a published version, or check with a newer Sardonyx")
    elif opset.version < 1:
        message = f"the version of {brief(opset.domain)} must be at least 1; got {opset.version}"
        yield Finding("version", message, "state the version that the nodes were written for")
