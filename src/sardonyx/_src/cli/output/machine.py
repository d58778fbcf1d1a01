"""The report of a machine as text."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from sardonyx._src.cli.output.streams import printable
from sardonyx._src.measure.machine.advice import Advice
from sardonyx._src.measure.machine.calibration import Calibration, ReadRate
from sardonyx._src.measure.machine.processor import Processor
from sardonyx._src.measure.machine.report import MachineReport
from sardonyx._src.measure.machine.surroundings import Allotment, FolderState, Surroundings
from sardonyx._src.measure.quantities import pluralize, quantity
from sardonyx._src.runtime.limits.topology import CacheLevel, Topology

LABEL_WIDTH = 12
Row = tuple[str, str]
BINARY_UNITS = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def machine_text(report: MachineReport) -> str:
    """The facts, the measurements and the advice, one line or more for each."""
    facts = report.facts
    rows = [
        *processor_rows(facts.processor, is_stated="SARDONYX_TARGET" in facts.surroundings.variables),
        *core_rows(facts.topology, facts.allotment),
        *surrounding_rows(facts.surroundings),
        *(calibration_rows(facts.calibration) if facts.calibration is not None else ()),
    ]
    lines = [f"{label:{LABEL_WIDTH}}{printable(text)}" for label, text in rows]
    return "\n".join([*lines, "", *advice_lines(report.advice)]) + "\n"


def processor_rows(processor: Processor, *, is_stated: bool) -> Iterator[Row]:
    """The processor, and its class; is_stated: whether SARDONYX_TARGET names it.  Otherwise better classes failed a test."""
    notes = [processor.identity, processor.microcode and f"microcode {processor.microcode}"]
    notes += ["under a hypervisor"] if processor.is_virtual else []
    yield (
        "processor",
        f"{processor.name or 'unknown'}, {processor.machine} ({', '.join(filter(None, notes))})",
    )
    classes, target = processor.classes, processor.target
    if target in classes and not is_stated:
        classes = classes[classes.index(target) :]
    others = ", ".join(name for name in classes if name != target)
    yield "class", (target or "none") + (f"; it can also run {others}" if others else "")


def core_rows(topology: Topology, allotment: Allotment) -> Iterator[Row]:
    online = len(topology.processors)
    cores = f"{pluralize(topology.cores, 'core')}, {pluralize(online, 'logical processor')}"
    kinds = ", ".join(f"{len(kind.processors)} {kind.name}" for kind in topology.kinds)
    quota = "" if allotment.quota is None else f", a quota of {allotment.quota:g}"
    yield "cores", (f"{cores}{kinds and f' ({kinds})'}" if online else "unknown")
    yield "threads", f"{allotment.threads} (may run on {allotment.affinity}{quota})"
    yield "caches", ", ".join(map(cache_text, topology.caches)) or "unknown"
    memory = "unknown" if allotment.memory is None else binary_size(allotment.memory)
    group = (
        "" if allotment.group_memory is None else f", {binary_size(allotment.group_memory)} for this group"
    )
    free = "" if allotment.free is None else f", {binary_size(allotment.free)} free"
    yield "memory", f"{memory}{group}{free}"


def cache_text(cache: CacheLevel) -> str:
    shared = f" shared by {cache.shared_by}" if cache.shared_by > 1 else ""
    return f"L{cache.level} {binary_size(cache.bytes)}{shared}"


def surrounding_rows(surroundings: Surroundings) -> Iterator[Row]:
    versions = ", ".join(f"{name} {version}" for name, version in surroundings.versions.items())
    yield "versions", versions
    yield (
        "cache",
        "none" if surroundings.cache is None else cache_folder_text(surroundings, surroundings.cache),
    )
    yield "library", surroundings.library or "none"
    for name, value in surroundings.variables.items():
        yield "variable", f"{name}={value}"


def cache_folder_text(surroundings: Surroundings, cache: FolderState) -> str:
    bounds = f"programs up to {binary_size(surroundings.max_programs)}, kernels up to {binary_size(surroundings.max_kernels)}"
    state = f"not used: {cache.problem}" if cache.problem else "writable"
    return f"{cache.path}: {state}, {binary_size(cache.bytes)} ({bounds})"


def calibration_rows(calibration: Calibration) -> Iterator[Row]:
    day = time.strftime("%Y-%m-%d %H:%M", time.gmtime(calibration.time))
    yield "measured", f"{day} UTC, in {calibration.duration * 1e3:.0f} ms"
    products = (f"{kind} {quantity(rate, 'op/s')}" for kind, rate in calibration.products.items())
    yield "products", f"{', '.join(products)} (one thread)"
    for rate in calibration.reads:
        yield "reads", read_text(rate, calibration.threads)
    threads = pluralize(calibration.threads, "thread")
    barrier = f", a step on {threads} {calibration.barrier * 1e9:.0f} ns" if calibration.threads > 1 else ""
    yield (
        "costs",
        f"a call {calibration.call * 1e9:.0f} ns{barrier}, subnormals {calibration.subnormals:.1f} times",
    )


def read_text(rate: ReadRate, threads: int) -> str:
    together = f", {quantity(rate.all, 'B/s')} ({threads} threads)" if threads > 1 else ""
    return f"{rate.level} {quantity(rate.single, 'B/s')} (one thread){together}"


def advice_lines(advice: Sequence[Advice]) -> Iterator[str]:
    if not advice:
        yield "nothing is unusual"
    for item in advice:
        yield f"{'! ' if item.is_fatal else '- '}{printable(item.what)}"
        yield f"  {printable(item.cure)}"


def binary_size(count: int) -> str:
    """A number of bytes in units of 1024: `32 KiB`, `1.5 GiB`."""
    for factor, unit in BINARY_UNITS:
        if count >= factor:
            return f"{count / factor:.3g} {unit}" if count < 1000 * factor else f"{count // factor} {unit}"
    return f"{count} B"
