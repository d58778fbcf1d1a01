"""Einsum: products of tensors, summed over every index that the output does not name.

Spec: ai.onnx Einsum-12, -28, which differ in element types.  An equation as `ij, jk -> ik` names the axes of each
input and of the output; without an arrow the output has the letters that occur once, in the order of ASCII, behind
the axes of the ellipses, which are as many in each term.  Axes of one name have one size, or broadcast from 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import Shape, TensorType
from sardonyx._src.ops.api import Call, Operator, claim
from sardonyx._src.ops.arithmetic import in_float32
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.shapes import broadcast_dim, element
from sardonyx._src.ops.widening import NARROW_FLOATS, widening

op = Operator("Einsum", tolerance="rounding")
op.convert((28, 12))(widening(NARROW_FLOATS))

ELLIPSIS = "..."
MOST_LABELS = 52  # that numpy.einsum takes


@dataclass(frozen=True, slots=True)
class Equation:
    """The labels of each input and of the output: letters and ELLIPSIS."""

    inputs: tuple[tuple[str, ...], ...]
    output: tuple[str, ...]


def parse(text: str) -> Equation:
    """Raises EvaluationError for text that is no equation."""
    left, arrow, right = text.replace(" ", "").partition("->")
    inputs = tuple(labels(term, text) for term in left.split(","))
    counts = Counter(label for term in inputs for label in term)
    if not arrow:
        once = sorted(label for label, n in counts.items() if n == 1 and label != ELLIPSIS)
        return Equation(inputs, (*([ELLIPSIS] if ELLIPSIS in counts else []), *once))
    output = labels(right, text)
    if len(set(output)) < len(output):
        raise EvaluationError(f"the output of equation {text!r} names an axis twice")
    unknown = [label for label in output if label not in counts]
    if unknown:
        raise EvaluationError(f"the output of equation {text!r} has {unknown[0]}, which no input has")
    return Equation(inputs, output)


def labels(term: str, text: str) -> tuple[str, ...]:
    """The labels of one term of the equation `text`."""
    before, dots, after = term.partition(ELLIPSIS)
    letters = before + after
    if letters and not (letters.isascii() and letters.isalpha()):
        raise EvaluationError(f"term {term!r} of equation {text!r} is not made of letters and one ellipsis")
    return (*before, *([ELLIPSIS] if dots else []), *after)


@dataclass(frozen=True, slots=True)
class Axes:
    """An equation for inputs of known ranks: every axis has a number, those of an ellipsis one each."""

    inputs: tuple[tuple[int, ...], ...]
    output: tuple[int, ...]


def numbered(equation: Equation, ranks: Sequence[int | None]) -> Axes | None:
    """None when no rank tells how many axes the output's ellipsis has; raises EvaluationError for ranks that do not fit.

    The axes of an input of unknown rank are numbered as the equation has them.
    """
    if len(ranks) != len(equation.inputs):
        raise EvaluationError(f"the equation has {len(equation.inputs)} terms for {len(ranks)} inputs")
    hidden = {count for term, rank in zip(equation.inputs, ranks, strict=True) for count in spare(term, rank)}
    if len(hidden) > 1:
        raise EvaluationError(f"the ellipses stand for {' and '.join(map(str, sorted(hidden)))} axes at once")
    if not hidden and ELLIPSIS in equation.output:
        return None
    letters = sorted({label for term in equation.inputs for label in term} - {ELLIPSIS})
    numbers: dict[str, tuple[int, ...]] = {label: (i,) for i, label in enumerate(letters)}
    numbers[ELLIPSIS] = tuple(range(len(letters), len(letters) + max(hidden, default=0)))

    def axes(term: tuple[str, ...]) -> tuple[int, ...]:
        return tuple(axis for label in term for axis in numbers[label])

    return Axes(tuple(map(axes, equation.inputs)), axes(equation.output))


def spare(term: tuple[str, ...], rank: int | None) -> tuple[int, ...]:
    """How many axes the term's ellipsis stands for, if it has one and the rank is known."""
    if rank is None:
        return ()
    letters = len(term) - (ELLIPSIS in term)
    if rank < letters or (rank > letters and ELLIPSIS not in term):
        raise EvaluationError(f"an input of rank {rank} has the term {''.join(term)!r}")
    return (rank - letters,) if ELLIPSIS in term else ()


@op.eval(12, 28)
def evaluate(*Inputs: Array, equation: str, call: Call) -> Array:
    """Inputs: of one type, of the ranks that the equation says; integers wrap around."""
    axes = numbered(parse(equation), [x.ndim for x in Inputs])
    assert axes is not None, "every rank is known"
    sizes: dict[int, int] = {}
    for term, x in zip(axes.inputs, Inputs, strict=True):
        for axis, size in zip(term, x.shape, strict=True):
            known = sizes.get(axis, 1)
            if 1 not in (known, size) and known != size:
                raise EvaluationError(f"one axis of equation {equation!r} has the sizes {known} and {size}")
            sizes[axis] = size if known == 1 else known
    if len(sizes) > MOST_LABELS:
        raise EvaluationError(f"equation {equation!r} has {len(sizes)} axes, {MOST_LABELS} are possible")
    claim(call, [sizes[axis] for axis in axes.output], Inputs[0].dtype, "Einsum result")
    return summed(*Inputs, axes=axes)


@in_float32
def summed(*inputs: Array, axes: Axes) -> Array:
    terms = [part for x, term in zip(inputs, axes.inputs, strict=True) for part in (x, list(term))]
    return np.asarray(np.einsum(*terms, list(axes.output), optimize=len(inputs) > 1))


# --- inference -------------------------------------------------------------------------------


@op.infer(12, 28)
def infer(t: Inference) -> Result:
    dtype = element(*t.inputs)
    shapes = [t.shape(i) for i in range(len(t.given))]
    try:
        axes = numbered(parse(str(t.attributes["equation"])), [None if s is None else len(s) for s in shapes])
    except EvaluationError as error:
        t.fail(error.why)
    if dtype is None:
        return None
    return TensorType(dtype, None if axes is None else summed_shape(t, axes, shapes))


def summed_shape(t: Inference, axes: Axes, shapes: Sequence[Shape | None]) -> Shape:
    sizes: dict[int, list[Dim]] = {}
    for term, shape in zip(axes.inputs, shapes, strict=True):
        for axis, size in zip(term, (None,) * len(term) if shape is None else shape, strict=True):
            sizes.setdefault(axis, []).append(size)
    found = {axis: broadcast_dim(t, dims) for axis, dims in sizes.items()}
    return tuple(found[axis] for axis in axes.output)
