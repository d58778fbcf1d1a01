"""Where does the time of networks go on one core, and how near are their steps to the peak?

    python bench/network_profiles.py [--only bert_base,gpt2_step] [--out PAGE]

Steps that run the same kernel on as many operations and constants are one row, with their number, their share of the run
and the median time of one.  Shares of the peak relate the operations of a step to those of multiply-adds in registers;
bytes per second are those of constants, which no cache of the core holds from one run to the next, beside the rate at
which one core reads an array as large as all constants of the network together.  Rows of less than 1 % are left out.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from latency import header, line
from limits import best_peak, constant_bytes, profile_steps
from measure import stamp
from sardonyx._src.compile.codegen.math.table import VECTOR_FUNCTIONS
from sardonyx._src.compile.program import Step
from sardonyx._src.runtime.runs.profile import MachinePeak, TimedAction, measure_peaks
from zoo.catalogue import ENTRIES

PAGE = Path(__file__).resolve().parent.parent / "docs/generated/network_profiles.md"
MIN_SHARE = 0.01  # of the run, below which a row is left out


@dataclass(frozen=True)
class Group:
    """Steps of one kernel with equal work: operations and bytes of constants of each step, seconds of all."""

    kernel: str
    count: int
    flops: int
    constants: int
    seconds: float


def profile(name: str) -> str:
    """The section of a network."""
    entry, peaks = ENTRIES[name], [measure_peaks()]
    timed = profile_steps(entry.path(), entry.feeds())
    peaks += [measure_peaks(sum(map(constant_bytes, timed))) for _ in range(2)]
    total = sum(step.seconds for step in timed)
    return f"## {name}\n\n{summary(total, best_peak(peaks[1:]))}\n\n{table(group_steps(timed), total, best_peak(peaks))}"


def summary(total: float, peak: MachinePeak) -> str:
    rates = f"multiply-adds at {peak.flops / 1e9:.0f} GFLOP/s, constants at {peak.reads / 1e9:.1f} GB/s"
    return f"All steps together take {total * 1e3:.3g} ms. Peak rates: {rates}."


def group_steps(timed: Iterable[TimedAction]) -> list[Group]:
    """The groups in the order of their first steps."""
    members: dict[tuple[str, int, int], list[float]] = defaultdict(list)
    for step in timed:
        members[kernel_name(step), step.flops, constant_bytes(step)].append(step.seconds)
    return [
        Group(kernel, len(seconds), flops, constants, sum(seconds))
        for (kernel, flops, constants), seconds in members.items()
    ]


def kernel_name(step: TimedAction) -> str:
    """The kernel's name, with the functions that its epilogue calls; the kind of any other action."""
    if not isinstance(step.action, Step):
        return type(step.action).__name__
    name, _, epilogue = step.action.kernel.key.partition(":")
    return " ".join([name, *(function for function in VECTOR_FUNCTIONS if f"{function}(" in epilogue)])


def table(groups: Sequence[Group], total: float, peak: MachinePeak) -> str:
    columns = (
        "kernel",
        "steps",
        "share",
        "time of one",
        "operations of one",
        "of the peak",
        "constants",
        "GB/s",
    )
    rows = [group_row(group, total, peak) for group in groups if group.seconds > MIN_SHARE * total]
    return "\n".join((header(*columns), *rows))


def group_row(group: Group, total: float, peak: MachinePeak) -> str:
    seconds = group.seconds / group.count
    return line(
        f"`{group.kernel}`",
        group.count,
        f"{group.seconds / total:.1%}",
        f"{seconds * 1e6:.1f} us",
        f"{group.flops / 1e6:.3g} M",
        f"{group.flops / seconds / peak.flops:.0%}",
        f"{group.constants / 1e6:.3g} MB",
        f"{group.constants / seconds / 1e9:.1f}",
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default=",".join(ENTRIES), help="comma-separated names of networks")
    parser.add_argument("--out", type=Path, default=PAGE)
    options = parser.parse_args()
    question = str(__doc__).partition("\n\n    ")[0]
    explanation = str(__doc__).rpartition("\n\n")[2].strip()
    head = f"# Profiles of networks\n\nWritten by `bench/network_profiles.py`. {question}\n\n{explanation}\n\n{stamp()}"
    sections = [profile(name) for name in options.only.split(",")]
    options.out.write_text("\n\n".join((head, *sections)) + "\n")
    print(f"written: {options.out}")


if __name__ == "__main__":
    main()
