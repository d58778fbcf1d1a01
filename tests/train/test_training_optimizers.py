"""Optimizers, compared with the formulas of their papers and of PyTorch's documentation in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.ir import Array
from sardonyx._src.runtime.session.session import Engine
from sardonyx._src.train.optimizers.table import OPTIMIZERS
from sardonyx.train import (
    SGD,
    Adagrad,
    Adam,
    AdamW,
    CosineSchedule,
    Lion,
    Momentum,
    Nesterov,
    Optimizer,
    RMSProp,
    StepSchedule,
    WarmUp,
)
from train.linear_model import Formula, train_by_formula, train_by_model

RATE = 0.05
State = dict[str, Array]


def sgd(t: int, p: Array, g: Array, state: State) -> Array:
    return p - RATE * (g + 0.01 * p)


def momentum(t: int, p: Array, g: Array, state: State) -> Array:
    """torch.optim.SGD(momentum=0.8, weight_decay=0.01): the buffer starts as the first gradient."""
    g = g + 0.01 * p
    state["v"] = g if t == 1 else 0.8 * state["v"] + g
    return p - RATE * state["v"]


def nesterov(t: int, p: Array, g: Array, state: State) -> Array:
    state["v"] = g if t == 1 else 0.8 * state["v"] + g
    return p - RATE * (g + 0.8 * state["v"])


def adam_direction(t: int, g: Array, state: State, epsilon: float) -> Array:
    state["m"] = 0.9 * state.get("m", 0) + 0.1 * g
    state["v"] = 0.99 * state.get("v", 0) + 0.01 * g * g
    return np.asarray((state["m"] / (1 - 0.9**t)) / (np.sqrt(state["v"] / (1 - 0.99**t)) + epsilon))


def adam(t: int, p: Array, g: Array, state: State) -> Array:
    return p - RATE * adam_direction(t, g + 0.02 * p, state, 1e-3)


def adam_second_form(t: int, p: Array, g: Array, state: State) -> Array:
    """The end of section 2 of the paper: epsilon is added to the root of v without bias correction."""
    adam_direction(t, g + 0.02 * p, state, 0)
    rate = RATE * np.sqrt(1 - 0.99**t) / (1 - 0.9**t)
    return np.asarray(p - rate * state["m"] / (np.sqrt(state["v"]) + 1e-3))


def adamw(t: int, p: Array, g: Array, state: State) -> Array:
    return (1 - RATE * 0.1) * p - RATE * adam_direction(t, g, state, 1e-3)


def adagrad(t: int, p: Array, g: Array, state: State) -> Array:
    g = g + 0.02 * p
    state["h"] = state.get("h", 0) + g * g
    return p - RATE / (1 + (t - 1) * 0.3) * g / (np.sqrt(state["h"]) + 1e-4)


def rmsprop(t: int, p: Array, g: Array, state: State) -> Array:
    state["v"] = 0.9 * state.get("v", 0) + 0.1 * g * g
    return p - RATE * g / (np.sqrt(state["v"]) + 1e-3)


def rmsprop_centred(t: int, p: Array, g: Array, state: State) -> Array:
    """torch.optim.RMSprop(centered=True, momentum=0.7)."""
    state["v"] = 0.9 * state.get("v", 0) + 0.1 * g * g
    state["w"] = 0.9 * state.get("w", 0) + 0.1 * g
    spread = state["v"] - state["w"] ** 2
    state["u"] = 0.7 * state.get("u", 0) + g / (np.sqrt(spread) + 1e-3)
    return p - RATE * state["u"]


def lion(t: int, p: Array, g: Array, state: State) -> Array:
    m = state.get("m", np.zeros_like(g))
    state["m"] = 0.95 * m + 0.05 * g
    return np.asarray(p - RATE * (np.sign(0.8 * m + 0.2 * g) + 0.1 * p))


def cosine(t: int, p: Array, g: Array, state: State) -> Array:
    """A peak of 0.4 and an end of 0.1 after four updates."""
    share = min((t - 1) / 4, 1)
    return np.asarray(p - (0.1 + 0.3 * (1 + np.cos(np.pi * share)) / 2) * g)


def stepped(t: int, p: Array, g: Array, state: State) -> Array:
    return p - 0.4 * 0.5 ** ((t - 1) // 3) * g


def warm(t: int, p: Array, g: Array, state: State) -> Array:
    """A rise over three updates to 0.4, which is then halved after every two."""
    return p - min(t / 3, 1) * 0.4 * 0.5 ** (max(t - 4, 0) // 2) * g


BETAS = (0.9, 0.99)
CASES: list[tuple[str, Optimizer, Formula]] = [
    ("sgd", SGD(rate=RATE, weight_decay=0.01), sgd),
    ("momentum", Momentum(rate=RATE, momentum=0.8, weight_decay=0.01), momentum),
    ("nesterov", Nesterov(rate=RATE, momentum=0.8), nesterov),
    ("adam", Adam(rate=RATE, betas=BETAS, epsilon=1e-3, weight_decay=0.02), adam),
    ("adamw", AdamW(rate=RATE, betas=BETAS, epsilon=1e-3, weight_decay=0.1), adamw),
    ("adagrad", Adagrad(rate=RATE, rate_decay=0.3, epsilon=1e-4, weight_decay=0.02), adagrad),
    ("rmsprop", RMSProp(rate=RATE, smoothing=0.9, epsilon=1e-3), rmsprop),
    (
        "rmsprop-centred",
        RMSProp(rate=RATE, smoothing=0.9, epsilon=1e-3, momentum=0.7, centred=True),
        rmsprop_centred,
    ),
    ("lion", Lion(rate=RATE, betas=(0.8, 0.95), weight_decay=0.1), lion),
    ("cosine", SGD(rate=CosineSchedule(0.4, steps=4, final=0.1)), cosine),
    ("steps", SGD(rate=StepSchedule(0.4, every=3, factor=0.5)), stepped),
    ("warm-up", SGD(rate=WarmUp(3, StepSchedule(0.4, every=2, factor=0.5))), warm),
]
OPERATORS: list[tuple[str, Optimizer, Formula]] = [
    ("momentum", Momentum(rate=RATE, momentum=0.8, weight_decay=0.01, as_operator=True), momentum),
    ("nesterov", Nesterov(rate=RATE, momentum=0.8, as_operator=True), nesterov),
    (
        "adam",
        Adam(rate=RATE, betas=BETAS, epsilon=1e-3, weight_decay=0.02, as_operator=True),
        adam_second_form,
    ),
    (
        "adagrad",
        Adagrad(rate=RATE, rate_decay=0.3, epsilon=1e-4, weight_decay=0.02, as_operator=True),
        adagrad,
    ),
]


# The rate is a float32 scalar, whatever the type of the weights.
@pytest.mark.parametrize(("name", "optimizer", "formula"), CASES, ids=[name for name, _, _ in CASES])
def test_updates_are_those_of_the_formula(name: str, optimizer: Optimizer, formula: Formula) -> None:
    expected = train_by_formula(formula)
    actual = train_by_model(optimizer, "reference")
    for weight, value in expected.items():
        np.testing.assert_allclose(actual[weight], value, rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize(("name", "optimizer", "formula"), OPERATORS, ids=[name for name, _, _ in OPERATORS])
def test_operators_of_the_specification_update_so_too(
    name: str, optimizer: Optimizer, formula: Formula
) -> None:
    expected = train_by_formula(formula)
    actual = train_by_model(optimizer, "reference")
    for weight, value in expected.items():
        np.testing.assert_allclose(actual[weight], value, rtol=2e-6, atol=1e-7)


@pytest.mark.native
@pytest.mark.parametrize("engine", ["native"])
def test_the_native_engine_computes_the_same(engine: Engine) -> None:
    optimizer, formula = CASES[3][1:]
    expected, actual = train_by_formula(formula), train_by_model(optimizer, engine)
    for weight, value in expected.items():
        np.testing.assert_allclose(actual[weight], value, rtol=2e-6, atol=1e-7)


def test_every_optimizer_has_a_case() -> None:
    assert {type(optimizer) for _, optimizer, _ in CASES} == set(OPTIMIZERS.values())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SGD(rate=-1), r"rate must be a number >= 0; got -1"),
        (
            lambda: SGD(rate="fast"),  # type: ignore[arg-type]
            r"rate must be a number; got str",
        ),
        (lambda: Adam(betas=(0.9, 1.0)), r"betas must be a number >= 0 and <= 0.999999; got 1.0"),
        (
            lambda: Adam(betas=0.9),  # type: ignore[arg-type]
            r"betas must be two numbers; got float",
        ),
        (lambda: Momentum(momentum=2), r"momentum must be a number >= 0 and <= 1; got 2"),
        (lambda: RMSProp(weight_decay=float("nan")), r"weight_decay must be a number; got NaN"),
        (lambda: CosineSchedule(0.1, steps=0), r"steps must be at least 1; got 0"),
        (lambda: StepSchedule(0.1, every=2, factor=0), r"factor must be a number > 0; got 0"),
        (
            lambda: WarmUp(3, "cosine"),  # type: ignore[arg-type]
            r"rate must be a number; got str",
        ),
    ],
)
def test_parameters_out_of_range_are_refused(make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises((sx.InputError, TypeError), match=message):
        make()
