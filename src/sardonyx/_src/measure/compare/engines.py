"""Runs of a model that return inner values, on the engines of this package and on others."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence

from sardonyx._src.infer.walk import infer_partially
from sardonyx._src.io.saving.save import save
from sardonyx._src.ir import Model
from sardonyx._src.measure.engines import open_engine
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.runtime.session.session import Session
from sardonyx._src.runtime.session.session_origin import ENGINES, Engine

Probe = Callable[[Sequence[str]], dict[str, RuntimeValue]]


def probe_of(model: Model, engine: str, feeds: Mapping[str, object]) -> Probe:
    """A function that runs a model and returns the named values of its main graph."""

    def probe(names: Sequence[str]) -> dict[str, RuntimeValue]:
        probed = with_outputs(model, names)
        if engine in ENGINES:
            ours: Engine = (
                "native" if engine == "native" else "reference" if engine == "reference" else "auto"
            )
            return Session(probed, engine=ours, shapes="off", seed=0).run(feeds)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            save(probed, path)
            results = open_engine(engine, path, 1)(feeds)
            return dict(zip((value.name for value in probed.graph.outputs), results, strict=True))

    return probe


def with_outputs(model: Model, names: Sequence[str]) -> Model:
    """A copy of a model whose outputs are these values."""
    result = infer_partially(model.copy()).model
    graph = result.graph
    graph.outputs = [graph.value(name) for name in names]
    return result
