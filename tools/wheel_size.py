"""Fails if a wheel is larger than an installation should have to download.

    python tools/wheel_size.py dist/*.whl

Prints the bytes of each wheel, and those of its libraries of kernels, which are most of it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from zipfile import ZipFile

from sardonyx._src.compile.llvm.kernel_library import FOLDER, SUFFIX

MAX_BYTES = 15_000_000  # of a wheel with the libraries of all classes that have one


def kernel_bytes(wheel: Path) -> int:
    """The bytes that libraries of kernels have in a wheel."""
    with ZipFile(wheel) as archive:
        return sum(
            part.compress_size
            for part in archive.infolist()
            if f"/{FOLDER.name}/" in part.filename and part.filename.endswith(SUFFIX)
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Raises SystemExit that names the wheels that are too large."""
    wheels = [Path(name) for name in (sys.argv[1:] if arguments is None else arguments)]
    for wheel in wheels:
        size = wheel.stat().st_size
        print(
            f"{wheel.name}: {size / 1e6:.2f} MB, of which libraries of kernels {kernel_bytes(wheel) / 1e6:.2f}"
        )
    large = [wheel.name for wheel in wheels if wheel.stat().st_size > MAX_BYTES]
    if large:
        sys.exit(
            f"a wheel must have at most {MAX_BYTES / 1e6:.0f} MB; {', '.join(large)} must not: leave out classes of "
            "processors (`WITHOUT_LIBRARY`), or kernels that few models use (`--least`), in tools/kernel_library.py"
        )


if __name__ == "__main__":
    main()
