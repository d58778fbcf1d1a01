"""Open file descriptors of this process."""

from __future__ import annotations

import gc
import os
from contextlib import suppress
from pathlib import Path

FOLDER = Path("/proc/self/fd")


def count_descriptors(folder: Path) -> int:
    """The number of descriptors of a folder and the files below it, but those of garbage; 0 where there is no /proc.

    Other descriptors come and go with the garbage and the threads of other tests.
    """
    if open_files_below(folder):
        gc.collect()
    return len(open_files_below(folder))


def open_files_below(folder: Path) -> list[str]:
    """The file of each descriptor."""
    files = []
    for entry in os.listdir(FOLDER) if FOLDER.is_dir() else ():
        with suppress(FileNotFoundError):  # closed since
            files.append(os.readlink(FOLDER / entry))
    return [file for file in files if Path(file).is_relative_to(folder)]
