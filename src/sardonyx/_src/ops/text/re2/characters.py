"""Character sets as sorted ranges of code points, and the named sets of RE2.

The categories are those of the running Python; scripts.json has the scripts of Unicode 17, each a list of the first and the
last code point of every range.
"""

from __future__ import annotations

import json
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import TypeAlias

Ranges: TypeAlias = tuple[tuple[int, int], ...]

LAST_CODE_POINT = 0x10FFFF
ANY_CHARACTER: Ranges = ((0, LAST_CODE_POINT),)
LAST_CASED = 0x1FFFF  # characters beyond have no case
SURROGATES: Ranges = ((0xD800, 0xDFFF),)  # represent bytes that are not UTF-8 (surrogateescape)


def normal(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """The ranges in ascending order, with adjacent and overlapping ones merged."""
    result: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if result and first <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(last, result[-1][1]))
        else:
            result.append((first, last))
    return tuple(result)


def complement(ranges: Ranges) -> Ranges:
    result, start = [], 0
    for first, last in ranges:
        if first > start:
            result.append((start, first - 1))
        start = last + 1
    if start <= LAST_CODE_POINT:
        result.append((start, LAST_CODE_POINT))
    return tuple(result)


def contains(ranges: Ranges, code: int) -> bool:
    return any(first <= code <= last for first, last in ranges)


def of(characters: str) -> Ranges:
    """The set of the characters of a string; `-` has no special meaning."""
    return normal((ord(c), ord(c)) for c in characters)


# --- case ------------------------------------------------------------------------------------


def fold(character: str) -> str:
    """The simple case folding of a character."""
    for folded in (character.casefold(), character.lower()):
        if len(folded) == 1:
            return folded
    return character


@cache
def cases() -> tuple[list[int], dict[int, tuple[int, ...]]]:
    """The code points with case variants, sorted, and the variants of each."""
    groups: dict[str, list[int]] = {}
    for code in range(LAST_CASED + 1):
        character = chr(code)
        folded = fold(character)
        if folded != character:
            groups.setdefault(folded, [ord(folded)]).append(code)
    others = {code: tuple(group) for group in groups.values() for code in group}
    return sorted(others), others


@lru_cache(maxsize=512)
def caseless(ranges: Ranges) -> Ranges:
    """The set extended by all case variants of its characters."""
    codes, others = cases()
    result = list(ranges)
    for first, last in ranges:
        for code in codes[bisect_left(codes, first) : bisect_left(codes, last + 1)]:
            result.extend((other, other) for other in others[code])
    return normal(result)


# --- names -----------------------------------------------------------------------------------

DIGIT = ((0x30, 0x39),)
LOWER, UPPER = ((0x61, 0x7A),), ((0x41, 0x5A),)
WORD_CHARACTERS = normal([*DIGIT, *LOWER, *UPPER, *of("_")])
PERL = {"d": DIGIT, "s": of("\t\n\f\r "), "w": WORD_CHARACTERS}
POSIX = {
    "alnum": normal([*DIGIT, *LOWER, *UPPER]),
    "alpha": normal([*LOWER, *UPPER]),
    "ascii": ((0, 0x7F),),
    "blank": of("\t "),
    "cntrl": ((0, 0x1F), (0x7F, 0x7F)),
    "digit": DIGIT,
    "graph": ((0x21, 0x7E),),
    "lower": LOWER,
    "print": ((0x20, 0x7E),),
    "punct": ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    "space": of("\t\n\v\f\r "),
    "upper": UPPER,
    "word": WORD_CHARACTERS,
    "xdigit": normal([*DIGIT, *of("abcdefABCDEF")]),
}


def unicode_group(name: str) -> Ranges | None:
    """The characters of a general category, of all that begin with one letter, or of a script; None for other names."""
    return ANY_CHARACTER if name == "Any" else categories().get(name) or scripts().get(name)


@cache
def categories() -> Mapping[str, Ranges]:
    """The characters of each general category, and of each first letter; unassigned code points have no category."""
    runs: dict[str, list[tuple[int, int]]] = {}
    start, current = 0, unicodedata.category("\0")
    for code in range(1, LAST_CODE_POINT + 2):
        category = unicodedata.category(chr(code)) if code <= LAST_CODE_POINT else ""
        if category != current:
            runs.setdefault(current, []).append((start, code - 1))
            start, current = code, category
    runs.pop("Cn", None)
    letters = {name[0] for name in runs}
    groups = {letter: [r for name, rs in runs.items() if name[0] == letter for r in rs] for letter in letters}
    return {name: normal(ranges) for name, ranges in (runs | groups).items()}


@cache
def scripts() -> Mapping[str, Ranges]:
    text = Path(__file__).with_name("scripts.json").read_text(encoding="ascii")
    listed: dict[str, list[int]] = json.loads(text)
    return {name: tuple(zip(codes[::2], codes[1::2], strict=True)) for name, codes in listed.items()}
