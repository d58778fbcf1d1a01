"""Entries of the disk cache of programs: their names, and reading, writing and trimming them.

An entry is a saved program.  The name of its file has up to three parts, each a hash:
- of everything that the program depends on except the compiler: the stamp of the model, the precision, the sources of
  Sardonyx, the versions of Python and NumPy, and the processor;
- of the compiler, which a process without llvmlite ignores;
- of the assumptions, if the program is specialized for branches, ranks or parameters of its runs.

An entry contains its own name, so that a renamed copy is not used for another model.  Its code will be executed, so that
entries and folders that other users own or may write to are not used; the owner of a folder in `SARDONYX_SHARED_CACHE` is
trusted, and such a folder is only read.  An entry that is missing, damaged or cannot be written costs only time.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO

import numpy as np

from sardonyx._src.compile.linker import features
from sardonyx._src.compile.llvm.cache import default_folder, shared_folders, warn_not_private
from sardonyx._src.compile.llvm.host_target import compiler_version, processor_identity
from sardonyx._src.compile.llvm.kernel_origin import Start
from sardonyx._src.compile.program import EXACT, Precision
from sardonyx._src.compile.program.encoding.executable import Executable
from sardonyx._src.compile.program.operands.lazy_constants import LazyConstant
from sardonyx._src.compile.program.steps.assumptions import Assumptions
from sardonyx._src.compile.program.steps.program import FallbackOp, Program
from sardonyx._src.compile.program.verification.defects import DEFECTS
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import CompilationError, DecodeError, are_defects_fatal
from sardonyx._src.io.file_stamps import BytesStamp
from sardonyx._src.io.garbage_collection import pause_gc
from sardonyx._src.io.mapped_files import MappedFile
from sardonyx._src.io.nesting import limit_nesting
from sardonyx._src.io.private_files import make_private_folder, open_private_file
from sardonyx._src.ir import Model
from sardonyx._src.ir.walk import model_tensors
from sardonyx._src.phases import phase
from sardonyx._src.runtime.declarations.inner_declarations import StaticDeclarations
from sardonyx._src.runtime.identity.constant_keys import constant_key
from sardonyx._src.runtime.identity.model_stamps import ModelStamp
from sardonyx._src.runtime.identity.source_digest import package_identity
from sardonyx._src.runtime.identity.verified_files import digest_text, last_use
from sardonyx._src.runtime.programs.stats import RunCounters
from sardonyx._src.runtime.runs.native_program import NativeProgram
from sardonyx._src.runtime.saved_programs import image as images
from sardonyx._src.runtime.saved_programs.constant_files import ConstantFiles
from sardonyx._src.runtime.saved_programs.image import ProgramImage
from sardonyx._src.runtime.saved_programs.saved_engine import SavedProgram

NAME_FORMAT = (
    "8"  # version of entry names: after a change, older entries are never found, and trimming removes them
)
# Entries up to this size are read, in about 1 ms; larger ones are mapped, and each run begins with two system calls to verify
# that the file is unchanged.
READ_UP_TO_BYTES = 4 << 20
# Limit on all entries together, unless a share of the free space of the disk is more.
MAX_TOTAL_BYTES = 4 << 30
FREE_SPACE_SHARE = 4  # divisor of the free space: the share is a quarter
ENTRY_SHARE = 2  # one entry may use half of the bytes that all together may use
# Limit on weights that fallback ops read, because they are decoded and hashed at every start.
MAX_FALLBACK_BYTES = 64 << 20
NAME_DIGITS = 16  # hexadecimal digits of the second and third part of a name
log = logging.getLogger(__name__)


# --- reading and writing -----------------------------------------------------------------------


@phase("cache")
def read_entry(path: Path, files: ConstantFiles) -> ProgramImage | None:
    """The program of an entry; None if there is none, or a damaged one, which is removed unless the folder is only read.

    files: the files that may have constants of the program.  If one is gone or was changed, there is no program.
    """
    try:
        with pause_gc():
            # What an entry requires of this machine is part of its name, so that it is not compared again.
            container, *_ = images.open_container(path, open_entry, READ_UP_TO_BYTES)
            images.require_entry(path, container)
            return images.read_image(path, container, files)
    except FileNotFoundError:
        return None
    except OSError as error:
        warn_not_private(error)
        log.info("the cached program %s cannot be read: %s", path, error)
    except (DecodeError, *DEFECTS) as error:
        if not isinstance(error, DecodeError) and are_defects_fatal():
            raise
        log.warning("the cached program %s is damaged and will be compiled again: %s", path, error)
        if not is_shared(path):
            with suppress(OSError):
                path.unlink()
    return None


def open_entry(path: Path) -> BinaryIO:
    """The file of an entry, open for reading; raises what `open_private_file` raises."""
    return open_private_file(path, trusted=(path.parent.stat().st_uid,) if is_shared(path) else ())


def is_shared(path: Path) -> bool:
    """Whether an entry is in a folder that this process only reads."""
    return path.parent.parent in shared_folders()


def write_entry(
    path: Path,
    interface: Model,
    declarations: StaticDeclarations,
    executable: Executable,
    files: ConstantFiles,
    assumptions: Assumptions = (),
) -> str:
    """Writes an entry; returns why that is not possible, or an empty text.

    Weights are packed while they are written: in memory, packed weights exist only as pages of the file.
    interface, declarations, files, assumptions: as of `write_program`.
    """
    contents = (buffer.content for buffer in executable.program.constants)
    stored = sum(content.nbytes for content in contents if content is not None and not files.find(content))
    if reason := refuse_program(executable.program, stored, max_total_bytes(path.parent) // ENTRY_SHARE):
        return reason
    from sardonyx._src.runtime.saved_programs import (
        writing,
    )  # lazy: processes that only read entries do not need it

    try:
        make_private_folder(path.parent)
        with limit_nesting():
            writing.write_program(
                path,
                interface,
                declarations,
                executable,
                entry=path.stem,
                assumptions=assumptions,
                files=files,
            )
    except (OSError, *DEFECTS) as error:
        if not isinstance(error, OSError) and are_defects_fatal():
            raise
        if isinstance(error, OSError):
            warn_not_private(error)
        log.info("compiled programs are not cached in %s: %s", path.parent, error)
        return (
            f"{path.parent} cannot be written to: {error.strerror or error}"
            if isinstance(error, OSError)
            else str(error)
        )
    return ""


def refuse_program(program: Program, stored: int, max_bytes: int) -> str:
    """Why a program may not be cached: the weights that it or its fallback ops read are too many; empty if it may.

    stored: the bytes of the weights that its entry has.
    """
    if stored > max_bytes:
        return f"its weights must have at most {max_bytes} bytes (SARDONYX_CACHE_BYTES); got {stored}"
    if any(isinstance(action, FallbackOp) for action in program.actions):
        size = sum(tensor.nbytes for tensor in model_tensors(program.model))
        if size > MAX_FALLBACK_BYTES:
            return f"weights must have at most {MAX_FALLBACK_BYTES} bytes if fallback operations read them; got {size}"
    return ""


# --- specialized programs ----------------------------------------------------------------------


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


# --- the folder --------------------------------------------------------------------------------


def max_total_bytes(folder: Path) -> int:
    """The bytes that all entries together may use: the value of `SARDONYX_CACHE_BYTES`, or else as much as the disk has
    room for."""
    stated = os.environ.get("SARDONYX_CACHE_BYTES", "")
    if stated:
        with suppress(ValueError):
            return max(int(stated), 0)
        log.warning("SARDONYX_CACHE_BYTES must be a number of bytes; got %r, which is ignored", stated)
    entries = sum(path.stat().st_size for path in folder.glob("*.sdx"))
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    import shutil  # lazy: it loads compressors

    return max(MAX_TOTAL_BYTES, (shutil.disk_usage(existing).free + entries) // FREE_SPACE_SHARE)


def trim_folder(folder: Path) -> None:
    """Removes the least recently used entries until the others fit."""
    sizes = {path: path.stat().st_size for path in folder.glob("*.sdx")}
    total, limit = sum(sizes.values()), max_total_bytes(folder)
    if total <= limit:
        return
    for path in sorted(sizes, key=last_use):
        path.unlink(missing_ok=True)
        total -= sizes[path]
        if total <= limit:
            return


# --- names -----------------------------------------------------------------------------------


def entry_path(stamp: ModelStamp, precision: Precision = EXACT) -> Path | None:
    """The path at which the program of this version of a file is cached, under the name of a copy if there is an entry for
    one; None if it cannot be cached.

    A process without llvmlite cannot compile, but it can run the code of any compiler: it gets the path of an existing entry,
    or None.
    """
    folder = program_folder()
    if folder is None:
        return None
    own = path_in(folder, stamp, precision)
    if (own is not None and own.exists()) or isinstance(stamp, BytesStamp):
        return own
    from sardonyx._src.runtime.saved_programs.entry_aliases import find_entry  # lazy: most find their entry

    target = find_entry(stamp, entry_name(stamp, precision), variant_of(precision))
    if target is None or not target.endswith(compiler_part()):
        return own
    copy = folder / f"{target}.sdx"
    return copy if copy.exists() else own


def program_folder() -> Path | None:
    """The folder of the entries; None if programs are not cached."""
    folder = default_folder()
    if folder is None or features.saved_program_machine() is None or not environment_digest():
        return None
    return folder / "programs"


def entry_name(stamp: ModelStamp, precision: Precision) -> str:
    """The first part of the name of an entry."""
    return digest_text(repr((stamp, variant_of(precision))))


def variant_of(precision: Precision) -> str:
    """What an entry depends on besides its model and the compiler."""
    return repr((NAME_FORMAT, precision, environment_digest()))


def compiler_part() -> str:
    """The part of a name for the compiler; empty without llvmlite."""
    version = compiler_version()
    return digest_text(version)[:NAME_DIGITS] if version else ""


def alias_entry(stamp: ModelStamp, precision: Precision, path: Path, *, waits: bool = False) -> None:
    """Lets copies of these files find their entry, once they are read: in a thread, unless the caller waits.

    path: of the entry.
    """
    if isinstance(stamp, BytesStamp):
        return  # copies have the same stamp
    from sardonyx._src.runtime.saved_programs.entry_aliases import (  # lazy: only new entries need it
        write_aliases,
        write_aliases_later,
    )

    write = write_aliases if waits else write_aliases_later
    write(stamp, entry_name(stamp, precision), variant_of(precision), path.stem)


def shared_paths(stamp: ModelStamp, precision: Precision = EXACT) -> list[Path]:
    """The paths at which other users may have cached the program of this version of a file."""
    if (
        not (folders := shared_folders())
        or features.saved_program_machine() is None
        or not environment_digest()
    ):
        return []
    paths = (path_in(folder / "programs", stamp, precision) for folder in folders)
    return [path for path in paths if path is not None]


def path_in(folder: Path, stamp: ModelStamp, precision: Precision) -> Path | None:
    """The path of an entry in a folder of entries; None if there is none, and this process cannot compile one."""
    name, compiler = entry_name(stamp, precision), compiler_part()
    if not compiler:
        return max(folder.glob(f"{name}-{'?' * NAME_DIGITS}.sdx"), default=None)
    return folder / f"{name}-{compiler}.sdx"


def specialized_path(general: Path, assumptions: Assumptions) -> Path:
    """The path at which the program for these assumptions is cached.  general: the path of the model's general program."""
    text = "; ".join(", ".join(sorted(map(str, round_))) for round_ in assumptions)
    return general.with_name(f"{general.stem}-{digest_text(text)[:NAME_DIGITS]}.sdx")


def specialized_paths(general: Path) -> list[Path]:
    """The entries of a model's specialized programs, the least recently used one first."""
    return sorted(general.parent.glob(f"{general.stem}-{'?' * NAME_DIGITS}.sdx"), key=last_use)


@phase("digests")
def environment_digest() -> str:
    """A hash of everything that a program depends on except its model and the compiler: versions, processor, sources.

    Empty if the sources of Sardonyx are not files, or the processor is unknown: nothing would distinguish two of them.
    """
    return digest_environment(processor_identity())


@cache
def digest_environment(processor: tuple[str, ...]) -> str:
    """`environment_digest` for a processor."""
    ours = package_identity()
    return digest_text(repr((sys.version, np.__version__, processor, ours))) if ours and processor else ""
