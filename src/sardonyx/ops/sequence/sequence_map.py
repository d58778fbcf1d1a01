"""SequenceMap: a subgraph applied to each element of sequences.

Spec: ai.onnx SequenceMap-17.
"""

from __future__ import annotations

from sardonyx.errors import EvaluationError
from sardonyx.ir.graph import Graph
from sardonyx.ir.tensors import Array
from sardonyx.ir.types import SequenceType
from sardonyx.ops.api import Call, Operator, RuntimeValue
from sardonyx.ops.control.bodies import run_body
from sardonyx.ops.inference import Inference, Result
from sardonyx.ops.sequence.positions import sequence_element

op = Operator("SequenceMap")


@op.infer(17)
def infer(t: Inference) -> Result:
    sequence_element(t, 0)
    samples = [x.elem if isinstance(x, SequenceType) else x for x in t.inputs]
    results = t.subgraph("body", samples)
    if results is None:
        return [SequenceType(None)] * t.outputs
    if len(results) < t.outputs:
        t.fail(f"the body has {len(results)} outputs, {t.outputs} are wanted")
    return [SequenceType(x) for x in results]


@op.eval(17)
def evaluate(
    input_sequence: list[Array], *additional_inputs: Array | list[Array], body: Graph, call: Call
) -> tuple[RuntimeValue, ...]:
    """Results: one sequence for each output of the body; a tensor among the inputs is the same for every element."""
    inputs = [input_sequence, *additional_inputs]
    count = len(input_sequence)
    for i, x in enumerate(inputs):
        if isinstance(x, list) and len(x) != count:
            raise EvaluationError(
                f"input {i} has {len(x)} elements, input 0 has {count}; the same number is wanted"
            )
    outputs = len(call.wanted)
    rows = [
        run_body(call, body, [x[i] if isinstance(x, list) else x for x in inputs], outputs)
        for i in range(count)
    ]
    return tuple([row[k] for row in rows] for k in range(outputs))
