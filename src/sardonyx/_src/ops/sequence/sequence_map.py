"""SequenceMap: a subgraph applied to each element of sequences.

Spec: ai.onnx SequenceMap-17.
"""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.graph import Graph
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import SequenceType, TensorType, Type
from sardonyx._src.ops.api import Call, Operator, RuntimeValue
from sardonyx._src.ops.body_text import scalar, vector
from sardonyx._src.ops.control.bodies import run_body
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.sequence.positions import sequence_element

op = Operator("SequenceMap")


@op.infer(17)
def infer(t: Inference) -> Result:
    sequence_element(t, 0)
    graph = t.attributes.get("body")
    if isinstance(graph, Graph) and len(graph.inputs) != len(t.inputs):
        t.fail(f"the body has {len(graph.inputs)} inputs, {len(t.inputs)} are given")
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


@op.body(17, opset=17)
def body(t: Inference) -> str:
    """A Loop over the elements.  The subgraph is called by a Scan of one step, as nothing else calls one just once."""
    kinds = element_types(t)
    inputs = [f"x{i}" for i in range(len(t.inputs))]
    outputs = range(len(kinds))
    before = [f"seq({kind.text}[]) before{k}" for k, kind in enumerate(kinds)]
    after = [f"seq({kind.text}[]) after{k}" for k, kind in enumerate(kinds)]
    called = "".join(element_text(name, isinstance(t.type(i), SequenceType)) for i, name in enumerate(inputs))
    grown = "".join(
        f"""
          result{k} = Squeeze(results{k}, front)
          after{k} = SequenceInsert(before{k}, result{k})"""
        for k in outputs
    )
    return f"""({", ".join(inputs)}) => ({", ".join(f"y{k}" for k in outputs)}) {{
      count = SequenceLength(x0)
      true = {scalar(1, DataType.BOOL)}
      front = {vector([0])}
      {" ".join(f"empty{k} = SequenceEmpty <dtype = {int(kind)}> ()" for k, kind in enumerate(kinds))}
      {", ".join(f"y{k}" for k in outputs)} = Loop <
        body = each (int64 i, bool going, {", ".join(before)}) => (bool goes_on, {", ".join(after)}) {{
          goes_on = Identity(going){called}
          {", ".join(f"results{k}" for k in outputs)} = Scan <
            body: graph = @body, num_scan_inputs: int = {len(inputs)}
          > ({", ".join(f"one_{name}" for name in inputs)}){grown}
        }}
      > (count, true, {", ".join(f"empty{k}" for k in outputs)})
    }}"""


def element_text(name: str, is_sequence: bool) -> str:
    """The nodes that make what the subgraph is given of an input into a scan of one step."""
    if not is_sequence:
        return f"""
          one_{name} = Unsqueeze({name}, front)"""
    return f"""
          element_{name} = SequenceAt({name}, i)
          one_{name} = Unsqueeze(element_{name}, front)"""


def element_types(t: Inference) -> list[DataType]:
    """The element types of the subgraph's results; raises InferenceError where one is not known."""
    graph = t.attributes["body"]
    assert isinstance(graph, Graph), "body is no graph"
    declared: list[Type | None] = [v.type for v in graph.outputs]
    results = t.subgraph("body", [x.elem if isinstance(x, SequenceType) else x for x in t.inputs]) or declared
    found = [x.dtype for x in results[: t.outputs] if isinstance(x, TensorType)]
    if len(found) < t.outputs:
        t.fail("the element types of the subgraph's results have to be known")
    return found
