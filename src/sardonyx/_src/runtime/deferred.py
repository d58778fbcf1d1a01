"""Models that are not looked at until somebody asks for them: a kept program runs without its model's graph."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from sardonyx._src.io.load import TEXTS, load, mapped
from sardonyx._src.ir.graph import Model


class Deferred:
    """The model in a file as it was when this was made, whatever becomes of the file's name.

    interface: a model of the same inputs and outputs, and nothing else.
    """

    def __init__(self, path: Path, interface: Model) -> None:
        """Raises OSError for a file that cannot be read."""
        assert path.suffix not in TEXTS, f"{path} holds text"
        self.interface = interface
        self.data = mapped(path)

    @cached_property
    def model(self) -> Model:
        """The model; raises what `load` does."""
        return load(memoryview(self.data))
