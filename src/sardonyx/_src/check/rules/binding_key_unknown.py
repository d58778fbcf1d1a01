"""SX500 binding-key-unknown: a training binding assigns to something that is no state of the model.

Clause: IR.md, "Training"; onnx.proto, TrainingInfoProto.initialization_binding, update_binding
Catalogue: TRN-01 TRN-11
Why:    state is what initializers of the inference graph and of the step's own algorithm hold.
Bad:    <training_info: [{algorithm: a () => (float[2] n) { n = Neg(w) }, update_binding: ["v": "n"]}]>
        g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
Good:   <training_info: [{algorithm: a () => (float[2] n) { n = Neg(w) }, update_binding: ["w": "n"]}]>
        g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.training import BINDINGS, state_of
from sardonyx._src.proto.messages import TrainingInfoProto
from sardonyx._src.proto.record import brief


@rule("SX500", visits=TrainingInfoProto, since=7)
def binding_key_unknown(step: TrainingInfoProto, context: Context) -> Iterator[Finding]:
    known = state_of(step, context.document)
    for field in BINDINGS:
        for i, one in enumerate(getattr(step, field)):
            if one.key not in known:
                says = (
                    f"{brief(one.key)} is no initializer of the inference graph or of this step's algorithm"
                )
                yield Finding(f"{field}[{i}].key", says + context.near(one.key, known), "name an initializer")
