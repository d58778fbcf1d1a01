"""The self-test of a class of processors: probes run before this machine first uses code of the class.

A class whose description is wrong for this processor, a fault of the processor or of its microcode, and an emulator that
computes something else are noticed here, and the next class is used.  The outcome is recorded in the cache, under processor,
microcode, class, version and probes; without a cache, each process tests the class that it uses.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from sardonyx._src.compile.linker.features import CPUINFO, read_cpuinfo, saved_program_machine
from sardonyx._src.compile.llvm.cache import default_cache
from sardonyx._src.compile.llvm.target_classes import KERNEL_PROBES_PATH, PROBES_PATH, TargetClass
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import UnsupportedProcessor
from sardonyx._src.logs import get_logger

# Fields of /proc/cpuinfo whose values distinguish processors and their microcode.
PROCESSOR_FIELDS = frozenset(
    "vendor_id,cpu family,model,model name,stepping,microcode,flags,features,cpu implementer,cpu architecture,"
    "cpu variant,cpu part,cpu revision,isa,mvendorid,marchid,mimpid".split(",")
)
ENTRY = "self-test"
log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SelfTest:
    """The outcome for a class.  fault: the probe that failed, and how; "" if all were right."""

    class_name: str
    fault: str


def first_sound_class(classes: Sequence[TargetClass]) -> TargetClass | None:
    """The first of these classes that passes its self-test; None if there are none.  Warns of those that fail.

    Raises UnsupportedProcessor if all of them fail.
    """
    if not classes:
        return None
    for target_class, next_class in zip(classes, [*classes[1:], None], strict=True):
        outcome = self_test(target_class.name)
        if not outcome.fault:
            return target_class
        log.warning(
            "this processor fails the self-test of %s: %s; %s",
            outcome.class_name,
            outcome.fault,
            f"code for {next_class.name} is used instead" if next_class else "no class is left",
        )
    raise UnsupportedProcessor(
        "the processor must compute what its instructions are defined to compute; every class of it fails its self-test: "
        'use engine="reference"',
        features=(),
    )


def require_sound_class(name: str, what: str) -> None:
    """Raises UnsupportedProcessor if a class fails its self-test here.  what: the thing that requires the class."""
    outcome = self_test(name)
    if outcome.fault:
        raise UnsupportedProcessor(
            f"{what} must be for a class of processors whose self-test succeeds here; got {name!r}, of which "
            f"{outcome.fault}",
            features=(),
        )


@cache
def self_test(name: str) -> SelfTest:
    """The outcome for a class of this machine: from the cache, or of a test that runs now.

    Only Linux has probes; elsewhere all classes pass.
    """
    if saved_program_machine() is None:
        return SelfTest(name, "")
    recorded = recorded_self_test(name)
    return recorded if recorded is not None else run_self_test(name)


def run_self_test(name: str) -> SelfTest:
    """Tests a class now, and records the outcome in the cache."""
    from sardonyx._src.compile.llvm.probes import run_class_probes  # lazy: once a machine

    fault = run_class_probes(name)
    outcome = SelfTest(name, "" if fault is None else str(fault))
    folder = default_cache()
    if folder is not None:
        folder.put(record_key(name), ENTRY, outcome.fault.encode())
    return outcome


def recorded_self_test(name: str) -> SelfTest | None:
    """The outcome that the cache has for a class; None if it has none, for this processor with these probes."""
    folder = default_cache()
    content = None if folder is None else folder.get(record_key(name), ENTRY)
    return None if content is None else SelfTest(name, content.decode())


def record_key(name: str) -> str:
    """What an outcome depends on."""
    version = sys.modules[__name__.partition(".")[0]].__version__
    stamps = [stamp(path) for path in (PROBES_PATH, KERNEL_PROBES_PATH)]
    return repr((name, processor_description(), version, stamps))


def stamp(path: Path) -> tuple[int, int]:
    """The size and the time of a file; zeros if there is none."""
    try:
        stat = os.stat(path)
    except FileNotFoundError:
        return 0, 0
    return stat.st_size, stat.st_mtime_ns


@cache
def processor_description() -> tuple[str, ...]:
    """The lines of /proc/cpuinfo that describe the processors of this machine and their microcode, each once."""
    lines = read_cpuinfo(CPUINFO).splitlines()
    return tuple(
        sorted({line for line in lines if line.partition(":")[0].strip().lower() in PROCESSOR_FIELDS})
    )
