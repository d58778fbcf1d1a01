"""States of decoders in files: those of equal models restore them, and other or damaged files are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sardonyx as sx
from generate import attention_decoders
from generate.attention_decoders import grouped_decoder, masked_decoder
from generate.decoders import chain_decoder, recurrent_decoder, summing_decoder, tokens_read
from generate.static_decoder import static_file
from sardonyx._src.generate.decoder.decoder import TokenDecoder
from sardonyx._src.generate.decoder.state_file import restore_state, save_state
from sardonyx.generate import Generator, load_prefix, save_prefix

TOKENS = np.array([[1, 5, 2, 2, 6, 0, 3, 3, 1, 4]])


def grouped() -> TokenDecoder:
    return TokenDecoder(sx.Session(grouped_decoder(), threads=1))


@pytest.mark.parametrize(
    "model", [grouped_decoder, masked_decoder, summing_decoder, recurrent_decoder, static_file]
)
def test_a_state_is_saved_and_restored(model: Any, tmp_path: Path) -> None:
    decoder, path = TokenDecoder(sx.Session(model(), threads=1)), tmp_path / "state.onnx"
    _, state = decoder.read(decoder.start(), TOKENS[:, :5])
    save_state(decoder, state, path)
    expected, _ = decoder.read(state, TOKENS[:, 5:8])
    later = TokenDecoder(sx.Session(model(), threads=1))  # as of another process
    restored = restore_state(later, path)
    np.testing.assert_array_equal(restored.tokens, state.tokens)
    logits, _ = later.read(restored, TOKENS[:, 5:8])
    np.testing.assert_array_equal(logits, expected)


@pytest.mark.parametrize("model", [grouped_decoder, masked_decoder, static_file])
def test_a_state_is_that_of_the_model_however_it_was_opened(model: Any, tmp_path: Path) -> None:
    """With logits of the last position alone, with those of all, and without any edit."""
    generators = (Generator(model()), Generator(model(), draft="lookup"), Generator(sx.Session(model())))
    decoders = [generator.decoder for generator in generators]
    for number, saved in enumerate(decoders):
        path = tmp_path / f"{number}.onnx"
        _, state = saved.read(saved.start(), TOKENS[:, :5])
        save_state(saved, state, path)
        for other in decoders:
            logits, _ = other.read(restore_state(other, path), TOKENS[:, 5:6])
            expected, _ = saved.read(state, TOKENS[:, 5:6])
            np.testing.assert_array_equal(logits, expected)


def test_files_of_other_models_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decoder, path = grouped(), tmp_path / "state.onnx"
    save_state(decoder, decoder.read(decoder.start(), TOKENS)[1], path)
    monkeypatch.setattr(attention_decoders, "OUT", attention_decoders.OUT + 1)
    changed = grouped_decoder()
    for other in (TokenDecoder(sx.Session(changed)), TokenDecoder(sx.Session(masked_decoder()))):
        with pytest.raises(sx.InputError, match="must be a state of this model"):
            restore_state(other, path)
    sx.save(grouped_decoder(), path)
    with pytest.raises(sx.InputError, match="must be the state of a decoder; got another ONNX file"):
        restore_state(decoder, path)


def test_truncated_files_are_refused(tmp_path: Path) -> None:
    decoder, path = grouped(), tmp_path / "state.onnx"
    save_state(decoder, decoder.read(decoder.start(), TOKENS)[1], path)
    content = path.read_bytes()
    for size in {*range(0, len(content) - 1, 37), len(content) - 1}:
        path.write_bytes(content[:size])
        with pytest.raises(sx.SardonyxError):
            restore_state(decoder, path)


def test_a_prefix_of_another_process_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, prompt = tmp_path / "prefix.onnx", TOKENS[0].tolist()
    save_prefix(Generator(grouped_decoder()), prompt[:6], path)
    generator = Generator(grouped_decoder(), prefix_bytes=1 << 20)
    assert load_prefix(generator, path) == 6
    counts = tokens_read(generator, monkeypatch)
    result = generator.generate(prompt, max_tokens=3)
    assert counts == [4, 1, 1]
    assert result.tokens == Generator(grouped_decoder()).generate(prompt, max_tokens=3).tokens


def test_a_prefix_needs_caches_and_room(tmp_path: Path) -> None:
    path = tmp_path / "prefix.onnx"
    with pytest.raises(sx.InputError, match="requires a model with caches"):
        save_prefix(Generator(chain_decoder(), context=9), [1, 2], path)
    save_prefix(Generator(grouped_decoder()), [1, 2], path)
    for size in (0, 100):
        with pytest.raises(sx.InputError, match=f"{size} bytes; got 128: open it with greater prefix_bytes"):
            load_prefix(Generator(grouped_decoder(), prefix_bytes=size), path)
