"""Choice of pairs of words, and of the signs of their weights, for which int16 sums of products of bytes are exact.

`pmaddubsw` multiplies uint8 by int8 and adds two products in int16, with saturation.  The sum of n products is exact if its
positive weights add up to at most 128, and its negative ones to at least -128: 255 * 128 is an int16, 255 * 129 is not.

A weight may be *flipped*: x * w = (255 - x) * -w + 255 * w.  255 - x is x with all bits inverted, and 255 * w a constant.
Two words of four weights are a *pair* if the int16 sums of four products, two of each word, are exact with some weights of the
second word flipped, and a *plain pair* if none has to be.  A word that is *single* has sums of two products, which flips always
make exact, except that of two weights of -128.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array

MAX_SUM = 128  # of the magnitudes of the weights of one sign in an int16 sum
UNUSABLE = 255  # a sum that no word of a pair has
MAX_ROUNDS = 64  # of trials of another second word for each first one
MIN_SUCCESS = 0.01  # a round with a smaller share of pairs among its trials is the last one
Weights = Array  # [panels, words, sums, 2] int8: the two weights of each int16 sum, of which a column has two


@dataclass(frozen=True, slots=True)
class WordPairs:
    """Pairs of words: the panel, the first and the second word of each, in the order of panels and of first words.

    So half of A is read in order, which comes from the level-2 cache: a tile of 1024 terms takes 1 % less time.
    """

    panel: Array
    first: Array
    second: Array


def has_inexact_sum(weights: Weights) -> bool:
    """Whether an int16 sum has two weights of -128: 128, to which one would be flipped, is no int8."""
    left, right = two(weights == -MAX_SUM)
    return bool((left & right).any())


def choose_pairs(weights: Weights) -> tuple[WordPairs, WordPairs]:
    """Plain pairs, and pairs of other words with flips; each word is in at most one.  Found by trials: there may be more."""
    bounds = word_bounds(weights)
    plain = try_pairs(bounds, bounds.largest <= MAX_SUM, are_plain_pairs)
    is_left = bounds.largest < UNUSABLE
    is_left[plain.panel, plain.first] = is_left[plain.panel, plain.second] = False
    return plain, try_pairs(bounds, is_left, are_pairs)


def try_pairs(
    bounds: WordBounds, is_tried: Array, is_pair: Callable[[WordBounds, Array, Array], Array]
) -> WordPairs:
    """Pairs among some words of each panel: those with the smaller sums are tried as first words, the others as second words."""
    num_panels, num_words = is_tried.shape
    order = np.argsort(np.where(is_tried, bounds.largest, UNUSABLE), axis=1, kind="stable")
    count = is_tried.sum(1) // 2
    index = np.arange(num_words // 2)
    is_free_first = (index < count[:, None]) & (
        np.take_along_axis(bounds.largest, order[:, : len(index)], 1) <= MAX_SUM
    )
    is_free_second = np.ones_like(is_free_first)
    order += np.arange(num_panels)[:, None] * num_words
    chosen = [np.zeros((3, 0), np.intp)]
    for shift in range(min(int(count.max(initial=0)), MAX_ROUNDS)):
        panel, i = np.nonzero(is_free_first)
        j = (i + shift) % count[panel]
        is_free = is_free_second[panel, j]
        panel, i, j = panel[is_free], i[is_free], j[is_free]
        first, second = order[panel, i], order[panel, count[panel] + j]
        accepted = is_pair(bounds, first, second)
        panel, i, j = panel[accepted], i[accepted], j[accepted]
        is_free_first[panel, i] = is_free_second[panel, j] = False
        chosen.append(np.stack((panel, first[accepted] % num_words, second[accepted] % num_words)))
        if len(panel) < MIN_SUCCESS * len(accepted) or not len(accepted):
            break
    pairs = np.concatenate(chosen, axis=1)
    return WordPairs(*pairs[:, np.lexsort((pairs[1], pairs[0]))])


@dataclass(frozen=True, slots=True)
class WordBounds:
    """What decides which words are pairs, of all panels, uint8.

    largest: [panels, words], the largest sum of weights of one sign; 255 if the word cannot be in a pair.
    sums: [panels * words, 2, sums], of the positive weights of each sum, and of the negative ones.
    room: [panels * words, 2, sums], what the two signs of each sum leave of 128, the greater rest first.
    needed: [panels * words, 3, sums], the sum of the magnitudes of the two weights, the greater one, the lesser one.
    """

    largest: Array
    sums: Array
    room: Array
    needed: Array


def word_bounds(weights: Weights) -> WordBounds:
    positive, negative = sums_by_sign(weights)
    magnitudes = np.abs(weights).view(np.uint8)  # 128 of -128
    greater, lesser = np.maximum(*two(magnitudes)), np.minimum(*two(magnitudes))
    largest = np.maximum(positive, negative)
    room = np.stack((MAX_SUM - np.minimum(positive, negative), MAX_SUM - largest), -2)
    needed = np.stack((greater + lesser, greater, lesser), -2)
    is_usable = greater.max(-1) < MAX_SUM
    sums = weights.shape[-2]
    return WordBounds(
        np.where(is_usable, largest.max(-1), np.uint8(UNUSABLE)),
        np.stack((positive, negative), -2).reshape(-1, 2, sums),
        room.reshape(-1, 2, sums),
        needed.reshape(-1, 3, sums),
    )


def are_plain_pairs(bounds: WordBounds, first: Array, second: Array) -> Array:
    """Whether the sums of words whose own sums are exact, at most 128, are so together."""
    has_place: Array = bounds.sums[first] <= MAX_SUM - bounds.sums[second]
    return np.asarray(has_place.all((-1, -2)))


def are_pairs(bounds: WordBounds, first: Array, second: Array) -> Array:
    """Whether the second words have a place in the sums of the first ones: on one side of each, or one weight on either side."""
    room, needed = bounds.room[first], bounds.needed[second]
    more, less = room[:, 0], room[:, 1]
    both, greater, lesser = needed[:, 0], needed[:, 1], needed[:, 2]
    has_place: Array = (both <= more) | ((greater <= more) & (lesser <= less))
    return np.asarray(has_place.all(-1))


def sums_by_sign(weights: Weights) -> tuple[Array, Array]:
    """The magnitudes of the sums of the positive weights of each int16 sum, and of the negative ones, uint8."""
    positive = np.maximum(weights, 0).view(np.uint8)
    negative = (-np.minimum(weights, 0)).view(np.uint8)  # 128 of -128
    return np.add(*two(positive)), np.add(*two(negative))


def two(weights: Array) -> tuple[Array, Array]:
    """The first and the second weights of sums."""
    return weights[..., 0], weights[..., 1]


def flips_of_second(first: Array, second: Array) -> Array:
    """Which weights of second words [pairs, sums, 2] int8 are flipped, given the first words of their pairs.

    The sign of the smaller sum takes both weights if it has room for them, otherwise the greater one, and the other sign the
    lesser one.
    """
    positive, negative = sums_by_sign(first)
    left, right = two(np.abs(second).view(np.uint8))
    has_room = left + right <= MAX_SUM - np.minimum(positive, negative)
    is_less = positive <= negative  # of the positive sum, which takes the greater weight
    is_first_greater = left >= right
    is_positive = np.stack(
        (is_less == (has_room | is_first_greater), is_less == (has_room | ~is_first_greater)), -1
    )
    is_flipped: Array = (second != 0) & ((second > 0) != is_positive)
    return is_flipped


def flips_of_single(weights: Array) -> Array:
    """Which weights of single words [words, sums, 2] int8 are flipped: one of two with the same sign whose sum is too great."""
    is_inexact = np.maximum(*sums_by_sign(weights)) > MAX_SUM
    is_least = weights[..., 1] == -MAX_SUM  # which cannot be flipped; the first weight is then greater
    return np.stack((is_inexact & is_least, is_inexact & ~is_least), -1)
