"""Jobs that are killed at random moments, for `bench/scoring.py`: is their output that of an undisturbed job?"""

from __future__ import annotations

import math
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow.dataset

PARTS = 110  # of a job, about
SHARE = 0.03  # of a job that a process completes on average before it is killed
PROGRAM = """
import sys
import sardonyx as sx
from sardonyx._src.score import parts
model, source, sink, parts.PART_ROWS = *sys.argv[1:4], int(sys.argv[4])
print("ready", flush=True)
result = sx.score(model, source, sink, vectors="columns", workers=2, batch_rows=parts.PART_ROWS // 2)
print(result.resumed_rows, flush=True)
"""


@dataclass(frozen=True)
class Kills:
    """A job that ended after kills.  processes: that were killed.  resumed_rows: that the last one found complete."""

    rows: int
    parts: int
    processes: int
    seconds: float  # of an undisturbed job
    resumed_rows: int

    def text(self) -> str:
        return (
            f"The MLP over {self.rows:,} rows into a folder of {self.parts} parts, which takes {self.seconds:.1f} seconds "
            f"undisturbed: {self.processes} processes were killed at random moments, each went on where the last one was, "
            f"and the one after them found {self.resumed_rows / self.rows:.0%} of the rows complete. The output equals that of the "
            "undisturbed job, row by row and bit by bit."
        )


def kill_and_resume(model: str, source: str, folder: Path, rows: int, kills: int) -> Kills:
    """Kills a job `kills` times, lets it end, and compares.

    Raises AssertionError unless the output is that of an undisturbed job.
    """
    undisturbed, sink = folder / "undisturbed", folder / "killed"
    shutil.rmtree(undisturbed, ignore_errors=True)
    shutil.rmtree(sink, ignore_errors=True)
    part_rows = rows // PARTS
    seconds, opening = (
        time_job(model, source, undisturbed, part_rows) for _ in range(2)
    )  # then nothing is left
    longest, delays = opening + longest_run(seconds - opening, opening), random.Random(0)
    killed = 0
    while killed < kills:
        if run_job(model, source, sink, part_rows, seconds=delays.uniform(0, longest)) is None:
            killed += 1
        else:  # complete before its kill: another job, of processes that live less long
            shutil.rmtree(sink)
            killed, longest = 0, longest / 2
    resumed = run_job(model, source, sink, part_rows)
    assert resumed is not None, "a process without limit is not killed"
    tables = [pyarrow.dataset.dataset(path, format="parquet").to_table() for path in (sink, undisturbed)]
    assert tables[0].num_rows == rows
    assert tables[0].equals(tables[1]), "rows were lost, repeated or changed"
    parts = len(list(sink.glob("part-*")))
    return Kills(rows, parts, killed, seconds, resumed)


def longest_run(seconds: float, opening: float) -> float:
    """The seconds after its opening that a process may live.

    Processes that are killed at moments of equal probability, from their start on, complete `SHARE` of the job on average.
    """
    mean = max(SHARE * seconds, 0.01)
    return mean + math.sqrt(mean * mean + 2 * mean * max(opening, 0.0))


def time_job(model: str, source: str, sink: Path, part_rows: int) -> float:
    """The seconds of a job from the moment at which its imports are complete."""
    start: list[float] = []
    run_job(model, source, sink, part_rows, report=lambda: start.append(time.perf_counter()))
    return time.perf_counter() - start[0]


def run_job(
    model: str,
    source: str,
    sink: Path,
    part_rows: int,
    *,
    seconds: float | None = None,
    report: Callable[[], None] = lambda: None,
) -> int | None:
    """The rows that earlier processes had completed; None if the process is killed `seconds` after its job begins.

    report: called when the job begins.
    """
    command = [sys.executable, "-c", PROGRAM, model, source, f"{sink}/", str(part_rows)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        report()
        try:
            out, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            return None
    assert process.returncode == 0, f"the job failed with {process.returncode}"
    return int(out)
