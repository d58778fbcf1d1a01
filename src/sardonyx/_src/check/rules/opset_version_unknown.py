"""SX034 opset-version-unknown: an imported version of an operator set does not exist.

Clause: IR.md, "Models", opset_import; Versioning.md, "Operator set versioning"
Catalogue: OPS-05
Why:    nobody knows the operators of a version that was never published.
Bad:    <opset_import: ["": 9999]> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <opset_import: ["": 21]> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import OperatorSetIdProto
from sardonyx._src.proto.record import brief
from sardonyx._src.schema import canonical, domains, latest


@rule("SX034", visits=OperatorSetIdProto, unless="SX033")
def opset_version_unknown(one: OperatorSetIdProto, context: Context) -> Iterator[Finding]:
    domain = canonical(one.domain)
    if domain in domains() and not 1 <= one.version <= latest(domain):
        says = f"version {one.version} of {domain or 'ai.onnx'!r}; known are 1 to {latest(domain)}"
        yield Finding("version", says, "import a published version, or check with a newer Sardonyx")
    elif one.version < 1:
        says = f"version {one.version} of {brief(one.domain)}; versions begin at 1"
        yield Finding("version", says, "state the version that the nodes were written for")
