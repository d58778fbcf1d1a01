"""Vectors that count the words of strings: the result of StringNormalizer, Tokenizer and TfIdfVectorizer together.

The tokens between these nodes never become a tensor.  All texts are joined to one string: each word costs one look-up in a
table, and no function is called for each text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import LimitError
from sardonyx._src.ir import Array
from sardonyx._src.ops.text.ngram_vectors import MAX_LOOPED_TOKENS, NgramVectorizer
from sardonyx._src.ops.text.token_runs import MARK

MARK_NUMBER = (
    -2
)  # the number of `MARK`, which separates texts; those of words are at least 0, and -1 is an unknown word
SEPARATOR = f" {MARK} "


@dataclass(frozen=True, slots=True)
class WordCounter:
    """Counts n-grams of words of texts.

    pattern: matches a word, which is a run of some characters
    change_case: changes the case of a text before it is split; None if the case is kept
    numbers: the numbers of the words in n-grams, and `MARK_NUMBER` for the mark
    columns: for unweighted counts of distinct words, the column of each of them, and `MARK_NUMBER` for the mark; else None
    spaces: a table for `str.translate` that replaces the characters of ASCII that are in no word by spaces
    shortest: the smallest number of characters of a word
    limit: the largest number of characters in all texts
    """

    pattern: re.Pattern[str]
    change_case: Callable[[str], str] | None
    vectorizer: NgramVectorizer
    numbers: Mapping[str, int]
    columns: Mapping[str, int] | None
    spaces: Mapping[int, str]
    shortest: int
    limit: int

    def count(self, x: Array, out: Array | None = None) -> Array:
        """x: strings in any shape; result: [strings, width] float32, in `out` if it is given.

        Raises LimitError for too many characters.
        """
        texts = x.reshape(-1).tolist()
        if sum(map(len, texts)) > self.limit:
            raise LimitError(f"texts must have at most {self.limit} characters", limit="limits.iterations")
        tokens, vectorizer = self.split(texts), self.vectorizer
        is_few = len(tokens) <= MAX_LOOPED_TOKENS
        if is_few and self.columns is not None:
            return self.count_few(tokens, len(texts), self.columns, out)
        if self.shortest > 1 and (is_few or len(vectorizer.pool.levels) > 1):
            tokens = [token for token in tokens if len(token) >= self.shortest or token == MARK]
        if is_few:
            return vectorizer.count_each(self.find_each(tokens)[: len(texts)], out)
        ids = np.fromiter(map(self.numbers.get, tokens, repeat(-1)), np.int64, len(tokens))
        return vectorizer.count_ids(len(texts), ids, np.cumsum(ids == MARK_NUMBER), 0, out)

    def split(self, texts: Sequence[str]) -> list[str]:
        """The words of all texts, with a mark after each text but the last."""
        joined = SEPARATOR.join(texts)
        if joined.count(MARK) != len(texts) - 1:  # texts that contain marks
            joined = SEPARATOR.join([text.replace(MARK, " ") for text in texts])
        if self.change_case is not None:
            joined = self.change_case(joined)
        if joined.isascii():
            return joined.translate(self.spaces).split()
        return re.findall(f"{self.pattern.pattern}|{MARK}", joined)

    def count_few(
        self, tokens: Sequence[str], rows: int, columns: Mapping[str, int], out: Array | None
    ) -> Array:
        """The result of `count` for a few words, each of which costs one look-up; columns: `columns`."""
        result, start, find = self.vectorizer.zeros(rows, out), 0, columns.get
        width = self.vectorizer.width
        for token in tokens:
            column = find(token)
            if column is None:
                continue
            if column == MARK_NUMBER:
                start += width
            else:
                result[start + column] += 1
        return result.reshape(rows, width)

    def find_each(self, tokens: Sequence[str]) -> list[list[int]]:
        """The n-grams in each of a few texts."""
        ngrams, start, find = [], 0, self.vectorizer.pool.find_each
        ends = [i for i, token in enumerate(tokens) if token == MARK]
        for end in (*ends, len(tokens)):
            ngrams.append(find(tokens[start:end], 0))
            start = end + 1
        return ngrams


def word_counter(
    pattern: re.Pattern[str],
    change_case: Callable[[str], str] | None,
    vectorizer: NgramVectorizer,
    shortest: int,
    limit: int,
) -> WordCounter | None:
    """The counter of n-grams of words of at least `shortest` characters; None if words may contain spaces or marks."""
    ascii_characters = [chr(code) for code in range(128)]
    outside = [c for c in ascii_characters if not pattern.fullmatch(c)]
    if not {MARK, *filter(str.isspace, ascii_characters)}.issubset(outside):
        return None
    words = vectorizer.pool.vocabulary.tolist()
    numbers = {word: i for i, word in enumerate(words) if len(word) >= shortest}
    spaces = {ord(c): " " for c in outside if c != MARK}
    columns = word_columns(vectorizer, numbers)
    return WordCounter(
        pattern, change_case, vectorizer, {**numbers, MARK: MARK_NUMBER}, columns, spaces, shortest, limit
    )


def word_columns(vectorizer: NgramVectorizer, numbers: Mapping[str, int]) -> dict[str, int] | None:
    """The `columns` of a counter of these words."""
    first, *longer = vectorizer.pool.levels
    if longer or not (first.is_full and vectorizer.is_plain):
        return None
    columns = {word: vectorizer.index_list[first.grams[i]] for word, i in numbers.items()}
    return {**columns, MARK: MARK_NUMBER}
