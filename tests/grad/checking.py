"""Checks of gradients of whole models by central differences, with what may differ and why."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grad.differentiable_models import (
    LOSS,
    CheckedModel,
    SourceCase,
    add_loss,
    float_inputs,
    loss_of,
    operators_of,
    prepare_case,
)
from sardonyx._src.errors import SardonyxError
from sardonyx._src.grad.gradient import gradient
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Array, Model, TensorType
from sardonyx._src.ir.model import clone
from sardonyx._src.ir.walk import graphs, values
from sardonyx._src.ops.api import RuntimeValue

ATTEMPTS = 4  # with other small moves of the inputs, and a smaller step: a kink can be closer than the step
MAX_DIRECTIONS = 3
STEP, WIDE_TOLERANCE = 1e-5, (2e-5, 2e-6)  # relative, absolute
SECOND_TOLERANCE = 1e-4, 1e-5
SHORT_STEP, SHORT_TOLERANCE = 1e-2, (4e-2, 2e-2)


# Cases in which a gradient is undefined, or a derived model is invalid; by a part of their names.
EXCEPTIONS = {
    "nan_robustness_expanded": "the gradient of Softmax is NaN for a row of minus infinity",
    "structural_empty_expanded": "the gradient of Softmax is NaN for a row of minus infinity",
    "mode3_zero_expanded": "the gradient of Softmax is NaN for a row of minus infinity",
    "mode3_softmax_precision_expanded": "the gradient of Softmax is NaN for a row of minus infinity",
    "causal_padded_kv_bf16_expanded": "the gradient of Softmax is NaN for a row of minus infinity",
    "gqa_rank4_mask_expanded": "the gradient of Softmax is NaN for a row of minus infinity",
    "Erf-13 bfloat16": "the second derivative at infinity is infinity times 0",
    "one class: 0 is outside": "the result is a step, which the differences cross",
    "CausalConvWithState-27 no step": "a convolution would have windows without elements",
    "Conv-22 empty": "a convolution would have windows without elements",
}


@dataclass(frozen=True)
class Verdict:
    """What came of a case: checked, short (checked in float32), refused, wrong, or skipped, with the reason."""

    kind: str
    operators: frozenset[tuple[str, str]] = frozenset()
    reason: str = ""


def check_case(case: SourceCase, *, second_order: bool = False) -> Verdict:
    """Compares the gradients of a case with central differences; those of second order, too, where they are in float64.

    The reason of a case that is checked is what its gradients of second order are: empty, checked, refused or wrong.
    """
    for part, reason in EXCEPTIONS.items():
        if part in case.name:
            return Verdict("excepted", reason=reason)
    try:
        checked = prepare_case(case, 0)
    except (SardonyxError, ValueError) as error:
        return Verdict("skipped", reason=f"cannot be prepared: {error}")
    if checked is None:
        return Verdict("skipped", reason="no finite floating-point result")
    names = float_inputs(checked)
    operators = frozenset(operators_of(case.opened[0]))
    if not names:
        return Verdict("skipped", operators, "no floating-point tensor among the inputs")
    if computes_coarsely(checked.model):
        return Verdict("skipped", operators, "computes with fewer digits than float32")
    freezes = False
    try:
        derived = gradient(checked.model, LOSS, names)
    except SardonyxError:
        freezes = True  # sizes and axes are constants in most models
        try:
            checked = prepare_case(case, 0, freezes=True)
            assert checked is not None, f"{case} has a result"
            derived = gradient(checked.model, LOSS, names)
        except SardonyxError as error:
            return Verdict("refused", operators, str(error))
    difference = ""
    for attempt in range(ATTEMPTS):
        last = attempt == ATTEMPTS - 1
        again = checked if attempt == 0 else prepare_case(case, attempt, draws=last, freezes=freezes)
        if again is None:
            continue
        step = STEP / 10 if attempt else STEP
        difference = find_difference(again, derived_run(derived, again.feeds, names), step=step)
        if not difference:
            second = check_second_order(derived, again) if checked.is_wide and second_order else ""
            return Verdict("checked" if checked.is_wide else "short", operators, second)
    return Verdict("wrong", operators, difference)


def check_second_order(derived: Model, first: CheckedModel) -> str:
    """Compares the gradients of the gradients with central differences."""
    model = clone(derived)
    model.graph.outputs[:] = [value for value in model.graph.outputs if value.name != LOSS]
    for value in values(model.graph):
        if value.name == LOSS:
            value.name = "first_loss"
    try:
        if not add_loss(model, first.feeds, "second_loss"):
            return ""
        second = CheckedModel(model, first.feeds, True, first.choices)
        names = float_inputs(second)
        twice = gradient(model, LOSS, names)
    except SardonyxError as error:
        return f"refused: {error}"
    difference = find_difference(second, derived_run(twice, first.feeds, names), SECOND_TOLERANCE)
    return f"wrong: {difference}" if difference else "checked"


def computes_coarsely(model: Model) -> bool:
    """Whether a value has a floating-point type shorter than float32."""
    return any(
        isinstance(value.type, TensorType) and value.type.dtype.is_float and value.type.dtype.bits < 32
        for graph in graphs(model.graph)
        for value in values(graph)
    )


def derived_run(
    derived: Model, feeds: Mapping[str, RuntimeValue], names: Sequence[str]
) -> Mapping[str, RuntimeValue]:
    """The gradients of a run by the names of what they belong to: the last outputs of the model."""
    results = list(Interpreter(derived, seed=1).run(feeds).values())
    return dict(zip(names, results[len(results) - len(names) :], strict=True))


def find_difference(
    checked: CheckedModel,
    results: Mapping[str, RuntimeValue],
    tolerance: tuple[float, float] | None = None,
    step: float = STEP,
) -> str:
    """The first gradient that is not what central differences say; empty if there is none.

    step: of the differences in float64.
    """
    interpreter = Interpreter(checked.model)
    relative, absolute = tolerance or (WIDE_TOLERANCE if checked.is_wide else SHORT_TOLERANCE)
    for name in float_inputs(checked):
        x, actual = checked.feeds[name], results[name]
        assert isinstance(x, np.ndarray) and isinstance(actual, np.ndarray)
        if actual.shape != x.shape or actual.dtype != x.dtype:
            return f"{name}: {actual.dtype}{list(actual.shape)}, not {x.dtype}{list(x.shape)}"
        for direction in directions(x.shape):
            expected = slope(checked, interpreter, name, x, direction, step)
            along = float((actual.astype(np.float64) * direction).sum())
            scale = float(np.abs(actual.astype(np.float64) * direction).sum())
            if not abs(along - expected) <= absolute + relative * max(abs(expected), scale):
                return f"{name}: {along}, not {expected}"
    return ""


def directions(shape: tuple[int, ...]) -> Iterator[NDArray[np.float64]]:
    """Each element of a small tensor by itself; seeded directions in the space of a larger one."""
    size = math.prod(shape)
    draw = np.random.default_rng(size)
    for i in range(min(size, MAX_DIRECTIONS)):
        single = np.zeros(size)
        single[i] = 1
        yield (single if size <= MAX_DIRECTIONS else draw.standard_normal(size)).reshape(shape)


def slope(
    checked: CheckedModel,
    interpreter: Interpreter,
    name: str,
    x: Array,
    direction: NDArray[np.float64],
    step: float,
) -> float:
    """The derivative of the loss along a direction of a feed, from four values: its error has the order of step^4."""
    size = step if checked.is_wide else SHORT_STEP

    def loss_after(steps: int) -> float:
        moved = np.asarray(x + steps * size * direction, x.dtype)
        return loss_of(interpreter, {**checked.feeds, name: moved})

    return (8 * (loss_after(1) - loss_after(-1)) - (loss_after(2) - loss_after(-2))) / (12 * size)
