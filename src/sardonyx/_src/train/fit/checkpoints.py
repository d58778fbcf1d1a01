"""Checkpoints of a run: each is one file, which a complete new one replaces atomically."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError, TrainingDiverged
from sardonyx._src.io.loading.load import load
from sardonyx._src.io.saving.save import save
from sardonyx._src.ir import Array, Model
from sardonyx._src.train.fit.progress import RunProgress

LAST, BEST = "last.onnx", "best.onnx"
PROGRESS_KEY = "sardonyx.train.progress"  # metadata key of a checkpoint, whose value is a RunProgress as JSON


def write_checkpoint(model: Model, progress: RunProgress, path: Path) -> None:
    """Writes a model in training with the position of its run; an older file is replaced when the new one is complete."""
    model.metadata[PROGRESS_KEY] = progress.as_json()
    save(model, path, external=False)


def read_checkpoint(path: Path) -> tuple[Model, RunProgress]:
    """The model and the position of a run; raises InputError for a model without one."""
    model = load(path)
    text = model.metadata.pop(PROGRESS_KEY, None)
    if text is None:
        raise InputError(
            f"{path} must be a checkpoint; it has no metadata {PROGRESS_KEY!r}: choose another folder",
            name=str(path),
        )
    return model, RunProgress.from_json(text, str(path))


def require_finite(state: Mapping[str, Array], progress: RunProgress) -> None:
    """Raises TrainingDiverged for a state with an infinity or NaN: it must not replace the last good checkpoint."""
    for name, array in state.items():
        if DataType.of(array.dtype).is_float and not np.isfinite(array).all():
            raise TrainingDiverged(
                f"the state variable {name!r} must be finite; got an infinity or NaN",
                epoch=progress.epoch + 1,
                step=progress.step,
            )
