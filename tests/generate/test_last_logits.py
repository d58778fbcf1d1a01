"""Generators compute logits of the last position alone, with the tokens and log probabilities of those of all."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sardonyx as sx
from generate.attention_decoders import WORDS, grouped_decoder, masked_decoder
from sardonyx._src.runtime.identity.records import wait_for_records
from sardonyx.generate import Generator

DECODERS = pytest.mark.parametrize("make", [grouped_decoder, masked_decoder], ids=["grouped", "masked"])
PROMPT = [1, 5, 2, 2, 6, 0, 3]


def is_sliced(session: sx.Session) -> bool:
    return any(
        node.op_type == "Slice" and "_last" in node.outputs[0].name for node in session.model.graph.nodes
    )


@DECODERS
def test_tokens_and_probabilities_are_those_of_all_positions(make: Any) -> None:
    model = make()
    last, every = Generator(model, threads=1), Generator(sx.Session(model, threads=1, shapes="off"))
    assert is_sliced(last.session) and not is_sliced(every.session)
    for prompt in (PROMPT, PROMPT[:1], PROMPT[2:5]):
        sliced, whole = (g.generate(prompt, max_tokens=9, logprobs=WORDS).results[0] for g in (last, every))
        assert sliced.tokens == whole.tokens
        for a, b in zip(sliced.logprobs, whole.logprobs, strict=True):
            assert a.logprob == pytest.approx(b.logprob, abs=1e-5)


def test_logits_are_of_one_position() -> None:
    decoder = Generator(grouped_decoder(), threads=1).decoder
    logits, _ = decoder.read(decoder.start(2), np.array([PROMPT, PROMPT]))
    assert logits.shape == (2, 1, WORDS)
    assert not decoder.has_every_logit


def test_drafts_need_all_positions() -> None:
    plain, drafted = (
        Generator(grouped_decoder(), threads=1),
        Generator(grouped_decoder(), threads=1, draft="lookup"),
    )
    assert not is_sliced(drafted.session)
    results = [g.generate(PROMPT, max_tokens=12).results[0].tokens for g in (plain, drafted)]
    assert results[0] == results[1]


@DECODERS
def test_a_second_start_is_warm(make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program is cached beside that of the whole model, and the model that its session shows is the edited one."""
    monkeypatch.setenv("SARDONYX_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "model.onnx"
    sx.save(make(), path)
    whole = sx.Session(path, threads=1, shapes="off")
    expected = Generator(whole).generate(PROMPT, max_tokens=5).results[0].tokens
    compilations = []
    for _ in range(2):
        generator = Generator(path, threads=1)
        compilations.append(generator.session.stats.compilations)
        assert generator.generate(PROMPT, max_tokens=5).results[0].tokens == expected
        assert is_sliced(generator.session)
        assert is_sliced(pickle.loads(pickle.dumps(generator.session)))
        wait_for_records()
        del generator
    assert compilations == [1, 0]
    assert not is_sliced(whole)


def test_a_model_that_no_edit_changes_has_one_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A draft needs logits of all positions, and caches of GroupQueryAttention have room as they are."""
    monkeypatch.setenv("SARDONYX_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "model.onnx"
    sx.save(grouped_decoder(), path)
    sx.Session(path, threads=1, shapes="off")
    wait_for_records()
    assert Generator(path, threads=1, draft="lookup").session.stats.compilations == 0


@DECODERS
def test_a_warmed_cache_has_the_program_of_generators(
    make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, cache = tmp_path / "models" / "model.onnx", tmp_path / "cache"
    path.parent.mkdir()
    sx.save(make(), path)
    reports = [sx.tools.warm(path.parent, cache=cache) for _ in range(2)]
    assert [[model.compiled for model in report] for report in reports] == [[True], [False]]
    monkeypatch.setenv("SARDONYX_CACHE", str(cache))
    for session in (Generator(path, threads=1).session, sx.Session(path, threads=1)):
        assert session.stats.compilations == 0
