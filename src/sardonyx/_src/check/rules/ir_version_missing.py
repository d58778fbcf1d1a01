"""SX010 ir-version-missing: the model does not say which version of the format it follows.

Clause: onnx.proto, ModelProto.ir_version; Versioning.md, "IR versioning"
Catalogue: MOD-01
Why:    the version decides which features exist and what they mean; nobody can tell what 0 was to mean.
Bad:    {domain: "com.example", producer_name: "p", producer_version: "1", opset_import: [21],
         graph: g (float[2] x) => (float[2] y) { y = Abs(x) }}
Good:   <ir_version: 10> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import NEWEST_IR, Context
from sardonyx._src.proto.messages import ModelProto


@rule("SX010", visits=ModelProto, unless="SX003")
def ir_version_missing(model: ModelProto, context: Context) -> Iterator[Finding]:
    if not model.ir_version:
        help_ = f"set ir_version to the lowest version that has all features used, at most {NEWEST_IR}"
        yield Finding("ir_version", "ir_version is missing or 0", help_)
