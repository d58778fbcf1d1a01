"""Models whose gradients are checked: the official cases and those of tests/ops, in double precision, with a scalar loss.

Element types below float64 become float64 where operators accept it, so that central differences are exact to many
digits.  Inputs are moved a little, away from ties and the kinks of piecewise functions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cases import model_of
from conformance.official import official_cases
from operator_cases import feeds_of, own_cases
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import SardonyxError
from sardonyx._src.grad.gradient_nodes import expand_gradients
from sardonyx._src.grad.preparation import update
from sardonyx._src.infer.walk import infer
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import (
    Array,
    Attribute,
    Model,
    Node,
    OptionalType,
    SequenceType,
    Tensor,
    TensorType,
    Type,
    Value,
)
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.build import GraphBuilder
from sardonyx._src.ir.model import clone
from sardonyx._src.ir.walk import graphs, nodes, values
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.schema import latest

LOSS = "loss"
# Operators whose floating-point inputs from a position on decide about sizes and positions, or are rounded to whole bins.
CHOICES = {"Resize": 1, "Upsample": 1, "MelWeightMatrix": 0}
SHORT_FLOATS = {DataType.FLOAT, DataType.FLOAT16, DataType.BFLOAT16}
TYPE_ATTRIBUTES = {"to", "dtype", "stash_type", "output_dtype", "softmax_precision"}
STASHING = {"LayerNormalization", "GroupNormalization", "RMSNormalization"}
JITTER = 1e-3  # relative size of the moves of inputs
MAX_ELEMENTS = 1 << 22  # of an input: larger ones are not moved, so that a check takes seconds


@dataclass(frozen=True)
class SourceCase:
    """A model with feeds, whose gradients can be checked.

    origin: official or own.  operators: (domain, name) of its nodes.
    """

    name: str
    origin: str
    load: Callable[[], tuple[Model, dict[str, RuntimeValue]]]

    def __str__(self) -> str:
        return f"{self.origin}: {self.name}"

    @cached_property
    def opened(self) -> tuple[Model, dict[str, RuntimeValue]]:
        return self.load()


def source_cases() -> Iterator[SourceCase]:
    """All cases with a floating-point input."""
    seen: Counter[str] = Counter()
    for case in own_cases():
        name = str(case)
        seen[name] += 1
        label = name if seen[name] == 1 else f"{name} ({seen[name]})"
        if any(has_floats(x) for x in case.inputs):
            yield SourceCase(label, "own", lambda case=case: (model_of(case), feeds_of(case)))  # type: ignore[misc]
    for official in official_cases():
        if official.kind != "real":  # large networks, whose operators have cases of their own
            yield SourceCase(official.name, "official", lambda case=official: open_official(case))  # type: ignore[misc]


def open_official(case: object) -> tuple[Model, dict[str, RuntimeValue]]:
    from conformance.official import OfficialCase

    assert isinstance(case, OfficialCase)
    model = case.load()
    inputs, _ = next(iter(case.data_sets(model)))
    names = [v.name for v in model.graph.inputs if case.kind != "real" or v.initializer is None]
    feeds = dict(zip(names, inputs, strict=False))
    return model, feeds  # type: ignore[return-value]  # data of the suite are values of the runtime


def has_floats(value: object) -> bool:
    if isinstance(value, list):
        return any(map(has_floats, value))
    return isinstance(value, np.ndarray) and is_float(value) and value.size > 0


def is_float(array: Array) -> bool:
    return array.dtype.kind == "f" or array.dtype.name == "bfloat16"


# --- double precision ------------------------------------------------------------------------


def widen(model: Model) -> Model:
    """A copy in which float64 takes the place of shorter floats: types, weights, constants and attributes that name a type."""
    result = clone(model)
    bodies = [result.graph, *(function.body for function in result.functions.values())]
    for graph in [inner for body in bodies for inner in graphs(body)]:
        for value in values(graph):
            value.type = wide_type(value.type)
            if isinstance(value.initializer, Tensor) and value.initializer.dtype in SHORT_FLOATS:
                value.initializer = wide_tensor(value.initializer)
    for node in [node for body in bodies for node in nodes(body)]:
        widen_attributes(node)
    return result


def widen_attributes(node: Node) -> None:
    for attribute in list(node.attributes.values()):
        value = attribute.value
        if attribute.name in TYPE_ATTRIBUTES and isinstance(value, int) and value in SHORT_FLOATS:
            attribute.value = int(DataType.DOUBLE)
        elif isinstance(value, Tensor) and value.dtype in SHORT_FLOATS:
            attribute.value = wide_tensor(value)
        elif isinstance(value, (SequenceType, OptionalType, TensorType)):
            attribute.value = wide_type(value)
    if node.op_type in STASHING and not node.domain:
        node.set_attribute(Attribute("stash_type", AttributeType.INT, int(DataType.DOUBLE)))
    if node.op_type == "Constant" and not node.domain:
        for name in ("value_float", "value_floats"):
            if name in node.attributes:
                tensor = Tensor.of(np.asarray(node.attributes.pop(name).value, np.float64))
                node.set_attribute(Attribute("value", AttributeType.TENSOR, tensor))


def wide_type(type: Type | None) -> Type | None:
    if isinstance(type, TensorType):
        return TensorType(DataType.DOUBLE, type.shape) if type.dtype in SHORT_FLOATS else type
    if isinstance(type, SequenceType):
        return SequenceType(wide_type(type.elem))
    if isinstance(type, OptionalType):
        return OptionalType(wide_type(type.elem))
    return type


def wide_tensor(tensor: Tensor) -> Tensor:
    return Tensor.of(tensor.numpy().astype(np.float64), DataType.DOUBLE, tensor.name)


def wide_value(value: RuntimeValue) -> RuntimeValue:
    if isinstance(value, list):
        return [wide_value(x) for x in value]
    if isinstance(value, np.ndarray) and DataType.of(value.dtype) in SHORT_FLOATS:
        return value.astype(np.float64)
    return value


def moved(value: RuntimeValue, draw: np.random.Generator) -> RuntimeValue:
    """A value with its finite floats moved by about a thousandth of their size, and at least of one."""
    if isinstance(value, list):
        return [moved(x, draw) for x in value]
    if isinstance(value, np.ndarray) and is_float(value) and value.size <= MAX_ELEMENTS:
        noise = JITTER * draw.uniform(0.3, 1, value.shape) * draw.choice([-1, 1], value.shape)
        with np.errstate(invalid="ignore"):
            return np.asarray(value + noise * np.maximum(np.abs(value), 1), value.dtype)
    return value


def drawn(value: RuntimeValue, draw: np.random.Generator) -> RuntimeValue:
    """A value with floats between 0.2 and 0.9, in the same shapes."""
    if isinstance(value, list):
        return [drawn(x, draw) for x in value]
    if isinstance(value, np.ndarray) and is_float(value):
        return np.asarray(draw.uniform(0.2, 0.9, value.shape), value.dtype)
    return value


# --- the loss --------------------------------------------------------------------------------


def add_loss(model: Model, feeds: Mapping[str, RuntimeValue], stem: str = LOSS) -> bool:
    """Replaces the outputs by `loss`, the sum of their floating-point elements, each times a seeded number.

    Sequences contribute the elements that they have in a run with these feeds.  Returns whether there are any.  stem: of the names of new
    constants.
    """
    infer(model)
    results = Interpreter(model, seed=1).run(feeds)
    b = GraphBuilder(model.opset_imports[""], graph=model.graph)
    parts = [part for value in model.graph.outputs for part in tensors_of(b, value, results[value.name])]
    terms = [weighted_sum(b, part, i, stem) for i, part in enumerate(parts)]
    model.graph.outputs.clear()
    if terms:
        b.output(b.Sum(*terms), LOSS)
    return bool(terms)


def tensors_of(b: GraphBuilder, value: Value, result: RuntimeValue) -> Iterator[Value]:
    """The floating-point tensors of an output."""
    type = value.type
    if isinstance(type, OptionalType) and result is not None:
        element = b.OptionalGetElement(value)
        element.type = type.elem
        yield from tensors_of(b, element, result)
    elif isinstance(type, SequenceType) and isinstance(result, list):
        for i, part in enumerate(result):
            if isinstance(part, np.ndarray) and is_float(part):
                yield b.SequenceAt(value, b.constant(f"{value.name}_{i}", np.int64(i)))
    elif isinstance(result, np.ndarray) and is_float(result):
        yield value


def weighted_sum(b: GraphBuilder, value: Value, i: int, stem: str) -> Value:
    seed = b.constant(f"{stem}_seed_{i}", np.float64(i + 1))
    count = b.Range(b.constant(f"{stem}_first_{i}", 0), b.Size(value), b.constant(f"{stem}_step_{i}", 1))
    wave = b.Sin(b.Add(b.CastLike(count, seed), seed))
    flat = b.Reshape(b.Cast(value, to=int(DataType.DOUBLE)), b.constant(f"{stem}_flat_{i}", [-1]))
    return b.ReduceSum(b.Mul(flat, wave), keepdims=0)


@dataclass(frozen=True)
class CheckedModel:
    """A model in the newest operator sets with a scalar `loss`, and feeds.

    is_wide: whether it computes in float64 throughout.  choices: inputs that have no gradient, since they decide about sizes.
    """

    model: Model
    feeds: Mapping[str, RuntimeValue]
    is_wide: bool
    choices: frozenset[str] = frozenset()


def prepare_case(
    case: SourceCase, seed: int, *, draws: bool = False, freezes: bool = False
) -> CheckedModel | None:
    """What is checked of a case; None if it has no floating-point result, or none that is finite.

    In float64 if its operators allow it, else in its own element types.  Where the result is not finite, as for inputs with
    infinities, and if it `draws`, inputs between 0.2 and 0.9 take the place of those of the case.  If it `freezes`,
    inputs that are no floats become constants.
    """
    original, feeds = case.opened
    newest = update(expand_gradients(original))
    newest.opset_imports.setdefault("", latest(""))
    draw = np.random.default_rng(seed)
    for model, own, is_wide in (
        (widen(newest), {k: wide_value(x) for k, x in feeds.items()}, True),
        (newest, feeds, False),
    ):
        for change in (drawn,) if draws else (moved, drawn):
            near = {name: change(x, draw) for name, x in own.items()}
            with suppress(SardonyxError, ValueError):
                candidate = clone(model)
                if freezes:
                    freeze_integers(candidate, near)
                if not add_loss(candidate, near):
                    return None
                if np.isfinite(loss_of(Interpreter(candidate), near)):
                    return CheckedModel(
                        candidate, near, is_wide and computes_in_double(candidate), choices_of(original)
                    )
    return None


def choices_of(model: Model) -> frozenset[str]:
    """The names of values that are read where CHOICES says."""
    return frozenset(
        value.name
        for node in model.graph.nodes
        if node.op_type in CHOICES
        for value in node.inputs[CHOICES[node.op_type] :]
        if value is not None
    )


def freeze_integers(model: Model, feeds: dict[str, RuntimeValue]) -> None:
    """Makes constants of the inputs that are tensors of integers or booleans."""
    for value in list(model.graph.inputs):
        x = feeds.get(value.name)
        if isinstance(x, np.ndarray) and x.dtype.kind in "iub" and not is_float(x):
            del feeds[value.name]
            model.graph.remove_input(value)
            value.initializer = Tensor.of(x, DataType.of(x.dtype), value.name)
            model.graph.add_initializer(value)


def computes_in_double(model: Model) -> bool:
    """Whether no value of a model has a shorter floating-point type."""
    return not any(
        isinstance(value.type, TensorType)
        and value.type.dtype.is_float
        and value.type.dtype is not DataType.DOUBLE
        for graph in graphs(model.graph)
        for value in values(graph)
    )


def loss_of(interpreter: Interpreter, feeds: Mapping[str, RuntimeValue]) -> float:
    """The loss, with random operators that draw the same in every run."""
    interpreter.random_source.reseed(1)
    with np.errstate(all="ignore"):
        loss = interpreter.run(feeds)[LOSS]
    assert isinstance(loss, np.ndarray)
    return float(loss)


def operators_of(model: Model) -> set[tuple[str, str]]:
    """The operators of a model, functions included."""
    bodies = [model.graph, *(function.body for function in model.functions.values())]
    return {(node.domain, node.op_type) for body in bodies for node in nodes(body)}


def float_inputs(checked: CheckedModel) -> Sequence[str]:
    """The fed floating-point tensors with elements whose gradients are compared."""
    return [
        value.name
        for value in checked.model.graph.inputs
        if value.name not in checked.choices
        and isinstance(value.type, TensorType)
        and isinstance(x := checked.feeds.get(value.name), np.ndarray)
        and has_floats(x)
    ]
