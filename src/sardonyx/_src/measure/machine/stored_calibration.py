"""The calibration of a machine, kept beside the cache: measured once for a processor, its microcode, class and quota."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from sardonyx._src.measure.machine.calibration import Calibration, ReadRate
from sardonyx._src.measure.machine.processor import Processor
from sardonyx._src.measure.machine.surroundings import Allotment
from sardonyx._src.runtime.identity.records import read_records, write_record

RECORDS = "machine"  # the folder in the cache folder
MAX_TIME = 253402300799  # the end of the year 9999, in seconds since 1970
FORMAT = 1  # of records, and of what is measured; a change makes older records unreachable


def stored_calibration(processor: Processor, allotment: Allotment) -> Calibration | None:
    """The newest calibration that this or an earlier process has stored; None if there is none."""
    calibrations = (
        decode(content) for content, _ in read_records(RECORDS, record_name(processor, allotment))
    )
    intact = (calibration for calibration in calibrations if calibration is not None)
    return max(intact, key=lambda calibration: calibration.time, default=None)


def store_calibration(calibration: Calibration, processor: Processor, allotment: Allotment) -> None:
    """Stores a calibration where that is possible."""
    content = json.dumps(asdict(calibration), indent=1).encode()
    write_record(RECORDS, record_name(processor, allotment), content)


def record_name(processor: Processor, allotment: Allotment) -> str:
    """The name of a record: a hash of everything that decides what a machine reaches."""
    facts = (
        FORMAT,
        processor.name,
        processor.identity,
        processor.microcode,
        processor.target,
        processor.emulator,
        allotment.affinity,
        allotment.quota,
    )
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:32]


def decode(content: bytes) -> Calibration | None:
    """The calibration in a record; None if the record is damaged."""
    try:
        return read_facts(json.loads(content))
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return None


def read_facts(facts: Mapping[str, Any]) -> Calibration:
    """The calibration with these fields; raises ValueError, TypeError, KeyError or AttributeError if they are none."""
    products = {str(kind): float(rate) for kind, rate in facts["products"].items()}
    reads = [
        ReadRate(str(rate["level"]), int(rate["bytes"]), float(rate["single"]), float(rate["all"]))
        for rate in facts["reads"]
    ]
    measured = float(facts["time"])
    if not 0 <= measured <= MAX_TIME:
        raise ValueError(f"a calibration must have a time that calendars have; got {measured}")
    numbers = (float(facts[name]) for name in ("call", "barrier", "subnormals"))
    return Calibration(measured, float(facts["duration"]), int(facts["threads"]), products, reads, *numbers)
