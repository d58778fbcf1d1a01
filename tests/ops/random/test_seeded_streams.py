"""Seeded random operators draw what NumPy's legacy generator draws, on both engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import ml_dtypes
import numpy as np
import pytest

import sardonyx as sx
from cases import Case, model_of
from sardonyx._src.ir import Array
from sardonyx._src.runtime.session.session import Engine

P = np.array([[0.1, 0.5, 0.9], [0.3, 0.7, 0.5]], np.float32)
LIKE = np.zeros((2, 3), np.float32)
ENGINES: tuple[Engine, ...] = ("reference", "native")


def draw(
    engine: Engine,
    op: str,
    inputs: Sequence[Array],
    attributes: Mapping[str, object],
    version: int = 22,
    seed: int | None = None,
) -> Array:
    """The first output of the node in a session with that seed."""
    model = model_of(Case(op, version, inputs, [...], attributes))
    (result,) = (
        sx.Session(model, engine=engine, seed=seed).run({f"x{i}": x for i, x in enumerate(inputs)}).values()
    )
    assert isinstance(result, np.ndarray)
    return result


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("version", [1, 22])
@pytest.mark.parametrize("seed", [0, 7, 2**31])
def test_normal_and_uniform_numbers(engine: Engine, version: int, seed: int) -> None:
    normal, uniform = np.random.RandomState(seed).randn(2, 3), np.random.RandomState(seed).rand(2, 3)
    attributes = {"seed": float(seed), "shape": [2, 3], "dtype": 11}
    assert np.array_equal(draw(engine, "RandomNormal", [], attributes, version), normal)
    assert np.array_equal(draw(engine, "RandomUniform", [], attributes, version), uniform)
    del attributes["shape"]
    assert np.array_equal(draw(engine, "RandomNormalLike", [LIKE], attributes, version), normal)
    assert np.array_equal(draw(engine, "RandomUniformLike", [LIKE], attributes, version), uniform)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("number", "dtype"), [(1, np.float32), (10, np.float16), (16, ml_dtypes.bfloat16)])
def test_narrow_numbers_are_the_same_ones_rounded(engine: Engine, number: int, dtype: type) -> None:
    attributes = {"seed": 3.0, "shape": [2, 3], "dtype": number}
    uniform = np.random.RandomState(3).rand(2, 3) * 4 - 1
    result = draw(engine, "RandomUniform", [], {**attributes, "low": -1.0, "high": 3.0})
    assert np.array_equal(result, uniform.astype(dtype))
    result = draw(engine, "RandomNormal", [], {**attributes, "mean": 1.0, "scale": 2.0})
    assert np.array_equal(result, (np.random.RandomState(3).randn(2, 3) * 2 + 1).astype(dtype))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("version", [15, 22])
def test_bernoulli_draws_after_as_many_numbers_as_its_input_has(engine: Engine, version: int) -> None:
    state = np.random.RandomState(5)
    state.rand(2, 3)
    expected = state.binomial(1, P).astype(np.float32)
    assert np.array_equal(draw(engine, "Bernoulli", [P], {"seed": 5.0}, version), expected)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("version", [7, 22])
def test_multinomial_draws_as_choice_does(engine: Engine, version: int) -> None:
    chances = np.array([0.2, 0.5, 0.3])
    result = draw(engine, "Multinomial", [np.log([chances])], {"seed": 5.0, "sample_size": 8}, version)
    assert np.array_equal(result, np.random.RandomState(5).choice(3, (1, 8), p=chances))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("version", [12, 13, 22])
def test_dropout_keeps_what_is_drawn_at_the_ratio_or_above(engine: Engine, version: int) -> None:
    ratio, training = np.float32(0.75), np.array(True)
    kept = np.random.RandomState(9).uniform(size=(2, 3)) >= ratio
    result = draw(engine, "Dropout", [P, np.asarray(ratio), training], {"seed": 9}, version)
    np.testing.assert_array_equal(result, kept * P * np.float32(4))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("op", "inputs", "attributes"),
    [
        ("RandomNormal", [], {"shape": [0, 3]}),
        ("RandomUniformLike", [LIKE[:0]], {}),
        ("Bernoulli", [LIKE[:0]], {}),
        ("Multinomial", [LIKE[:0]], {"sample_size": 3}),
    ],
)
def test_nothing_is_drawn_for_empty_results(
    engine: Engine, op: str, inputs: Sequence[Array], attributes: Mapping[str, object]
) -> None:
    assert draw(engine, op, inputs, {**attributes, "seed": 1.0}).shape == (0, 3)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_seed_of_a_session_begins_one_stream_for_all_nodes(engine: Engine) -> None:
    state = np.random.RandomState(4)
    model = model_of(Case("RandomUniform", 22, [], [...], {"shape": [3], "dtype": 11}))
    session = sx.Session(model, engine=engine, seed=4)
    for _ in range(3):
        assert np.array_equal(np.asarray(session.run({})["y0"]), state.rand(3))


@pytest.mark.parametrize("engine", ENGINES)
def test_seeds_that_numpy_refuses_have_streams_of_their_own(engine: Engine) -> None:
    attributes = {"shape": [4], "dtype": 11}
    seeds = [0.0, -1.0, 0.5, 1.5, 1.0, 2.0**40, float("inf"), float("-inf")]
    drawn = [draw(engine, "RandomUniform", [], {**attributes, "seed": seed}) for seed in seeds]
    assert len({x.tobytes() for x in drawn}) == len(seeds)
    for seed, values in zip(seeds, drawn, strict=True):
        assert np.array_equal(draw(engine, "RandomUniform", [], {**attributes, "seed": seed}), values)
    sessions = [draw(engine, "RandomUniform", [], attributes, seed=seed) for seed in (-1, 2**32, 2**70)]
    assert len({x.tobytes() for x in sessions}) == 3


def test_a_seed_that_is_no_integer_is_an_error() -> None:
    model = model_of(Case("RandomUniform", 22, [], [...], {"shape": [3]}))
    with pytest.raises(sx.InputError, match=r"seed must be an integer or None; got 1\.5"):
        sx.Session(model, seed=1.5)  # type: ignore[arg-type]
