"""Parsers of command-line words such as `OLD=NEW` and `NAME=N`; all raise InputError for malformed words."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.errors import InputError


def parse_mapping(words: Sequence[str], option: str) -> dict[str, str]:
    """The mapping that the words `OLD=NEW` of an option represent; every OLD must be unique."""
    result: dict[str, str] = {}
    for old, new in parse_pairs(words, option):
        if old in result:
            raise InputError(f"{option}: names must be unique; got {old!r} twice", name=old)
        result[old] = new
    return result


def parse_pairs(words: Sequence[str], option: str) -> list[tuple[str, str]]:
    """Both sides of words `A=B`, where A may contain `=`."""
    result = []
    for word in words:
        left, equals, right = word.rpartition("=")
        if not equals or not left or not right:
            raise InputError(f"{option} must be A=B, as in {option} x=image; got {word!r}", name=word)
        result.append((left, right))
    return result


# Of `--dim`, which may be repeated: what the other sizes are.
OTHER_SIZES = "others: the least that the operators accept; may be repeated"


def parse_dims(words: Sequence[str]) -> dict[str, int]:
    """The length of each dimension variable, from the words `NAME=N` of `--dim`; of several for one name, the last applies."""
    result: dict[str, int] = {}
    for word in words:
        name, _, length = word.rpartition("=")
        if not name or not length.isdecimal():
            raise InputError(f"--dim must be NAME=N, as in --dim batch=4; got {word!r}", name=word)
        result[name] = int(length)
    return result


def parse_positive(text: str, option: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise InputError(f"{option} must be an integer >= 1; got {text!r}", name=option)
    return int(text)
