"""Formats of tables, by the suffix of a path or as stated."""

from __future__ import annotations

import os

from sardonyx._src.errors import InputError

PARQUET, CSV, JSON, IPC, IPC_STREAM = FORMATS = ("parquet", "csv", "json", "ipc", "ipc-stream")
SUFFIXES = {
    ".parquet": PARQUET,
    ".pq": PARQUET,
    ".csv": CSV,
    ".jsonl": JSON,
    ".ndjson": JSON,
    ".arrow": IPC,
    ".feather": IPC,
    ".arrows": IPC_STREAM,
}
COMPRESSIONS = (".gz", ".bz2", ".zst", ".lz4")  # suffixes of compressed text files
STANDARD_STREAM = "-"
OPTIONS = {
    "source_format": "--from",
    "sink_format": "--to",
}  # the option of the command line for each argument


def format_of(path: str, format: str | None, name: str) -> str:
    """The stated format of a path, or the format of its suffix; Parquet for folders.  name: the argument for the format."""
    if format is not None:
        return format
    argument = f"{name} ({OPTIONS[name]})"
    if path == STANDARD_STREAM:
        raise InputError(
            f"a standard stream requires {argument}, one of {', '.join(FORMATS)}; got none", name=name
        )
    stem, suffix = os.path.splitext(path.partition("?")[0])
    if suffix.lower() in COMPRESSIONS:
        suffix = os.path.splitext(stem)[1]
    if suffix.lower() in SUFFIXES:
        return SUFFIXES[suffix.lower()]
    if is_folder(path):
        return PARQUET
    raise InputError(
        f"{path!r} must end in {', '.join(SUFFIXES)}, or {argument} must state its format; got {suffix!r}",
        name=name,
    )


def is_folder(path: str) -> bool:
    """Whether a path names a folder: it ends with a separator, has no suffix of a table, or is a folder."""
    if path == STANDARD_STREAM or os.path.isfile(path):
        return False
    suffix = os.path.splitext(path.partition("?")[0])[1].lower()
    return path.endswith(("/", os.sep)) or os.path.isdir(path) or suffix not in (*SUFFIXES, *COMPRESSIONS)
