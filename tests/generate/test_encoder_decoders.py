"""Encoder-decoders: texts and features, in folders of Optimum and onnxruntime-genai, with and without caches of the encoder."""

from __future__ import annotations

import asyncio
import warnings
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import sardonyx as sx
from generate.decoders import EMBEDDING, OUT, WORDS, summing_decoder
from generate.encoder_decoders import (
    CROSS,
    FOLDERS,
    START,
    decoder_of_states,
    expected_tokens,
    feature_encoder,
    genai_folder,
    later_decoder,
    save_models,
    text_encoder_with_cache,
    text_folder,
    text_source,
)
from sardonyx._src.generate.results import collect
from sardonyx._src.ir import Array
from sardonyx.generate import BatchingGenerator, Generator, save_prefix

TEXT = [1, 5, 2, 6]
FEATURES = np.random.default_rng(5).standard_normal((1, 4, 9), np.float32)
SPEECH = {"audio_features": FEATURES}


@pytest.mark.parametrize("form", FOLDERS)
def test_texts_of_every_form(tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = Generator(text_folder(tmp_path, form))
    assert (generator.context, generator.start_tokens) == (40, (START,))
    encoder = generator.encoder
    assert encoder is not None
    runs: list[object] = []
    run = encoder.session.run

    def counted(*arguments: Any, **options: Any) -> Any:
        runs.append(arguments)
        return run(*arguments, **options)

    monkeypatch.setattr(encoder.session, "run", counted)
    with warnings.catch_warnings(action="error"):  # sizes are those that the models declare
        tokens = generator.generate(TEXT, max_tokens=9).tokens
        assert generator.generate("w1 w5 w2 w6", max_tokens=9).tokens == tokens
    assert tokens == expected_tokens(text_source(TEXT), 9)
    assert len(runs) == 2  # once for each request
    assert generator.session.stats.fallback_nodes == encoder.session.stats.fallback_nodes == 0
    assert not generator.session.stats.bailouts


@pytest.mark.parametrize("form", FOLDERS)
def test_beams_several_results_and_streams(tmp_path: Path, form: str) -> None:
    generator = Generator(text_folder(tmp_path, form))
    (tokens, score), beams = best_sequence(text_source(TEXT), 3), WORDS**2
    result = generator.generate(TEXT, max_tokens=3, beams=beams)
    assert result.tokens == tokens, score
    several = generator.generate(TEXT, max_tokens=4, n=3).results
    greedy = expected_tokens(text_source(TEXT), 4)
    assert [item.tokens for item in several] == [greedy] * 3
    pieces = list(generator.stream(TEXT, max_tokens=4))
    assert [token for piece in pieces for token in piece.tokens] == greedy

    async def tokens_of_stream() -> list[int]:
        return [t async for piece in generator.astream(TEXT, max_tokens=4) for t in piece.tokens]

    assert asyncio.run(tokens_of_stream()) == greedy


@pytest.mark.parametrize("form", FOLDERS)
@pytest.mark.parametrize("draft", [None, "lookup"])
def test_requests_take_turns(tmp_path: Path, form: str, draft: Literal["lookup"] | None) -> None:
    generator = Generator(text_folder(tmp_path, form), draft=draft)
    texts = [TEXT, [0, 3], [2] * 9]
    with BatchingGenerator(generator, max_rows=8) as batching:
        streams = [
            batching.stream(text, max_tokens=9 + number, n=1 + number) for number, text in enumerate(texts)
        ]
        for number, (text, stream) in enumerate(zip(texts, streams, strict=True)):
            results = collect(stream, 1 + number)
            expected = expected_tokens(text_source(text), 9 + number)
            assert [result.tokens for result in results] == [expected] * (1 + number)
    assert (generator.draft_stats.accepted > 0) == (draft is not None)


def test_inputs_of_a_batch(tmp_path: Path) -> None:
    source = FEATURES.astype(np.float64).sum((0, 2))
    with BatchingGenerator(Generator(genai_folder(tmp_path))) as batching:
        assert batching.generate(inputs=SPEECH, max_tokens=8).tokens == expected_tokens(source, 8)
        with pytest.raises(sx.InputError, match="the encoder requires its input"):
            batching.generate([1, 2])


def best_sequence(source: Array, length: int) -> tuple[list[int], float]:
    """The most probable tokens of all that have this length."""
    sequences = np.indices((WORDS,) * length).reshape(length, -1).T
    total, sums = (
        np.zeros(len(sequences)),
        np.tile(EMBEDDING[START].astype(np.float64) + source, (len(sequences), 1)),
    )
    for column in sequences.T:
        logits = sums @ OUT
        logarithms = logits - np.log(np.exp(logits).sum(1, keepdims=True))
        total += logarithms[np.arange(len(sequences)), column]
        sums += EMBEDDING[column]
    return sequences[total.argmax()].tolist(), float(total.max())


def test_speech_of_genai(tmp_path: Path) -> None:
    generator = Generator(genai_folder(tmp_path))
    source = FEATURES.astype(np.float64).sum((0, 2))
    assert generator.generate(inputs=SPEECH, max_tokens=8).tokens == expected_tokens(source, 8)
    begin = [1, 2]
    expected = expected_tokens(source, 8, begin)
    assert generator.generate(begin, inputs=SPEECH, max_tokens=8).tokens == expected
    assert next(generator.stream(begin, inputs=SPEECH, max_tokens=2)).tokens == (expected[0],)
    with pytest.raises(
        sx.InputError, match=r"the encoder requires its input .*give it as inputs=\{'audio_features': array\}"
    ):
        generator.generate(begin)
    with pytest.raises(
        sx.InputError, match="inputs must be those of the encoder: audio_features; got 'features'"
    ):
        generator.generate(begin, inputs={"features": FEATURES})


def test_folders_of_an_encoder_and_a_decoder(tmp_path: Path) -> None:
    """As mobius writes them."""
    save_models(tmp_path / "encoder", model=feature_encoder())
    save_models(tmp_path / "decoder", model=decoder_of_states())
    generator = Generator(tmp_path, start_tokens=[START], context=40)
    source = FEATURES.astype(np.float64).sum((0, 2))
    assert generator.generate(inputs=SPEECH, max_tokens=8).tokens == expected_tokens(source, 8)


def test_features_and_states_without_a_mask(tmp_path: Path) -> None:
    """A decoder with a mask of states, whose encoder has none: all states count."""
    encoder = save_models(tmp_path, encoder=feature_encoder()) / "encoder.onnx"
    generator = Generator(decoder_of_states(), encoder=encoder, start_tokens=[START], context=40)
    source = FEATURES.astype(np.float64).sum((0, 2))
    assert generator.generate(inputs=SPEECH, max_tokens=8).tokens == expected_tokens(source, 8)


def test_drafts_read_several_tokens(tmp_path: Path) -> None:
    generator = Generator(text_folder(tmp_path, "states"), draft="lookup")
    assert generator.generate(TEXT, max_tokens=20).tokens == expected_tokens(text_source(TEXT), 20)
    assert generator.draft_stats.drafted > 0
    with pytest.raises(sx.InputError, match="a draft must be a decoder without an encoder"):
        Generator(summing_decoder(), draft=generator)


def test_states_are_cut_and_selected_with_their_context() -> None:
    generator = Generator(
        later_decoder(), encoder=sx.Session(text_encoder_with_cache()), start_tokens=[START], context=9
    )
    assert generator.encoder is not None
    assert generator.encoder.sources == {CROSS: "present.0.encoder.key"}
    assert generator.generate(TEXT).tokens == expected_tokens(text_source(TEXT), 8)


def test_what_does_not_fit_is_an_error(tmp_path: Path) -> None:
    folder = text_folder(tmp_path)
    with pytest.raises(sx.InputError, match="prefix_bytes requires a model without an encoder"):
        Generator(folder, prefix_bytes=1000)
    with pytest.raises(
        sx.InputError, match="the token with which the decoder begins must be known: give start_tokens"
    ):
        Generator(folder, start_tokens=[]).generate(TEXT)
    with pytest.raises(sx.InputError, match="inputs require a model with an encoder; got 'x'"):
        Generator(summing_decoder(), context=9).generate(TEXT, inputs={"x": FEATURES})
    with pytest.raises(
        sx.InputError, match="must have an input for what that computes, as encoder_hidden_states"
    ):
        Generator(summing_decoder(), encoder=folder / "encoder_model.onnx")
    with pytest.raises(TypeError, match="inputs must map names to arrays"):
        Generator(folder).generate(TEXT, inputs={"attention_mask": [1]})  # type: ignore[dict-item]


def test_a_prefix_is_one_of_a_model_without_an_encoder(tmp_path: Path) -> None:
    generator = Generator(text_folder(tmp_path))
    with pytest.raises(sx.InputError, match="got one with an encoder"):
        save_prefix(generator, [3, 4], tmp_path / "prefix.onnx")
