"""Damaged texts: whatever is parsed, a wrong text is an error of ours, a syntax error with its line and column."""

from __future__ import annotations

import random

import pytest

import sardonyx as sx
from sardonyx._src.check.driver.pages import page
from sardonyx._src.check.engine.registry import rules

HEADER = '<ir_version: 10, opset_import: ["": 21]>\n'
PIECES = [
    *"{}()<>[],=:;?_@-.\"'\\ \n\t\0\x7f\u2028é",
    *("\ud800", "1e999", "9" * 400, "0x", "nan", "-inf", "=>", "float", "seq(", "optional(", "map(", '"\\u'),
    *("ir_version", "opset_import", "\\ud800", "True", "sparse_tensor", "graph", "/*", "#", "f8e4m3fn"),
]


def rule_texts() -> list[str]:
    """The texts of the examples of all rules that are models."""
    texts = {text for code in rules() for text in (page(code).bad, page(code).good) if "=>" in text}
    return sorted(text if text.lstrip().startswith("<") else HEADER + text for text in texts)


def damage(text: str, draw: random.Random) -> str:
    """The text with a few pieces replaced, left out or repeated."""
    for _ in range(draw.choice((1, 1, 2, 4))):
        i = draw.randrange(len(text) + 1)
        j = min(len(text), i + draw.choice((0, 0, 1, 3, 20, 200)))
        k = draw.randrange(len(text) + 1)
        text = draw.choice(
            (text[:i] + draw.choice(PIECES) + text[j:], text[:i] + text[j:], text[:k] + text[i:j] + text[k:])
        )
    return text


@pytest.mark.parametrize("seed", range(4))
def test_a_damaged_text_is_read_or_refused_with_its_place(seed: int) -> None:
    draw = random.Random(seed)
    refused = 0
    for text in rule_texts():
        for _ in range(4):
            damaged = damage(text, draw)
            error = refusal_of(damaged)
            if isinstance(error, sx.TextError):
                refused += 1
                lines = damaged.split("\n")
                assert 1 <= error.line <= len(lines), (damaged, error)
                assert 1 <= error.column <= len(lines[error.line - 1]) + 1, (damaged, error)
    assert refused > 100


def refusal_of(text: str) -> sx.SardonyxError | None:
    """The error of a text, or of the text that it is printed as."""
    try:
        sx.from_text(sx.to_text(sx.from_text(text)))
    except sx.SardonyxError as error:
        return error
    return None
