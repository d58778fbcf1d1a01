"""SX033 import-without-version: an import of an operator set states no version.

Clause: onnx.proto, OperatorSetIdProto.version
Catalogue: OPS-04
Why:    the version is what an import is for.
Bad:    <opset_import: ["": 21, {domain: "com.example.ops"}]> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <opset_import: ["": 21, "com.example.ops": 1]> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import OperatorSetIdProto


@rule("SX033", visits=OperatorSetIdProto, unless="SX003")
def import_without_version(one: OperatorSetIdProto, context: Context) -> Iterator[Finding]:
    if not one.has("version"):
        yield Finding("", f"the import of {one.domain or 'ai.onnx'!r} has no version", "state the version")
