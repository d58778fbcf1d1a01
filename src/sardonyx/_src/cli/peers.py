"""Engines by name, ours and others: the others are only ever measured, and whoever wants that installs them."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sardonyx._src.errors import InputError, SardonyxError
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.runtime.session import Engine, Session

OURS = "sardonyx"
ENGINE: Engine = "native"  # of ours

Feeds = Mapping[str, object]
Run = Callable[[Feeds], Iterable[RuntimeValue]]


def opened(name: str, path: str, threads: int) -> Run:
    """A function that runs a model file on so many threads and hands out its outputs in the model's order.

    Raises InputError for an engine that nobody knows or that is not installed, and SardonyxError, as the function does
    later on, for what the engine itself refuses.
    """
    if name == OURS:
        session = Session(path, engine=ENGINE, threads=threads)
        return lambda feeds: session.run(feeds).values()
    package = importlib.import_module(known(name))
    try:
        run = OTHERS[name](package, path, threads)
    except Exception as error:
        raise refusal(name, error) from error
    return refusing(name, run)


def known(name: str) -> str:
    """The name, which is one of another engine that is installed; raises InputError otherwise."""
    if name not in OTHERS:
        raise InputError(f"no engine {name!r} is known; there are {', '.join(OTHERS)}", name=name)
    if importlib.util.find_spec(name) is None:
        raise InputError(f"{name} is not installed: pip install {name}", name=name)
    return name


def refusing(name: str, run: Run) -> Run:
    """The same, with whatever another engine raises as a SardonyxError that names the engine."""

    def told(feeds: Feeds) -> Iterable[RuntimeValue]:
        try:
            return run(feeds)
        except Exception as error:
            raise refusal(name, error) from error

    return told


def refusal(name: str, error: Exception) -> SardonyxError:
    """The error to raise for any one of another engine, whose classes have nothing else in common."""
    return SardonyxError(f"{name} refuses the model: {' '.join(str(error).split())}")


def onnxruntime(package: Any, path: str, threads: int) -> Run:
    options = package.SessionOptions()
    options.intra_op_num_threads = threads
    options.graph_optimization_level = package.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 3  # errors, which are raised, too
    session = package.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda feeds: session.run(None, feeds)


def openvino(package: Any, path: str, threads: int) -> Run:
    wanted = {
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": "f32",
    }
    model = package.Core().compile_model(path, "CPU", wanted)
    return lambda feeds: model(feeds).values()


OTHERS: dict[str, Callable[[Any, str, int], Run]] = {"onnxruntime": onnxruntime, "openvino": openvino}
