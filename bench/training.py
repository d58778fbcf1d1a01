"""How fast is a training step, compared with PyTorch, eager and compiled?

A step is forward pass, cross entropy, backward pass and Adam, in float32; those that are measured have fixed data.  The networks are PyTorch modules, and
exported to ONNX with their weights for Sardonyx, which reads the file and runs what `sx.train.prepare` made of it.  Each engine has its own
process, and they run in turns, while the others rest.  `ratio` is the time of the faster of PyTorch's two over that of Sardonyx.  Memory is the peak of the process beyond what the imports of PyTorch and of Sardonyx
take, in MB.

`losses` are compared over 200 steps from the same weights, each with another minibatch and classes drawn at random: the largest relative difference between Sardonyx and PyTorch, eager, on one thread / between PyTorch and
itself from weights that are changed by at most a unit in the last place, at the learning rates of the columns.  The second is what rounding changes.  Adam divides small gradients by small numbers, and a rectifier or a maximum that sees another sign
changes a gradient as a whole, so that a difference of the last digit can grow with each step; the lower the rate, the less it does.

Needs the group `bench-torch` and onnx, in this Python or in the one that TORCH_PYTHON names.  With TRAINING_STATE, the name of a folder, results are kept there, and those of
earlier calls are read instead of measured.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias, TypeVar

import sardonyx
from sardonyx._src.ir.tensors import Array
from training_networks import NETWORKS, Minibatches, Network, build, nudge

ENGINES = ("sardonyx", "eager", "compiled")
BURST, TURNS, LOSS_STEPS, WARM_STEPS = 0.5, 5, 200, 5
TORCH_PYTHON = os.environ.get("TORCH_PYTHON", sys.executable)
STATE = os.environ.get("TRAINING_STATE")
RATES = 1e-3, 1e-4
OPSET, MODEL = 17, "training.onnx"
Answer = TypeVar("Answer")
Step: TypeAlias = Callable[[Array, Array], float]  # of an input and classes, to the loss


@dataclass(frozen=True)
class Worker:
    """A process that trains a network with an engine.  folder: with its training model and its data."""

    name: str
    engine: str
    threads: int
    steps: int
    rate: float
    folder: Path


@dataclass(frozen=True)
class Result:
    """Milliseconds of a step of one engine; bytes: peak memory beyond imports."""

    milliseconds: float
    bytes: int


def export(name: str, rate: float, folder: Path) -> None:
    """Writes the training model of a network."""
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
    exported, optimizer = sx.load(file.getvalue()), sx.train.Adam(rate=rate)
    model = sx.train.prepare(exported, loss="cross_entropy", optimizer=optimizer, trainable=network.trainable)
    sx.save(model, folder / MODEL)


def sardonyx_step(threads: int, folder: Path) -> Step:
    import sardonyx as sx

    session = sx.TrainingSession(folder / MODEL, threads=threads)

    def step(x: Array, classes: Array) -> float:
        return float(session.step({"x": x, "target": classes})["loss"])  # a scalar

    return step


def torch_step(network: Network, threads: int, rate: float, *, compiled: bool) -> Step:
    import torch

    torch.set_num_threads(threads)
    module = torch.compile(network.module) if compiled else network.module
    weights = [weight for weight in network.module.parameters() if weight.requires_grad]
    optimizer, loss_of = torch.optim.Adam(weights, rate), torch.nn.CrossEntropyLoss()

    def step(x: Array, classes: Array) -> float:
        optimizer.zero_grad()
        loss = loss_of(module(torch.from_numpy(x)), torch.from_numpy(classes))
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    return step


def serve(worker: Worker) -> None:
    """A worker: prints the losses of the first steps, then the milliseconds of a step for each line that it reads."""
    import torch  # noqa: F401  # both are imported before memory is measured, in all workers

    import sardonyx.train  # noqa: F401

    data = Minibatches.load(worker.folder)
    before = resident("VmRSS")
    if worker.engine == "sardonyx":
        step = sardonyx_step(worker.threads, worker.folder)
    else:
        compiled = worker.engine == "compiled"
        network = nudge(build(worker.name)) if worker.engine == "nudged" else build(worker.name)
        step = torch_step(network, worker.threads, worker.rate, compiled=compiled)
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


def measure(name: str, threads: int) -> dict[str, Result]:
    """The results by engine; engines that fail are left out."""
    with exported_network(name, RATES[0]) as folder:
        workers = {
            engine: start(Worker(name, engine, threads, WARM_STEPS, RATES[0], folder)) for engine in ENGINES
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


def compare_losses(name: str, rate: float) -> tuple[float, float]:
    """The largest differences of the losses of Sardonyx, and of PyTorch from other roundings of the weights, from those of PyTorch."""
    with exported_network(name, rate) as folder:
        own, base, nudged = (
            read_losses(Worker(name, engine, 1, LOSS_STEPS, rate, folder))
            for engine in ("sardonyx", "eager", "nudged")
        )
    return largest_difference(own, base), largest_difference(nudged, base)


def read_losses(worker: Worker) -> list[float]:
    """The losses of the first steps."""
    process = start(worker)
    losses = read_line(process)
    process.communicate()
    return losses


@contextmanager
def exported_network(name: str, rate: float) -> Iterator[Path]:
    """A folder with the training model and the data of a network, written by another process."""
    with tempfile.TemporaryDirectory() as folder:
        command = [TORCH_PYTHON, __file__, "--export", name, str(rate), folder]
        subprocess.run(command, check=True, env=worker_environment(), stdout=subprocess.DEVNULL)
        yield Path(folder)


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


def largest_difference(losses: list[float], base: list[float]) -> float:
    """The largest relative difference; infinite if an engine failed."""
    if not losses or not base:
        return float("inf")
    return max(abs(a - b) / abs(b) for a, b in zip(losses, base, strict=True))


def recall(key: str, answer: Callable[[], Answer]) -> Answer:
    """A result of the folder TRAINING_STATE, or a new one, which is kept there."""
    if STATE is None:
        return answer()
    path = Path(STATE) / f"{re.sub('[^a-z0-9]+', '_', key.lower())}.json"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(answer()), encoding="utf-8")
    kept: Answer = json.loads(path.read_text(encoding="utf-8"))
    return kept


def times_row(name: str, threads: int) -> str:
    """A row of the first table: times, and memory."""
    measured = recall(
        f"times {name} {threads}", lambda: {k: asdict(r) for k, r in measure(name, threads).items()}
    )
    results = {engine: Result(**result) for engine, result in measured.items()}
    cells = [f"{r.milliseconds:.2f}" if (r := results.get(engine)) else "failed" for engine in ENGINES]
    own, peers = results.get("sardonyx"), [results[e] for e in ENGINES[1:] if e in results]
    ratio = f"{min(p.milliseconds for p in peers) / own.milliseconds:.2f}" if own and peers else ""
    memory = [f"{r.bytes / 1e6:.0f}" if (r := results.get(engine)) else "" for engine in ENGINES]
    return f"| {name} | {threads} | {' | '.join(cells)} | {ratio} | {' / '.join(memory)} |"


def losses_row(name: str) -> str:
    """A row of the second table: differences of losses at each rate."""
    differences = [recall(f"losses {name} {rate}", partial(compare_losses, name, rate)) for rate in RATES]
    return f"| {name} | {' | '.join(f'{own:.0e} / {peer:.0e}' for own, peer in differences)} |"


def section(
    names: Iterable[str] = tuple(NETWORKS), threads: Iterable[int] = (1, 2), parts: str = ""
) -> str | None:
    """The tables for docs/generated/benchmarks.md; None without PyTorch.  parts: "times", "losses", or both."""
    if "TORCH_PYTHON" not in os.environ and importlib.util.find_spec("torch") is None:
        return None
    names, lines = tuple(names), []
    if parts != "losses":
        head = f"| network | threads | {' | '.join(f'{engine}, ms' for engine in ENGINES)} | ratio to the better | memory |"
        lines += [head, "|---" * 7 + "|", *(times_row(name, count) for count in threads for name in names)]
    if parts != "times":
        head = f"| network | {' | '.join(f'losses, rate {rate}' for rate in RATES)} |"
        lines += ["", head, "|---" * (1 + len(RATES)) + "|", *map(losses_row, names)]
    return "\n".join(lines).strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a part of the names of networks")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--part", choices=["times", "losses"], default="", help="one of the tables")
    parser.add_argument("--serve", nargs=6, help=argparse.SUPPRESS)
    parser.add_argument("--export", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        name, engine, threads, steps, rate, folder = args.serve
        serve(Worker(name, engine, int(threads), int(steps), float(rate), Path(folder)))
    elif args.export:
        name, rate, folder = args.export
        export(name, float(rate), Path(folder))
        Minibatches.of(build(name)).save(Path(folder))
    else:
        print(section([name for name in NETWORKS if args.only in name], args.threads, args.part))


if __name__ == "__main__":
    main()
