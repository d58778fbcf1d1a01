"""What is unusual about a machine, and what to do about it: a function for each check, over facts that were read before."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sardonyx._src.dataclass import dataclass
from sardonyx._src.measure.machine.calibration import Calibration
from sardonyx._src.measure.machine.processor import Processor
from sardonyx._src.measure.machine.surroundings import THREAD_VARIABLES, Allotment, Surroundings
from sardonyx._src.measure.quantities import pluralize, quantity
from sardonyx._src.runtime.kernel_library.background import MIN_MEMORY
from sardonyx._src.runtime.limits.topology import Topology

MIN_FREE_DISK = 256 << 20  # bytes: less cannot hold the programs of a few models
MAX_SUBNORMAL_RATIO = 4.0  # times: products of subnormal numbers above it are worth a word


@dataclass(frozen=True, slots=True)
class MachineFacts:
    """All that is known of a machine.

    calibration: None if nothing can be measured.
    failure: why native code cannot be compiled or run; "" if it can.
    flushes_subnormals: whether the calling thread rounds subnormal numbers to zero.
    """

    processor: Processor
    topology: Topology
    allotment: Allotment
    surroundings: Surroundings
    calibration: Calibration | None
    failure: str
    flushes_subnormals: bool


@dataclass(frozen=True, slots=True)
class Advice:
    """Something unusual: a name for programs, what it is and means, and what to do.

    is_fatal: whether the native engine cannot work.
    """

    name: str
    what: str
    cure: str
    is_fatal: bool = False


# --- the native engine -----------------------------------------------------------------------


def check_compiler(facts: MachineFacts) -> Iterator[Advice]:
    if "llvmlite" not in facts.surroundings.versions:
        what = "llvmlite is not installed: only the reference engine and compiled programs (.sdx, a filled cache) run"
        yield Advice("no-llvmlite", what, "pip install llvmlite", is_fatal=True)


def check_engine(facts: MachineFacts) -> Iterator[Advice]:
    if facts.processor.problem:
        is_stated = bool(facts.surroundings.variables.get("SARDONYX_TARGET"))
        classes = ", ".join(facts.processor.classes) or "no class"
        cure = 'engine="reference" works; update microcode, system or emulator, or install Sardonyx again'
        if is_stated:
            cure = f"unset SARDONYX_TARGET, or set it to one of {classes}"
        yield Advice("wrong-target", facts.processor.problem, cure, is_fatal=True)
    elif facts.failure and "llvmlite" in facts.surroundings.versions:
        cure = 'report this with the output of `sardonyx doctor --json`; engine="reference" works meanwhile'
        yield Advice("engine-fails", f"native code cannot be run: {facts.failure}", cure, is_fatal=True)


def check_class(facts: MachineFacts) -> Iterator[Advice]:
    target, classes = facts.processor.target, facts.processor.classes
    is_stated = bool(facts.surroundings.variables.get("SARDONYX_TARGET"))
    if target and classes and target != classes[0] and not is_stated:
        why = "; ".join(facts.processor.faults) or "it failed its self-test, or is of no use here"
        what = f"code for {classes[0]}, the class of this processor, is not used: {why}"
        yield Advice(
            "failed-class",
            what,
            "see the warnings of the first session; update microcode, system or emulator",
        )
    elif target and classes and target != classes[0]:
        what = f"SARDONYX_TARGET is {target}, below {classes[0]}, the class of this processor: kernels use fewer instructions"
        yield Advice(
            "lower-class", what, "unset SARDONYX_TARGET unless programs are shared with lower processors"
        )
    if not target and not facts.processor.problem and not classes:
        what = "the processor belongs to no class: kernels are compiled for it alone, and no library of kernels serves it"
        yield Advice("no-class", what, "none is needed; first sessions take longer")


def check_emulator(facts: MachineFacts) -> Iterator[Advice]:
    if name := facts.processor.emulator:
        what = f"{name} executes this process: measurements say nothing about a processor, and runs take many times as long"
        yield Advice("emulator", what, "measure on the machine itself")


def check_denied_features(facts: MachineFacts) -> Iterator[Advice]:
    if denied := facts.processor.denied:
        what = f"the system, or another core, does not have {', '.join(denied)}, which this processor states"
        yield Advice(
            "denied-features", what, "for AMX, use Linux 5.16 or later, and allow arch_prctl in the sandbox"
        )


# --- processors and memory -------------------------------------------------------------------


def check_quota(facts: MachineFacts) -> Iterator[Advice]:
    quota, affinity = facts.allotment.quota, facts.allotment.affinity
    if quota is not None and quota < affinity:
        uses = f"sessions use {pluralize(facts.allotment.threads, 'thread')}"
        what = f"the control group grants {quota:g} of {affinity} processors: {uses}"
        stalls = (
            "; the group is stopped for the rest of each period once its time is used up" if quota % 1 else ""
        )
        yield Advice("quota", what + stalls, "grant whole processors, best pinned ones (cpuset)")


def check_affinity(facts: MachineFacts) -> Iterator[Advice]:
    affinity, online = facts.allotment.affinity, len(facts.topology.processors)
    if affinity < online:
        what = f"this process may run on {affinity} of {pluralize(online, 'processor')}"
        yield Advice("affinity", what, "none if that is intended (taskset, cpuset); else allow all")


def check_core_kinds(facts: MachineFacts) -> Iterator[Advice]:
    if len(facts.topology.kinds) > 1:
        kinds = ", ".join(f"{len(kind.processors)} {kind.name}" for kind in facts.topology.kinds)
        what = (
            f"cores are of different kinds ({kinds}): the latency of a run depends on which of them it gets"
        )
        yield Advice("hybrid", what, "for an even latency, pin the process to the fastest kind (taskset)")


def check_load(facts: MachineFacts) -> Iterator[Advice]:
    load, online = facts.allotment.load, len(facts.topology.processors)
    if online and load > online:
        what = f"{load:.1f} threads want to run on {pluralize(online, 'processor')}: runs and measurements take longer"
        yield Advice("busy", what, "measure again, with --again, when other processes rest")


def check_thread_variables(facts: MachineFacts) -> Iterator[Advice]:
    threads = facts.allotment.threads
    for name in THREAD_VARIABLES:
        value = facts.surroundings.variables.get(name, "")
        if value.isdecimal() and int(value) > threads:
            what = f"{name} is {value}, more than the {threads} that can run at a time: NumPy's products wait for one another"
            yield Advice("too-many-threads", what, f"set {name}={threads}, or unset it")


def check_memory(facts: MachineFacts) -> Iterator[Advice]:
    allotment = facts.allotment
    if allotment.group_memory is not None and allotment.group_memory < (allotment.memory or 0):
        what = f"the control group grants {size(allotment.group_memory)} of {size(allotment.memory or 0)} of memory"
        yield Advice("memory-limit", what, "none if models fit; runs are limited to three quarters of it")
    if allotment.free is not None and allotment.free < MIN_MEMORY:
        what = f"{size(allotment.free)} of memory are free: few workers compile at a time, and runs may exceed their limits"
        yield Advice("little-memory", what, "free memory, or raise the limit of the control group")


# --- folders ---------------------------------------------------------------------------------


def check_cache_folder(facts: MachineFacts) -> Iterator[Advice]:
    cache = facts.surroundings.cache
    if cache is None:
        yield Advice(
            "no-cache", "SARDONYX_CACHE is empty: every process compiles its models", "unset SARDONYX_CACHE"
        )
    elif cache.problem:
        what = f"the cache folder {cache.path} is not used, and every process compiles its models: {cache.problem}"
        yield Advice(
            "cache-not-writable", what, "set SARDONYX_CACHE to a folder that only this user can write to"
        )
    elif cache.free < MIN_FREE_DISK:
        what = f"the disk of the cache folder {cache.path} has {size(cache.free)} left"
        yield Advice("cache-disk-full", what, "free some, or set SARDONYX_CACHE to a folder on another disk")


def check_temporary_folder(facts: MachineFacts) -> Iterator[Advice]:
    folder = facts.surroundings.temporary
    problem = folder.problem or (
        f"its disk has {size(folder.free)} left" if folder.free < MIN_FREE_DISK else ""
    )
    if problem:
        what = f"the folder for temporary files, {folder.path}, is of no use: {problem}"
        yield Advice("temporary-folder", what, "free some, or set TMPDIR to another folder")


def check_kernel_library(facts: MachineFacts) -> Iterator[Advice]:
    if facts.processor.target and not facts.surroundings.library:
        what = (
            f"there is no library of kernels for {facts.processor.target}: first sessions compile all kernels"
        )
        yield Advice(
            "no-kernel-library", what, "install a wheel, or set SARDONYX_KERNEL_LIBRARY=build for a checkout"
        )


# --- numbers ---------------------------------------------------------------------------------


def check_subnormals(facts: MachineFacts) -> Iterator[Advice]:
    if facts.flushes_subnormals:
        what = "this process rounds subnormal numbers to zero, as libraries built with -ffast-math make it: the reference "
        what += "engine computes with zeros there, and native code, which sets its own mode, does not"
        yield Advice(
            "flush-to-zero",
            what,
            "find the library (`python -X importtime`), and import it in another process",
        )
    if facts.calibration is not None and facts.calibration.subnormals > MAX_SUBNORMAL_RATIO:
        what = f"products of subnormal numbers (below 1.2e-38) take {facts.calibration.subnormals:.0f} times as long as others"
        yield Advice(
            "slow-subnormals",
            what,
            "none, unless values of a model underflow: look for them with `sardonyx compare`",
        )


def size(count: int) -> str:
    return quantity(float(count), "B")


# --- all -------------------------------------------------------------------------------------

CHECKS: tuple[Callable[[MachineFacts], Iterator[Advice]], ...] = (
    check_compiler,
    check_engine,
    check_class,
    check_emulator,
    check_denied_features,
    check_quota,
    check_affinity,
    check_core_kinds,
    check_load,
    check_thread_variables,
    check_memory,
    check_cache_folder,
    check_temporary_folder,
    check_kernel_library,
    check_subnormals,
)


def advise(facts: MachineFacts) -> list[Advice]:
    """Everything unusual about a machine."""
    return [advice for check in CHECKS for advice in check(facts)]
