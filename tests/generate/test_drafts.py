"""Drafts change the speed, never the tokens: the decoder chooses each of them itself."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from generate.decoders import (
    CHAIN,
    chain_decoder,
    recurrent_decoder,
    summing_decoder,
    tokens_read,
    window_decoder,
)
from sardonyx._src.generate.choice.settings import Settings
from sardonyx._src.generate.drafts.lookup import LookupDraft
from sardonyx._src.ir import Array
from sardonyx.generate import Generator

PROMPT = [1, 4, 2, 1, 4]


class Scripted:
    """Proposes right and wrong tokens in turn: the first `right` ones are those that follow."""

    def __init__(self, tokens: list[int], right: int) -> None:
        self.tokens, self.right = tokens, right

    def propose(self, prompt: Array, generated: Array, count: int, settings: Settings) -> Array:
        following = np.array(self.tokens[len(generated) : len(generated) + count], np.int64)
        following[self.right :] = (following[self.right :] + 1) % 7
        return following


@pytest.mark.parametrize(
    ("right", "drafted", "accepted"), [(0, 20, 0), (1, 26, 11), (3, 24, 16), (7, 19, 19)]
)
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_results_are_those_without_drafts(
    right: int, drafted: int, accepted: int, temperature: float
) -> None:
    """Drafts get shorter where they are wrong: 7, 3 and 1 tokens, then 0 and 1 in turn; else one more than was right."""
    expected = Generator(summing_decoder()).generate(PROMPT, max_tokens=23, temperature=temperature, seed=4)
    generator = Generator(summing_decoder(), draft="lookup")
    generator.draft = Scripted(expected.tokens, right)
    assert generator.generate(PROMPT, max_tokens=23, temperature=temperature, seed=4) == expected
    stats = generator.draft_stats
    assert (stats.drafted, stats.accepted) == (drafted, accepted)


def test_draws_follow_the_distribution_of_the_model() -> None:
    """Whatever is proposed: the frequencies of the second token are those of the chain."""
    generator = Generator(chain_decoder(), draft="lookup")
    generator.draft = Scripted([0, 5, 3, 3], 4)
    drawn = [generator.generate([0], max_tokens=3, temperature=1.0, seed=s).tokens[0] for s in range(3000)]
    expected = np.exp(CHAIN[0].astype(np.float64))
    expected *= len(drawn) / expected.sum()
    statistic = float(((np.bincount(drawn, minlength=7) - expected) ** 2 / expected).sum())
    assert statistic < 22.5  # 99.9 % of the chi-squared distribution with 6 degrees of freedom


def test_what_followed_before_is_looked_up() -> None:
    draft, none = LookupDraft(), np.zeros(0, np.int64)
    prompt = np.array([9, 1, 2, 3, 7, 8, 1, 2, 3, 5, 6, 1, 2, 3])
    assert draft.propose(prompt, none, 3, Settings()).tolist() == [5, 6, 1]
    assert draft.propose(prompt, np.array([7]), 2, Settings()).tolist() == [8, 1]  # a longer run decides
    assert draft.propose(np.array([1, 2, 3, 4]), none, 3, Settings()).tolist() == []
    assert draft.propose(np.array([5, 5, 5]), none, 4, Settings()).tolist() == [5]
    assert draft.propose(np.array([5]), none, 4, Settings()).tolist() == []


def test_lookup_and_a_small_model_as_drafts() -> None:
    expected = Generator(summing_decoder()).generate(PROMPT, max_tokens=30)
    looked_up = Generator(summing_decoder(), draft="lookup")
    assert looked_up.generate(PROMPT, max_tokens=30) == expected
    same = Generator(summing_decoder(), draft=Generator(summing_decoder()))
    assert same.generate(PROMPT, max_tokens=30) == expected
    assert same.draft_stats.acceptance == 1.0
    other = Generator(summing_decoder(), draft=Generator(chain_decoder()), draft_tokens=2)
    assert other.generate(PROMPT, max_tokens=30, temperature=1.2, seed=2) == Generator(
        summing_decoder()
    ).generate(PROMPT, max_tokens=30, temperature=1.2, seed=2)
    assert 0 < other.draft_stats.acceptance < 1


def test_the_same_draws_agree_with_a_draft_of_the_same_model() -> None:
    generator = Generator(summing_decoder(), draft=Generator(summing_decoder()))
    generator.generate(PROMPT, max_tokens=60, temperature=1.0, seed=8)
    assert generator.draft_stats.acceptance == 1.0


def test_fewer_runs_read_more_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = Generator(sx.Session(summing_decoder()), draft=Generator(summing_decoder()), draft_tokens=3)
    counts = tokens_read(generator, monkeypatch)
    generator.generate(PROMPT, max_tokens=13)
    assert counts == [5, 4, 4, 4]


def test_ends_stop_texts_and_prefixes_with_drafts() -> None:
    plain = Generator(summing_decoder(), end_tokens=[3])
    drafted = Generator(
        summing_decoder(), end_tokens=[3], draft=Generator(summing_decoder()), prefix_bytes=1 << 20
    )
    for seed in range(10):
        options = {"max_tokens": 12, "temperature": 1.0, "seed": seed}
        assert drafted.generate(PROMPT, **options) == plain.generate(PROMPT, **options)  # type: ignore[arg-type]
    several = drafted.generate(PROMPT, n=2, temperature=1.0, max_tokens=4)
    assert several == plain.generate(PROMPT, n=2, temperature=1.0, max_tokens=4)


def test_models_that_cannot_use_drafts() -> None:
    with pytest.raises(sx.InputError, match="drafts require a decoder with logits of every token"):
        Generator(recurrent_decoder(), draft="lookup")
    with pytest.raises(sx.InputError, match="drafts require a decoder with logits of every token"):
        Generator(window_decoder(4), draft="lookup")
    with pytest.raises(sx.InputError, match="the caches of a draft must hold tokens at places of their own"):
        Generator(summing_decoder(), draft=Generator(recurrent_decoder()))
    with pytest.raises(sx.InputError, match="a draft must have the tokens of the model, 7; got 3"):
        Generator(summing_decoder(), draft=Generator(chain_decoder(np.eye(3, dtype=np.float32))))
    with pytest.raises(sx.InputError, match="draft must be one of 'lookup'"):
        Generator(summing_decoder(), draft="ngram")  # type: ignore[arg-type]
