"""Entries of the disk cache of programs: reading, writing and trimming them.

An entry is a saved program, which contains its own name (`entry_names.py`), so that a renamed copy is not used for another
model.  Its code will be executed, so that entries and folders that other users own or may write to are not used; the owner
of a folder in `SARDONYX_SHARED_CACHE` is trusted, and such a folder is only read.  An entry that is missing, damaged or
cannot be written costs only time.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from sardonyx._src.compile.llvm.cache import shared_folders, warn_not_private
from sardonyx._src.compile.program.encoding.executable import Executable
from sardonyx._src.compile.program.steps.assumptions import Assumptions
from sardonyx._src.compile.program.steps.program import FallbackOp, Program
from sardonyx._src.compile.program.verification.defects import DEFECTS
from sardonyx._src.errors import DecodeError, are_defects_fatal
from sardonyx._src.io.garbage_collection import pause_gc
from sardonyx._src.io.nesting import limit_nesting
from sardonyx._src.io.private_files import make_private_folder, open_private_file
from sardonyx._src.ir import Model
from sardonyx._src.ir.walk import model_tensors
from sardonyx._src.logs import get_logger
from sardonyx._src.phases import phase
from sardonyx._src.runtime.declarations.inner_declarations import StaticDeclarations
from sardonyx._src.runtime.identity.verified_files import last_use
from sardonyx._src.runtime.saved_programs import image as images
from sardonyx._src.runtime.saved_programs.constant_files import ConstantFiles
from sardonyx._src.runtime.saved_programs.image import ProgramImage

# Entries up to this size are read, in about 1 ms; larger ones are mapped, and each run begins with two system calls to verify
# that the file is unchanged.
READ_UP_TO_BYTES = 4 << 20
# Limit on all entries together, unless a share of the free space of the disk is more.
MAX_TOTAL_BYTES = 4 << 30
FREE_SPACE_SHARE = 4  # divisor of the free space: the share is a quarter
ENTRY_SHARE = 2  # one entry may use half of the bytes that all together may use
# Limit on weights that fallback ops read, because they are decoded and hashed at every start.
MAX_FALLBACK_BYTES = 64 << 20
log = get_logger(__name__)


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
