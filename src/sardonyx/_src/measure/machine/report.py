"""`doctor`: facts about this machine, measured and read, with advice about what is unusual."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from sardonyx._src.arguments import require_flag
from sardonyx._src.dataclass import dataclass
from sardonyx._src.measure.machine.advice import Advice, MachineFacts, advise
from sardonyx._src.measure.machine.calibration import SUBNORMAL, Calibration, calibrate, find_native_failure
from sardonyx._src.measure.machine.processor import Processor, read_processor
from sardonyx._src.measure.machine.stored_calibration import store_calibration, stored_calibration
from sardonyx._src.measure.machine.surroundings import Allotment, read_allotment, read_surroundings
from sardonyx._src.runtime.limits.control_groups import ROOT
from sardonyx._src.runtime.limits.topology import Topology, read_topology


@dataclass(frozen=True, slots=True, repr=False)
class MachineReport:
    """What `doctor` says: facts and advice.  It is true if the native engine works."""

    facts: MachineFacts
    advice: Sequence[Advice]

    @property
    def ok(self) -> bool:
        return not any(advice.is_fatal for advice in self.advice)

    def __bool__(self) -> bool:
        return self.ok

    def as_json(self) -> dict[str, object]:
        """The report as numbers, strings, lists and dicts; rates per second, sizes in bytes, times in seconds."""
        return {"ok": self.ok, **asdict(self.facts), "unusual": [asdict(advice) for advice in self.advice]}

    def __repr__(self) -> str:
        names = ", ".join(advice.name for advice in self.advice) or "nothing unusual"
        return f"<MachineReport: {self.facts.processor.target or self.facts.processor.machine}, {names}>"


def doctor(*, again: bool = False) -> MachineReport:
    """What this machine is, what it reaches, and what is unusual about it.

    The first call measures the machine, in less than 300 ms plus the time of compiling some kernels; later calls, also of other
    processes, read what it stored beside the cache.  Nothing is stored while other processes are busy.
    again: measure even if there is a stored result.
    """
    require_flag("again", again)
    return examine(ROOT, again=again)


def examine(root: Path, *, again: bool) -> MachineReport:
    """`doctor`.  root: the root of the file system; tests pass another one."""
    processor, topology, allotment = read_processor(root), read_topology(root), read_allotment(root)
    surroundings = read_surroundings(processor.target)
    failure = find_native_failure()
    calibration = None if failure else measure_or_load(processor, topology, allotment, again=again)
    facts = MachineFacts(
        processor, topology, allotment, surroundings, calibration, failure, flushes_subnormals()
    )
    return MachineReport(facts, advise(facts))


def measure_or_load(
    processor: Processor, topology: Topology, allotment: Allotment, *, again: bool
) -> Calibration:
    """The stored calibration, or a new one, which is stored unless other processes took the processors meanwhile."""
    stored = None if again else stored_calibration(processor, allotment)
    if stored is not None:
        return stored
    calibration = calibrate(topology)
    if allotment.load <= len(topology.processors):
        store_calibration(calibration, processor, allotment)
    return calibration


def flushes_subnormals() -> bool:
    """Whether arithmetic of this thread rounds subnormal numbers to zero."""
    return not np.any(np.full(4, SUBNORMAL, np.float32) * np.float32(1))
