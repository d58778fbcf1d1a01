"""Model-local functions from Python functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, get_type_hints

from sardonyx._src.arguments import require_type, shown
from sardonyx._src.build.attributes import AttributeParameter
from sardonyx._src.build.calls import add_call, convert_operands, forget_types
from sardonyx._src.build.operand import Operand, OperandLike
from sardonyx._src.build.signatures import count_text
from sardonyx._src.build.state import BuilderState
from sardonyx._src.build.subgraphs import add_results
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Attribute, Function, Graph, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.build import attribute
from sardonyx._src.ir.references import resolve_reference
from sardonyx._src.ir.walk import nodes

ATTRIBUTE_TYPES: Mapping[object, AttributeType] = {
    int: AttributeType.INT,
    bool: AttributeType.INT,
    float: AttributeType.FLOAT,
    str: AttributeType.STRING,
    list[int]: AttributeType.INTS,
    list[float]: AttributeType.FLOATS,
    list[str]: AttributeType.STRINGS,
}


class FunctionMaker:
    """A model-local function made from a Python function; calling the object adds a node that calls the function."""

    def __init__(self, state: BuilderState, body: Callable[..., object], domain: str, name: str) -> None:
        self.state, self.body = state, body
        self.domain, self.name = domain, name
        if (domain, name, "") in state.model.functions:
            raise InputError(
                f"the names of functions must differ; there is another {domain}.{name}", name="name"
            )
        self.inputs, self.attributes = parameters_of(body, name)
        self.required = count_required(body)
        self.is_being_built = False
        self.function: Function | None = None

    def __call__(
        self,
        *inputs: OperandLike | None,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
        **attributes: object,
    ) -> Any:
        """Adds a call; its results correspond to those of the Python function.  outputs: their names.  name: of the node."""
        self.check_arguments(inputs, attributes)
        operands = convert_operands(self.state, self.name, None, inputs)
        converted = {key: self.convert(key, value) for key, value in attributes.items()}
        if self.function is None:
            self.function = self.build(operands, converted)
        count = len(self.function.body.outputs)
        forget_call_types(
            self.state, self.function
        )  # types from the first build or another call do not hold here
        node = add_call(self.state, self.name, operands, outputs or count, self.domain, name, converted)
        forget_call_types(self.state, self.function)
        return node.outputs[0] if count == 1 else node.outputs

    def check_arguments(self, inputs: Sequence[object], attributes: Mapping[str, object]) -> None:
        if not self.required <= len(inputs) <= len(self.inputs):
            expected = count_text(self.required, len(self.inputs), "input")
            raise InputError(f"{self.name} must have {expected}; got {len(inputs)}", name="inputs")
        if self.is_being_built:
            raise InputError(f"functions must not call themselves; {self.name} does", name="body")
        for key in attributes:
            if key not in self.attributes:
                raise InputError(
                    f"{self.name} has no attribute {key!r}; it has {sorted(self.attributes)}", name=key
                )
        for key, (_, default) in self.attributes.items():
            if default is None and key not in attributes:
                raise InputError(f"{self.name} must have the attribute {key!r}; it is missing", name=key)

    def convert(self, key: str, value: object) -> Attribute:
        """An attribute of the type that the function declares; an integer is accepted for a float."""
        if isinstance(value, AttributeParameter):
            return Attribute(key, value.type, None, ref=value.name)
        kind, _ = self.attributes[key]
        if kind is AttributeType.FLOAT and isinstance(value, int):
            value = float(value)
        result = attribute(key, value)
        if result.type is not kind:
            raise InputError(
                f"attribute {key!r} of {self.name} must be {kind.name}; got {shown(value)}", name=key
            )
        return result

    def build(self, operands: Sequence[Value | None], arguments: Mapping[str, Attribute]) -> Function:
        """The function with the body that its Python function appends for these arguments."""
        state, graph = self.state, Graph(self.name)
        for i, name in enumerate(self.inputs):
            given = operands[i] if i < len(operands) else None
            graph.add_input(Operand(state.owner, name, None if given is None else given.type))
        parameters = {key: AttributeParameter(key, kind) for key, (kind, _) in self.attributes.items()}
        function = Function(self.domain, self.name, graph)
        function.attributes = {key: default for key, (_, default) in self.attributes.items()}
        outer, state.names = (
            state.names,
            set(self.inputs),
        )  # the names of the body are separate from those of the model
        bindings = state.bindings
        bound = {key: resolve_reference(argument, bindings) for key, argument in arguments.items()}
        state.bindings = {**function.attributes, **bound}
        self.is_being_built = True
        try:
            with state.scopes.enter(graph, is_function=True):
                add_results(state, graph, self.name, self.body(*graph.inputs, **parameters))
        finally:
            state.names, state.bindings, self.is_being_built = outer, bindings, False
        function.opset_imports = dict(state.model.opset_imports)
        state.model.functions[function.key] = function
        return function


def forget_call_types(state: BuilderState, function: Function) -> None:
    """Forgets the types inside a function and inside the functions that it calls; they were inferred for one call."""
    pending, functions = [function], state.model.functions
    seen = {function}
    while pending:
        body = pending.pop().body
        forget_types(state, body)
        for node in nodes(body):
            callee = functions.get((node.domain, node.op_type, node.overload))
            if callee is not None and callee not in seen:
                seen.add(callee)
                pending.append(callee)


def count_required(body: Callable[..., object]) -> int:
    """The number of positional parameters without default; a call must pass them, if only as None."""
    return sum(
        p.kind is not p.KEYWORD_ONLY and p.default is p.empty
        for p in inspect.signature(body).parameters.values()
    )


def parameters_of(
    body: Callable[..., object], name: str
) -> tuple[list[str], dict[str, tuple[AttributeType, Attribute | None]]]:
    """The inputs, and the types and defaults of the attributes, that a Python function declares."""
    inputs: list[str] = []
    attributes: dict[str, tuple[AttributeType, Attribute | None]] = {}
    require_type("body", body, FunctionType, "a function with named parameters")
    for key, parameter in inspect.signature(body).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise InputError(f"{name} must have named parameters only; it has *{key}", name=key)
        if parameter.kind is not parameter.KEYWORD_ONLY:
            inputs.append(key)
            continue
        attributes[key] = attribute_kind(body, name, key, parameter)
    return inputs, attributes


def attribute_kind(
    body: Callable[..., object], name: str, key: str, parameter: inspect.Parameter
) -> tuple[AttributeType, Attribute | None]:
    """The type of an attribute, by its annotation or else its default, and the default."""
    default = None if parameter.default is parameter.empty else attribute(key, parameter.default)
    kind = ATTRIBUTE_TYPES.get(get_type_hints(body).get(key), default.type if default is not None else None)
    if kind is None:
        raise InputError(f"attribute {key!r} of {name} must have a type or a default", name=key)
    if kind is AttributeType.FLOAT and default is not None and isinstance(default.value, int):
        default = Attribute(key, kind, float(default.value))
    return kind, default
