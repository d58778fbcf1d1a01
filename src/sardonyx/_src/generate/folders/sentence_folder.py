"""Folders of encoders, as Sentence Transformers and Optimum write them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Literal

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InputError
from sardonyx._src.generate.text.tokenizer import CONFIG, read_config

MODELS = ("model.onnx", "onnx/model.onnx")
# The members of `1_Pooling/config.json`, with what is taken.
POOLINGS: dict[str, Literal["mean", "first", "last", "max"]] = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "first",
    "pooling_mode_lasttoken": "last",
    "pooling_mode_max_tokens": "max",
}
NO_LENGTH = 1 << 30  # what tokenizers state beyond is no length


@dataclass(frozen=True, slots=True)
class SentenceFolder:
    """What a folder says of an encoder.

    context: the most tokens of a text; None if the folder does not say it.
    """

    model: Path
    folder: Path
    context: int | None
    pooling: Literal["mean", "first", "last", "max"]
    normalize: bool


def read_sentence_folder(source: str | os.PathLike[str]) -> SentenceFolder:
    """The contents of a folder, or of that of a file; raises InputError without a model, and for unknown poolings."""
    path = Path(source)
    if not path.exists():
        raise InputError(f"the path of a model must exist; got {path}", name="source")
    folder = path if path.is_dir() else path.parent
    models = [path] if path.is_file() else [folder / name for name in MODELS if (folder / name).exists()]
    if not models:
        raise InputError(
            f"{folder} must have an encoder, as {MODELS[0]}; give the path of the file instead", name="source"
        )
    return SentenceFolder(models[0], folder, context_of(folder), pooling_of(folder), normalizes(folder))


def context_of(folder: Path) -> int | None:
    """The first length that the configurations state."""
    stated = (
        read_config(folder / "sentence_bert_config.json").get("max_seq_length"),
        read_config(folder / CONFIG).get("model_max_length"),
        read_config(folder / "config.json").get("max_position_embeddings"),
    )
    return next((length for length in stated if isinstance(length, int) and length < NO_LENGTH), None)


def pooling_of(folder: Path) -> Literal["mean", "first", "last", "max"]:
    path = folder / "1_Pooling" / "config.json"
    config = read_config(path)
    chosen = [name for name, value in config.items() if name.startswith("pooling_mode") and value is True]
    if not chosen:
        return "mean"
    if len(chosen) > 1 or chosen[0] not in POOLINGS:
        raise InputError(
            f"{path} must choose one of {', '.join(POOLINGS)}; got {', '.join(chosen)}", name=str(path)
        )
    return POOLINGS[chosen[0]]


def normalizes(folder: Path) -> bool:
    """Whether a step of the folder's modules normalizes vectors."""
    path = folder / "modules.json"
    if not path.exists():
        return False
    try:
        modules: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
        return any(str(module["type"]).endswith(".Normalize") for module in modules)
    except (ValueError, TypeError, KeyError):
        raise InputError(f"{path} must be a JSON list of modules with their types", name=str(path)) from None
