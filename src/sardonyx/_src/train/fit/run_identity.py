"""The identity of a run: a checkpoint is resumed only by a run with the same model, data and arguments."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from pathlib import Path

from sardonyx._src.errors import InputError
from sardonyx._src.io.saving.save import save
from sardonyx._src.ir import Model

DATASETS = ("data", "validation")


def digest_of(model: Model) -> str:
    """The SHA-256 of a model as it is written."""
    content = io.BytesIO()
    save(model, content)
    return hashlib.sha256(content.getbuffer()).hexdigest()


def require_same_run(actual: Mapping[str, object], expected: Mapping[str, object], folder: Path) -> None:
    """Raises InputError unless a checkpoint belongs to this run."""
    for name, value in expected.items():
        kept = actual.get(name)
        if kept == value:
            continue
        cure = "choose another folder, or resume=False to start over"
        if name in DATASETS:
            what, shown = different_data(name, kept, value)
            cure += f", or train {folder / 'last.onnx'} in another folder to go on with other data"
        else:
            what, shown = name, "another one" if name == "model" else f"{kept!r}, not {value!r}"
        raise InputError(
            f"folder must have a run with the same {what}; {folder} has one with {shown}: {cure}",
            name="folder",
        )


def different_data(name: str, actual: object, expected: object) -> tuple[str, str]:
    """The difference between two descriptions of datasets, for a message: the dataset or input, and what the folder's run has.

    actual, expected: descriptions by input name, None for a dataset that a run does not have.
    """
    if not isinstance(actual, Mapping) or not isinstance(expected, Mapping):
        return name, "none" if actual is None else "some" if expected is None else f"{actual!r}"
    differing = next(key for key in (*expected, *actual) if actual.get(key) != expected.get(key))
    (kept, _, _), (given, _, _) = (str(side.get(differing)).rpartition(" ") for side in (actual, expected))
    shown = "other values" if kept == given else f"{kept or 'none'}, not {given or 'none'}"
    return f"{name} for input {differing!r}", shown
