"""SX502 binding-key-twice: training bindings assign to one variable twice.

Clause: IR.md, "Training"; onnx.proto, TrainingInfoProto.initialization_binding, update_binding
Catalogue: TRN-03
Why:    the value that the variable gets is not defined.  Two steps may alternate in updating a variable, so across steps
        this is a warning.
Bad:    <training_info: [{algorithm: a () => (float[2] n) { n = Neg(w) }, update_binding: ["w": "n", "w": "n"]}]>
        g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
Good:   <training_info: [{algorithm: a () => (float[2] n) { n = Neg(w) }, update_binding: ["w": "n"]}]>
        g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.analysis.training import BINDINGS
from sardonyx._src.check.engine import Finding, RuleContext, Severity, rule
from sardonyx._src.proto.messages import ModelProto
from sardonyx._src.proto.record import brief


@rule("SX502", visits=ModelProto, since=7)
def check_binding_key_twice(model: ModelProto, context: RuleContext) -> Iterator[Finding]:
    for field in BINDINGS:
        first: dict[str, tuple[int, str]] = {}
        for s, step in enumerate(model.training_info):
            for i, binding in enumerate(getattr(step, field)):
                path = f"training_info[{s}].{field}[{i}]"
                other_step, other = first.setdefault(binding.key, (s, path))
                if other != path:
                    severity: Severity = "error" if other_step == s else "warning"
                    message = f"{brief(binding.key)} is also assigned by {other}"
                    yield Finding(f"{path}.key", message, "keep one of the two bindings", severity)
