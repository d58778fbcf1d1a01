"""SX504 initialization-with-inputs: the initialization graph of a training step has inputs.

Clause: onnx.proto, TrainingInfoProto.initialization
Catalogue: TRN-05
Why:    no inputs are fed when state is initialized.
Bad:    <training_info: [{initialization: i (float[2] s) => (float[2] n) { n = Neg(s) }, initialization_binding: ["w": "n"]}]>
        g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
Good:   <training_info: [{initialization: i () => (float[2] n) { n = Constant <value_floats = [0.0, 0.0]> () },
                          initialization_binding: ["w": "n"]}]>
        g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import TrainingInfoProto


@rule("SX504", visits=TrainingInfoProto, since=7)
def check_initialization_with_inputs(step: TrainingInfoProto, context: RuleContext) -> Iterator[Finding]:
    if step.initialization is not None and step.initialization.input:
        message = f"the graph must have no inputs; got {len(step.initialization.input)}"
        yield Finding(
            "initialization.input[0]", message, "compute its values from constants and random operators"
        )
