"""`compile_library`: a model as a library for C."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypeAlias

from sardonyx._src.compile.linker.features import machine_of
from sardonyx._src.compile.llvm.host_target import compile_for_class, find_class
from sardonyx._src.compile.llvm.jit import compile_target
from sardonyx._src.compile.program import EXACT, Precision
from sardonyx._src.compile.program.encoding.executable import Executable
from sardonyx._src.compile.program.verification.defects import typed_defects
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InputError, SardonyxError
from sardonyx._src.export.formats.archive import archive_content
from sardonyx._src.export.formats.elf_parts import Content
from sardonyx._src.export.formats.relocatable import object_content
from sardonyx._src.export.formats.shared_object import shared_content
from sardonyx._src.export.header import LibraryFacts, header_text
from sardonyx._src.export.image import Code, link_code
from sardonyx._src.export.interface import (
    KEYWORDS,
    Interface,
    interface_of,
    require_static_tensors,
)
from sardonyx._src.export.refusals import require_kernels
from sardonyx._src.export.tables import Weights, make_tables
from sardonyx._src.grad.runnable import without_gradient_nodes
from sardonyx._src.interp.program import check_kernels
from sardonyx._src.io.nesting import limit_nesting
from sardonyx._src.io.saving.staging import Staging
from sardonyx._src.ir import Array, Model, Tensor, TensorType
from sardonyx._src.runtime.programs.async_compilation import async_compilation
from sardonyx._src.runtime.programs.precision import require_precision
from sardonyx._src.runtime.runs.native_program import compile_for_host
from sardonyx._src.runtime.saved_programs.writing import refuse_c_functions
from sardonyx._src.tools.set_dims import set_dims

Emit: TypeAlias = Literal["object", "static", "shared"]
EMITS: tuple[Emit, ...] = ("object", "static", "shared")
WeightPlace: TypeAlias = Literal["code", "file"]
WEIGHT_PLACES: tuple[WeightPlace, ...] = ("code", "file")
FILE_MODE = 0o666
TILES = (
    "amx-tile"  # a feature that the system permits to a process that asks for it, which a library does not
)


@dataclass(frozen=True, slots=True)
class CompiledLibrary:
    """A library that was written.

    interface: its inputs and outputs.
    header, library: the paths of the header and of the object, archive or shared library.
    weights: the path of the file of weights; None if the library has them.
    arena_bytes: the size of the arena of a run.
    code_bytes: the size of the code.  data_bytes: of its read-only data, weights included.
    """

    interface: Interface
    header: Path
    library: Path
    weights: Path | None
    arena_bytes: int
    code_bytes: int
    data_bytes: int

    @property
    def paths(self) -> tuple[Path, ...]:
        """All files that were written."""
        return (self.header, self.library, *(() if self.weights is None else (self.weights,)))


def compile_library(
    model: Model,
    folder: Path,
    *,
    emit: Emit = "static",
    prefix: str = "model",
    weights: WeightPlace = "code",
    processor: str = "",
    precision: Precision = EXACT,
    sizes: Mapping[str, int] | None = None,
    constants: Mapping[str, object] | None = None,
) -> CompiledLibrary:
    """Writes a library for C, with its header, into a folder.

    emit: whether it is an object, an archive or a shared library.
    prefix: of its symbols and its files, an identifier of C.
    weights: whether they are in the code, or in a file that the caller maps.
    processor: the class of the processors that will run it; "": that of this one.
    sizes: the sizes of free dims.  constants: the values of inputs that the library has instead of reading them.
    Raises InputError for a model that is no sequence of kernels over fixed sizes, and what a session raises for one
    that cannot be run.
    """
    require_prefix(prefix)
    fixed = fix_inputs(without_gradient_nodes(model), sizes or {}, constants or {})
    require_static_tensors(fixed.graph)
    check_kernels(fixed)
    with compile_for_library(processor):
        require_precision(precision)
        target = compile_target()
        if machine_of(target) is None:
            raise SardonyxError(f"libraries are for Linux on x86-64, AArch64 or RISC-V; got {target.triple}")
        with typed_defects("compile"), limit_nesting(), async_compilation():
            executable = compile_for_host(fixed, precision=precision)
            refuse_c_functions(executable.program)
            require_kernels(executable.program)
            interface = interface_of(fixed.graph, executable.program)
            is_external = weights == "file"
            code = link_code(executable.program.kernels, target, prefix, passes_weights=is_external)
        description = fixed.graph.name or "a model"
        return Library(
            executable, interface, code, prefix, description, target.class_name, is_external=is_external
        ).write(folder, emit)


class Library:
    """A library before it is written."""

    def __init__(
        self,
        executable: Executable,
        interface: Interface,
        code: Code,
        prefix: str,
        description: str,
        processors: str,
        *,
        is_external: bool,
    ) -> None:
        self.code, self.prefix, self.is_external = code, prefix, is_external
        self.weights = Weights(executable.program)
        self.tables = make_tables(
            executable, interface, self.weights, code.functions, is_external=is_external
        )
        weight_bytes = self.weights.size if is_external else None
        self.facts = LibraryFacts(
            prefix, description, processors, interface, self.tables.arena_bytes, weight_bytes
        )

    def write(self, folder: Path, emit: Emit) -> CompiledLibrary:
        """Writes all files; they appear together when they are complete."""
        os.makedirs(folder, exist_ok=True)
        name = {
            "object": f"{self.prefix}.o",
            "static": f"lib{self.prefix}.a",
            "shared": f"lib{self.prefix}.so",
        }[emit]
        contents = {
            f"{self.prefix}.h": Content.of(header_text(self.facts).encode()),
            name: self.content(emit, name),
        }
        weights = f"{self.prefix}.weights"
        if self.is_external:
            contents[weights] = Content(self.weights.size, self.weights.chunks())
        with Staging(os.fspath(folder), FILE_MODE) as staging:
            for file_name, content in contents.items():
                with staging.create([file_name]) as file:
                    for chunk in content.chunks:
                        file.write(chunk)
            staging.commit()
        return CompiledLibrary(
            self.facts.interface,
            folder / f"{self.prefix}.h",
            folder / name,
            folder / weights if self.is_external else None,
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


def require_prefix(prefix: str) -> None:
    """Raises InputError unless a prefix is an identifier of C that begins with a letter."""
    if not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", prefix) or prefix in KEYWORDS:
        raise InputError(
            f"prefix must be an identifier of C that begins with a letter; got {prefix!r}", name="prefix"
        )


def fix_inputs(model: Model, sizes: Mapping[str, int], constants: Mapping[str, object]) -> Model:
    """The model with these sizes, and with constants instead of these inputs."""
    fixed = set_dims(model, dims=sizes) if sizes else model
    if not constants:
        return fixed
    fixed = fixed.copy()
    inputs = {value.name: value for value in fixed.graph.inputs}
    for name, elements in constants.items():
        value = inputs.get(name)
        if value is None or not isinstance(value.type, TensorType):
            raise InputError(
                f"constants must be inputs that are tensors ({', '.join(inputs)}); got {name!r}", name=name
            )
        if value.name in fixed.graph.initializers:
            fixed.graph.remove_initializer(value)
        value.initializer = Tensor.of(elements, value.type.dtype, name)
        fixed.graph.add_initializer(value)
    return fixed


@contextmanager
def compile_for_library(processor: str) -> Iterator[None]:
    """Compiles for a class in this context, for its base class if it has tiles; "": for that of this machine."""
    with compile_for_class(processor):
        name = compile_target().class_name
    while name and TILES in find_class(name).features:
        name = find_class(name).base
    with compile_for_class(name or processor):
        yield
