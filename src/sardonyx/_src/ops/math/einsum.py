"""Einsum: products of tensors, summed over every index that the output does not name.

Spec: ai.onnx Einsum-12, -28, which differ in element types.  An equation such as `ij, jk -> ik` labels the axes of each
input and of the output.  An ellipsis (...) stands for the same number of axes in each term.  Without an arrow, the output
has the axes of the ellipsis, then the letters that occur once, in ASCII order.  Axes with one label have one size, or
are broadcast from size 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Shape, TensorType
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.support.arithmetic import compute_in_float32
from sardonyx._src.ops.support.promotion import NARROW_FLOATS, promote_input
from sardonyx._src.ops.support.shapes import broadcast_dim, first_element_type

op = Operator("Einsum", tolerance="rounding")
op.convert((28, 12))(promote_input(NARROW_FLOATS))

ELLIPSIS = "..."
MAX_LABELS = 52  # the largest number of labels that numpy.einsum accepts
MAX_OPERANDS = 16  # operands of one call of numpy.einsum, which accepts at most 32


@dataclass(frozen=True, slots=True)
class Equation:
    """The labels of each input and of the output: letters and ELLIPSIS."""

    inputs: tuple[tuple[str, ...], ...]
    output: tuple[str, ...]


def parse(text: str) -> Equation:
    """The equation of the attribute; raises EvaluationError for text that is no equation."""
    left, arrow, right = text.replace(" ", "").partition("->")
    inputs = tuple(labels(term, text) for term in left.split(","))
    counts = Counter(label for term in inputs for label in term)
    if not arrow:
        once = sorted(label for label, n in counts.items() if n == 1 and label != ELLIPSIS)
        return Equation(inputs, (*([ELLIPSIS] if ELLIPSIS in counts else []), *once))
    output = labels(right, text)
    if len(set(output)) < len(output):
        raise EvaluationError(f"the output of equation {text!r} must name each axis once")
    unknown = [label for label in output if label not in counts]
    if unknown:
        raise EvaluationError(
            f"the output of equation {text!r} must use labels of the inputs; got {unknown[0]}, which no input has"
        )
    return Equation(inputs, output)


def labels(term: str, text: str) -> tuple[str, ...]:
    """The labels of one term of the equation `text`."""
    before, dots, after = term.partition(ELLIPSIS)
    letters = before + after
    if letters and not (letters.isascii() and letters.isalpha()):
        raise EvaluationError(
            f"a term of equation {text!r} must consist of letters and at most one ellipsis; got {term!r}"
        )
    return (*before, *([ELLIPSIS] if dots else []), *after)


@dataclass(frozen=True, slots=True)
class Axes:
    """An equation for inputs of known ranks: one number for each axis, ellipses expanded."""

    inputs: tuple[tuple[int, ...], ...]
    output: tuple[int, ...]


def number_axes(equation: Equation, ranks: Sequence[int | None]) -> Axes | None:
    """A number for each label, several for an ellipsis; None if the number of axes of the output's ellipsis is unknown.

    For an input of unknown rank, the ellipsis covers as many axes as in the other terms.  Raises EvaluationError for
    ranks that contradict the equation.
    """
    if len(ranks) != len(equation.inputs):
        raise EvaluationError(
            f"the equation must have one term for each of {len(ranks)} inputs; got {len(equation.inputs)}"
        )
    covered = {
        count
        for term, rank in zip(equation.inputs, ranks, strict=True)
        for count in ellipsis_rank(term, rank)
    }
    if len(covered) > 1:
        raise EvaluationError(
            f"all ellipses must cover the same number of axes; got {' and '.join(map(str, sorted(covered)))}"
        )
    if not covered and ELLIPSIS in equation.output:
        return None
    letters = sorted({label for term in equation.inputs for label in term} - {ELLIPSIS})
    numbers: dict[str, tuple[int, ...]] = {label: (i,) for i, label in enumerate(letters)}
    numbers[ELLIPSIS] = tuple(range(len(letters), len(letters) + max(covered, default=0)))

    def axes(term: tuple[str, ...]) -> tuple[int, ...]:
        return tuple(axis for label in term for axis in numbers[label])

    return Axes(tuple(map(axes, equation.inputs)), axes(equation.output))


def ellipsis_rank(term: tuple[str, ...], rank: int | None) -> tuple[int, ...]:
    """The number of axes that the term's ellipsis covers; () if the term has none or the rank is not known."""
    if rank is None:
        return ()
    letters = len(term) - (ELLIPSIS in term)
    if rank < letters or (rank > letters and ELLIPSIS not in term):
        raise EvaluationError(
            f"a term must have one label for each axis of its input; got {''.join(term)!r} for rank {rank}"
        )
    return (rank - letters,) if ELLIPSIS in term else ()


@op.eval(12, 28)
def evaluate(*Inputs: Array, equation: str, context: RunContext) -> Array:
    """Inputs: of one type, with the ranks that the equation requires; integers wrap around.

    More than MAX_OPERANDS inputs are contracted in several calls; each but the last keeps the axes still needed.
    """
    axes = number_axes(parse(equation), [x.ndim for x in Inputs])
    assert axes is not None, "every rank is known"
    sizes: dict[int, int] = {}
    for term, x in zip(axes.inputs, Inputs, strict=True):
        for axis, size in zip(term, x.shape, strict=True):
            known = sizes.get(axis, 1)
            if 1 not in (known, size) and known != size:
                raise EvaluationError(
                    f"an axis of equation {equation!r} must have one size; got {known} and {size}"
                )
            sizes[axis] = size if known == 1 else known
    if len(sizes) > MAX_LABELS:
        raise EvaluationError(
            f"an equation must have at most {MAX_LABELS} axes; got {len(sizes)} in {equation!r}"
        )
    check_result_bytes(context, [sizes[axis] for axis in axes.output], Inputs[0].dtype, "Einsum result")
    operands, terms = list(Inputs), list(axes.inputs)
    while len(operands) > MAX_OPERANDS:
        first, rest = terms[:MAX_OPERANDS], terms[MAX_OPERANDS:]
        needed = set(axes.output).union(*rest)
        kept = tuple(dict.fromkeys(axis for term in first for axis in term if axis in needed))
        check_result_bytes(context, [sizes[axis] for axis in kept], Inputs[0].dtype, "a product of Einsum")
        product = contract(*operands[:MAX_OPERANDS], axes=Axes(tuple(first), kept))
        operands, terms = [product, *operands[MAX_OPERANDS:]], [kept, *rest]
    return contract(*operands, axes=Axes(tuple(terms), axes.output))


@compute_in_float32
def contract(*inputs: Array, axes: Axes) -> Array:
    """One call of numpy.einsum."""
    terms = [part for x, term in zip(inputs, axes.inputs, strict=True) for part in (x, list(term))]
    return np.asarray(np.einsum(*terms, list(axes.output), optimize=len(inputs) > 1))


# --- inference -------------------------------------------------------------------------------


@op.infer(12, 28)
def infer(inference: Inference) -> Result:
    dtype = first_element_type(*inference.inputs)
    shapes = [inference.shape(i) for i in range(len(inference.given))]
    try:
        axes = number_axes(
            parse(str(inference.attributes["equation"])), [None if s is None else len(s) for s in shapes]
        )
    except EvaluationError as error:
        inference.fail(error.why)
    if dtype is None:
        return None
    return TensorType(dtype, None if axes is None else contracted_shape(inference, axes, shapes))


def contracted_shape(inference: Inference, axes: Axes, shapes: Sequence[Shape | None]) -> Shape:
    sizes: dict[int, list[Dim]] = {}
    for term, shape in zip(axes.inputs, shapes, strict=True):
        for axis, size in zip(term, (None,) * len(term) if shape is None else shape, strict=True):
            sizes.setdefault(axis, []).append(size)
    axis_sizes = {axis: broadcast_dim(inference, dims) for axis, dims in sizes.items()}
    return tuple(axis_sizes[axis] for axis in axes.output)
