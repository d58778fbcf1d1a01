"""The metrics of a run in files: JSON lines, and a TensorBoard event file."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from sardonyx._src.train.fit.event_file import scalars_record, version_record

JSON_LINES = "metrics.jsonl"
# TensorBoard reads files whose names contain "tfevents".
EVENTS = "events.out.tfevents.0.sardonyx"


class MetricsLog:
    """Appends the metrics of steps and epochs to the files of a run."""

    def __init__(self, folder: Path, sizes: Mapping[str, int]) -> None:
        """sizes: bytes of the files at the checkpoint from which the run continues; what was written later is cut off."""
        self.files: dict[str, BinaryIO] = {}
        for name in (JSON_LINES, EVENTS):
            path = folder / name
            size = min(sizes.get(name, 0), path.stat().st_size) if path.exists() else 0
            file = open(path, "r+b" if path.exists() else "wb")  # noqa: SIM115  # closed by `close`
            file.truncate(size)
            file.seek(size)
            self.files[name] = file
        if not self.files[EVENTS].tell():
            self.files[EVENTS].write(version_record(time.time()))

    def write(self, kind: str, step: int, scalars: Mapping[str, float], **more: float) -> None:
        """Adds one entry.  scalars: written to both files.  more: written only to the JSON lines."""
        entry = {"kind": kind, "step": step, **finite(scalars), **finite(more)}
        self.files[JSON_LINES].write(json.dumps(entry).encode() + b"\n")
        tags = {f"{kind}/{name}": number for name, number in scalars.items()}
        self.files[EVENTS].write(scalars_record(time.time(), step, tags))

    def flush(self) -> dict[str, int]:
        """Writes everything to disk; returns the sizes of the files."""
        for file in self.files.values():
            file.flush()
            os.fsync(file.fileno())
        return {name: file.tell() for name, file in self.files.items()}

    def close(self) -> None:
        for file in self.files.values():
            file.close()

    def __enter__(self) -> MetricsLog:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def finite(scalars: Mapping[str, float]) -> dict[str, float | None]:
    """The numbers, with None for NaN and infinities, which JSON lacks."""
    return {name: number if math.isfinite(number) else None for name, number in scalars.items()}
