"""SequenceMap: a subgraph applied to each element of sequences.

Spec: ai.onnx SequenceMap-17.
"""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Graph, SequenceType, TensorType, Type
from sardonyx._src.ir.types import open_dims, symbols_of
from sardonyx._src.ops.api import Operator, RunContext, RuntimeValue, as_plain_value
from sardonyx._src.ops.control.bodies import bind_body
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.sequence.positions import sequence_element
from sardonyx._src.ops.support.body_text import scalar, vector

op = Operator("SequenceMap")


@op.infer(17)
def infer(inference: Inference) -> Result:
    sequence_element(inference, 0)
    graph = inference.attributes.get("body")
    if isinstance(graph, Graph) and len(graph.inputs) != len(inference.inputs):
        inference.fail(f"the body must have {len(inference.inputs)} inputs; got {len(graph.inputs)}")
    samples = [x.elem if isinstance(x, SequenceType) else x for x in inference.inputs]
    results = inference.subgraph("body", samples)
    if results is None:
        return [SequenceType(None)] * inference.outputs
    if len(results) < inference.outputs:
        inference.fail(f"the body must have {inference.outputs} outputs; got {len(results)}")
    # Sizes that are computed by the body may differ from element to element.
    known = frozenset().union(*map(symbols_of, samples))
    return [SequenceType(open_dims(x, known)) for x in results]


@op.eval(17)
def evaluate(
    input_sequence: list[Array], *additional_inputs: Array | list[Array], body: Graph, context: RunContext
) -> tuple[RuntimeValue, ...]:
    """Results: a sequence for each output of the body.  An input that is a tensor is passed to every call of the body."""
    given: list[RuntimeValue] = [input_sequence, *additional_inputs]  # type: ignore[list-item]
    inputs = [as_plain_value(x) for x in given]
    count = len(input_sequence)
    for i, x in enumerate(inputs):
        if isinstance(x, list) and len(x) != count:
            raise EvaluationError(f"input {i} must have {count} elements, as input 0 has; got {len(x)}")
    outputs = len(context.requested_outputs)
    if not count:
        return tuple([] for _ in range(outputs))
    call = bind_body(context, body, len(inputs), outputs)
    rows = [call([x[i] if isinstance(x, list) else x for x in inputs]) for i in range(count)]
    return tuple([row[k] for row in rows] for k in range(outputs))


@op.body(17, opset=17)
def body(inference: Inference) -> str:
    """A Loop over the elements, in which a Scan of one iteration calls the subgraph: no operator only calls a graph."""
    kinds = element_types(inference)
    inputs = [f"x{i}" for i in range(len(inference.inputs))]
    outputs = range(len(kinds))
    before = [f"seq({kind.text}[]) before{k}" for k, kind in enumerate(kinds)]
    after = [f"seq({kind.text}[]) after{k}" for k, kind in enumerate(kinds)]
    called = "".join(
        element_text(name, isinstance(inference.type(i), SequenceType)) for i, name in enumerate(inputs)
    )
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
    """The nodes that make an input of the subgraph a scan input of length 1."""
    if not is_sequence:
        return f"""
          one_{name} = Unsqueeze({name}, front)"""
    return f"""
          element_{name} = SequenceAt({name}, i)
          one_{name} = Unsqueeze(element_{name}, front)"""


def element_types(inference: Inference) -> list[DataType]:
    """The element types of the subgraph's results; raises InferenceError if one is not known."""
    graph = inference.attributes["body"]
    assert isinstance(graph, Graph), "body is no graph"
    declared: list[Type | None] = [v.type for v in graph.outputs]
    results = (
        inference.subgraph("body", [x.elem if isinstance(x, SequenceType) else x for x in inference.inputs])
        or declared
    )
    dtypes = [x.dtype for x in results[: inference.outputs] if isinstance(x, TensorType)]
    if len(dtypes) < inference.outputs:
        inference.fail("the element types of the subgraph's results must be known")
    return dtypes
