"""Size mutants: models of one operator with open dims, and feeds of which one size disagrees with the others.

Every dim that differs is a symbol of its own, so that only the operator relates it to others; the other dims have symbols of
their own, too, or share one if they are equal.  Some inputs are constants, whose sizes are numbers.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

import sardonyx as sx
from fuzz.engines import check_accesses, compare_engines
from fuzz.seeds import Subject
from fuzz.verdicts import Verdict
from fuzz.workers import Judge
from sardonyx._src.ir import Array, Attribute, Model, Node, Tensor, TensorType, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.dims import Known, symbol
from sardonyx._src.ops.api import RuntimeValue

CONSTANT, NUMBER = 0.3, 0.2  # shares of inputs, and of dims
SHARED, EPILOGUE, VALID_FIRST = 0.5, 0.2, 0.25  # shares of models
MAX_AXES = 2  # that differ in one case


@dataclass(frozen=True)
class SizeMutant:
    """A model, the feeds of a first run, which are those of a valid model, and feeds of other sizes."""

    model: Model
    first: Mapping[str, RuntimeValue]
    feeds: Mapping[str, RuntimeValue]


def size_mutant(subject: Subject, rng: random.Random) -> SizeMutant:
    """A mutant of a model with one node: some inputs are constants, and other sizes are fed for one or two axes."""
    model = sx.load(subject.model)
    feeds = {
        name: value for name, value in subject.feeds.items() if name in {v.name for v in model.graph.inputs}
    }
    arrays = [name for name, value in feeds.items() if isinstance(value, np.ndarray)]
    changed = rng.sample(arrays, min(len(arrays), rng.randint(1, MAX_AXES)))
    fed, constants = dict(feeds), {n for n in arrays if n not in changed and rng.random() < CONSTANT}
    others = {name: resized(feeds[name], rng) for name in changed}  # type: ignore[arg-type]
    open_inputs(model, {name: shapes_of(feeds[name], others.get(name)) for name in arrays}, rng)  # type: ignore[arg-type]
    for name in constants:
        fix_input(model, name, fed.pop(name))  # type: ignore[arg-type]
    if rng.random() < EPILOGUE:
        append_relu(model)
    for value in model.graph.outputs:
        value.type = None
    return SizeMutant(model, fed, fed | others)


def resized(array: Array, rng: random.Random) -> Array:
    """The array with another size along an axis, and repeated elements, which are valid where those of the array are."""
    if array.ndim == 0:
        return array.reshape(1)
    axis = rng.randrange(array.ndim)
    size = array.shape[axis]
    count = rng.choice([n for n in (size + 1, size - 1, 1, 0, 2 * size) if n >= 0 and n != size])
    if not size:
        return np.ones((*array.shape[:axis], count, *array.shape[axis + 1 :])).astype(array.dtype)
    result: Array = np.take(array, np.arange(count) % size, axis)
    return result


def shapes_of(array: Array, other: Array | None) -> list[tuple[int, ...]]:
    """The shapes that are fed for an input."""
    return [array.shape] if other is None else [array.shape, other.shape]


def open_inputs(model: Model, shapes: Mapping[str, Sequence[tuple[int, ...]]], rng: random.Random) -> None:
    """Gives each dim of the inputs a symbol, or the number that all shapes have."""
    shares = rng.random() < SHARED
    for value in model.graph.inputs:
        if isinstance(value.type, TensorType) and len({len(shape) for shape in shapes[value.name]}) == 1:
            columns = list(zip(*shapes[value.name], strict=True))
            dims = [
                open_dim(f"{value.name}.{axis}", column, rng, shares=shares)
                for axis, column in enumerate(columns)
            ]
            value.type = TensorType(value.type.dtype, tuple(dims))
        elif isinstance(value.type, TensorType):
            value.type = TensorType(value.type.dtype)


def open_dim(name: str, numbers: Sequence[int], rng: random.Random, *, shares: bool) -> Known:
    """The dim of this name, or of all dims with the same number, which may be known."""
    if len(set(numbers)) > 1:
        return symbol(name)
    return numbers[0] if rng.random() < NUMBER else symbol(f"size {numbers[0]}" if shares else name)


def fix_input(model: Model, name: str, elements: Array) -> None:
    """Makes an input a constant."""
    value = next(value for value in model.graph.inputs if value.name == name)
    model.graph.remove_input(value)
    value.initializer = Tensor.of(elements)
    value.type = TensorType(value.initializer.dtype, value.initializer.shape)
    model.graph.add_initializer(value)


def append_relu(model: Model) -> None:
    """Puts a LeakyRelu, which has its first version for ever, after the first output if that is a tensor of floats."""
    graph = model.graph
    before = graph.outputs[0]
    if isinstance(before.type, TensorType) and before.type.dtype is sx.DataType.FLOAT and before.producer:
        after = Value("after")
        slope = {"alpha": Attribute("alpha", AttributeType.FLOAT, 0.5)}
        graph.append(Node("LeakyRelu", [before], [after], slope))
        graph.outputs[0] = after


def size_judge(subjects: Sequence[Subject]) -> Judge:
    """Judges case i: a model and feeds of sizes that disagree, on both engines and with checked accesses."""
    by_operator: dict[str, list[Subject]] = {}
    for subject in subjects:
        if any(isinstance(value, np.ndarray) for value in subject.feeds.values()):
            by_operator.setdefault(subject.operator, []).append(subject)
    operators = sorted(by_operator)

    def judge(number: int) -> Verdict:
        rng = random.Random(f"sizes {number}")
        mutant = size_mutant(rng.choice(by_operator[rng.choice(operators)]), rng)
        first = mutant.first if rng.random() < VALID_FIRST else None
        verdict = compare_engines(mutant.model, mutant.feeds, first)
        if not verdict.fault:
            verdict = check_accesses(mutant.model, mutant.feeds) or verdict
        return verdict

    return judge
