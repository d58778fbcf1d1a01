"""The target of this machine.

Under Linux, processors are described by /proc/cpuinfo; elsewhere LLVM is asked, and its answer cached on disk,
because asking LLVM requires loading it.
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.linker.features import (
    CPUINFO,
    FLAGS_BY_MACHINE,
    host_features,
    read_cpuinfo,
    saved_program_machine,
)
from sardonyx._src.compile.llvm.cache import default_cache
from sardonyx._src.compile.llvm.self_test import first_sound_class, require_sound_class
from sardonyx._src.compile.llvm.target_classes import (
    AMD,
    CLASSES_BY_NAME,
    X86_64,
    TargetClass,
    classes_of,
    relevant_vendor,
    target_of,
)
from sardonyx._src.errors import InputError, MissingPackage, UnsupportedProcessor

IDENTITY_FIELDS = frozenset(  # fields of /proc/cpuinfo that distinguish processors, on AArch64
    "features,cpu implementer,cpu architecture,cpu variant,cpu part,cpu revision".split(",")
)
ALL_FLAGS = {name: flag for flags in FLAGS_BY_MACHINE.values() for name, flag in flags.items()}
HOST_INFO_ENTRY = "host info"
VENDOR_OF_CPU = (("znver", AMD),)  # by the first letters of LLVM's name of a processor
PathStamp = tuple[str, int, int, int]  # path, size, times of modification and change
CROSS_TARGET = ContextVar("CROSS_TARGET", default="")  # the class for which this context compiles, or ""


def known_host_info() -> dict[str, str] | None:
    """The description of this processor, if it is known without loading LLVM.

    It has LLVM's keys: triple, cpu, features, and compiler, the version of llvmlite.  Linux states the vendor as the cpu.
    """
    machine = saved_program_machine()
    return linux_host_info(machine) if machine and read_cpuinfo(CPUINFO) else cached_host_info()


def linux_host_info(machine: str = X86_64) -> dict[str, str] | None:
    """The description by /proc/cpuinfo; None without llvmlite.  AMX is a feature if this process may use it."""
    version = compiler_version()
    if version is None:
        return None
    features = ",".join(f"+{name}" for name in sorted(linux_features(machine)))
    return {
        "triple": f"{machine}-unknown-linux-gnu",
        "cpu": vendor(),
        "features": features,
        "compiler": version,
    }


def linux_features(machine: str = X86_64) -> set[str]:
    """The features of this processor, by LLVM's names."""
    flags = host_features()
    return {name for name, flag in FLAGS_BY_MACHINE[machine].items() if flag in flags}


def vendor() -> str:
    match = re.search(r"^vendor_id\s*:\s*(\S+)", read_cpuinfo(CPUINFO), re.MULTILINE)
    return match[1] if match else ""


def cached_host_info() -> dict[str, str] | None:
    """LLVM's description, which an earlier process cached for this processor and the installed LLVM."""
    key, folder = host_key(), default_cache()
    content = None if key is None or folder is None else folder.get(key, HOST_INFO_ENTRY)
    return None if content is None else dict(json.loads(content))


def store_host_info(info: dict[str, str]) -> None:
    key, folder = host_key(), default_cache()
    if key is not None and folder is not None:
        folder.put(key, HOST_INFO_ENTRY, json.dumps(info).encode())


# --- from a description to a target -----------------------------------------------------------


def target_from_info(info: dict[str, str], class_name: str = "") -> Target:
    """The target that a description means: the best class of the processor, or the class of this name.

    Processors that are neither of x86-64 nor of AArch64 or RISC-V under Linux are targets themselves.
    """
    names = {name[1:] for name in info["features"].split(",") if name[:1] == "+"}
    machine = info["triple"].partition("-")[0]
    has_classes = machine == X86_64 or (machine in FLAGS_BY_MACHINE and "linux" in info["triple"])
    chosen = choose_class(names if has_classes else set(), vendor_of(info["cpu"]), class_name, machine)
    if chosen is None:
        return own_target(info, names)
    return target_of(chosen, info["triple"], info["compiler"], vendor_of(info["cpu"]))


def processor_identity() -> tuple[str, ...]:
    """What programs depend on of this processor, or of the class for which this context compiles; empty if the system does
    not describe its processor.

    It is found without llvmlite, without which programs that are compiled already run.
    Raises InputError and UnsupportedProcessor for a wrong `SARDONYX_TARGET`.
    """
    name = CROSS_TARGET.get()
    return class_identity(find_class(name)) if name else host_identity()


@cache
def host_identity() -> tuple[str, ...]:
    """`processor_identity` of this machine."""
    if not read_cpuinfo(CPUINFO):
        return ()
    return tuple(cpu_identity()) if saved_program_machine() is None else class_identity(host_class())


@cache
def host_class() -> TargetClass | None:
    """The class of this machine under Linux that `SARDONYX_TARGET` names, or else the best that passes its self-test.

    None for a processor of no class.  Raises InputError and UnsupportedProcessor for a wrong `SARDONYX_TARGET`.
    """
    machine, name = saved_program_machine() or "", os.environ.get("SARDONYX_TARGET", "")
    features = linux_features(machine)
    classes = classes_of(features, vendor(), machine)
    if not name:
        return first_sound_class(classes)
    chosen = require_class(name, classes, features)
    require_sound_class(name, "SARDONYX_TARGET")
    return chosen


def require_stated_class() -> None:
    """Raises InputError and UnsupportedProcessor for a wrong `SARDONYX_TARGET`, which no other engine may hide."""
    if name := os.environ.get("SARDONYX_TARGET", ""):
        find_class(name, "SARDONYX_TARGET")
        host_identity()


def chosen_class_name() -> str:
    """The name of the class for which this machine compiles; "" for the best that LLVM's description of it has."""
    if saved_program_machine() is None or not read_cpuinfo(CPUINFO):
        return os.environ.get("SARDONYX_TARGET", "")
    chosen = host_class()
    return "" if chosen is None else chosen.name


def class_identity(chosen: TargetClass | None) -> tuple[str, ...]:
    """What programs for processors of a class depend on; of None, for those of no class."""
    return ("", vendor()) if chosen is None else (chosen.name, relevant_vendor(chosen, vendor()))


@contextmanager
def compile_for_class(name: str) -> Iterator[None]:
    """In this context, programs are compiled for a class of processors, which need not be this machine's; "": for this one.

    Such programs can be written, not run.  Raises InputError for a class that does not exist.
    """
    if name:
        find_class(name)
    token = CROSS_TARGET.set(name)
    try:
        yield
    finally:
        CROSS_TARGET.reset(token)


def find_class(name: str, argument: str = "target") -> TargetClass:
    """The class of this name; raises InputError, which names the argument, if there is none."""
    if name not in CLASSES_BY_NAME:
        raise InputError(
            f"{argument} must be one of {', '.join(CLASSES_BY_NAME)}; got {name!r}", name=argument
        )
    return CLASSES_BY_NAME[name]


def cross_target(info: dict[str, str]) -> Target | None:
    """The target of the class for which this context compiles; None if it compiles for this machine."""
    name = CROSS_TARGET.get()
    if not name:
        return None
    chosen = find_class(name)
    is_host = info["triple"].startswith(chosen.machine)
    triple = info["triple"] if is_host else chosen.triple
    return target_of(chosen, triple, info["compiler"], vendor_of(info["cpu"]) if is_host else "")


def choose_class(features: set[str], of_vendor: str, name: str, machine: str = X86_64) -> TargetClass | None:
    """The class of this name, or else the best one of a vendor's processor; None for one of no class."""
    classes = classes_of(features, of_vendor, machine)
    return require_class(name, classes, features) if name else next(iter(classes), None)


def require_class(name: str, classes: list[TargetClass], features: set[str]) -> TargetClass:
    chosen = find_class(name, "SARDONYX_TARGET")
    if chosen not in classes:
        missing = tuple(ALL_FLAGS[f] for f in chosen.features if f not in features) or (chosen.vendor,)
        raise UnsupportedProcessor(
            f"SARDONYX_TARGET must be a class of this processor ({', '.join(c.name for c in classes) or 'none'}); "
            f"got {name!r}, which requires {', '.join(missing)}",
            features=missing,
        )
    return chosen


def own_target(info: dict[str, str], names: set[str]) -> Target:
    is_arm = info["triple"].startswith(("aarch64", "arm64"))
    return Target(
        triple=info["triple"],
        cpu=info["cpu"],
        features=info["features"],
        lanes=4,
        has_fma={"fma", "f16c"} <= names or is_arm,
        registers=32 if is_arm else 16,
        compiler=info["compiler"],
    )


def vendor_of(cpu: str) -> str:
    return next((name for prefix, name in VENDOR_OF_CPU if cpu.startswith(prefix)), cpu)


# --- the installed compiler -------------------------------------------------------------------


@cache
def host_key() -> str | None:
    """The cache key of the processor and the compiler, found without loading LLVM; None if one of them cannot be identified."""
    compiler = compiler_stamp()
    if compiler is None or not read_cpuinfo(CPUINFO):
        return None
    return repr((platform.machine(), cpu_identity(), compiler))


def cpu_identity() -> list[str]:
    """The lines of /proc/cpuinfo that identify the processor and never change while the machine runs."""
    lines = read_cpuinfo(CPUINFO).splitlines()
    return sorted({line for line in lines if line.partition(":")[0].strip().lower() in IDENTITY_FIELDS})


def compiler_stamp() -> PathStamp | None:
    """The file stamp of the installed llvmlite, found without loading it; None if it is not installed."""
    spec = find_spec("llvmlite")
    return None if spec is None or spec.origin is None else path_stamp(spec.origin, os.stat(spec.origin))


@cache
def compiler_version() -> str | None:
    """The version of the installed llvmlite, found without loading it, or else its file stamp; None if it is not installed."""
    stamp = compiler_stamp()
    if stamp is None:
        return None
    folder = Path(stamp[0]).parent.parent
    names = (re.fullmatch(r"llvmlite-(.+)\.dist-info", name) for name in os.listdir(folder))
    return next((name[1] for name in names if name), str(stamp))


def require_llvmlite() -> None:
    """Raises MissingPackage unless llvmlite is installed."""
    if compiler_stamp() is None:
        raise missing_llvmlite()


def missing_llvmlite() -> MissingPackage:
    why = "the native engine requires llvmlite, which is not installed"
    return MissingPackage(f'{why}: run `pip install llvmlite`, or use engine="reference"', package="llvmlite")


def path_stamp(path: str, stat: os.stat_result) -> PathStamp:
    return path, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns
