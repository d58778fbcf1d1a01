"""How fast is a training step, compared with PyTorch, eager and compiled, and how exact?

A step is forward pass, cross entropy, backward pass and Adam, in float32; those that are timed have fixed data.  The networks are PyTorch modules, and
exported to ONNX with their weights for Sardonyx, which reads the file and runs what `sx.train.prepare` made of it.  Each engine has its own
process, and they run in turns, while the others rest.  `ratio` is the time of the faster of PyTorch's two over that of Sardonyx.  Memory is the peak of the process beyond what the imports of PyTorch and of Sardonyx
take, in MB: of Sardonyx, eager and compiled.

The second table has the errors of the gradients of the first step by parameter, as the L2 norm of the difference from PyTorch in float64 over that of the gradient, and
where the error of Sardonyx is largest beside that of PyTorch.

The third table compares losses over 200 steps from the same weights, each with another minibatch and classes drawn at random: the largest relative difference of two engines at the learning rates of the rows.  What rounding alone changes is in the second
column of differences: PyTorch and itself, with the examples of each minibatch in reverse order, so that gradients by weights are added in another order.
The forward pass of an example then rounds as before, so that a rectifier sees the same signs; the distances of both engines from float64, in the last columns, are what all rounding changes;
their ratio is at most 1 where Sardonyx is no farther.  Adam divides small gradients by small numbers, and a rectifier or a maximum that sees another sign
changes a gradient as a whole, so that a difference of the last digit can grow with each step; the lower the rate, the less it does.

Needs the group `bench-torch` and onnx, in this Python or in the one that TORCH_PYTHON names.  With TRAINING_STATE, the name of a folder, results are kept there, and those of
earlier calls are read instead of measured.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import os
import statistics
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass

from training_accuracy import gradients_table, losses_table
from training_engines import Worker, exported_network, read_line, start
from training_networks import NETWORKS
from training_state import recall

ENGINES = ("sardonyx", "eager", "compiled")
PARTS = ("times", "gradients", "losses")
TURNS, WARM_STEPS, RATE = 5, 5, 1e-3


@dataclass(frozen=True)
class Result:
    """Milliseconds of a step of one engine; bytes: peak memory beyond imports."""

    milliseconds: float
    bytes: int


def measure(name: str, threads: int) -> dict[str, Result]:
    """The results by engine; engines that fail are left out."""
    with exported_network(name, RATE) as folder:
        workers = {
            engine: start(Worker(name, engine, threads, WARM_STEPS, RATE, folder)) for engine in ENGINES
        }
        running = {engine: worker for engine, worker in workers.items() if read_line(worker)}
        samples: dict[str, list[list[float]]] = {engine: [] for engine in running}
        for _ in range(TURNS):
            for engine, worker in running.items():
                if worker.stdin is not None and worker.poll() is None:
                    worker.stdin.write("\n")
                    worker.stdin.flush()
                    samples[engine].append(read_line(worker))
        for worker in workers.values():
            worker.communicate()
    return {
        engine: Result(statistics.median(ms for ms, _ in rows), int(max(size for _, size in rows)))
        for engine, rows in samples.items()
        if rows and all(rows)
    }


def kept_results(name: str, threads: int) -> dict[str, Result]:
    """The results of a network, measured now or before."""
    key = f"times {name} {threads}"
    kept = recall(key, lambda: {engine: asdict(r) for engine, r in measure(name, threads).items()})
    return {engine: Result(**result) for engine, result in kept.items()}


def ratio(results: dict[str, Result]) -> float | None:
    """The time of the faster of PyTorch's two over that of Sardonyx; None if either failed."""
    own, peers = results.get("sardonyx"), [results[e] for e in ENGINES[1:] if e in results]
    return min(peer.milliseconds for peer in peers) / own.milliseconds if own and peers else None


def times_table(names: tuple[str, ...], threads: Iterable[int]) -> Iterator[str]:
    """The first table, with the geometric mean of the ratios for each number of threads."""
    yield f"| network | threads | {' | '.join(f'{engine}, ms' for engine in ENGINES)} | ratio | memory |"
    yield "|---" * 7 + "|"
    for count in threads:
        by_name = {name: kept_results(name, count) for name in names}
        yield from (times_row(name, count, results) for name, results in by_name.items())
        ratios = [value for results in by_name.values() if (value := ratio(results)) is not None]
        if len(ratios) > 1:
            mean = math.exp(statistics.fmean(map(math.log, ratios)))
            yield f"| geometric mean of {len(ratios)} | {count} | | | | {mean:.2f} | |"


def times_row(name: str, threads: int, results: dict[str, Result]) -> str:
    """A row of the first table: times, and memory."""
    cells = [f"{r.milliseconds:.2f}" if (r := results.get(engine)) else "failed" for engine in ENGINES]
    memory = [f"{r.bytes / 1e6:.0f}" if (r := results.get(engine)) else "" for engine in ENGINES]
    quotient = ratio(results)
    text = "" if quotient is None else f"{quotient:.2f}"
    return f"| {name} | {threads} | {' | '.join(cells)} | {text} | {' / '.join(memory)} |"


def section(
    names: Iterable[str] = tuple(NETWORKS), threads: Iterable[int] = (1, 2), parts: Iterable[str] = PARTS
) -> str | None:
    """The tables for docs/generated/benchmarks.md; None without PyTorch."""
    if "TORCH_PYTHON" not in os.environ and importlib.util.find_spec("torch") is None:
        return None
    names = tuple(names)
    tables: dict[str, Callable[[], Iterable[str]]] = {
        "times": lambda: times_table(names, threads),
        "gradients": lambda: gradients_table(names),
        "losses": lambda: losses_table(names),
    }
    return "\n\n".join("\n".join(tables[part]()) for part in parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a part of the names of networks")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--part", choices=PARTS, nargs="+", default=list(PARTS), help="some of the tables")
    args = parser.parse_args()
    print(section([name for name in NETWORKS if args.only in name], args.threads, args.part))


if __name__ == "__main__":
    main()
