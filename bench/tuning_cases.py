"""The measurements of `tuning.py` in one class of processors: a line of JSON for each field and shape, and for each layer.

    SARDONYX_TARGET=x86-64-v3 python bench/tuning_cases.py [--only gemm,winograd] [--rounds 30] [--least]

Processor time of one core; the kernels of all values run in turn.  A choice that is more than `THRESHOLD` slower than the best
is measured again beside it, since the best of several noisy times is too good: the smaller of both differences counts.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial

import numpy as np

from products import allocate_filled, prepare_steps
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.program import Buffer, Step
from sardonyx._src.ir import Array
from tuning_fields import Sweep
from tuning_sweeps import sweeps
from winograd import LAYERS, OTHER, layer_algorithms

THRESHOLD = 0.03  # of the time, up to which a choice counts as the best one
ROUNDS = 30
MIN_SECONDS = 1e-3  # of a measurement, which repeats shorter runs
Run = Callable[[], None]


@dataclass(frozen=True)
class Result:
    """The times of the values of a field for a shape, or of the algorithms of a layer, over that of the chosen one.

    seconds: of the chosen one.  model: the value of analysis; "" where it says nothing.
    """

    field: str
    shape: str
    choice: str
    model: str
    seconds: float
    ratios: Mapping[str, float]

    @property
    def best(self) -> str:
        return min(self.ratios, key=lambda name: self.ratios[name])

    def excess(self, value: str) -> float:
        """By which share of the best time a value is slower than the best."""
        return self.ratios[value] / self.ratios[self.best] - 1


@dataclass(frozen=True)
class Method:
    """rounds: in which all values run once.  least: whether minimums count, on a machine that is busy with other work."""

    rounds: int
    least: bool

    def relative_times(self, samples: Mapping[str, list[float]], base: str) -> dict[str, float]:
        """The time of each run over that of the base; medians are those of rounds, in which both ran at about one speed."""
        if self.least:
            return {name: min(seconds) / min(samples[base]) for name, seconds in samples.items()}
        return {
            name: statistics.median(a / b for a, b in zip(seconds, samples[base], strict=True))
            for name, seconds in samples.items()
        }

    def measure(
        self, names: tuple[str, str], choice: str, model: str, runs: Mapping[str, Run], *, cold: bool
    ) -> Result:
        """The result of all runs; cold: with the caches evicted before each."""
        samples = measure_in_turn(runs, self.rounds, cold=cold)
        ratios, seconds = self.relative_times(samples, choice), min(samples[choice])
        result = Result(*names, choice, model, seconds, ratios)
        if result.excess(choice) <= THRESHOLD:
            return result
        pair = {name: runs[name] for name in (choice, result.best)}
        again = self.relative_times(measure_in_turn(pair, 2 * self.rounds, cold=cold), choice)
        return replace(result, ratios={**ratios, result.best: max(again[result.best], ratios[result.best])})


def measure_in_turn(runs: Mapping[str, Run], rounds: int, *, cold: bool) -> dict[str, list[float]]:
    """The seconds of each run in each round."""
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


def time_call(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def repeat(run: Run, count: int) -> None:
    for _ in range(count):
        run()


def repetitions(run: Run) -> int:
    run()
    return max(1, round(MIN_SECONDS / max(time_call(run), 1e-7)))


def signature(steps: Sequence[Step]) -> tuple[object, ...]:
    """What distinguishes the kernels and the numbers of steps from those of other values."""
    return tuple(
        (
            step.kernel.source("kernel", host_target()),
            step.units,
            *(a for a in step.args if isinstance(a, int)),
        )
        for step in steps
    )


def prepare(steps: Sequence[Step]) -> tuple[Run, Array]:
    """A call of the steps, and the memory of their result after one run on random numbers."""
    memory, sizes = dict[Buffer, Array](), Counter[int]()
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


def measure_sweep(sweep: Sweep, method: Method) -> Iterator[Result]:
    """The results of all shapes; the results of all values must agree.  Values with equal kernels have one time."""
    for shape, workload in sweep.workloads.items():
        expected, runs = prepare(workload())[1], dict[str, Run]()
        equal: dict[tuple[object, ...], str] = {}  # by the kernels, the first value that has them
        values = {candidate: f"{candidate:g}" for candidate in sorted({*sweep.values, sweep.value})}
        for candidate in sorted(values, key=lambda value: value != sweep.value):  # the chosen one first
            with sweep.set_value(candidate):
                steps = workload()
                values[candidate] = equal.setdefault(signature(steps), f"{candidate:g}")
                if values[candidate] == f"{candidate:g}":
                    runs[f"{candidate:g}"], result = prepare(steps)
                    np.testing.assert_allclose(
                        result, expected, 1e-3, 1e-3, err_msg=f"{sweep.name} = {candidate}"
                    )
        model = sweep.model(shape)
        text = "" if model is None else f"{model:g}"
        measured = method.measure((sweep.name, shape), f"{sweep.value:g}", text, runs, cold=False)
        ratios = {f"{value:g}": measured.ratios[name] for value, name in values.items()}
        yield replace(measured, ratios=ratios)


def measure_cost_model(method: Method) -> Iterator[Result]:
    """The algorithms of each layer, with weights that come from memory, as in a network."""
    for size, channels, features in LAYERS:
        algorithms = layer_algorithms(size, channels, features)
        choice = next((name for name in algorithms if name.endswith("(chosen)")), "direct").split()[0]
        runs = {name.split()[0]: prepare_steps(steps) for name, steps in algorithms.items()}
        names = ("winograd.cost_model", f"{size}x{size}x{channels} to {features}")
        yield method.measure(names, choice, "", runs, cold=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="comma-separated prefixes of fields: gemm, winograd.fused")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="%(default)s by default")
    parser.add_argument("--least", action="store_true", help="compare the shortest runs, not the medians")
    options = parser.parse_args()
    assert os.environ.get("OPENBLAS_NUM_THREADS") == "1", "set OPENBLAS_NUM_THREADS=1: one core is measured"
    prefixes, method = tuple(options.only.split(",")), Method(options.rounds, options.least)
    chosen = [sweep for sweep in sweeps() if sweep.name.startswith(prefixes)]
    for sweep in chosen:
        for result in measure_sweep(sweep, method):
            print(json.dumps(asdict(result)), flush=True)
    if "winograd.cost_model".startswith(prefixes):
        for result in measure_cost_model(method):
            print(json.dumps(asdict(result)), flush=True)


if __name__ == "__main__":
    main()
