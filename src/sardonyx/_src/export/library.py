"""A library: its parts, and the files that hold them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from sardonyx._src.compile.program.encoding.executable import Executable
from sardonyx._src.dataclass import dataclass
from sardonyx._src.export.binding import binding_text
from sardonyx._src.export.formats import Emit
from sardonyx._src.export.formats.archive import archive_content
from sardonyx._src.export.formats.elf_parts import Content
from sardonyx._src.export.formats.relocatable import object_content
from sardonyx._src.export.formats.shared_object import shared_content
from sardonyx._src.export.header import LibraryFacts, header_text
from sardonyx._src.export.image import Code
from sardonyx._src.export.interface import LibraryInterface
from sardonyx._src.export.tables import Weights, make_tables
from sardonyx._src.io.saving.staging import Staging

FILE_MODE = 0o666


@dataclass(frozen=True, slots=True)
class CompiledLibrary:
    """A library that was written.

    interface: its inputs and outputs.
    header, library: the paths of the header and of the object, archive or shared library.
    weights: the path of the file of weights; None if the library has them.
    binding: the path of the module of Python for a shared library; None for another one.
    arena_bytes: the size of the arena of a run.
    code_bytes: the size of the code.  data_bytes: of its read-only data, weights included.
    """

    interface: LibraryInterface
    header: Path
    library: Path
    weights: Path | None
    binding: Path | None
    arena_bytes: int
    code_bytes: int
    data_bytes: int

    @property
    def paths(self) -> tuple[Path, ...]:
        """All files that were written."""
        return (
            self.header,
            self.library,
            *(path for path in (self.weights, self.binding) if path is not None),
        )


class LibraryContents:
    """A library before it is written."""

    def __init__(
        self,
        executable: Executable,
        interface: LibraryInterface,
        code: Code,
        prefix: str,
        description: str,
        *,
        passes_weights: bool,
    ) -> None:
        """description: of the model and the processors.  passes_weights: whether the caller passes the weights."""
        self.code, self.prefix, self.passes_weights = code, prefix, passes_weights
        self.weights = Weights(executable.encoding)
        self.tables = make_tables(
            executable, interface, self.weights, code.functions, passes_weights=passes_weights
        )
        weight_bytes = self.weights.size if passes_weights else None
        self.facts = LibraryFacts(prefix, description, interface, self.tables.arena_bytes, weight_bytes)

    def write(self, folder: Path, emit: Emit) -> CompiledLibrary:
        """Writes all files."""
        prefix = self.prefix
        name = {"object": f"{prefix}.o", "static": f"lib{prefix}.a", "shared": f"lib{prefix}.so"}[emit]
        header = f"{prefix}.h"
        weights = f"{prefix}.weights" if self.passes_weights else None
        binding = f"{prefix}.py" if emit == "shared" else None
        contents = {header: Content.of(header_text(self.facts).encode()), name: self.content(emit, name)}
        if weights is not None:
            contents[weights] = Content(self.weights.size, self.weights.chunks())
        if binding is not None:
            contents[binding] = Content.of(binding_text(self.facts, name, weights).encode())
        write_files(folder, contents)
        return CompiledLibrary(
            self.facts.interface,
            folder / header,
            folder / name,
            None if weights is None else folder / weights,
            None if binding is None else folder / binding,
            self.tables.arena_bytes,
            len(self.code.image),
            self.tables.size,
        )

    def content(self, emit: Emit, name: str) -> Content:
        data = Content(self.tables.size, self.tables.chunks())
        match emit:
            case "object":
                return object_content(self.code, data)
            case "static":
                return archive_content(
                    f"{self.prefix}.o", object_content(self.code, data), self.code.exported
                )
            case "shared":
                return shared_content(self.code, data, name)


def write_files(folder: Path, contents: Mapping[str, Content]) -> None:
    """Writes files into a folder; they appear together when they are complete."""
    os.makedirs(folder, exist_ok=True)
    with Staging(os.fspath(folder), FILE_MODE) as staging:
        for name, content in contents.items():
            with staging.create([name]) as file:
                for chunk in content.chunks:
                    file.write(chunk)
        staging.commit()
