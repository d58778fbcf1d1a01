"""How fast is a training step, compared with PyTorch, eager and compiled?

A step is forward pass, cross entropy, backward pass and Adam, in float32; those that are measured have fixed data.  The networks are PyTorch modules, and
exported to ONNX with their weights for Sardonyx, which runs what `sx.train.prepare` makes of them.  Each engine has its own
process, and they run in turns, while the others rest.  `loss` is the largest relative difference of the losses over the first 200
steps from those of PyTorch in float64, of Sardonyx and of PyTorch, eager, in float32, from the same weights; each step has another minibatch,
and classes drawn at random.  Adam divides small gradients by small numbers, so both depend on how sums were rounded.  Memory is the peak of the process beyond what imports take.  Needs the group `bench-torch` and onnx.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import json
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np

from sardonyx._src.ir.tensors import Array
from training_networks import NETWORKS, Network, build

ENGINES = ("sardonyx", "eager", "compiled")
BURST, TURNS, LOSS_STEPS, WARM_STEPS = 1.0, 7, 200, 3
OPSET = 17
Step: TypeAlias = Callable[[Array, Array], float]  # of an input and classes, to the loss


@dataclass(frozen=True)
class Result:
    """Milliseconds of a step, and the losses of the first steps, of one engine; bytes: peak memory beyond imports."""

    milliseconds: float
    losses: list[float]
    bytes: int


def sardonyx_step(network: Network, threads: int) -> Step:
    import torch

    import sardonyx as sx

    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            network.module,
            (network.x,),
            file,
            dynamo=False,
            training=torch.onnx.TrainingMode.TRAINING,
            do_constant_folding=False,
            opset_version=OPSET,
            input_names=["x"],
        )
    exported = sx.load(file.getvalue())
    model = sx.train.prepare(exported, loss="cross_entropy", optimizer="adam", trainable=network.trainable)
    session = sx.TrainingSession(model, threads=threads)

    def step(x: Array, classes: Array) -> float:
        return float(session.step({"x": x, "target": classes})["loss"])  # type: ignore[arg-type]  # a scalar

    return step


def double_step(network: Network, threads: int) -> Step:
    step = torch_step(replace(network, module=network.module.double()), threads, compiled=False)
    return lambda x, classes: step(x.astype(np.float64) if x.dtype == np.float32 else x, classes)


def torch_step(network: Network, threads: int, *, compiled: bool) -> Step:
    import torch

    torch.set_num_threads(threads)
    module = torch.compile(network.module) if compiled else network.module
    weights = [weight for weight in network.module.parameters() if weight.requires_grad]
    optimizer, loss_of = torch.optim.Adam(weights, 1e-3), torch.nn.CrossEntropyLoss()

    def step(x: Array, classes: Array) -> float:
        optimizer.zero_grad()
        loss = loss_of(module(torch.from_numpy(x)), torch.from_numpy(classes))
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    return step


def serve(name: str, engine: str, threads: int) -> None:
    """A worker: prints the first losses, then the milliseconds of a step for each line that it reads.

    Losses are compared on one thread; those of compiled PyTorch are not.
    """
    opening: dict[str, Callable[[Network, int], Step]] = {
        "sardonyx": sardonyx_step,
        "eager": partial(torch_step, compiled=False),
        "compiled": partial(torch_step, compiled=True),
        "double": double_step,
    }
    import torch  # noqa: F401  # before memory is measured

    before = resident("VmRSS")
    network = build(name)
    step = opening[engine](network, threads)
    count = LOSS_STEPS if threads == 1 and engine != "compiled" else WARM_STEPS
    print(json.dumps([step(*network.minibatch(seed)) for seed in range(count)]), flush=True)
    x, classes = network.x.numpy(), network.classes.numpy()
    for _ in sys.stdin:
        end = time.perf_counter() + BURST
        seconds: list[float] = []
        while not seconds or time.perf_counter() < end:
            start = time.perf_counter()
            step(x, classes)
            seconds.append(time.perf_counter() - start)
        print(json.dumps([statistics.median(seconds) * 1e3, resident("VmHWM") - before]), flush=True)


def resident(kind: str) -> int:
    """A memory size of this process, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(kind))


def measure(name: str, threads: int, engines: Iterable[str]) -> dict[str, Result]:
    """The results by engine, and those of PyTorch in float64, without times; engines that fail are left out."""
    exact = read_losses(name) if threads == 1 else []
    workers = {engine: start_worker(name, engine, threads) for engine in engines}
    losses = {engine: read_line(worker) for engine, worker in workers.items()}
    samples: dict[str, list[list[float]]] = {engine: [] for engine in engines}
    for _ in range(TURNS):
        for engine, worker in workers.items():
            if worker.stdin is not None and worker.poll() is None and losses[engine]:
                worker.stdin.write("\n")
                worker.stdin.flush()
                samples[engine].append(read_line(worker))
    for worker in workers.values():
        worker.communicate()
    results = {
        engine: Result(
            statistics.median(ms for ms, _ in rows), losses[engine], int(max(size for _, size in rows))
        )
        for engine, rows in samples.items()
        if rows and all(rows)
    }
    return {**results, "double": Result(0.0, exact, 0)}


def read_losses(name: str) -> list[float]:
    """The losses of PyTorch in float64."""
    worker = start_worker(name, "double", 1)
    losses = read_line(worker)
    worker.communicate()
    return losses


def start_worker(name: str, engine: str, threads: int) -> subprocess.Popen[str]:
    command = [sys.executable, __file__, "--serve", name, engine, str(threads)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def read_line(worker: subprocess.Popen[str]) -> list[float]:
    """The next line of numbers; none at the end."""
    assert worker.stdout is not None, "the output is piped"
    line = worker.stdout.readline()
    return [float(number) for number in json.loads(line)] if line else []


def row(name: str, threads: int, results: dict[str, Result]) -> str:
    """A row of the table."""
    cells = [f"{r.milliseconds:.2f}" if (r := results.get(engine)) else "failed" for engine in ENGINES]
    own, peers = results.get("sardonyx"), [results[e] for e in ENGINES[1:] if e in results]
    ratio = f"{min(p.milliseconds for p in peers) / own.milliseconds:.2f}" if own and peers else ""
    exact = results["double"].losses
    differences = [
        largest_difference(r.losses, exact) for e in ENGINES[:2] if (r := results.get(e)) and exact
    ]
    loss = " / ".join(f"{difference:.0e}" for difference in differences)
    memory = [f"{r.bytes / 1e6:.0f}" if (r := results.get(engine)) else "" for engine in ENGINES]
    return f"| {name} | {threads} | {' | '.join(cells)} | {ratio} | {loss} | {' / '.join(memory)} |"


def largest_difference(losses: list[float], exact: list[float]) -> float:
    """The largest relative difference."""
    return max(abs(a - b) / abs(b) for a, b in zip(losses, exact, strict=True))


def section(names: Iterable[str] = tuple(NETWORKS), threads: Iterable[int] = (1, 2)) -> str | None:
    """The table for docs/generated/benchmarks.md; None without PyTorch."""
    if importlib.util.find_spec("torch") is None:
        return None
    lines = [
        f"| network | threads | {' | '.join(f'{engine}, ms' for engine in ENGINES)} | ratio to the better | loss | memory, MB |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for count in threads:
        for name in names:
            lines.append(row(name, count, measure(name, count, ENGINES)))
            print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a part of the names of networks")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--serve", nargs=3, metavar=("NAME", "ENGINE", "THREADS"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        name, engine, threads = args.serve
        serve(name, engine, int(threads))
    else:
        print(section([name for name in NETWORKS if args.only in name], args.threads))


if __name__ == "__main__":
    main()
