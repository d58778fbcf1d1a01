"""Images: decoded saved programs, which contain everything except addresses, since these depend on the process."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

import sardonyx._src.compile as compile_package
from sardonyx._src.compile.executor import entry_layout
from sardonyx._src.compile.executor.pool_layout import RECORD_SLOTS
from sardonyx._src.compile.linker.system import LIBC_FUNCTIONS
from sardonyx._src.compile.llvm.kernel_origin import Start
from sardonyx._src.compile.program import Buffer
from sardonyx._src.compile.program.encoding.size_limits import MAX_INT64
from sardonyx._src.compile.program.encoding.slot_bases import STATUS_BASE
from sardonyx._src.compile.program.memory.arena import MemoryPlan
from sardonyx._src.compile.program.steps.assumptions import Assumptions
from sardonyx._src.compile.program.steps.cached_count import CachedCount
from sardonyx._src.compile.program.steps.program import Program
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import DecodeError
from sardonyx._src.io.mapped_files import MappedFile
from sardonyx._src.io.regular_files import open_regular
from sardonyx._src.ir import Array, Model
from sardonyx._src.runtime.declarations.inner_declarations import StaticDeclarations
from sardonyx._src.runtime.identity.verified_files import is_verified, record_when_flushed
from sardonyx._src.runtime.saved_programs.constant_files import ConstantFiles
from sardonyx._src.runtime.saved_programs.container import (
    Container,
    Json,
    expect_integer,
    expect_list,
    expect_object,
    expect_string,
    name_file,
    read_container,
    require,
)
from sardonyx._src.runtime.saved_programs.encoded_program import ProgramDecoder
from sardonyx._src.runtime.saved_programs.encoded_tensors import (
    POINTER_BYTES,
    ImageSlots,
    decode_slots,
    is_within,
)
from sardonyx._src.runtime.saved_programs.encoded_values import (
    decode_assumptions,
    decode_declarations,
    decode_interface,
)

PROTOCOL_FILES = (
    "codegen/atomics",
    *(
        f"executor/{name}"
        for name in ("entry_layout", "fast_entry", "pool_builder", "pool_layout", "scheduling")
    ),
    *(f"executor/{name}" for name in ("sized_entry", "status", "tape")),
    *(f"program/encoding/{name}" for name in ("encoding", "port_dims", "size_functions", "slot_bases")),
)


@dataclass(frozen=True, slots=True)
class ProgramImage:
    """A decoded program.

    interface: a model with only the inputs and outputs that callers see.
    declarations: the declared sizes of the model's inner values, as far as inference decides them.
    has_defaults: whether the model has additional inputs, which have defaults.
    code: the linked code.
    slots: the offsets in the code that receive addresses of functions of the C library, by name.
    functions: the offsets of functions in the code, by name.
    fixed_slots, base_indices, varying_slots: the slots of the program, as in `LoadedProgram`.
    extra_bases: the base addresses after those that every program has; each is a buffer, a kernel's offset in the code, or a
        count that depends on the machine's caches.
    static_sizes: the bytes of the arena, the bytes of a thread's scratch, and the number of failed guards; None if the
        function `sizes` of the code computes them.
    fields: the memory layout of NumPy's arrays for which `enter` was compiled.
    assumptions: the assumptions for which the program was compiled.
    library_kernels, compiled_kernels: the number of kernels from a library, and of all others.
    interpreted: the index of the base address of each interpreted kernel, and the kernel's key.
    digest: the hash of the document.
    packed: the packed constants that specialized programs may share, by their keys (`constant_keys.py`).
    files: other files that have constants of the program.
    """

    interface: Model
    declarations: StaticDeclarations
    has_defaults: bool
    program: Program
    plan: MemoryPlan
    code: memoryview
    slots: Mapping[str, int]
    functions: Mapping[str, int]
    fixed_slots: ImageSlots
    base_indices: ImageSlots
    varying_slots: ImageSlots
    extra_bases: tuple[Buffer | CachedCount | int, ...]
    static_sizes: tuple[int, int, int] | None
    fields: entry_layout.ArrayFields
    assumptions: Assumptions
    library_kernels: int
    compiled_kernels: int
    interpreted: tuple[tuple[int, str], ...]
    digest: str
    packed: Mapping[str, Array]
    files: tuple[MappedFile, ...]

    def has_origin(self, start: Start) -> bool:
        """Whether a session with this start may run the program."""
        return start == "library" or not self.library_kernels


def protocol_digest() -> str:
    """A digest of the files that define the interface between native code and this package."""
    digest, folder = hashlib.sha256(), Path(compile_package.__path__[0])
    for name in PROTOCOL_FILES:
        digest.update((folder / f"{name}.py").read_bytes())
    return digest.hexdigest()


def open_container(
    path: Path, open_file: Callable[[Path], BinaryIO] = open_regular, read_up_to: int = 0
) -> tuple[Container, list[str], str, str]:
    """A verified file, and its requirements: the features of the processor, the machine, and the protocol digest."""
    container = read_container(path, open_file, read_up_to)
    with name_file(path):
        if not is_verified(container.stamp):
            container.verify_constants()
            record_when_flushed(container.stamp)  # another process may have just written it
        document = container.document
        features = [expect_string(name) for name in expect_list(document["features"])]
        return container, features, expect_string(document["machine"]), expect_string(document["protocol"])


def require_entry(path: Path, container: Container) -> None:
    """Raises DecodeError unless a cache entry has the name that it states: a renamed entry belongs to another model."""
    entry = container.document.get("entry")
    if entry != path.stem:
        raise DecodeError(f"it is the entry {entry!r}", offset=0, source=str(path))


def read_image(path: Path, container: Container, files: ConstantFiles | None = None) -> ProgramImage:
    """The program in a file; raises DecodeError for one that `write_program` cannot have written.

    files: the other files that may have constants of the program; None for no files.
    Raises OSError if one of these files is gone or was changed.
    """
    with name_file(path):
        return decode_image(container, files or ConstantFiles())


def decode_image(container: Container, files: ConstantFiles) -> ProgramImage:
    document, sections = container.document, container.sections
    require_general(document, files)
    program = ProgramDecoder(container, files)
    size, code = document["size"], sections["code"]
    functions = decode_offsets(document["functions"], len(code))
    require({"run", "work", *entry_layout.ENTRIES} <= functions.keys(), "the file has no run loop")
    if not isinstance(size, list):
        functions["sizes"] = expect_integer(size, len(code))
    slots = decode_offsets(document["slots"], len(code) - POINTER_BYTES)
    require(slots.keys() <= set(LIBC_FUNCTIONS), f"code may not call one of {sorted(slots)}")
    fixed_slots, base_indices, varying = (
        decode_slots(sections, name) for name in ("words", "bases", "varying")
    )
    extra_bases = tuple(program.tensors.base(entry) for entry in expect_list(document["others"]))
    library_kernels, compiled_kernels = (
        expect_integer(number, len(code)) for number in expect_list(document["kernels"], 2)
    )
    count = len(fixed_slots)
    require(count == len(base_indices) and count >= RECORD_SLOTS * len(program.actions), "slots are missing")
    require(is_within(base_indices, STATUS_BASE + 1 + len(extra_bases)), "a slot has no base")
    require(is_within(varying, count), "a varying slot is out of range")
    require(len(varying) == 0 or not isinstance(size, list), "nothing computes the varying slots")
    return ProgramImage(
        interface=decode_interface(document["interface"]),
        declarations=decode_declarations(document["declarations"]),
        has_defaults=expect_object(document["interface"])["has_defaults"] is True,
        program=program.program(),
        plan=program.tensors.plan(),
        code=code,
        slots=slots,
        functions=functions,
        fixed_slots=fixed_slots,
        base_indices=base_indices,
        varying_slots=varying,
        extra_bases=extra_bases,
        static_sizes=decode_static_sizes(size) if isinstance(size, list) else None,
        fields=entry_layout.ArrayFields(
            *(expect_integer(offset, 64) for offset in expect_list(document["fields"], 6))
        ),
        assumptions=decode_assumptions(document["assumptions"]),
        library_kernels=library_kernels,
        compiled_kernels=compiled_kernels,
        interpreted=tuple(decode_interpreted(document["interpreted"], len(extra_bases))),
        digest=container.digest,
        packed=program.tensors.packed(),
        files=tuple(files.opened.values()),
    )


def require_general(document: Mapping[str, Json], files: ConstantFiles) -> None:
    """Raises OSError if a specialized program was compiled beside another version of the general program's entry."""
    if expect_string(document["general"]) not in ("", files.general_digest):
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), "the entry of the general program")


def decode_interpreted(entry: Json, bases: int) -> Iterator[tuple[int, str]]:
    """The bases and keys of interpreted kernels.  bases: the number of bases after those that every program has."""
    for pair in expect_list(entry):
        index, key = expect_list(pair, 2)
        yield expect_integer(index, STATUS_BASE + bases), expect_string(key)


def decode_offsets(entry: Json, end: int) -> dict[str, int]:
    """Offsets by name, from 0 to `end`."""
    return {name: expect_integer(offset, end) for name, offset in expect_object(entry).items()}


def decode_static_sizes(entry: list[Json]) -> tuple[int, int, int]:
    arena, scratch, faults = (expect_integer(number, MAX_INT64) for number in expect_list(entry, 3))
    return arena, scratch, faults
