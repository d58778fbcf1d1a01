"""Losses that were measured, in a file if one is named, so that an interrupted search goes on where it was."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from sardonyx._src.errors import InputError
from sardonyx._src.ops.api import RuntimeValue


class LossRecord:
    """The loss of each set of quantized layers.

    path: of a file of JSON that holds them; None for memory alone.
    subject: what the losses are of; a file of another subject begins anew.
    """

    def __init__(self, path: str | None, subject: str) -> None:
        self.path, self.subject = path, subject
        self.losses: dict[str, float] = read_losses(path, subject)

    def loss(self, keys: Sequence[str], evaluate: Callable[[Sequence[str]], float]) -> float:
        """The loss of these layers, which is evaluated if it is not in the record."""
        name = hashlib.sha256("\0".join(sorted(keys)).encode()).hexdigest()
        if name not in self.losses:
            self.losses[name] = evaluate(keys) if keys else 0.0
            self.write()
        return self.losses[name]

    def write(self) -> None:
        """Replaces the file in one step: a process that ends while it writes leaves the old one."""
        if self.path is not None:
            draft = f"{self.path}.{os.getpid()}"
            Path(draft).write_text(json.dumps({"subject": self.subject, "losses": self.losses}))
            os.replace(draft, self.path)


def read_losses(path: str | None, subject: str) -> dict[str, float]:
    if path is None or not Path(path).exists():
        return {}
    try:
        stored = json.loads(Path(path).read_text())
        same = stored["subject"] == subject
        return {str(key): float(loss) for key, loss in stored["losses"].items()} if same else {}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"resume must be a file that an earlier search wrote, or a new one; got {path!r}"
        raise InputError(what, name="resume") from error


def subject_of(
    words: Sequence[str], arrays: Sequence[object], runs: Sequence[Mapping[str, RuntimeValue]]
) -> str:
    """A digest of settings, of weights, and of calibration data."""
    digest = hashlib.sha256("\0".join(words).encode())
    for array in [*arrays, *(value for feeds in runs for _, value in sorted(feeds.items()))]:
        numbers = np.asarray(array)
        digest.update(f"{numbers.dtype}{numbers.shape}".encode())
        digest.update(numbers.tobytes() if numbers.dtype != object else repr(numbers.tolist()).encode())
    return digest.hexdigest()
