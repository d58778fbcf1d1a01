"""Tools that compile or run models, as functions of paths, bytes and models."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from sardonyx._src.arguments import (
    require_integer,
    require_path,
    require_text,
    texts_of,
)
from sardonyx._src.compile.program import EXACT, Precision
from sardonyx._src.io.loading.load import ModelSource, resolve_model
from sardonyx._src.io.saving.save import save
from sardonyx._src.measure.engines import OURS, require_engine
from sardonyx._src.measure.feeds import complete_feeds
from sardonyx._src.measure.timing import EngineTiming, measure_engines
from sardonyx._src.runtime.saved_programs.writing import save_compiled


def bench(
    model: ModelSource,
    feeds: Mapping[str, object] | None = None,
    *,
    against: Sequence[str] = (),
    threads: int = 1,
    turns: int = 15,
    seed: int = 0,
    dims: Mapping[str, int] | None = None,
    precision: Precision = EXACT,
) -> list[EngineTiming]:
    """The latency of Sardonyx and of other installed engines on a model, measured in one process with interleaved calls.

    feeds: inputs by name; missing ones are random, with `seed` and the lengths `dims` of dimension variables.
    against: other engines: "onnxruntime", "openvino".
    turns: the number of rounds of measurement.
    precision: the precision of products, as for `Session`, in the engines that support it.
    Raises InputError for engines that are unknown or not installed.
    """
    require_integer("threads", threads, 1)
    require_integer("turns", turns, 1)
    engines = [OURS, *(require_engine(name) for name in texts_of("against", against))]
    resolved = resolve_model(model)
    values = complete_feeds(resolved, feeds, seed, dims)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        save(resolved, path)
        return measure_engines(path, engines, threads, values, turns, precision=precision)


def compile(
    model: ModelSource,
    target: str | os.PathLike[str],
    *,
    precision: Precision = EXACT,
    processor: str | None = None,
) -> Path:
    """Compiles a model into a `.sdx` file, and returns its path.

    precision: as for `Session`.
    processor: the class of the processors that will run it, as "aarch64"; by default that of this one.  It may be of
    another kind of machine: Linux on x86-64, AArch64 or RISC-V.
    """
    require_path("target", target)
    if processor is not None:
        require_text("processor", processor)
    path = Path(target)
    save_compiled(resolve_model(model), path, precision, processor or "")
    return path
