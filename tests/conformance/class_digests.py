"""Digests of the results of a group of models, by a process for one class of processors, which `SARDONYX_TARGET` names.

    python class_digests.py GROUP

writes a JSON object with the digest of each case of the group, or the name of the error of one that does not run.  Cases run
on one and on two threads, twice each; a case with several results has several digests.
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.append(str(Path(__file__).parents[2] / "tools"))

from compile.random_layers import sample
from conformance.class_gradients import TRAINING_STEPS, graph_gradients, layer_gradients, training_models
from conformance.class_layers import layers
from conformance.official import OfficialCase, official_cases
from conformance.test_shared_models import FOLDERS, MODELS, reference
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import SardonyxError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.io.loading.load import load
from sardonyx._src.ir import Array, Model
from sardonyx._src.ir.walk import nodes
from sardonyx._src.ops.registry import find
from sardonyx._src.runtime.engine.engine import NativeEngine
from sardonyx._src.runtime.identity.value_digest import NANS, replace_nans
from sardonyx._src.train.training_session import TrainingSession

OFFICIAL_PARTS, LAYER_PARTS, GRAPH_GROUPS, GRAPHS = 24, 8, 8, 15  # GRAPHS: random ones of a group
GRADIENT_GROUPS, GRADIENTS = 4, 30  # of random graphs, and the graphs of one
REFERENCE = "reference kernels"  # the group of official cases whose reference kernels have fixed bits
TRAINING = "training steps"
BY_NUMPY = "computed by NumPy"
Case: TypeAlias = tuple[str, Model, Mapping[str, object]]


def group_names(seed: int) -> list[str]:
    """The names of all groups; seed: of the first random graph."""
    return [
        *(f"official {part}" for part in range(OFFICIAL_PARTS)),
        *(f"network {case}" for case in official_cases() if case.kind == "real"),
        *(f"layers {part}" for part in range(LAYER_PARTS)),
        *(f"shared {name}" for name in FOLDERS),
        *(f"graphs {seed + GRAPHS * i}" for i in range(GRAPH_GROUPS)),
        *(f"graph-gradients {seed + GRADIENTS * i}" for i in range(GRADIENT_GROUPS)),
        *(f"layer-gradients {part}" for part in range(LAYER_PARTS)),
        TRAINING,
        REFERENCE,
    ]


def cases(group: str) -> Iterator[Case]:
    kind, _, which = group.partition(" ")
    if kind == "official":
        small = [case for case in official_cases() if case.kind != "real"]
        yield from run_cases(small[int(which) :: OFFICIAL_PARTS])
    elif kind == "network":
        yield from run_cases([case for case in official_cases() if str(case) == which])
    elif kind == "layers":
        for layer in list(layers())[int(which) :: LAYER_PARTS]:
            yield str(layer), *layer.load()
    elif kind == "shared":
        yield which, load(MODELS / which / "model.onnx"), reference(MODELS / which)[0]
    elif kind == "graph-gradients":
        yield from graph_gradients(range(int(which), int(which) + GRADIENTS))
    elif kind == "layer-gradients":
        yield from layer_gradients(list(layers())[int(which) :: LAYER_PARTS])
    else:
        for drawn in map(sample, range(int(which), int(which) + GRAPHS)):
            for i, feeds in enumerate(drawn.feeds):
                yield f"{drawn.seed} {i}", drawn.model, feeds


def fixed_cases() -> Iterator[Case]:
    """The cases of operators whose reference kernels compute the same bits on every processor, as their traits say."""
    for case in official_cases():
        operators = [find(node.domain, node.op_type) for node in nodes(case.load().graph)]
        if case.kind == "node" and all(op is not None and op.has_fixed_bits(DataType) for op in operators):
            yield from run_cases([case])


def run_cases(chosen: Iterable[OfficialCase]) -> Iterator[Case]:
    for case in chosen:
        model = case.load()
        names = [v.name for v in model.graph.inputs if case.kind != "real" or v.initializer is None]
        for i, (inputs, _) in enumerate(case.data_sets(model)):
            yield f"{case} {i}", model, dict(zip(names, inputs, strict=False))


def digests(model: Model, feeds: Mapping[str, object]) -> list[str]:
    """The digests of the results on one and on two threads, of two runs each: one digest if all are equal.

    The bits of what NumPy computes in place of a kernel depend on the processor: such a case has `BY_NUMPY` as its digest.
    """
    results = []
    for threads in (1, 2):
        engine = NativeEngine(model, threads=threads, seed=1)
        results += [digest(list(engine.run(cast(Any, feeds)).values())) for _ in range(2)]
        stats = engine.stats()
        if stats.bailouts or stats.fallback_nodes:
            return [BY_NUMPY]
    return list(dict.fromkeys(results))


def reference_digests(model: Model, feeds: Mapping[str, object]) -> list[str]:
    """The digest of the results of the reference engine."""
    return [digest(list(Interpreter(model, seed=1).run(cast(Any, feeds)).values()))]


def training_digests(model: Model, feeds: Mapping[str, Array]) -> list[str]:
    """The digests of the state and the loss after some training steps, on one and on two threads."""
    results = []
    for threads in (1, 2):
        session = TrainingSession(model, engine="native", threads=threads, seed=1)
        session.initialize()
        losses = [session.step(feeds)["loss"] for _ in range(TRAINING_STEPS)]
        results.append(digest([*losses, *session.state.values()]))
    return list(dict.fromkeys(results))


def digest(value: object) -> str:
    """The digest of a result: of the type, the shape and the bits of a tensor, and of what is in other values.

    Every NaN counts as the same, as in the digests of `sx.tools.digest`: IEEE 754 leaves its sign to the processor.
    """
    return hashlib.sha256(repr(contents(value)).encode()).hexdigest()[:16]


def contents(value: object) -> object:
    if isinstance(value, list | tuple):
        return [contents(element) for element in value]
    if isinstance(value, dict):
        return {key: contents(element) for key, element in value.items()}
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype == object:
        return value.dtype.str, value.shape, value.tolist()
    dtype = DataType.of(value.dtype)
    bits = replace_nans(value, dtype) if dtype in NANS else value
    return value.dtype.str, value.shape, bits.tobytes()


def computations(group: str) -> Iterator[tuple[str, Callable[[], list[str]]]]:
    """The names of the cases of a group, and the computations of their digests."""
    if group == REFERENCE:
        for name, model, feeds in fixed_cases():
            yield name, partial(reference_digests, model, feeds)
    elif group == TRAINING:
        for name, model, arrays in training_models():
            yield name, partial(training_digests, model, arrays)
    else:
        for name, model, feeds in cases(group):
            yield name, partial(digests, model, feeds)


def main(group: str) -> None:
    warnings.simplefilter("ignore")
    results: dict[str, list[str]] = {}
    for name, compute in computations(group):
        try:
            results[name] = compute()
        except SardonyxError as error:  # the case of a refusal, or a draw that no engine accepts
            results[name] = [type(error).__name__]
    sys.stdout.write(json.dumps(results))


if __name__ == "__main__":
    main(sys.argv[1])
