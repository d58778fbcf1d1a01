"""Outputs of the model under construction."""

from __future__ import annotations

from sardonyx._src.build.calls import add_call, convert_operands
from sardonyx._src.build.operand import Operand
from sardonyx._src.build.state import BuilderState
from sardonyx._src.convert.ir_version import set_ir_version
from sardonyx._src.errors import InferenceError, InputError
from sardonyx._src.infer.merge import merge_types
from sardonyx._src.ir import Model, Type, Value


def add_output(state: BuilderState, value: object, name: str, type: Type | None) -> Operand:
    """Makes a value an output; see `Builder.output`."""
    graph = state.model.graph
    if state.scopes.current is not graph:
        raise InputError("outputs must be added outside of subgraphs and functions", name=name or "value")
    operand = convert_operands(state, "the output", None, [value])[0]
    if not isinstance(operand, Operand):
        raise InputError(f"an output must be an operand of this builder; got {value!r}", name=name or "value")
    if operand.producer is None or operand in graph.outputs:
        operand = as_operand(add_call(state, "Identity", [operand], name or None, "", "", {}).outputs[0])
    elif name and name != operand.name:
        state.names.discard(operand.name)
        operand.name = state.reserve(name)
    if type is not None:
        declare_type(operand, type)
    graph.outputs.append(operand)
    return operand


def as_operand(value: Value) -> Operand:
    assert isinstance(value, Operand), "the values of a builder are operands"
    return value


def declare_type(operand: Operand, type: Type) -> None:
    """Merges a declared type into the inferred one; raises InferenceError if they contradict each other."""
    try:
        operand.type = merge_types(type, operand.type)
    except InferenceError as error:
        raise InferenceError(error.why, location=f"output {operand.name!r}") from None


def finish_model(state: BuilderState, ir_version: int | None, producer: str) -> Model:
    """The complete model, without constants that nothing reads; see `Builder.model`."""
    model = state.model
    if state.pending:
        what = next(iter(state.pending.values()))
        raise InputError(f"{what} must be complete; enter and leave its `with` block first", name=what)
    if not model.graph.outputs:
        raise InputError(
            "a model must have an output; pass operands by keyword, as b.model(y=y)", name="outputs"
        )
    for value in model.graph.outputs:
        if value.type is None:
            raise InputError(
                f"output {value.name!r} must have a type, which cannot be inferred; pass it as b.output(value, name, type)",
                name=value.name,
            )
    for value in list(model.graph.initializers.values()):
        if value in state.automatic and not value.uses:
            model.graph.remove_initializer(value)
            state.automatic.discard(value)
            state.literals = {key: kept for key, kept in state.literals.items() if kept is not value}
    model.producer_name = producer
    set_ir_version(model, ir_version, None)
    return model
