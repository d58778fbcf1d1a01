"""A pool of n-grams as a trie, and their occurrences in rows of tokens.

A node of the trie is a prefix of n-grams.  The nodes of one level are numbered, and hash tables lead from a node and the next
token to a node of the next level; a look-up handles all windows of all rows at once.  Few tokens are looked up one by one, in
nested dictionaries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array
from sardonyx._src.ops.ml.lookup import map_strings
from sardonyx._src.ops.text.hashed_keys import HashedKeys

Ints = NDArray[np.int64]
# For each token, the numbers of the n-grams that end with it, and the trie of the tokens that may follow it.
TokenTrie: TypeAlias = "dict[object, tuple[list[int], TokenTrie]]"


@dataclass(frozen=True, slots=True)
class NgramsOfLength:
    """The n-grams of one length.

    first: the index of the first one in the pool
    tokens: [grams, n] indices in the vocabulary
    """

    first: int
    tokens: Ints


@dataclass(frozen=True, slots=True)
class TrieLevel:
    """The prefixes of one length.

    A prefix that is itself an n-gram has a number for each n-gram of the pool that is equal to it.

    steps: from prefix * words + token to the longer prefix; None in the first level, where a prefix is a token
    begin, times: for each prefix, the position of its first n-gram in `grams`, and their number
    grams: the numbers of the n-grams of this length, ordered by prefix
    is_single: whether no prefix has several n-grams
    is_full: whether every prefix has exactly one
    """

    steps: HashedKeys | None
    begin: Ints
    times: Ints
    grams: Ints
    is_single: bool
    is_full: bool

    @classmethod
    def of(cls, steps: HashedKeys | None, nodes: Ints, count: int, first: int) -> TrieLevel:
        """The level with `count` prefixes.

        nodes: the prefix of each n-gram that ends in this level; the n-grams are numbered from `first` on
        """
        times = np.bincount(nodes, minlength=count)
        grams = first + np.argsort(nodes, kind="stable")
        is_single, is_full = not (times > 1).any(), bool((times == 1).all())
        return cls(steps, np.cumsum(times) - times, times, grams, is_single, is_full)

    def matches(self, start: Ints, node: Ints) -> tuple[Ints, Ints]:
        """The starts of occurrences of n-grams, and these n-grams.

        start, node: positions of tokens, and the prefix that begins at each of them
        """
        if self.is_full:
            return start, self.grams.take(node)
        times = self.times[node]
        if self.is_single:
            is_gram = times > 0
            return start[is_gram], self.grams[self.begin[node[is_gram]]]
        ends = np.cumsum(times)
        each = np.arange(ends[-1] if len(ends) else 0) + np.repeat(self.begin[node] - ends + times, times)
        return np.repeat(start, times), self.grams[each]


@dataclass(frozen=True)
class NgramPool:
    """The n-grams of the requested lengths.

    vocabulary: the distinct tokens
    size: the number of n-grams of all lengths
    find: returns the index in the vocabulary of each token of an array; -1 for tokens that are not in it
    """

    grams: tuple[NgramsOfLength, ...]
    vocabulary: Array
    size: int
    levels: tuple[TrieLevel, ...]
    find: Callable[[Array], Ints]

    @classmethod
    def of(cls, tokens: Array, starts: Sequence[int], shortest: int, longest: int, size: int) -> NgramPool:
        """The pool of n-grams of `shortest` to `longest` tokens.

        tokens: the tokens of all 1-grams, then those of all 2-grams and so on
        starts: for each length, the position of its first token

        Raises EvaluationError for inconsistent bounds.
        """
        check_bounds(len(tokens), starts, shortest, longest, size)
        vocabulary, ids = np.unique(tokens, return_inverse=True)
        bounds = [*starts, len(tokens)]
        grams, first = [], 0
        for n in range(1, len(starts) + 1):
            begin, end = bounds[n - 1], bounds[n]
            if shortest <= n <= longest:
                grams.append(NgramsOfLength(first, ids[begin:end].reshape(-1, n)))
            first += (end - begin) // n
        return cls(
            tuple(grams), vocabulary, size, build_levels(grams, len(vocabulary)), make_finder(vocabulary)
        )

    def occurrences(self, ids: Ints, row: Ints, skips: int) -> tuple[Ints, Ints]:
        """The row and the n-gram of each occurrence of an n-gram.

        ids, row: the index in the vocabulary and the row of each token, row by row
        """
        known = np.flatnonzero(ids >= 0)
        occurrences = [self.levels[0].matches(known, ids[known])]
        if len(self.levels) == 1:
            starts, grams = occurrences[0]
            return row[starts], grams
        longest = 1 if skips == 0 or not len(row) else int(np.bincount(row).max()) - 1
        for distance in range(1, min(skips, longest - 1) + 2):
            occurrences += self.longer_matches(ids, row, known, distance)
        starts, grams = (np.concatenate(each) for each in zip(*occurrences, strict=True))
        return row[starts], grams

    def longer_matches(self, ids: Ints, row: Ints, start: Ints, distance: int) -> list[tuple[Ints, Ints]]:
        """The `matches` of each level after the first, for tokens `distance` apart; start: positions of known tokens."""
        node, occurrences, words = ids[start], [], len(self.vocabulary)
        for k, level in enumerate(self.levels[1:], 1):
            start, node = start[: (n := np.searchsorted(start, len(ids) - k * distance))], node[:n]
            last = start + k * distance
            token = ids[last]
            is_known = (token >= 0) & (row[last] == row[start])
            start, node, token = start[is_known], node[is_known], token[is_known]
            assert level.steps is not None, "only the first level has no steps"
            node = level.steps.find(node * words + token)
            start, node = start[node >= 0], node[node >= 0]
            occurrences.append(level.matches(start, node))
        return occurrences

    @cached_property
    def token_trie(self) -> TokenTrie:
        """The n-grams as nested dictionaries of tokens."""
        root: TokenTrie = {}
        for grams in self.grams:
            for number, tokens in enumerate(self.vocabulary[grams.tokens].tolist(), grams.first):
                children = root
                ending: list[int] = []
                for token in tokens:
                    ending, children = children.setdefault(token, ([], {}))
                ending.append(number)
        return root

    def find_each(self, tokens: Sequence[object], skips: int) -> list[int]:
        """The n-gram of each occurrence in a few tokens of one row."""
        root, occurrences = self.token_trie, []
        for start, token in enumerate(tokens):
            if (node := root.get(token)) is None:
                continue
            grams, children = node
            occurrences += grams
            for distance in range(1, min(skips, len(tokens)) + 2) if children else ():
                following = children
                for later in tokens[start + distance :: distance]:
                    if (node := following.get(later)) is None:
                        break
                    grams, following = node
                    occurrences += grams
        return occurrences


def build_levels(grams: Sequence[NgramsOfLength], words: int) -> tuple[TrieLevel, ...]:
    """The levels of the trie, up to the longest n-grams."""
    nodes = [each.tokens[:, 0] for each in grams]
    levels, steps, count = [], None, words
    for n in range(1, max(each.tokens.shape[1] for each in grams) + 1):
        ending = [i for i, each in enumerate(grams) if each.tokens.shape[1] == n]
        level = [TrieLevel.of(steps, nodes[i], count, grams[i].first) for i in ending]
        levels += level or [TrieLevel.of(steps, np.zeros(0, np.int64), count, 0)]
        longer = [i for i, each in enumerate(grams) if each.tokens.shape[1] > n]
        keys = [nodes[i] * words + grams[i].tokens[:, n] for i in longer]
        distinct, inverse = np.unique(np.concatenate([np.zeros(0, np.int64), *keys]), return_inverse=True)
        ends = np.cumsum([len(each) for each in keys])
        nodes = list(nodes)
        for i, each in zip(longer, np.split(inverse, ends[:-1]) if longer else [], strict=True):
            nodes[i] = each
        steps, count = HashedKeys.of(distinct), len(distinct)
    return tuple(levels)


def make_finder(vocabulary: Array) -> Callable[[Array], Ints]:
    """The function from tokens to their indices in the vocabulary."""
    if vocabulary.dtype.kind == "O":
        words = {word: i for i, word in enumerate(vocabulary.tolist())}
        return lambda tokens: map_strings(tokens, words, -1)
    table = HashedKeys.of(vocabulary)
    return lambda tokens: table.find(tokens.astype(np.int64, copy=False))


def check_bounds(tokens: int, starts: Sequence[int], shortest: int, longest: int, size: int) -> None:
    """Raises EvaluationError unless `starts` split a pool of `tokens` into `size` n-grams of the requested lengths."""
    if not 1 <= shortest <= longest <= len(starts):
        raise EvaluationError(
            f"gram lengths must satisfy 1 <= min <= max <= {len(starts)}, the entries of ngram_counts; "
            f"got {shortest} and {longest}"
        )
    count = 0
    for n, (begin, end) in enumerate(pairwise([*starts, tokens]), 1):
        if not 0 <= begin <= end <= tokens or (end - begin) % n:
            raise EvaluationError(
                f"ngram_counts must split the pool of {tokens} tokens into whole {n}-grams; got {list(starts)}"
            )
        count += (end - begin) // n
    if count != size:
        raise EvaluationError(f"ngram_indexes must have {count} elements, one per n-gram; got {size}")
