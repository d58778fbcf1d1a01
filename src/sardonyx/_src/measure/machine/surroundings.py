"""What surrounds this process: the processors and the memory that it may use, its packages, and its folders."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np

from sardonyx._src.compile.llvm.cache import MAX_CACHE_BYTES, default_folder
from sardonyx._src.compile.llvm.host_target import compiler_version
from sardonyx._src.compile.llvm.kernel_library import class_library
from sardonyx._src.dataclass import dataclass
from sardonyx._src.io.private_files import NotPrivateError, make_private_folder
from sardonyx._src.runtime.limits.control_groups import ROOT, read_group_limits
from sardonyx._src.runtime.limits.cpus import available_cpus
from sardonyx._src.runtime.limits.free_memory import free_memory
from sardonyx._src.runtime.limits.memory_limits import group_limits, machine_memory
from sardonyx._src.runtime.saved_programs.cache_entries import max_total_bytes
from sardonyx._src.threads import affinity_count

OWN_VARIABLES = "SARDONYX_"
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
PROGRAMS_FOLDER = "programs"
HUGE = 1 << 60  # bytes from which a limit of version 1 of control groups is none


@dataclass(frozen=True, slots=True)
class Allotment:
    """What this process may use.

    affinity: the logical processors that it may run on.  quota: of its control groups, in processors; None without one.
    threads: of a session by default.
    memory, group_memory, free: bytes of the machine, of the least limit of the control groups, and what is left of both; None
        without a limit, and where the system does not say.
    load: threads of the machine that can run, on the average of the last minute; 0 where the system does not say.
    """

    affinity: int
    quota: float | None
    threads: int
    memory: int | None
    group_memory: int | None
    free: int | None
    load: float


@dataclass(frozen=True, slots=True)
class FolderState:
    """A folder: the bytes of its files and the free bytes of its disk; and why it cannot be used, or ""."""

    path: str
    bytes: int
    free: int
    problem: str


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The packages, folders and variables of this process.

    versions: by package; llvmlite is missing if it is not installed.
    cache: None if the cache is disabled.  max_programs, max_kernels: the bytes to which it is trimmed.
    temporary: the folder for temporary files.
    library: the file with precompiled kernels for the target; "" if there is none.
    variables: those of the environment that Sardonyx or NumPy's products read.
    """

    versions: Mapping[str, str]
    cache: FolderState | None
    max_programs: int
    max_kernels: int
    temporary: FolderState
    library: str
    variables: Mapping[str, str]


def read_allotment(root: Path = ROOT) -> Allotment:
    """What the system and the control groups leave to this process."""
    limits, memory = [limit for limit in group_limits(root) if limit < HUGE], next(machine_memory(root), None)
    return Allotment(
        affinity=affinity_count(),
        quota=min(exact_quotas(root), default=None),
        threads=available_cpus(),
        memory=memory,
        group_memory=min(limits, default=None),
        free=free_memory(root) if limits or memory is not None else None,
        load=os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0,
    )


def exact_quotas(root: Path) -> Iterator[float]:
    """The quotas of the groups of this process and of enclosing groups, in processors, not rounded."""
    for words in read_group_limits("cpu", ["cpu.max"], ["cpu.cfs_quota_us", "cpu.cfs_period_us"], root):
        if len(words) == 2 and all(word.isdecimal() for word in words) and int(words[1]) > 0:
            yield int(words[0]) / int(words[1])


def read_surroundings(target: str) -> Surroundings:
    """The packages, folders and variables of this process.  target: the name of the class of its code."""
    folder = default_folder()
    library = class_library(target) if target else None
    names = {name for name in os.environ if name.startswith(OWN_VARIABLES) or name in THREAD_VARIABLES}
    return Surroundings(
        versions=package_versions(),
        cache=None if folder is None else inspect_cache(folder),
        max_programs=0 if folder is None else max_total_bytes(folder / PROGRAMS_FOLDER),
        max_kernels=MAX_CACHE_BYTES,
        temporary=inspect_temporary(temporary_folder()),
        library="" if library is None else str(library.path),
        variables={name: os.environ[name] for name in sorted(names)},
    )


def package_versions() -> dict[str, str]:
    """The versions of Sardonyx, Python, NumPy, and llvmlite if that is installed."""
    own = str(sys.modules[__name__.partition(".")[0]].__version__)
    versions = {"sardonyx": own, "python": platform.python_version(), "numpy": np.__version__}
    compiler = compiler_version()
    return versions if compiler is None else {**versions, "llvmlite": compiler}


def inspect_cache(folder: Path) -> FolderState:
    """The state of the cache folder, which is created if it is missing."""
    problem = ""
    try:
        make_private_folder(folder)
        problem = write_problem(folder)
    except NotPrivateError as error:
        problem = str(error.strerror)
    except OSError as error:
        problem = f"it cannot be created: {error.strerror}"
    return FolderState(str(folder), folder_bytes(folder), free_bytes(folder), problem)


def temporary_folder() -> Path:
    """The folder for temporary files that the environment names; `tempfile` would choose another one if it cannot be used."""
    default = "/tmp" if os.name == "posix" else tempfile.gettempdir()
    return Path(os.environ.get("TMPDIR") or default)


def inspect_temporary(folder: Path) -> FolderState:
    """The state of the folder for temporary files, whose files are not counted."""
    return FolderState(str(folder), 0, free_bytes(folder), write_problem(folder))


def write_problem(folder: Path) -> str:
    """Why a file in a folder cannot be written; "" if it can."""
    path = folder / f"sardonyx-{os.urandom(8).hex()}.tmp"
    try:
        path.write_bytes(b"\0" * 4096)
    except OSError as error:
        return f"it cannot be written to: {error.strerror}"
    finally:
        with suppress(OSError):
            path.unlink()
    return ""


def folder_bytes(folder: Path) -> int:
    """The bytes of all files in a folder."""
    total = 0
    for base, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # another process has removed it
                total += os.lstat(os.path.join(base, name)).st_size
    return total


def free_bytes(folder: Path) -> int:
    """The free bytes of the disk that has, or would have, a folder."""
    existing = next((parent for parent in (folder, *folder.parents) if parent.exists()), None)
    return 0 if existing is None else shutil.disk_usage(existing).free
