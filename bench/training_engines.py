"""Engines that train the networks of a benchmark, each in a process of its own: Sardonyx, and PyTorch in several ways."""

from __future__ import annotations

import argparse
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

import sardonyx
from sardonyx._src.ir import Array
from training_networks import NETWORKS, Minibatches, Network, build

BURST = 0.5  # seconds of a measurement
TORCH_PYTHON = os.environ.get("TORCH_PYTHON", sys.executable)
OPSET, MODEL = 17, "training.onnx"
Step: TypeAlias = Callable[[Array, Array], float]  # of an input and classes, to the loss


@dataclass(frozen=True)
class Worker:
    """A process that trains a network with an engine: "sardonyx", or PyTorch's "eager" or "compiled" mode.

    "reversed" and "float64" are PyTorch's eager mode with the examples of each minibatch in reverse order, and in float64.
    folder: with the training model and its data.
    """

    name: str
    engine: str
    threads: int
    steps: int
    rate: float
    folder: Path


# --- in the process of an engine -----------------------------------------------------------------


def export(name: str, rate: float, folder: Path) -> None:
    """Writes the training model of a network and its data; the optimizer is Adam, for a rate of 0 momentum."""
    import torch

    import sardonyx as sx

    network, file = build(name), io.BytesIO()
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
    optimizer = sx.train.Adam(rate=rate) if rate else sx.train.Momentum(rate=1e-3)
    exported, trainable = sx.load(file.getvalue()), network.trainable
    model = sx.train.prepare(exported, loss="cross_entropy", optimizer=optimizer, trainable=trainable)
    sx.save(model, folder / MODEL)
    Minibatches.of(network).save(folder)


def sardonyx_step(threads: int, folder: Path) -> Step:
    import sardonyx as sx

    session = sx.TrainingSession(folder / MODEL, threads=threads)

    def step(x: Array, classes: Array) -> float:
        return float(session.step({"x": x, "target": classes})["loss"])  # a scalar

    return step


def torch_step(network: Network, worker: Worker) -> Step:
    import torch

    torch.set_num_threads(worker.threads)
    module = torch.compile(network.module) if worker.engine == "compiled" else network.module
    weights = [weight for weight in network.module.parameters() if weight.requires_grad]
    optimizer, loss_of = torch.optim.Adam(weights, worker.rate), torch.nn.CrossEntropyLoss()

    def step(x: Array, classes: Array) -> float:
        optimizer.zero_grad()
        loss = loss_of(module(torch.from_numpy(x)), torch.from_numpy(classes))
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    return step


def make_step(worker: Worker) -> Step:
    """The training step of an engine."""
    if worker.engine == "sardonyx":
        return sardonyx_step(worker.threads, worker.folder)
    network = build(worker.name)
    if worker.engine == "float64":
        network.module.double()
    step = torch_step(network, worker)
    if worker.engine == "reversed":
        return lambda x, classes: step(x[::-1].copy(), reverse_examples(classes, len(x)))
    if worker.engine != "float64":
        return step
    return lambda x, classes: step(x if x.dtype.kind == "i" else x.astype(np.float64), classes)


def reverse_examples(classes: Array, count: int) -> Array:
    """The classes of `count` examples, of one or more each, in reverse order of the examples."""
    return classes.reshape(count, -1)[::-1].reshape(-1).copy()


def serve(worker: Worker) -> None:
    """A worker: prints the losses of the first steps, then the milliseconds of a step for each line that it reads."""
    import torch  # noqa: F401  # both are imported before memory is measured, in all workers

    import sardonyx.train  # noqa: F401

    data = Minibatches.load(worker.folder)
    before = resident("VmRSS")
    step = make_step(worker)
    print(json.dumps([step(*data.draw(seed)) for seed in range(worker.steps)]), flush=True)
    for _ in sys.stdin:
        end = time.perf_counter() + BURST
        seconds: list[float] = []
        while not seconds or time.perf_counter() < end:
            start = time.perf_counter()
            step(data.x, data.classes)
            seconds.append(time.perf_counter() - start)
        print(json.dumps([statistics.median(seconds) * 1e3, resident("VmHWM") - before]), flush=True)


def resident(kind: str) -> int:
    """A memory size of this process, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(kind))


def write_gradients(name: str, engine: str, folder: Path) -> None:
    """Writes the gradients of the first step by parameter, as `{engine}.npz`."""
    import torch

    import sardonyx as sx

    data = Minibatches.load(folder)
    if engine == "sardonyx":  # the velocity of momentum is the gradient after one step
        session = sx.TrainingSession(folder / MODEL, threads=1)
        session.step({"x": data.x, "target": data.classes})
        suffix = "_velocity"
        gradients = {key.removesuffix(suffix): v for key, v in session.state.items() if key.endswith(suffix)}
        save_arrays(folder / f"{engine}.npz", gradients)
        return
    network = build(name)
    x = torch.from_numpy(data.x)
    if engine == "float64":
        network.module.double()
        x = x.double() if x.is_floating_point() else x
    torch.nn.CrossEntropyLoss()(network.module(x), torch.from_numpy(data.classes)).backward()
    parameters = network.module.named_parameters()
    gradients = {key: p.grad.numpy() for key, p in parameters if p.grad is not None}
    save_arrays(folder / f"{engine}.npz", gradients)


def save_arrays(path: Path, arrays: Mapping[str, Array]) -> None:
    np.savez(path, allow_pickle=False, **arrays)


# --- in the process of the benchmark -------------------------------------------------------------


@contextmanager
def exported_network(name: str, rate: float) -> Iterator[Path]:
    """A folder with the training model and the data of a network, written by another process."""
    with tempfile.TemporaryDirectory() as folder:
        call("--export", name, rate, folder)
        yield Path(folder)


def call(*arguments: object) -> None:
    """Runs this module in the Python of PyTorch."""
    command = [TORCH_PYTHON, __file__, *map(str, arguments)]
    subprocess.run(command, check=True, env=worker_environment(), stdout=subprocess.DEVNULL)


def start(worker: Worker) -> subprocess.Popen[str]:
    command = [TORCH_PYTHON, __file__, "--serve", *map(str, astuple(worker))]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=worker_environment()
    )


def worker_environment() -> dict[str, str]:
    sources = str(Path(sardonyx.__file__).resolve().parent.parent)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([sources, os.environ.get("PYTHONPATH", "")])}


def read_line(worker: subprocess.Popen[str]) -> list[float]:
    """The next line of numbers; none at the end."""
    assert worker.stdout is not None, "the output is piped"
    line = worker.stdout.readline()
    return [float(number) for number in json.loads(line)] if line else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--serve", nargs=6, metavar=("NAME", "ENGINE", "THREADS", "STEPS", "RATE", "FOLDER"))
    group.add_argument("--export", nargs=3, metavar=("NAME", "RATE", "FOLDER"))
    group.add_argument("--gradients", nargs=3, metavar=("NAME", "ENGINE", "FOLDER"))
    args = parser.parse_args()
    name: str = (args.serve or args.export or args.gradients)[0]
    if name not in NETWORKS:
        parser.error(f"the network must be one of {', '.join(NETWORKS)}; got {name}")
    if args.serve:
        _, engine, threads, steps, rate, folder = args.serve
        serve(Worker(name, engine, int(threads), int(steps), float(rate), Path(folder)))
    elif args.export:
        export(name, float(args.export[1]), Path(args.export[2]))
    else:
        write_gradients(name, args.gradients[1], Path(args.gradients[2]))


if __name__ == "__main__":
    main()
