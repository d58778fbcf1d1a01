"""SX503 initialization-missing: a training step binds initial values, but has no graph that computes them.

Clause: IR.md, "Training"; onnx.proto, TrainingInfoProto.initialization
Catalogue: TRN-04
Why:    the initialization graph is optional only if nothing is bound to it.
Bad:    <training_info: [{algorithm: a () => (float[2] n) { n = Neg(w) }, initialization_binding: ["w": "n"]}]>
        g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
Good:   <training_info: [{initialization: i () => (float[2] n) { n = Constant <value_floats = [0.0, 0.0]> () },
                          initialization_binding: ["w": "n"]}]>
        g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import TrainingInfoProto


@rule("SX503", visits=TrainingInfoProto, since=7)
def check_initialization_missing(step: TrainingInfoProto, context: RuleContext) -> Iterator[Finding]:
    if step.initialization is None and step.initialization_binding:
        yield Finding(
            "", "initialization_binding has entries, but initialization is not set", "add the graph"
        )
