"""What tells the checkpoints of one run from those of another."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from pathlib import Path

from sardonyx._src.errors import InputError
from sardonyx._src.io.saving.save import save
from sardonyx._src.ir.model import Model


def digest_of(model: Model) -> str:
    """The SHA-256 of a model as it is written."""
    content = io.BytesIO()
    save(model, content)
    return hashlib.sha256(content.getbuffer()).hexdigest()


def require_same_run(actual: Mapping[str, object], expected: Mapping[str, object], folder: Path) -> None:
    """Raises InputError unless a checkpoint belongs to this run."""
    for name, value in expected.items():
        if actual.get(name) != value:
            shown = "another one" if name == "model" else f"{actual.get(name)!r}, not {value!r}"
            raise InputError(
                f"folder must have a run with the same {name}; {folder} has one with {shown}: choose another folder, or "
                "resume=False to start over",
                name="folder",
            )
