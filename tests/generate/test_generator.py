"""Generators: greedy results, draws, beams, streams, stop texts, limits of contexts and cancellation."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from generate.decoders import CHAIN, WORDS, chain_decoder, recurrent_decoder, summed_logits, summing_decoder
from generate.folders import byte_tokenizer, write_folder
from sardonyx._src.generate.choice.choice import log_probabilities
from sardonyx._src.ir import Array
from sardonyx.generate import Generator, Piece, Tokenizer

PROMPT = [1, 4]


def greedy(prompt: list[int], count: int) -> list[int]:
    """The most probable tokens, computed from nothing at each step."""
    tokens = list(prompt)
    for _ in range(count):
        tokens.append(int(np.argmax(summed_logits(np.array([tokens]))[0, -1])))
    return tokens[len(prompt) :]


@pytest.mark.parametrize("model", [summing_decoder, recurrent_decoder])
def test_greedy_tokens(model: object) -> None:
    generator = Generator(model())  # type: ignore[operator]
    result = generator.generate(PROMPT, max_tokens=9)
    assert result.tokens == greedy(PROMPT, 9)
    assert (result.finish_reason, result.prompt_tokens, result.text) == ("length", 2, "")


def test_end_tokens_beyond_the_vocabulary_never_follow() -> None:
    """Some folders name tokens that the model does not have."""
    generator = Generator(summing_decoder(), end_tokens=[WORDS, 1000])
    assert generator.generate(PROMPT, max_tokens=9, min_tokens=9).tokens == greedy(PROMPT, 9)
    assert len(generator.generate(PROMPT, max_tokens=3, min_tokens=3, beams=2).tokens) == 3


def test_an_end_token_ends_a_result_and_is_no_part_of_it() -> None:
    expected = greedy(PROMPT, 12)
    end = expected[3]
    before = expected[: expected.index(end)]
    result = Generator(summing_decoder(), end_tokens=[end]).generate(PROMPT, max_tokens=12)
    assert (result.tokens, result.finish_reason) == (before, "stop")
    same = Generator(summing_decoder()).generate(PROMPT, max_tokens=12, stop_tokens=[end])
    assert same.results == result.results
    longer = Generator(summing_decoder(), end_tokens=[end]).generate(
        PROMPT, max_tokens=12, min_tokens=len(before) + 2
    )
    assert len(longer.tokens) >= len(before) + 2 and end not in longer.tokens[: len(before) + 2]


def test_results_do_not_depend_on_each_other() -> None:
    """Each of several results is the one that its number draws alone, whatever ends before it."""
    generator = Generator(chain_decoder(), end_tokens=[6])
    drawn = generator.generate([0], n=6, temperature=1.0, seed=11, max_tokens=20)
    again = generator.generate([0], n=3, temperature=1.0, seed=11, max_tokens=20)
    assert drawn.results[:3] == again.results
    assert len({tuple(result.tokens) for result in drawn.results}) > 3
    assert len({len(result.tokens) for result in drawn.results}) > 1
    assert generator.generate([0], temperature=1.0, seed=12, max_tokens=20).tokens != drawn.tokens


def test_draws_are_equal_with_and_without_caches() -> None:
    """The states of rows that end are removed without touching the others."""
    options = {"n": 5, "temperature": 1.5, "seed": 3, "max_tokens": 15}
    cached = Generator(summing_decoder(), end_tokens=[2]).generate(PROMPT, **options)  # type: ignore[arg-type]
    state = Generator(recurrent_decoder(), end_tokens=[2]).generate(PROMPT, **options)  # type: ignore[arg-type]
    assert cached.results == state.results


def chain_score(tokens: tuple[int, ...], length_penalty: float) -> float:
    """The score of a sequence after the token 0, by the definition."""
    logarithms = log_probabilities(CHAIN)
    total = sum(float(logarithms[a, b]) for a, b in itertools.pairwise((0, *tokens)))
    return total / float(len(tokens) ** length_penalty)


@pytest.mark.parametrize("length_penalty", [0.0, 1.0, 2.0])
def test_beams_that_hold_everything_are_an_exhaustive_search(length_penalty: float) -> None:
    """All sequences of up to 3 tokens that end with 6, or have 3 tokens, enumerated."""
    generator = Generator(chain_decoder(), end_tokens=[6])
    beams = WORDS**3
    results = generator.generate([0], beams=beams, n=3, max_tokens=3, length_penalty=length_penalty).results
    words = range(WORDS)
    every = [
        s
        for k in (1, 2, 3)
        for s in itertools.product(words, repeat=k)
        if 6 not in s[:-1] and (s[-1] == 6 or k == 3)
    ]
    best = sorted(every, key=lambda s: -chain_score(s, length_penalty))[:3]
    assert [tuple(result.tokens) for result in results] == [s[:-1] if s[-1] == 6 else s for s in best]
    assert [result.finish_reason for result in results] == ["stop" if s[-1] == 6 else "length" for s in best]


def test_beams_are_at_least_as_probable_as_the_most_probable_tokens() -> None:
    generator = Generator(summing_decoder())
    sums = {}
    for beams in (1, 2, 4, 16):
        tokens = generator.generate(PROMPT, beams=beams, max_tokens=6).tokens
        logits = summed_logits(np.array([PROMPT + tokens]))[0, 1:-1]
        sums[beams] = sum(log_probabilities(row)[token] for row, token in zip(logits, tokens, strict=True))
    assert sums[1] <= sums[2] + 1e-9 and sums[1] <= sums[16] + 1e-9


def test_pieces_come_with_each_token() -> None:
    generator, seen = Generator(summing_decoder()), []
    pieces = generator.stream(PROMPT, max_tokens=4, logprobs=1)
    for piece in pieces:
        seen.append(piece.tokens)
        if len(seen) == 2:
            pieces.close()  # type: ignore[attr-defined]  # a generator
    assert [token for tokens in seen for token in tokens] == greedy(PROMPT, 2)


def byte_chain(text: str) -> Array:
    """A chain over bytes that writes a text, each of whose bytes occurs once."""
    alphabet = byte_tokenizer().get_vocab()
    tokens = byte_tokenizer().encode(text).ids
    chain = np.zeros((len(alphabet), len(alphabet)), np.float32)
    for a, b in itertools.pairwise(tokens):
        chain[a, b] = 9
    return chain


def test_characters_of_several_bytes_are_never_cut(tmp_path: Path) -> None:
    text = "aé你!"
    write_folder(tmp_path, chain_decoder(byte_chain(text)), library=byte_tokenizer())
    generator = Generator(tmp_path)
    pieces = list(generator.stream("a", max_tokens=6))
    assert [piece.text for piece in pieces] == ["", "é", "", "", "你", "!"]
    cut = generator.generate("a", max_tokens=3)
    assert cut.text == "é\N{REPLACEMENT CHARACTER}"  # the end of what is there


def test_stop_texts(tmp_path: Path) -> None:
    write_folder(tmp_path, chain_decoder(byte_chain("abcdefg")), library=byte_tokenizer())
    generator = Generator(tmp_path)
    result = generator.generate("a", max_tokens=6, stop=["ef", "xyz"])
    assert (result.text, result.finish_reason) == ("bcd", "stop")
    pieces = list(generator.stream("a", max_tokens=6, stop="fx"))
    assert [piece.text for piece in pieces] == ["b", "c", "d", "e", "", "fg"]
    with pytest.raises(sx.InputError, match="stop requires a tokenizer; the model has none"):
        Generator(chain_decoder()).generate([0], stop="x")


def test_contexts_bound_prompts_and_results() -> None:
    generator = Generator(summing_decoder(), context=6)
    assert len(generator.generate(PROMPT, max_tokens=None).tokens) == 4
    assert len(generator.generate(PROMPT, max_tokens=100).tokens) == 4
    with pytest.raises(
        sx.InputError, match="fewer tokens than the context of the model, 6; got 6: shorten it"
    ):
        generator.generate([0] * 6)
    with pytest.raises(
        sx.InputError, match="max_tokens must be a number, since the model does not say its context"
    ):
        Generator(summing_decoder()).generate(PROMPT, max_tokens=None)


def test_prompts_that_are_wrong(tmp_path: Path) -> None:
    generator = Generator(summing_decoder())
    with pytest.raises(sx.InputError, match="a prompt must have at least one token"):
        generator.generate([])
    with pytest.raises(sx.InputError, match="tokens must be in 0 to 6; got 7"):
        generator.generate([7])
    with pytest.raises(sx.InputError, match="tokens must be in 0 to 6; got 7") as caught:
        generator.generate([1], logit_bias={7: 1})
    assert caught.value.name == "logit_bias"
    with pytest.raises(
        sx.InputError, match=r"a text requires a tokenizer, and the model has no tokenizer\.json beside it"
    ):
        generator.generate("text")
    with pytest.raises(TypeError, match="prompt must be a list of tokens"):
        generator.generate(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a setting must be one of max_tokens"):
        generator.generate([1], max_token=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="a session has been opened already"):
        Generator(sx.Session(summing_decoder()), threads=1)


def test_logits_that_are_no_numbers() -> None:
    chain = CHAIN.copy()
    chain[1] = np.nan
    with pytest.raises(sx.EvaluationError, match="must be numbers; got NaN after 1 tokens of the result"):
        Generator(chain_decoder(chain)).generate([0])


def test_a_cancelled_token_ends_a_stream() -> None:
    token = sx.CancellationToken()
    pieces = Generator(summing_decoder()).stream(PROMPT, max_tokens=50, cancellation=token)
    next(pieces)
    token.cancel()
    with pytest.raises(sx.CancelledError):
        list(pieces)


def test_streams_of_coroutines() -> None:
    generator = Generator(summing_decoder())

    async def read() -> list[Piece]:
        return [piece async for piece in generator.astream(PROMPT, max_tokens=5)]

    pieces = asyncio.run(read())
    assert [token for piece in pieces for token in piece.tokens] == greedy(PROMPT, 5)

    async def leave() -> int:
        count = 0
        async for _ in generator.astream(PROMPT, max_tokens=10_000):
            count += 1
            if count == 3:
                break
        return count

    assert asyncio.run(leave()) == 3


def test_threads_do_not_change_results() -> None:
    results = [
        Generator(summing_decoder(), threads=threads)
        .generate(PROMPT, temperature=1.0, n=4, seed=5, max_tokens=20)
        .results
        for threads in (1, 2)
    ]
    assert results[0] == results[1]


def test_a_tokenizer_can_be_given(tmp_path: Path) -> None:
    write_folder(tmp_path / "words")
    tokenizer = Tokenizer.open(tmp_path / "words")
    result = Generator(summing_decoder(), tokenizer=tokenizer).generate("w1 w4", max_tokens=3)
    assert result.text.split() == [f"w{token}" for token in greedy(PROMPT, 3)]
