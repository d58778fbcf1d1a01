"""Inference engines by name: Sardonyx, and others that are optional and used only for comparison."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sardonyx._src.compile.program import EXACT, Precision
from sardonyx._src.errors import InputError, SardonyxError
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.runtime.session.session import Engine, Session

OURS = "sardonyx"
ENGINE: Engine = "native"  # the engine of this package that the name `sardonyx` means

Feeds = Mapping[str, object]
Run = Callable[[Feeds], Iterable[RuntimeValue]]


def open_engine(name: str, path: str, threads: int, precision: Precision = EXACT) -> Run:
    """A function that runs a model file on `threads` threads and returns the outputs in the order of the model.

    precision: the precision of products; onnxruntime has only float32.  Raises InputError for an engine that is unknown or
    not installed.  Both this function and the returned one raise SardonyxError for a model that the engine rejects.
    """
    if name == OURS:
        session = Session(path, engine=ENGINE, threads=threads, precision=precision, start="compiled")
        return lambda feeds: session.run(feeds).values()
    package = importlib.import_module(require_engine(name))
    try:
        run = OTHERS[name](package, path, threads, precision)
    except Exception as error:  # exceptions of engines have no other common base
        raise engine_error(name, error) from error
    return wrap_errors(name, run)


def require_engine(name: str) -> str:
    """The name of another engine; raises InputError unless it is known and installed."""
    if name not in OTHERS:
        raise InputError(f"an engine must be one of {', '.join(OTHERS)}; got {name!r}", name=name)
    if importlib.util.find_spec(name) is None:
        raise InputError(f"{name} must be installed; run: pip install {name}", name=name)
    return name


def wrap_errors(name: str, run: Run) -> Run:
    """`run` with every exception converted to a SardonyxError that names the engine."""

    def run_engine(feeds: Feeds) -> Iterable[RuntimeValue]:
        try:
            return run(feeds)
        except Exception as error:  # exceptions of engines have no other common base
            raise engine_error(name, error) from error

    return run_engine


def engine_error(name: str, error: Exception) -> SardonyxError:
    """The SardonyxError for an exception of another engine."""
    return SardonyxError(f"{name} rejects the model: {' '.join(str(error).split())}")


def onnxruntime(package: Any, path: str, threads: int, _precision: Precision) -> Run:
    options = package.SessionOptions()
    options.intra_op_num_threads = threads
    options.graph_optimization_level = package.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 3  # errors only; they are raised as exceptions, too
    session = package.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda feeds: session.run(None, feeds)


def openvino(package: Any, path: str, threads: int, precision: Precision) -> Run:
    config = {
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": "f32" if precision == EXACT else precision,
    }
    model = package.Core().compile_model(path, "CPU", config)
    return lambda feeds: model(feeds).values()


OTHERS: dict[str, Callable[[Any, str, int, Precision], Run]] = {
    "onnxruntime": onnxruntime,
    "openvino": openvino,
}
