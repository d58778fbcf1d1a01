"""Entries of the disk cache for programs that are specialized for branches, ranks or parameters of a model's runs."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from sardonyx._src.compile.llvm.kernel_origin import Start
from sardonyx._src.compile.program.encoding.executable import Executable
from sardonyx._src.compile.program.operands.lazy_constants import LazyConstant
from sardonyx._src.compile.program.steps.assumptions import Assumptions
from sardonyx._src.compile.program.steps.program import Program
from sardonyx._src.compile.program.verification.defects import DEFECTS
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import CompilationError, are_defects_fatal
from sardonyx._src.io.mapped_files import MappedFile
from sardonyx._src.io.nesting import limit_nesting
from sardonyx._src.runtime.identity.constant_keys import constant_key
from sardonyx._src.runtime.identity.model_stamps import ModelStamp
from sardonyx._src.runtime.programs.stats import RunCounters
from sardonyx._src.runtime.runs.native_program import NativeProgram
from sardonyx._src.runtime.saved_programs.cache_entries import read_entry, trim_folder, write_entry
from sardonyx._src.runtime.saved_programs.constant_files import ConstantFiles
from sardonyx._src.runtime.saved_programs.entry_names import specialized_path, specialized_paths
from sardonyx._src.runtime.saved_programs.image import ProgramImage
from sardonyx._src.runtime.saved_programs.saved_engine import SavedProgram


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

    path: the path of the entry of the general program in the folder that receives new entries.
    image: the general program.
    stamp: the stamp of the model.
    start: the origin that the kernels of the programs must have.
    shared: the path of the general program in a folder that is only read; None if it is at `path`.
    """

    path: Path
    image: ProgramImage
    stamp: ModelStamp
    start: Start = "library"
    shared: Path | None = None

    def load(self, count: int) -> Iterator[tuple[Assumptions, SpecializedEntry]]:
        """The programs of the `count` entries used last, the least recently used one first."""
        shared = [] if self.shared is None else specialized_paths(self.shared)
        for path in [*shared, *specialized_paths(self.path)][-count:]:
            image = read_entry(path, self.files())
            is_named = image is not None and specialized_path(self.path, image.assumptions).name == path.name
            if image is not None and is_named and image.has_origin(self.start):
                yield image.assumptions, SpecializedEntry(path, image)

    def reuse_weights(self, program: Program) -> None:
        """Replaces lazy constants of a program by those that the general program has in its entry, with the same keys."""
        names = self.files().name_of
        for buffer in program.constants:
            content = buffer.content
            if isinstance(content, LazyConstant):
                key = constant_key(content, names)
                packed = None if key is None else self.image.packed.get(key)
                if packed is not None and packed.nbytes == content.nbytes:
                    buffer.content = packed.view(content.dtype).reshape(content.shape)

    def put(self, assumptions: Assumptions, executable: Executable) -> SpecializedEntry | None:
        """Writes an entry and opens it; None if that is not possible."""
        path = specialized_path(self.path, assumptions)
        if executable.defects or write_entry(
            path, self.image.interface, self.image.declarations, executable, self.files(), assumptions
        ):
            return None
        image = read_entry(path, self.files())
        trim_folder(path.parent)
        return None if image is None else SpecializedEntry(path, image)

    def files(self) -> ConstantFiles:
        """The files that may have constants of a specialized program, the entry of the general one among them."""
        owner = self.image.code.obj
        general = (owner, self.image.digest) if isinstance(owner, MappedFile) else None
        return ConstantFiles(self.stamp, general)

    def retain(self, programs: Collection[Assumptions]) -> None:
        """Removes the entries for other assumptions than these."""
        retained = {specialized_path(self.path, assumptions) for assumptions in programs}
        with suppress(OSError):
            for path in specialized_paths(self.path):
                if path not in retained:
                    path.unlink(missing_ok=True)
