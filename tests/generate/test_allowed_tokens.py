"""Tokens that are never chosen, not chosen first, or chosen at a place, as settings and folders say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sardonyx as sx
from generate.decoders import CHAIN, EMBEDDING, OUT, WORDS, chain_decoder
from generate.encoder_decoders import CONFIG, START, text_folder, text_source
from sardonyx.generate import BatchingGenerator, Generator, Settings

PROMPT = [4, 0]


def chosen(count: int, never: set[int], not_first: set[int], forced: dict[int, int]) -> list[int]:
    """The greedy tokens of the chain after PROMPT."""
    tokens, begin = list(PROMPT), max([len(PROMPT), *(place + 1 for place in forced)])
    while len(tokens) < len(PROMPT) + count:
        row = CHAIN[tokens[-1]].copy()
        row[list(never | (not_first if len(tokens) == begin else set()))] = -np.inf
        tokens.append(forced.get(len(tokens), int(row.argmax())))
    return tokens[len(PROMPT) :]


@pytest.mark.parametrize(
    ("never", "not_first", "forced"),
    [
        ({2}, set(), {}),
        ({1, 3}, set(), {}),
        (set(), {1}, {}),
        ({4}, {1, 2}, {}),
        (set(), set(), {3: 6}),
        (set(), {2}, {2: 5, 3: 0}),  # 2 is not chosen after the 0
        ({6}, set(), {0: 1, 4: 6}),  # the prompt has the first place; what is required is chosen
    ],
)
def test_tokens_of_a_chain(never: set[int], not_first: set[int], forced: dict[int, int]) -> None:
    generator = Generator(chain_decoder(), context=99)
    expected = chosen(9, never, not_first, forced)
    assert expected != chosen(9, set(), set(), {})
    settings: dict[str, Any] = {
        "suppress_tokens": [*never, WORDS + 5],  # there is no such token
        "begin_suppress_tokens": not_first,
        "forced_tokens": forced,
    }
    assert generator.generate(PROMPT, max_tokens=9, **settings).tokens == expected
    with BatchingGenerator(generator) as batching:
        assert batching.generate(PROMPT, max_tokens=9, **settings).tokens == expected
    beams = generator.generate(PROMPT, max_tokens=9, beams=4, **settings).tokens
    assert not never & ({*beams} - {*forced.values()})
    assert all(beams[place - 2] == token for place, token in forced.items() if place >= 2)
    assert forced or beams[0] not in not_first


def test_an_end_is_not_chosen_before_the_least_tokens() -> None:
    generator = Generator(chain_decoder(), context=99, end_tokens=[1])
    tokens = generator.generate(PROMPT, max_tokens=9, min_tokens=3, suppress_tokens=[2]).tokens
    first = chosen(3, {1, 2}, set(), {})
    assert tokens[:3] == first
    assert [*tokens[3:], 1] == chosen(len(tokens) + 1, {2}, set(), dict(enumerate(first, 2)))[3:]


def test_what_a_folder_says(tmp_path: Path) -> None:
    """As Whisper's: a language that the model chooses, then a task, and no end at once."""
    folder = text_folder(tmp_path)
    generation = {
        "decoder_start_token_id": START,
        "suppress_tokens": [4, 400],
        "begin_suppress_tokens": [6],
        "forced_decoder_ids": [[1, 5], [2, None], [3, 0]],
    }
    (folder / "generation_config.json").write_text(json.dumps(generation), encoding="utf-8")
    generator = Generator(folder)
    assert generator.start_tokens == (START, 5)
    expected = greedy_speech([START, 5], 7)
    assert generator.generate([1, 5, 2, 6], max_tokens=7).tokens == expected
    changed = generator.generate([1, 5, 2, 6], max_tokens=7, suppress_tokens=[], begin_suppress_tokens=[])
    assert changed.tokens != expected
    assert changed.tokens[1] == 0


def greedy_speech(tokens: list[int], count: int) -> list[int]:
    source, begin = text_source([1, 5, 2, 6]), len(tokens)
    while len(tokens) < begin + count:
        logits = (EMBEDDING[tokens].astype(np.float64).sum(0) + source) @ OUT
        logits[[4, 6] if len(tokens) == 4 else [4]] = -np.inf
        tokens.append(0 if len(tokens) == 3 else int(logits.argmax()))
    return tokens[begin:]


def test_a_configuration_that_is_replaced_says_nothing(tmp_path: Path) -> None:
    folder = text_folder(tmp_path)
    older = {
        **CONFIG,
        "suppress_tokens": [2],
        "forced_decoder_ids": [[1, 5], "x", [2]],
        "begin_suppress_tokens": None,
    }
    (folder / "config.json").write_text(json.dumps(older), encoding="utf-8")
    generator = Generator(folder)
    assert generator.start_tokens == (START, 5)
    assert generator.defaults.suppress_tokens == (2,)
    assert dict(generator.defaults.forced_tokens) == {1: 5}
    (folder / "generation_config.json").write_text('{"eos_token_id": 100}', encoding="utf-8")
    newer = Generator(folder)
    assert newer.start_tokens == (START,)
    assert newer.defaults.suppress_tokens == ()


def test_settings_are_checked() -> None:
    with pytest.raises(TypeError, match="suppress_tokens must be a list of tokens; an element is str"):
        Settings(suppress_tokens=["w1"])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="forced_tokens must map places to tokens"):
        Settings(forced_tokens=[1])  # type: ignore[arg-type]
    with pytest.raises(sx.InputError, match="tokens must be in 0 to 6; got 7"):
        Generator(chain_decoder(), context=9).generate(PROMPT, forced_tokens={3: 7})
