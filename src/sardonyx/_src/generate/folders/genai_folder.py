"""Folders of onnxruntime-genai: `genai_config.json`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sardonyx._src.errors import InputError
from sardonyx._src.generate.folders.contents import FolderContents
from sardonyx._src.generate.folders.recommended import recommended_settings, tokens_of
from sardonyx._src.generate.text.tokenizer import read_config

FILE = "genai_config.json"
# Inputs and outputs of a decoder that `genai_config.json` names, with their roles.
ROLES = {
    "input_ids": "tokens",
    "attention_mask": "mask",
    "position_ids": "positions",
    "past_sequence_length": "past_length",
    "current_sequence_length": "total_length",
    "total_sequence_length": "total_length",
}
MAX_LAYERS = 10_000
HEAD_DIM = "kv_cache_dim"  # the open dim of caches that is the size of a head


def read_genai_folder(folder: Path) -> FolderContents:
    """The contents by `genai_config.json`; raises InputError for pipelines and for models of images or speech."""
    path = folder / FILE
    config = read_config(path)
    model = config.get("model")
    decoder = model.get("decoder") if isinstance(model, dict) else None
    if (
        not isinstance(model, dict)
        or not isinstance(decoder, dict)
        or not isinstance(decoder.get("filename"), str)
    ):
        raise InputError(f"{path} must name a decoder with a file; got none", name=str(path))
    for part in ("vision", "speech"):
        if part in model:
            raise InputError(
                f"{path} must describe a decoder with or without an encoder; got one with {part!r}",
                name=str(path),
            )
    context = model.get("context_length")
    encoder = object_of(model, "encoder", path)
    return FolderContents(
        folder / decoder["filename"],
        folder,
        context if isinstance(context, int) else None,
        tokens_of(model.get("eos_token_id")),
        genai_roles(decoder, path),
        genai_sizes(decoder),
        recommended_settings(object_of(config, "search", path)),
        encoder=folder / str(encoder.get("filename")) if encoder else None,
        encoder_outputs=genai_encoder_outputs(encoder, decoder, path),
        start_tokens=tokens_of(model.get("decoder_start_token_id", model.get("bos_token_id")))
        if encoder
        else (),
    )


def genai_roles(decoder: Mapping[str, Any], path: Path) -> dict[str, str]:
    """The roles of inputs and outputs, caches included."""
    inputs, outputs = object_of(decoder, "inputs", path), object_of(decoder, "outputs", path)
    roles = {ROLES[key]: str(name) for key, name in inputs.items() if key in ROLES}
    if "logits" in outputs:
        roles["logits"] = str(outputs["logits"])
    for part in ("key", "value"):
        names = inputs.get(f"past_{part}_names"), outputs.get(f"present_{part}_names")
        roles |= layer_names(*names, decoder, path)
    return roles


def genai_encoder_outputs(
    encoder: Mapping[str, Any], decoder: Mapping[str, Any], path: Path
) -> dict[str, str]:
    """Outputs of the encoder by inputs of the decoder."""
    outputs, inputs = object_of(encoder, "outputs", path), object_of(decoder, "inputs", path)
    names: dict[str, str] = {}
    for part in ("key", "value"):
        pair = inputs.get(f"cross_past_{part}_names"), outputs.get(f"cross_present_{part}_names")
        names |= layer_names(*pair, decoder, path)
    states = inputs.get("encoder_hidden_states"), outputs.get("encoder_hidden_states")
    return {**names, **layer_names(*states, {"num_hidden_layers": 1}, path)}


def layer_names(first: object, second: object, decoder: Mapping[str, Any], path: Path) -> dict[str, str]:
    """The second names by the first ones, with the number of each layer in place of `%d`; {} if either is not stated."""
    layers = decoder.get("num_hidden_layers", 0)
    if not isinstance(layers, int) or not 0 <= layers <= MAX_LAYERS:
        raise InputError(
            f"{path}: num_hidden_layers must be 0 to {MAX_LAYERS}; got {layers!r:.50}", name=str(path)
        )
    if not (isinstance(first, str) and isinstance(second, str)):
        return {}
    return {first.replace("%d", str(i)): second.replace("%d", str(i)) for i in range(layers)}


def genai_sizes(decoder: Mapping[str, Any]) -> dict[str, int]:
    size = decoder.get("head_size")
    return {HEAD_DIM: size} if isinstance(size, int) else {}


def object_of(parent: Mapping[str, Any], name: str, path: Path) -> Mapping[str, Any]:
    """A member that is an object; {} if it is absent.  Raises InputError for any other value."""
    value = parent.get(name, {})
    if not isinstance(value, dict):
        raise InputError(f"{path}: {name} must be an object; got {type(value).__name__}", name=str(path))
    return value
