"""Folders as Transformers and Optimum write them: `config.json`, `generation_config.json`, `tokenizer.json`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sardonyx._src.errors import InputError
from sardonyx._src.generate.folders.contents import FolderContents
from sardonyx._src.generate.folders.recommended import recommended_settings, tokens_of
from sardonyx._src.generate.folders.token_settings import begun, forced_tokens, token_settings
from sardonyx._src.generate.text.tokenizer import read_config

# The decoder of a folder, by the names that exporters give.
MERGED, WITH_PAST, FIRST = "decoder_model_merged.onnx", "decoder_with_past_model.onnx", "decoder_model.onnx"
MODELS = ("model.onnx", MERGED, WITH_PAST, FIRST, "decoder/model.onnx")
ENCODERS = ("encoder_model.onnx", "encoder.onnx")
PLACES = (".", "onnx")
CONTEXTS = ("max_target_positions", "max_position_embeddings", "n_positions", "max_sequence_length")


def read_transformers_folder(folder: Path) -> FolderContents:
    """The contents of a folder; raises InputError if its decoder is not evident."""
    decoders = [
        folder / place / name for place in PLACES for name in MODELS if (folder / place / name).exists()
    ]
    others = sorted(folder.glob("*.onnx"))
    if not decoders and len(others) != 1:
        names = ", ".join(path.name for path in others) or "no model"
        raise InputError(
            f"{folder} must have one decoder, as {MODELS[0]}; got {names}: give the path of the file instead",
            name="source",
        )
    return contents_beside(decoders[0] if decoders else others[0], folder)


def contents_beside(model: Path, folder: Path) -> FolderContents:
    """What the files of a folder say of a model."""
    config, generation = read_config(folder / "config.json"), read_config(folder / "generation_config.json")
    forced = forced_tokens(generation or config)
    lengths = [config[name] for name in CONTEXTS if isinstance(config.get(name), int)]
    encoder = next((path for path in encoders_of(model) if path.exists()), None)
    first = model.with_name(FIRST) if model.name == WITH_PAST else None
    # With caches, a merged decoder returns empty arrays in place of those of the encoder, whatever it declares.
    options = {"shapes": "off"} if encoder is not None and model.name == MERGED else {}
    return FolderContents(
        model,
        folder,
        lengths[0] if lengths else None,
        stated_tokens("eos_token_id", generation, config),
        defaults={**recommended_settings(generation), **token_settings(generation or config, forced)},
        first=first if first is not None and first.exists() else None,
        encoder=encoder,
        start_tokens=begun(stated_tokens("decoder_start_token_id", generation, config), forced),
        options=options,
    )


def encoders_of(decoder: Path) -> list[Path]:
    """Where the encoder of a decoder may be: beside it, or in a folder beside that of the decoder."""
    if decoder.name in (MERGED, WITH_PAST, FIRST):
        return [decoder.with_name(name) for name in ENCODERS]
    return [decoder.parent.with_name("encoder") / decoder.name] if decoder.parent.name == "decoder" else []


def stated_tokens(name: str, *configs: dict[str, Any]) -> tuple[int, ...]:
    """The tokens of the first configuration that states them."""
    return next((tokens for config in configs if (tokens := tokens_of(config.get(name)))), ())
