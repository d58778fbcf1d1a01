"""SX502 binding-key-twice: training bindings assign to one variable twice.

Clause: IR.md, "Training"; onnx.proto, TrainingInfoProto.initialization_binding, update_binding
Catalogue: TRN-03
Why:    which of the two values the variable gets is not defined.  Two steps may take turns with one variable, so that
        across steps it is a warning.
Bad:    <training_info: [{algorithm: a () => (float[2] n) { n = Neg(w) }, update_binding: ["w": "n", "w": "n"]}]>
        g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
Good:   <training_info: [{algorithm: a () => (float[2] n) { n = Neg(w) }, update_binding: ["w": "n"]}]>
        g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, Severity, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.training import BINDINGS
from sardonyx._src.proto.messages import ModelProto
from sardonyx._src.proto.record import brief


@rule("SX502", visits=ModelProto, since=7)
def binding_key_twice(model: ModelProto, context: Context) -> Iterator[Finding]:
    for field in BINDINGS:
        first: dict[str, tuple[int, str]] = {}
        for s, step in enumerate(model.training_info):
            for i, one in enumerate(getattr(step, field)):
                at = f"training_info[{s}].{field}[{i}]"
                other_step, other = first.setdefault(one.key, (s, at))
                if other != at:
                    severity: Severity = "error" if other_step == s else "warning"
                    says = f"{brief(one.key)} is assigned by {other}, too"
                    yield Finding(f"{at}.key", says, "keep one of the two bindings", severity)
