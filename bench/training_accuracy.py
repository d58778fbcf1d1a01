"""How exact are training steps? Gradients of the first step, and losses over many steps, beside PyTorch in float64."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np

from sardonyx._src.ir import Array
from training_engines import Worker, call, exported_network, read_line, start
from training_state import recall

LOSS_STEPS = 200
RATES = 1e-3, 1e-4, 1e-5
LOSS_ENGINES = ("sardonyx", "eager", "reversed", "float64")


@dataclass(frozen=True)
class GradientErrors:
    """Relative errors of the gradients of the parameters of a network, against float64, in L2 norms.

    own, peer: the largest of Sardonyx and of PyTorch.  ratio: the largest of Sardonyx's over PyTorch's for one parameter, its
    `parameter`.
    """

    parameters: int
    own: float
    peer: float
    ratio: float
    parameter: str


def compare_gradients(name: str) -> GradientErrors:
    """The errors of the first step; raises KeyError for a parameter that one of the engines does not have."""
    with exported_network(name, 0) as folder:
        own, peer, exact = (
            load_gradients(name, engine, folder) for engine in ("sardonyx", "eager", "float64")
        )
    errors = {key: (relative_error(own[key], g), relative_error(peer[key], g)) for key, g in exact.items()}
    worst = max(errors, key=lambda key: errors[key][0] / errors[key][1])
    largest_own, largest_peer = (max(pair[i] for pair in errors.values()) for i in (0, 1))
    return GradientErrors(len(errors), largest_own, largest_peer, errors[worst][0] / errors[worst][1], worst)


def load_gradients(name: str, engine: str, folder: Path) -> Mapping[str, Array]:
    call("--gradients", name, engine, folder)
    with np.load(folder / f"{engine}.npz") as file:
        return dict(file)


def relative_error(gradient: Array, exact: Array) -> float:
    """The L2 norm of an error over that of the exact gradient, or at least a unit in the last place of float32."""
    scale = float(np.linalg.norm(exact))
    error = float(np.linalg.norm(gradient.astype(np.float64) - exact))
    return max(error / scale if scale else error, 2.0**-24)


def gradients_row(name: str) -> str:
    kept = recall(f"gradients {name}", lambda: asdict(compare_gradients(name)))
    errors = GradientErrors(**kept)
    cells = f"{errors.parameters} | {errors.own:.1e} | {errors.peer:.1e} | {errors.ratio:.2f} ({errors.parameter})"
    return f"| {name} | {cells} |"


def losses(name: str, rate: float) -> dict[str, list[float]]:
    """The losses of 200 steps from the same weights, each with another minibatch, by engine; all run at once, on a thread each.

    Raises RuntimeError for an engine that fails, so that nothing of it is kept.
    """
    with exported_network(name, rate) as folder:
        workers = {
            engine: start(Worker(name, engine, 1, LOSS_STEPS, rate, folder)) for engine in LOSS_ENGINES
        }
        results = {engine: read_line(worker) for engine, worker in workers.items()}
        for worker in workers.values():
            worker.communicate()
    failed = [engine for engine, values in results.items() if len(values) < LOSS_STEPS]
    if failed:
        raise RuntimeError(f"{name} at rate {rate} was not trained by {', '.join(failed)}")
    return results


def largest_difference(losses: list[float], base: list[float]) -> float:
    """The largest relative difference; infinite if an engine failed."""
    if not losses or not base:
        return float("inf")
    return max(abs(a - b) / abs(b) for a, b in zip(losses, base, strict=True))


def losses_row(name: str, rate: float) -> str:
    by_engine = recall(f"losses {name} {rate}", partial(losses, name, rate))
    pairs = (("sardonyx", "eager"), ("reversed", "eager"), ("sardonyx", "float64"), ("eager", "float64"))
    differences = [largest_difference(by_engine[a], by_engine[b]) for a, b in pairs]
    cells = [f"{difference:.0e}" for difference in differences]
    own, peer = differences[2:]
    return f"| {name} | {rate} | {' | '.join(cells)} | {own / peer:.2f} |"


def gradients_table(names: tuple[str, ...]) -> list[str]:
    head = "| network | parameters | error of Sardonyx | error of PyTorch | largest ratio (parameter) |"
    return [head, "|---" * 5 + "|", *map(gradients_row, names)]


def losses_table(names: tuple[str, ...]) -> list[str]:
    head = (
        "| network | rate | Sardonyx and PyTorch | PyTorch, examples in reverse order, and PyTorch "
        "| Sardonyx and float64 | PyTorch and float64 | ratio of the two |"
    )
    return [head, "|---" * 7 + "|", *(losses_row(name, rate) for rate in RATES for name in names)]
