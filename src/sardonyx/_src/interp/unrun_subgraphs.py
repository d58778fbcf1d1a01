"""Types of the outputs of a subgraph that is not executed: a loop without iterations needs the shapes of its scan outputs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import field
from typing import TypeGuard

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.interp.run_state import Frame
from sardonyx._src.ir import Array, Graph, Model, TensorType, Type, Value
from sardonyx._src.ir.copier import Copier
from sardonyx._src.ir.dims import evaluate
from sardonyx._src.ir.model import clone_function
from sardonyx._src.ir.references import Bindings
from sardonyx._src.ir.walk import captures
from sardonyx._src.ops.api import RuntimeValue, tensor_type
from sardonyx._src.ops.tensor.elements import MAX_KNOWN_ELEMENTS

# Before, the dimension variables of an inner value are independent of the inputs'.
FIRST_IR_WITH_GLOBAL_NAMES = 4
MAX_BODIES = 64  # combinations of argument types for which the inferred types of one graph are kept


@dataclass(slots=True)
class UnrunSubgraph:
    """A graph whose outputs need types although it is not executed.

    imports: the operator-set imports of its model or function.
    bindings: the attributes of the call, if it is the body of a function or inside one.
    inferred: the inferred output types, by argument types and `value_key` of each captured value.
    """

    graph: Graph
    model: Model
    imports: Mapping[str, int]
    bindings: Bindings
    inferred: dict[Hashable, list[Type | None]] = field(default_factory=dict)

    def output_types(self, arguments: Sequence[Type | None], frame: Frame) -> list[Type | None]:
        """The types that the outputs would have in a call with arguments of these types.

        frame: the frame of the enclosing graph.  Dims that inference does not determine come from the declared types, with
        the lengths to which the inputs of the run bind dimension variables.  Dims known from neither are None.
        """
        captured = frame.find(captures(self.graph))
        key = (*arguments, *map(value_key, captured.values()))
        inferred = self.inferred.get(key)
        if inferred is None:
            if len(self.inferred) >= MAX_BODIES:
                self.inferred.clear()
            inferred = self.inferred[key] = self.infer_outputs(arguments, captured)
        lengths = frame.run.lengths if self.has_global_names() else {}
        outputs = self.graph.outputs
        return [complete_type(i, value.type, lengths) for i, value in zip(inferred, outputs, strict=True)]

    def has_global_names(self) -> bool:
        """Whether a dimension variable that the graph declares is the variable with this name of the model's inputs.

        In functions, and up to IR version 3 for all inner values, equal names are different variables.
        """
        graph = self.graph
        while graph.parent is not None and graph.parent.graph is not None:
            graph = graph.parent.graph
        return graph is self.model.graph and self.model.ir_version >= FIRST_IR_WITH_GLOBAL_NAMES

    def infer_outputs(
        self, arguments: Sequence[Type | None], captured: Mapping[Value, RuntimeValue]
    ) -> list[Type | None]:
        """The inferred types.  They are inferred in a copy, since inference sets types of values that other runs read."""
        from sardonyx._src.infer.scope import InferenceScope  # lazy: few runs infer types
        from sardonyx._src.infer.state import InferenceState  # lazy: few runs infer types
        from sardonyx._src.infer.walk import run_walk  # lazy: few runs infer types

        outer = {value: Value(value.name, tensor_type(array)) for value, array in captured.items()}
        graph = Copier(outer, self.bindings).graph(self.graph)
        for value in graph.outputs:
            value.type = None  # `complete_type` adds what is declared
        model = Model(graph, ir_version=self.model.ir_version, opset_imports=dict(self.imports))
        model.functions = {name: clone_function(f) for name, f in self.model.functions.items()}
        state = InferenceState(model, [])
        for value, array in captured.items():
            if has_known_elements(array):
                state.elements.put(outer[value], array)
        for value, argument in zip(graph.inputs, arguments, strict=False):
            value.type = argument
        run_walk(InferenceScope(state, model.opset_imports).graph(graph))
        return [value.type for value in graph.outputs]


def value_key(value: RuntimeValue) -> Hashable:
    """The part of a captured value that inference uses: its type, and the elements of a small tensor."""
    type_ = tensor_type(value)
    return (type_, value.tobytes()) if has_known_elements(value) else type_


def has_known_elements(value: RuntimeValue) -> TypeGuard[Array]:
    """Whether inference may look at the elements of a value."""
    return isinstance(value, np.ndarray) and value.size <= MAX_KNOWN_ELEMENTS and value.dtype != np.object_


def complete_type(inferred: Type | None, declared: Type | None, lengths: Mapping[str, int]) -> Type | None:
    """The inferred type, completed by the declared one, with numbers and None as dims."""
    inferred, declared = with_numbers(inferred, {}), with_numbers(declared, lengths)
    if inferred is None or declared is None or declared.shape is None:
        return inferred or declared
    shape = inferred.shape
    if shape is None:
        shape = declared.shape
    elif len(shape) == len(declared.shape):
        shape = tuple(d if i is None else i for i, d in zip(shape, declared.shape, strict=True))
    return TensorType(inferred.dtype, shape)


def with_numbers(type_: Type | None, lengths: Mapping[str, int]) -> TensorType | None:
    """A tensor's type with the values of its dims, None for those that are not known; None for another type."""
    if not isinstance(type_, TensorType) or type_.shape is None:
        return type_ if isinstance(type_, TensorType) else None
    return TensorType(type_.dtype, tuple(evaluate(dim, lengths) for dim in type_.shape))
