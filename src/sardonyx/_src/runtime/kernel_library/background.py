"""The library of a machine whose installation has none: one process compiles it, once, at low priority.

A checkout has no libraries, since every change of the compiler's sources makes other ones; a machine on which sources
change compiles one a day at most.  None is compiled for tests, in continuous integration, and in a cache folder that
`SARDONYX_CACHE` names, which may be a temporary one, unless `SARDONYX_KERNEL_LIBRARY` is "build"; and nowhere if it is "off".
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from sardonyx._src.compile.linker.features import saved_program_machine
from sardonyx._src.compile.llvm.cache import open_private
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.llvm.kernel_library import SUFFIX, class_library
from sardonyx._src.errors import InputError
from sardonyx._src.io.private_files import make_private_folder
from sardonyx._src.logs import get_logger
from sardonyx._src.runtime.kernel_library.machine_files import library_files, marker_of
from sardonyx._src.runtime.limits.memory_limits import usable_memory

OPTION = "SARDONYX_KERNEL_LIBRARY"
CHOICES = ("", "off", "build")
REASONS_AGAINST = ("PYTEST_CURRENT_TEST", "CI", "SARDONYX_CACHE")  # variables of the environment
MIN_MEMORY = 1 << 30  # bytes that the machine must have, or the control group may use
INTERVAL_SECONDS = 86400.0  # between libraries of a class, for whatever sources
ABANDONED_SECONDS = 6 * 3600.0  # after which a marker is that of a process that has died
BUILDER = "sardonyx._src.runtime.kernel_library.building"
log = get_logger(__name__)


def request_library() -> bool:
    """Starts the process that compiles the library of this machine, unless there is one, or a process compiles it.

    Returns whether this call has started the process.  Raises InputError for another value of `SARDONYX_KERNEL_LIBRARY`.
    """
    name = host_target().class_name if is_allowed() else ""
    if not name or class_library(name) is not None or usable_memory() < MIN_MEMORY:
        return False
    marker = marker_of(name)
    if marker is None or has_recent_library(marker.parent, name):
        return False
    return create_marker(marker) and start_builder(marker)


def is_allowed() -> bool:
    """Whether a library may be compiled here."""
    choice = os.environ.get(OPTION, "")
    if choice not in CHOICES:
        raise InputError(f"{OPTION} must be one of off, build; got {choice!r}", name=OPTION)
    if choice or saved_program_machine() is None:
        return choice == "build" and saved_program_machine() is not None
    return "pytest" not in sys.modules and not any(map(os.environ.get, REASONS_AGAINST))


def has_recent_library(folder: Path, name: str) -> bool:
    """Whether a library of a class was compiled lately, for other sources."""
    now = time.time()
    libraries = (path for path in library_files(folder, name) if path.suffix == SUFFIX)
    return any(now - path.stat().st_mtime < INTERVAL_SECONDS for path in libraries)


def create_marker(marker: Path) -> bool:
    """Creates the file; False if another process has, lately, or the folder cannot be written to."""
    try:
        make_private_folder(marker.parent)
        if marker.exists() and time.time() - marker.stat().st_mtime > ABANDONED_SECONDS:
            marker.unlink(missing_ok=True)
        os.close(open_private(str(marker), os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except OSError:
        return False
    return True


def start_builder(marker: Path) -> bool:
    """Starts the process, in a session of its own, so that it outlives this process and its terminal."""
    # Lazy: once a machine.
    import subprocess

    from sardonyx._src.compile.llvm.compile_workers import WorkerError, worker_command

    try:
        worker_command()  # where no worker can be started, no interpreter can either
        subprocess.Popen(
            [sys.executable, "-m", BUILDER],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={
                **os.environ,
                OPTION: "off",
                "OPENBLAS_NUM_THREADS": "1",
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            },
        )
    except (OSError, WorkerError) as error:
        log.info("no library of kernels is compiled: %s", error)
        marker.unlink(missing_ok=True)
        return False
    log.info("a process compiles the library of kernels of this machine, once; %s=off prevents it", OPTION)
    return True
