"""Decoders of onnxruntime-genai's builder are native, and have its tokens."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime_genai as og
import pytest

import sardonyx as sx
from decoders.genai_exports import BUILDS, write
from decoders.judge import COUNT, PROMPT, assert_native

# onnxruntime rounds activations to 8 bits for products by weights of 4 bits; logits then differ by up to 0.06.
ROUNDING = 0.06


@pytest.mark.parametrize("name", BUILDS)
def test_a_build_is_native(name: str, tmp_path: Path) -> None:
    write(BUILDS[name], tmp_path)
    tokens, expected = assert_native(tmp_path), genai_tokens(tmp_path)
    if BUILDS[name].precision == "int4":
        assert max(distances_from_best(tmp_path, expected)) < ROUNDING
    else:
        assert tokens == expected


def distances_from_best(folder: Path, tokens: list[int]) -> list[float]:
    """How much lower the logits of tokens are than the highest ones, by the reference engine."""
    decoder = sx.Generator(folder, engine="reference", draft="lookup").decoder  # with logits of all tokens
    logits, _ = decoder.read(decoder.start(), np.array([[*PROMPT, *tokens[:-1]]]))
    rows = logits[0, len(PROMPT) - 1 :]
    return [float(row.max() - row[token]) for row, token in zip(rows, tokens, strict=True)]


def genai_tokens(folder: Path) -> list[int]:
    """The greedy tokens of onnxruntime-genai."""
    model = og.Model(str(folder))
    parameters = og.GeneratorParams(model)
    length = len(PROMPT) + COUNT
    parameters.set_search_options(
        max_length=length, min_length=length, do_sample=False, repetition_penalty=1.0
    )
    generator = og.Generator(model, parameters)
    generator.append_tokens(np.array([PROMPT], np.int32))
    while not generator.is_done():
        generator.generate_next_token()
    return [int(token) for token in generator.get_sequence(0)[len(PROMPT) :]]
