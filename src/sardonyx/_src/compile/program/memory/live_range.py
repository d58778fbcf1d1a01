"""Live ranges of buffers."""

from __future__ import annotations

from sardonyx._src.compile.program import Buffer
from sardonyx._src.dataclass import dataclass


@dataclass(slots=True)
class LiveRange:
    """The live range of a buffer: from its first to its last use, as indices of actions."""

    buffer: Buffer
    first: int
    last: int
    size: int  # bytes, estimated if it depends on input sizes
