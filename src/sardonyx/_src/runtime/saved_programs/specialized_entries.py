"""Entries of the disk cache for specialized programs: the first run of the next process is native already."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sardonyx._src.compile.program.encoding.executable import Executable
from sardonyx._src.compile.program.steps.assumptions import Assumptions
from sardonyx._src.compile.program.verification.defects import DEFECTS
from sardonyx._src.errors import CompilationError, are_defects_fatal
from sardonyx._src.io.nesting import limit_nesting
from sardonyx._src.runtime.programs.stats import RunCounters
from sardonyx._src.runtime.runs.native_program import NativeProgram
from sardonyx._src.runtime.saved_programs.cache_entries import (
    read_entry,
    specialized_path,
    specialized_paths,
    trim_folder,
    write_entry,
)
from sardonyx._src.runtime.saved_programs.reading import ProgramImage
from sardonyx._src.runtime.saved_programs.saved_engine import SavedProgram

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SpecializedEntry:
    """An entry of a specialized program: its file, and the decoded program."""

    path: Path
    image: ProgramImage

    def open(self, threads: int | None, counters: RunCounters) -> NativeProgram | None:
        """The program ready to run; None if that fails because of a defect, and then the entry is removed."""
        try:
            with limit_nesting():
                return SavedProgram(self.image, threads, counters, compiles_subgraphs=True)
        except DEFECTS as defect:
            if are_defects_fatal():
                raise
            counters.record_compiler_fault(CompilationError.of(defect, stage="bind a cached program"))
            with suppress(OSError):
                self.path.unlink()
            return None


@dataclass(frozen=True, slots=True)
class SpecializedEntries:
    """The entries of a model's specialized programs.

    path: the path of the entry of the general program.
    image: the general program.
    """

    path: Path
    image: ProgramImage

    def load(self, count: int) -> Iterator[tuple[Assumptions, SpecializedEntry]]:
        """The programs of the `count` entries used last, the least recently used one first."""
        for path in specialized_paths(self.path)[-count:]:
            image = read_entry(path)
            if image is not None and specialized_path(self.path, image.assumptions) == path:
                yield image.assumptions, SpecializedEntry(path, image)

    def put(self, assumptions: Assumptions, executable: Executable) -> SpecializedEntry | None:
        """Writes an entry and opens it; None if that is not possible."""
        path = specialized_path(self.path, assumptions)
        if executable.defects or not write_entry(
            path, self.image.interface, self.image.declarations, executable, assumptions
        ):
            return None
        image = read_entry(path)
        trim_folder(path.parent)
        return None if image is None else SpecializedEntry(path, image)

    def retain(self, programs: Collection[Assumptions]) -> None:
        """Removes the entries for other assumptions than these."""
        retained = {specialized_path(self.path, assumptions) for assumptions in programs}
        with suppress(OSError):
            for path in specialized_paths(self.path):
                if path not in retained:
                    path.unlink(missing_ok=True)
