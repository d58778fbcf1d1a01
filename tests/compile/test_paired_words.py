"""Panels of paired words: sums of int16 never saturate, whatever the activations, and all of them are used."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from compile.contracts.contract import Contract, check_case, each_value
from compile.contracts.gemm_paired_words import CONTRACTS
from compile.contracts.targets import target_classes
from sardonyx._src.compile.kernels.gemm.integer.packed_int8 import pack_int8_constant
from sardonyx._src.compile.kernels.gemm.integer.paired_panels import (
    can_pair_words,
    pair_panel_words,
)
from sardonyx._src.compile.kernels.gemm.integer.word_pairs import (
    are_pairs,
    are_plain_pairs,
    choose_pairs,
    flips_of_second,
    flips_of_single,
    has_inexact_sum,
    word_bounds,
)
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import symbol

EDGES = (-128, -127, -65, -64, -63, -1, 0, 1, 63, 64, 65, 127)
ACTIVATIONS = np.array(
    list(product((0, 255), repeat=4))
)  # a sum is linear: its extremes are at those of each


def saturated_sums(x: Array, weights: Array) -> Array:
    """`pmaddubsw`: x and weights [..., 2]."""
    sums: Array = (x * weights.astype(np.int64)).sum(-1)
    return np.clip(sums, -(2**15), 2**15 - 1)


def is_exact(first: Array, second: Array, flips: Array) -> Array:
    """Whether the int16 sums of first and second words [n, 2] are exact for all activations, and the result is right."""
    right = np.ones(len(first), bool)
    stored, mask = np.where(flips, -second.astype(np.int64), second), np.where(flips, 255, 0)
    right &= (stored <= 127).all(-1)
    for x in ACTIVATIONS:
        total = saturated_sums(x[:2], first) + saturated_sums(x[2:] ^ mask, stored)
        constant = (255 * second.astype(np.int64) * flips).sum(-1)
        exact = (x[:2] * first.astype(np.int64)).sum(-1) + (x[2:] * second.astype(np.int64)).sum(-1)
        right &= (abs(total + 0.5) < 2**15) & (total + constant == exact)
    return right


def lanes(weights: Array) -> Array:
    """Weights [n, 2] of sums as words with one sum each, in a panel of their own: [n, 1, 1, 2]."""
    return weights[:, None, None]


def test_pairs_are_exactly_those_that_some_flips_make_exact() -> None:
    weights = np.array(list(product(EDGES, repeat=4)), np.int8)
    first, second = weights[:, :2], weights[:, 2:]
    bounds, index = word_bounds(np.concatenate([lanes(first), lanes(second)])), np.arange(len(weights))
    largest = bounds.largest[:, 0]
    accepted = are_pairs(bounds, index, index + len(weights)) & (largest[: len(weights)] <= 128)
    accepted &= largest[len(weights) :] < 255
    flips = flips_of_second(first[:, None], second[:, None])[:, 0]
    assert is_exact(first, second, flips)[accepted].all()
    possible = np.zeros(len(weights), bool)
    for both in product((False, True), repeat=2):
        possible |= is_exact(first, second, np.broadcast_to(both, second.shape))
    has_least = (weights == -128).any(-1)  # these words are single
    np.testing.assert_array_equal(accepted, possible & ~has_least)
    plain = are_plain_pairs(bounds, index, index + len(weights))
    plain &= (largest[: len(weights)] <= 128) & (largest[len(weights) :] <= 128)
    unflipped = is_exact(first, second, np.zeros_like(flips))
    np.testing.assert_array_equal(plain, unflipped & ~has_least)


def test_flips_make_single_words_exact() -> None:
    weights = np.array(list(product(range(-128, 128), repeat=2)), np.int8)
    weights = weights[~(weights == -128).all(-1)]
    flips = flips_of_single(weights[:, None])[:, 0]
    assert is_exact(np.zeros_like(weights), weights, flips).all()
    unflipped = is_exact(np.zeros_like(weights), weights, np.zeros_like(flips))
    np.testing.assert_array_equal(flips.any(-1), ~unflipped)


def test_two_weights_of_the_least_value_are_refused() -> None:
    weights = np.zeros((1, 8, 16, 2), np.int8)
    assert not has_inexact_sum(weights)
    weights[0, 3, 5] = -128
    assert has_inexact_sum(weights)
    assert pair_panel_words(weights.reshape(1, 8, 8, 4).view("<i4")[..., 0]) is None


def test_a_word_is_in_one_pair_at_most() -> None:
    weights = np.random.default_rng(0).normal(0, 36, (5, 33, 16, 2)).clip(-127, 127).astype(np.int8)
    pairs = choose_pairs(weights)
    words = np.concatenate([p.panel * 33 + word for p in pairs for word in (p.first, p.second)])
    assert len(words) == len(np.unique(words)) > 5 * 33 / 2


def test_small_weights_are_all_in_plain_pairs() -> None:
    weights = np.random.default_rng(0).integers(-32, 33, (3, 20, 16, 2)).astype(np.int8)
    plain, pairs = choose_pairs(weights)
    assert (len(plain.panel), len(pairs.panel)) == (3 * 10, 0)


AVX2 = target_classes()["avx2"]
CLASSES = [name for name, target in target_classes().items() if can_pair_words(8, target)]


@pytest.mark.skipif(not can_pair_words(8, AVX2), reason="the processor has no AVX2")
class TestProcessorWithoutDotProducts:
    def test_weights_that_cannot_be_exact_and_few_rows_have_other_panels(self) -> None:
        weights = np.ones((64, 8), np.int8)
        assert pack_int8_constant(weights, AVX2, rows=100).tile.has_pairs
        assert not pack_int8_constant(weights, AVX2, rows=1).tile.has_pairs
        assert not pack_int8_constant(weights, AVX2).tile.has_pairs
        assert pack_int8_constant(weights, AVX2, rows=symbol("n") * 128).tile.has_pairs
        assert not pack_int8_constant(weights, AVX2, rows=symbol("n")).tile.has_pairs
        assert not pack_int8_constant(weights[:20], AVX2, rows=100).tile.has_pairs
        weights[8:10, 3] = -128
        assert not pack_int8_constant(weights, AVX2, rows=100).tile.has_pairs

    @pytest.mark.parametrize("name", CLASSES)
    @pytest.mark.parametrize("contract", CONTRACTS, ids=str)
    def test_contract(self, contract: Contract, name: str) -> None:
        rng = np.random.default_rng(0)
        cases = [*each_value(contract.axes(target_classes()[name]), rng)]
        chosen = [cases[i] for i in rng.choice(len(cases), 30, replace=False)]
        assert sum(check_case(contract, name, case) for case in chosen) > 10


def test_processors_with_dot_products_and_without_vectors_have_other_panels() -> None:
    others = {"avx2 with dot products", "plain", "neon", "scalar"}
    assert not others & set(CLASSES)
