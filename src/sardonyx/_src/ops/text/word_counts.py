"""Vectors of the words of texts: what StringNormalizer, Tokenizer and TfIdfVectorizer compute together.

The tokens between them are never made into a tensor.  Many texts are joined to one, so that each word costs one look-up in a
table, and no text a call.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat

import numpy as np

from sardonyx._src.errors import LimitError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.text.ngram_vectors import NgramVectorizer

MARK, MARK_NUMBER = "\0", -2  # between texts
SEPARATOR = f" {MARK} "
MAX_LOOPED_TOKENS = 200  # that NumPy is not faster for


@dataclass(frozen=True, slots=True)
class WordCounter:
    """Counts words of texts.

    pattern: of words, runs of some characters.  change_case: of texts before they are split.  numbers: of the words that count, with
    `MARK_NUMBER` for the mark.  spaces: a table for `str.translate` that leaves spaces between words of ASCII.  limit: of the characters of all texts.
    """

    pattern: re.Pattern[str]
    change_case: Callable[[str], str] | None
    vectorizer: NgramVectorizer
    numbers: Mapping[str, int]
    spaces: Mapping[int, str]
    limit: int

    def count(self, x: Array) -> Array:
        """x: texts in any shape; result: [texts, width] float32.  Raises LimitError for too many characters."""
        texts = x.reshape(-1).tolist()
        if sum(map(len, texts)) > self.limit:
            raise LimitError(f"texts must have at most {self.limit} characters", limit="limits.iterations")
        tokens = self.split(texts)
        if len(tokens) <= MAX_LOOPED_TOKENS:
            return self.vectorizer.count_pairs(len(texts), self.find_words(tokens))
        numbers = np.fromiter(map(self.numbers.get, tokens, repeat(-1)), np.int64, len(tokens))
        places = np.flatnonzero(numbers >= 0)
        row = np.cumsum(numbers == MARK_NUMBER)[places]
        return self.vectorizer.count_words(len(texts), row, numbers[places])

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

    def find_words(self, tokens: Sequence[str]) -> list[tuple[int, int]]:
        """The row and the number of each word that counts."""
        row, pairs = 0, []
        for token in tokens:
            number = self.numbers.get(token, -1)
            if number >= 0:
                pairs.append((row, number))
            elif number == MARK_NUMBER:
                row += 1
        return pairs


def word_counter(
    pattern: re.Pattern[str],
    change_case: Callable[[str], str] | None,
    vectorizer: NgramVectorizer,
    shortest: int,
    limit: int,
) -> WordCounter | None:
    """The counter of words of at least `shortest` characters; None if n-grams are no single words, or words may contain spaces or marks."""
    ascii_characters = [chr(code) for code in range(128)]
    outside = [c for c in ascii_characters if not pattern.fullmatch(c)]
    if vectorizer.words is None or not {MARK, *filter(str.isspace, ascii_characters)}.issubset(outside):
        return None
    numbers = {word: number for word, number in vectorizer.words.items() if len(word) >= shortest}
    spaces = {ord(c): " " for c in outside if c != MARK}
    return WordCounter(pattern, change_case, vectorizer, {**numbers, MARK: MARK_NUMBER}, spaces, limit)
