"""SX011 ir-version-unknown: the model follows a version of the format that was never published.

Clause: IR.md, "Versioning"; onnx.proto, Version
Catalogue: MOD-02
Why:    what a later version means is unknown, so that a reader must not guess.
Bad:    <ir_version: 4000> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <ir_version: 10> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import NEWEST_IR, Context
from sardonyx._src.proto.messages import ModelProto


@rule("SX011", visits=ModelProto)
def ir_version_unknown(model: ModelProto, context: Context) -> Iterator[Finding]:
    if model.ir_version and not 1 <= model.ir_version <= NEWEST_IR:
        says = f"ir_version is {model.ir_version}; published are 1 to {NEWEST_IR}"
        yield Finding("ir_version", says, "export for a published version, or check with a newer Sardonyx")
