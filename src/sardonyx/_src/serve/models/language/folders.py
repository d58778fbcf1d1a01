"""Folders of language models in a repository."""

from __future__ import annotations

from pathlib import Path

from sardonyx._src.generate.folders.genai_folder import FILE as GENAI_FILE
from sardonyx._src.generate.text.tokenizer import FILE as TOKENIZER_FILE
from sardonyx._src.io.loading.load import load

# What Sentence Transformers writes beside its models.
ENCODER_FILES = ("modules.json", "sentence_bert_config.json", "1_Pooling")
ENCODER_OUTPUTS = frozenset({"sentence_embedding", "token_embeddings", "last_hidden_state"})


def is_language_folder(folder: Path) -> bool:
    """Whether a folder is one of onnxruntime-genai, or has a tokenizer beside a model, as those of Optimum, Transformers and
    Sentence Transformers."""
    if (folder / GENAI_FILE).is_file():
        return True
    return (folder / TOKENIZER_FILE).is_file() and any(
        next(place.glob("*.onnx"), None) is not None
        for place in (folder, folder / "onnx", folder / "decoder")
    )


def is_encoder(folder: Path) -> bool:
    """Whether the model of a folder computes vectors of texts, rather than logits of tokens."""
    if (folder / GENAI_FILE).is_file():
        return False
    if any((folder / name).exists() for name in ENCODER_FILES):
        return True
    paths = [folder / "model.onnx", folder / "onnx" / "model.onnx"]
    outputs = (value.name for path in paths if path.is_file() for value in load(path).graph.outputs)
    return not ENCODER_OUTPUTS.isdisjoint(outputs)
