"""Aliases of cache entries: the entry of a model whose files were moved, copied or unpacked is found by their content.

An entry of long files is named by their stamps, which a copy of the files does not have.  An alias is a record
(`identity.records`) with the name of an entry.  There are two kinds, named by
- the content of all files of a model, which takes long to read, so that a sample of it is part of the name: only files
  whose sample is known are read;
- the stamps of the files, as an entry for them would be: it says that these files have the content of the entry's model,
  so that they are read once.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from contextlib import suppress

from sardonyx._src.io.file_stamps import BytesStamp, FileStamp, FileStamps
from sardonyx._src.io.loading.model_sources import TEXT_SUFFIXES
from sardonyx._src.runtime.identity.file_digests import file_digest, file_sample
from sardonyx._src.runtime.identity.model_stamps import ModelStamp
from sardonyx._src.runtime.identity.records import (
    has_record_with,
    read_records,
    start_background,
    write_record,
)
from sardonyx._src.runtime.identity.verified_files import digest_text
from sardonyx._src.runtime.limits.cpus import available_cpus

ALIASES = "aliases"  # the folder in the cache folder
MAX_HASHING_THREADS = 4
SAMPLE_DIGITS, DIGEST_DIGITS = 16, 32  # hexadecimal digits in the name of an alias
LOWEST_PRIORITY = 19


def find_entry(stamp: ModelStamp, name: str, variant: str) -> str | None:
    """The name of the entry for a model with the content of these files; None if no alias names one.

    name: the name of an entry for these stamps.  variant: what an entry depends on besides the model.
    """
    target = read_alias(name)
    if target is None and (content_name := known_content_name(stamp, variant)) is not None:
        target = read_alias(content_name)
        if target is not None:
            write_alias(name, target)
    return target


def write_aliases(stamp: ModelStamp, name: str, variant: str, entry: str, threads: int = 0) -> None:
    """Reads the files of a model, and writes the aliases of its entry; best effort.

    name, variant: as of `find_entry`.  entry: the entry's name.  threads: 0 for as many as there are processors, up to 4.
    """
    if read_alias(name) == entry:
        return
    sample, digest = sample_of(stamp), digest_of(stamp, threads or hashing_threads())
    if (
        sample is not None
        and digest is not None
        and write_alias(content_name(sample, digest, variant), entry)
    ):
        write_alias(name, entry)


def write_aliases_later(stamp: ModelStamp, name: str, variant: str, entry: str) -> None:
    """Writes the aliases in a thread of low priority; best effort, since the process may end before."""

    def write() -> None:
        if hasattr(os, "setpriority"):
            with suppress(OSError):  # under Linux, a thread has a priority of its own
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOWEST_PRIORITY)
        write_aliases(stamp, name, variant, entry, threads=1)

    start_background(write, "sardonyx-alias")


def known_content_name(stamp: ModelStamp, variant: str) -> str | None:
    """The name of the alias for the content of files; None if there is no alias with their sample.

    Only files with such a sample are read from the beginning to the end.
    """
    sample = sample_of(stamp)
    if sample is None or not has_record_with(ALIASES, sample[:SAMPLE_DIGITS]):
        return None
    digest = digest_of(stamp, hashing_threads())
    return None if digest is None else content_name(sample, digest, variant)


def hashing_threads() -> int:
    return min(available_cpus(), MAX_HASHING_THREADS)


def content_name(sample: str, digest: str, variant: str) -> str:
    return f"{sample[:SAMPLE_DIGITS]}-{digest_text(repr((digest, variant)))[:DIGEST_DIGITS]}"


def sample_of(stamp: ModelStamp) -> str | None:
    """The hash of the samples of all files of a model; None if one cannot be read, or may change unnoticed."""
    return join(
        [file_sample(file) if isinstance(file, FileStamp) else file.digest for file in files_of(stamp)]
    )


def digest_of(stamp: ModelStamp, threads: int) -> str | None:
    """The hash of the content of all files of a model; None as for `sample_of`.

    The bytes of a file in a text format are another model than those of a binary file.
    """
    digests = [
        file_digest(file, threads) if isinstance(file, FileStamp) else file.digest for file in files_of(stamp)
    ]
    first = files_of(stamp)[0]
    is_text = isinstance(first, FileStamp) and first.path.endswith(TEXT_SUFFIXES)
    return join(
        [*digests, os.path.splitext(first.path)[1] if is_text and isinstance(first, FileStamp) else ""]
    )


def files_of(stamp: ModelStamp) -> tuple[FileStamp | BytesStamp, ...]:
    return stamp.files if isinstance(stamp, FileStamps) else (stamp,)


def join(digests: Sequence[str | None]) -> str | None:
    return None if None in digests else digest_text(repr(digests))


# --- records -----------------------------------------------------------------------------------


def read_alias(name: str) -> str | None:
    """The name of the entry to which an alias refers; None if there is no such alias."""
    for content, _ in read_records(ALIASES, name):
        own_name, _, target = content.decode("ascii", "replace").partition(" ")
        if own_name == name and all(part.isalnum() for part in target.split("-")):
            return target
    return None


def write_alias(name: str, target: str) -> bool:
    """Writes an alias, with its own name, so that a renamed one is not used."""
    return write_record(ALIASES, name, f"{name} {target}".encode()) is not None
