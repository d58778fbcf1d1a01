"""Names of the entries of the disk cache of programs.

The name of a file has up to three parts, each a hash:
- of everything that the program depends on except the compiler: the stamp of the model, the precision, the sources of
  Sardonyx, the versions of Python and NumPy, and the processor;
- of the compiler, which a process without llvmlite ignores;
- of the assumptions, if the program is specialized for branches, ranks or parameters of its runs.

Copies of a model's files find its entry by an alias (`entry_aliases.py`).
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import numpy as np

from sardonyx._src.compile.linker import features
from sardonyx._src.compile.llvm.cache import default_folder, shared_folders
from sardonyx._src.compile.llvm.host_target import compiler_version, processor_identity
from sardonyx._src.compile.program import EXACT, Precision
from sardonyx._src.compile.program.steps.assumptions import Assumptions
from sardonyx._src.io.file_stamps import BytesStamp
from sardonyx._src.io.loading.model_sources import DecoderEdit
from sardonyx._src.phases import phase
from sardonyx._src.runtime.identity.model_stamps import ModelStamp
from sardonyx._src.runtime.identity.source_digest import package_identity
from sardonyx._src.runtime.identity.verified_files import digest_text, last_use

# Version of entry names: after a change, older entries are never found, and trimming removes them.
NAME_FORMAT = "8"
NAME_DIGITS = 16  # hexadecimal digits of the second and third part of a name


def entry_path(
    stamp: ModelStamp, precision: Precision = EXACT, edit: DecoderEdit | None = None
) -> Path | None:
    """The path at which the program of this version of a file is cached, under the name of a copy if there is an entry for
    one; None if it cannot be cached.

    A process without llvmlite cannot compile, but it can run the code of any compiler: it gets the path of an existing entry,
    or None.
    edit: as of `ProgramKey`.
    """
    folder = program_folder()
    if folder is None:
        return None
    own = path_in(folder, stamp, precision, edit)
    if (own is not None and own.exists()) or isinstance(stamp, BytesStamp):
        return own
    from sardonyx._src.runtime.saved_programs.entry_aliases import find_entry  # lazy: most find their entry

    target = find_entry(stamp, entry_name(stamp, precision, edit), variant_of(precision, edit))
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


def entry_name(stamp: ModelStamp, precision: Precision, edit: DecoderEdit | None = None) -> str:
    """The first part of the name of an entry."""
    return digest_text(repr((stamp, variant_of(precision, edit))))


def variant_of(precision: Precision, edit: DecoderEdit | None = None) -> str:
    """What an entry depends on besides its model and the compiler."""
    edits = () if edit is None else (edit,)
    return repr((NAME_FORMAT, precision, environment_digest(), *edits))


def compiler_part() -> str:
    """The part of a name for the compiler; empty without llvmlite."""
    version = compiler_version()
    return digest_text(version)[:NAME_DIGITS] if version else ""


def alias_entry(
    stamp: ModelStamp,
    precision: Precision,
    path: Path,
    edit: DecoderEdit | None = None,
    *,
    waits: bool = False,
) -> None:
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
    write(stamp, entry_name(stamp, precision, edit), variant_of(precision, edit), path.stem)


def shared_paths(
    stamp: ModelStamp, precision: Precision = EXACT, edit: DecoderEdit | None = None
) -> list[Path]:
    """The paths at which other users may have cached the program of this version of a file."""
    if (
        not (folders := shared_folders())
        or features.saved_program_machine() is None
        or not environment_digest()
    ):
        return []
    paths = (path_in(folder / "programs", stamp, precision, edit) for folder in folders)
    return [path for path in paths if path is not None]


def path_in(
    folder: Path, stamp: ModelStamp, precision: Precision, edit: DecoderEdit | None = None
) -> Path | None:
    """The path of an entry in a folder of entries; None if there is none, and this process cannot compile one."""
    name, compiler = entry_name(stamp, precision, edit), compiler_part()
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
