"""Bodies of operators that callers define by an expression: a function of a builder that appends other operators."""

from __future__ import annotations

from collections.abc import Callable

from sardonyx._src.build.builder import Builder
from sardonyx._src.build.operand import Operand
from sardonyx._src.build.subgraphs import add_results
from sardonyx._src.errors import InferenceError, InputError
from sardonyx._src.io.serde import to_proto
from sardonyx._src.ir import Function, Graph
from sardonyx._src.ops.inference import Inference
from sardonyx._src.proto.text import to_text
from sardonyx._src.schema import OpSchema


def body_text(expression: Callable[..., object], schema: OpSchema, inference: Inference, opset: int) -> str:
    """The text of the function `(x) => (y) { ... }` that the expression appends for the types and attributes of a call.

    Raises InferenceError if the expression raises an error, for example because it does not apply to these types.
    """
    builder, graph = Builder(opset), Graph("body")
    for i, type in enumerate(inference.inputs):
        graph.add_input(Operand(builder, f"input_{i}", type))
    operands = [value if inference.has(i) else None for i, value in enumerate(graph.inputs)]
    state = builder.state
    state.names.update(value.name for value in graph.inputs)
    try:
        with state.scopes.enter(graph, is_function=True):
            add_results(state, graph, schema.name, expression(builder, *operands, **inference.attributes))
    except InputError as error:
        raise InferenceError(f"{schema.name}: {error}", location=inference.where) from error
    if len(graph.outputs) != len(schema.outputs):
        inference.fail(f"the expression must return {len(schema.outputs)} values; got {len(graph.outputs)}")
    for value in (v for node in graph.nodes for v in node.outputs):
        value.type = None
    function = Function("body", "body", graph)
    function.opset_imports = {"": opset}
    text = to_text(to_proto.function(function))
    return text[text.index("(") :]
