"""SX011 ir-version-unknown: the model follows a version of the format that was never published.

Clause: IR.md, "Versioning"; onnx.proto, Version
Catalogue: MOD-02
Why:    the meaning of a later version is unknown, and a reader must not guess it.
Bad:    <ir_version: 4000> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <ir_version: 10> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.io.serde.from_proto import LATEST_IR_VERSION
from sardonyx._src.proto.messages import ModelProto


@rule("SX011", visits=ModelProto)
def check_ir_version_unknown(model: ModelProto, context: RuleContext) -> Iterator[Finding]:
    if model.ir_version and not 1 <= model.ir_version <= LATEST_IR_VERSION:
        message = f"ir_version must be from 1 to {LATEST_IR_VERSION}; got {model.ir_version}"
        yield Finding("ir_version", message, "export for a published version, or check with a newer Sardonyx")
