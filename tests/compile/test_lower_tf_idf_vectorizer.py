"""TfIdfVectorizer of integers is native, with the counts of the reference engine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.ir import Array, Model

RNG = np.random.default_rng(4)
NGRAMS: list[list[tuple[int, ...]]] = [
    [(t,) for t in (-5, 0, 1, 2, 2**40)],
    [(0, 1), (1, 0), (1, 1), (2, 2**40), (1, 1)],
    [(0, 1, 1), (1, 1, 1), (2, 0, 2)],
]
INDEXES = [3, 0, 7, 1, 2, 4, 5, 6, 9, 10, 11, 12, 13]
WEIGHTS = [0.5 + i for i in range(13)]


def counting_model(
    x: str = "int64[N,C]",
    bounds: tuple[int, int] = (1, 3),
    skips: int = 0,
    mode: str = "TF",
    indexes: Sequence[int] = INDEXES,
    weights: Sequence[float] = (),
) -> Model:
    pool = [token for grams in NGRAMS for gram in grams for token in gram]
    counts = [0, *np.cumsum([len(grams) * n for n, grams in enumerate(NGRAMS, 1)]).tolist()[:2]]
    result = "float[N,?]" if "," in x else "float[?]"
    weighted = f", weights = {list(weights)}" if weights else ""
    return parse_model(
        f"""g ({x} x) => ({result} y) {{ y = TfIdfVectorizer <mode = "{mode}", min_gram_length = {bounds[0]},
            max_gram_length = {bounds[1]}, max_skip_count = {skips}, ngram_counts = {counts},
            ngram_indexes = {list(indexes)}, pool_int64s = {pool}{weighted}>(x) }}"""
    )


def draw_tokens(*shape: int) -> Array:
    return RNG.choice(np.array([-5, 0, 1, 1, 2, 2**40, 77, -(2**63)]), shape)


def assert_native(model: Model, xs: Sequence[Array]) -> None:
    session, reference = sx.Session(model, engine="native"), sx.Session(model, engine="reference")
    assert session.stats.fallback_nodes == 0
    for x in xs:
        actual, expected = session.run({"x": x})["y"], reference.run({"x": x})["y"]
        np.testing.assert_allclose(actual, expected, rtol=1e-6, strict=True)
    assert not session.stats.bailouts


SHAPES = [(3, 12), (1, 1), (0, 5), (4, 0), (50, 2), (2, 300)]


@pytest.mark.parametrize("bounds", [(1, 1), (1, 2), (1, 3), (2, 2), (3, 3)])
@pytest.mark.parametrize("skips", [0, 1, 4, 2**40])
def test_n_grams_of_all_lengths_and_distances(bounds: tuple[int, int], skips: int) -> None:
    assert_native(counting_model(bounds=bounds, skips=skips), [draw_tokens(*shape) for shape in SHAPES])


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
@pytest.mark.parametrize("weights", [(), WEIGHTS])
def test_modes_and_weights(mode: str, weights: Sequence[float]) -> None:
    assert_native(counting_model(mode=mode, weights=weights), [draw_tokens(*shape) for shape in SHAPES])


@pytest.mark.parametrize("mode", ["TF", "TFIDF"])
def test_n_grams_that_share_a_place_are_summed(mode: str) -> None:
    model = counting_model(mode=mode, indexes=[i // 2 for i in range(13)], weights=WEIGHTS)
    assert_native(model, [draw_tokens(*shape) for shape in SHAPES])


def test_n_grams_that_count_once_and_share_a_place_are_left_to_the_reference_kernel() -> None:
    model = counting_model(mode="IDF", indexes=[i // 2 for i in range(13)], weights=WEIGHTS)
    session, reference = sx.Session(model, engine="native"), sx.Session(model, engine="reference")
    assert session.stats.fallback_nodes == 1
    x = draw_tokens(3, 12)
    np.testing.assert_array_equal(session.run({"x": x})["y"], reference.run({"x": x})["y"])


def test_a_vector_is_one_row() -> None:
    assert_native(counting_model("int64[C]"), [draw_tokens(n) for n in (9, 0, 1)])


def test_int32_tokens() -> None:
    xs = [draw_tokens(*shape).astype(np.int32) for shape in SHAPES]
    assert_native(counting_model("int32[N,C]"), xs)


def test_the_example_of_the_specification() -> None:
    text = """g (int64[5] x) => (float[2] y) { y = TfIdfVectorizer <mode = "TF", min_gram_length = 2, max_gram_length = 2,
        max_skip_count = 2, ngram_counts = [0, 0], ngram_indexes = [0, 1], pool_int64s = [94, 12, 17, 28]>(x) }"""
    session = sx.Session(parse_model(text), engine="native")
    assert session.run({"x": np.array([94, 17, 36, 12, 28])})["y"].tolist() == [1, 1]
