"""Times of networks beside onnxruntime in the sizes of their export; stored, so that a measurement resumes.

They are processor times of one thread, which other processes disturb less.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from model_zoo.exports import Export, export, folder_of, values_of
from model_zoo.registry import Network
from sardonyx._src.measure.profiling import profile
from sardonyx._src.measure.timing import measure_engines

ENGINES = ("onnxruntime", "sardonyx")
ROUNDS = 11
TIMED = {"dynamo": 18, "script": 20}  # operator sets of the files


@dataclass(frozen=True)
class Timing:
    """Medians of a run in seconds.  missing: why one of them is missing.  slowest: the kernel that takes most of our time,
    and its share; "" if onnxruntime is slower.
    """

    exporter: str
    ours: float
    theirs: float
    missing: str = ""
    slowest: str = ""

    @property
    def ratio(self) -> float:
        """Our time over that of onnxruntime."""
        return self.ours / self.theirs


def stored_timings(network: Network) -> list[Timing]:
    path = folder_of(network) / "timings.json"
    return [Timing(**fields) for fields in json.loads(path.read_text())] if path.exists() else []


def measure(networks: Iterable[Network]) -> None:
    """Measures the networks that have no stored times; prints a line for each."""
    for network in networks:
        if stored_timings(network):
            continue
        timings = [measure_export(network, exporter) for exporter in TIMED]
        text = json.dumps([asdict(timing) for timing in timings], indent=1)
        (folder_of(network) / "timings.json").write_text(text + "\n")
        print(network.name, *(f"{timing.exporter} {timing.ratio:.2f}" for timing in timings), flush=True)


def measure_export(network: Network, exporter: str) -> Timing:
    nan = float("nan")
    try:
        path = export(network, Export(exporter, TIMED[exporter]))
        feeds = values_of(network, 0).feeds
        theirs, ours = measure_engines(str(path), ENGINES, 1, feeds, ROUNDS, clock=time.process_time)
        kernels = profile(path, feeds).kernels if ours.median > theirs.median else []
    except Exception as error:  # noqa: BLE001  # those of onnxruntime have no common base
        return Timing(exporter, nan, nan, " ".join(str(error).split())[:160])
    total = sum(kernel.seconds for kernel in kernels)
    slowest = f"{kernels[0].kernel}, {kernels[0].seconds / total:.0%}" if total else ""
    return Timing(exporter, ours.median, theirs.median, slowest=slowest)
