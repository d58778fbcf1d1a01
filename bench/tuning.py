"""Are the values of `compile/kernels/tuning/tables.py` the best ones on this machine?

    OPENBLAS_NUM_THREADS=1 python bench/tuning.py [--only gemm,winograd] [--rounds 40] [--out PAGE]

Varies one field at a time around its value, for representative shapes, on one core; a unit of work is therefore seen by
its overhead and its use of the caches, not by how it balances threads.  The kernels of all values run in turn, so that a
change of the processor's speed affects them alike; times and their ratios are medians.  The results of the kernels are
compared, too.  The choices of the Winograd cost model are compared with the measured times of all transforms.

Writes .bench/tuning.md, which first lists the choices that are more than 3 % slower than the best.
"""

from __future__ import annotations

import argparse
import os
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from measure import BUILD, stamp
from products import allocate_filled, prepare_steps, time_call
from sardonyx._src.compile.kernels import tuning
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.program import Buffer
from sardonyx._src.ir import Array
from tuning_fields import Sweep, Workload
from tuning_sweeps import sweeps
from winograd import LAYERS, OTHER, layer_algorithms

PAGE = BUILD / "tuning.md"
THRESHOLD = 0.03  # of the time, below which a difference is not listed
ROUNDS = 40
MIN_SECONDS = 5e-4  # of a measurement, which repeats shorter runs


# --- measurement -----------------------------------------------------------------------------


def measure_in_turn(
    runs: Mapping[str, Callable[[], None]], rounds: int, *, cold: bool = False
) -> dict[str, list[float]]:
    """The seconds of each run in each round, in which all of them run once; cold: with the caches evicted before."""
    repeats = {name: 1 if cold else repetitions(run) for name, run in runs.items()}
    samples: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            if cold:
                OTHER[:] += 1
            else:
                run()  # evicts the data of the others
            samples[name].append(time_call(partial(repeat, run, repeats[name])) / repeats[name])
    return samples


def repeat(run: Callable[[], None], count: int) -> None:
    for _ in range(count):
        run()


def relative_times(samples: Mapping[str, list[float]], base: str) -> dict[str, float]:
    """The time of each run over that of the base: the median over the rounds, in which both ran at about one speed."""
    return {
        name: statistics.median(a / b for a, b in zip(seconds, samples[base], strict=True))
        for name, seconds in samples.items()
    }


def repetitions(run: Callable[[], None]) -> int:
    run()
    return max(1, round(MIN_SECONDS / time_call(run)))


def prepare(workload: Workload) -> tuple[Callable[[], None], Array]:
    """A call of the steps, and the memory of their result after one run on random numbers."""
    steps, memory, sizes = workload(), dict[Buffer, Array](), Counter[int]()
    for step in steps:
        for operand in step.reads:
            if operand.buffer.data is None and operand.buffer not in memory:
                numbers = memory[operand.buffer] = allocate_filled(operand.buffer)
                # By size, since steps of another value may read the same operands in another order.
                random = np.random.default_rng((numbers.size, sizes[numbers.size]))
                numbers[:] = random.normal(size=numbers.size)
                sizes[numbers.size] += 1
    run = prepare_steps(steps, memory)
    run()
    return run, memory[steps[-1].writes[0].buffer].copy()


@dataclass(frozen=True)
class Result:
    """What was measured for a field and a shape, or for a layer: the choice of the table, its time, and the others'."""

    what: tuple[str, ...]
    choice: str
    seconds: float
    ratios: Mapping[str, float]  # times over that of the choice

    @property
    def best(self) -> str:
        return min(self.ratios, key=lambda name: self.ratios[name])

    @property
    def gain(self) -> float:
        """The share of the time that the best choice saves."""
        return 1 - self.ratios[self.best]


def measure_sweep(sweep: Sweep, rounds: int) -> Iterator[Result]:
    value = sweep.value
    for shape, workload in sweep.workloads.items():
        expected = prepare(workload)[1]
        runs: dict[str, Callable[[], None]] = {}
        for candidate in sorted({*sweep.values, value}):
            with sweep.set_value(candidate):
                runs[f"{candidate:g}"], result = prepare(workload)
            np.testing.assert_allclose(result, expected, 1e-3, 1e-3, err_msg=f"{sweep.name} = {candidate}")
        samples, choice = measure_in_turn(runs, rounds), f"{value:g}"
        seconds = statistics.median(samples[choice])
        yield Result((sweep.name, shape), choice, seconds, relative_times(samples, choice))


def measure_cost_model(rounds: int) -> Iterator[Result]:
    """The algorithms of each layer, with weights that come from memory, as in a network."""
    for size, channels, features in LAYERS:
        algorithms = layer_algorithms(size, channels, features)
        choice = next((name for name in algorithms if name.endswith("(chosen)")), "direct").split()[0]
        runs = {name.split()[0]: prepare_steps(steps) for name, steps in algorithms.items()}
        samples = measure_in_turn(runs, rounds, cold=True)
        layer = f"{size}x{size}x{channels} to {features}"
        yield Result((layer,), choice, statistics.median(samples[choice]), relative_times(samples, choice))


# --- page ------------------------------------------------------------------------------------


def result_row(result: Result) -> str:
    ratios = ", ".join(f"{name}: {ratio:.2f}" for name, ratio in result.ratios.items())
    gain = f"**{result.gain:.1%}**" if result.gain > THRESHOLD else f"{result.gain:.1%}"
    cells = (*result.what, result.choice, result.best, f"{result.seconds * 1e3:.3g} ms", ratios, gain)
    return f"| {' | '.join(cells)} |"


def table(what: Sequence[str], results: Iterable[Result]) -> str:
    names = (*what, "chosen", "best", "time", "times over that of the chosen", "gain")
    return "\n".join((f"| {' | '.join(names)} |", "|---" * len(names) + "|", *map(result_row, results)))


def page(results: Sequence[Result], layers: Sequence[Result]) -> str:
    better = [
        f"- {', '.join(r.what)}: {r.best}, {r.gain:.1%}" for r in (*results, *layers) if r.gain > THRESHOLD
    ]
    listed = "\n".join(better) or f"No choice is more than {THRESHOLD:.0%} slower than the best."
    question = (__doc__ or "").partition("\n")[0]
    target = tuning.target_class(host_target())
    return (
        f"# Tuning\n\nWritten by `bench/tuning.py`. {question}\n\n{stamp()} Target: {target}.\n\n{listed}\n\n"
        f"## Fields\n\n{table(('field', 'shape'), results)}\n\n"
        f"## Winograd cost model\n\n{table(('layer',), layers)}\n"
    )


def print_all(results: Iterable[Result]) -> list[Result]:
    """The results as a list; prints each as soon as it is measured."""
    measured = []
    for result in results:
        measured.append(result)
        print(result_row(result), flush=True)
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="comma-separated prefixes of fields: gemm, winograd.fused")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--out", type=Path, default=PAGE)
    options = parser.parse_args()
    assert os.environ.get("OPENBLAS_NUM_THREADS") == "1", "set OPENBLAS_NUM_THREADS=1: one core is measured"
    prefixes, rounds = tuple(options.only.split(",")), options.rounds
    chosen = [sweep for sweep in sweeps() if sweep.name.startswith(prefixes)]
    results = print_all(result for sweep in chosen for result in measure_sweep(sweep, rounds))
    has_model = "winograd.cost_model".startswith(prefixes)
    layers = print_all(measure_cost_model(rounds) if has_model else ())
    options.out.write_text(page(results, layers))
    print(f"written: {options.out}")


if __name__ == "__main__":
    main()
