"""Models compiled into files."""

from __future__ import annotations

from pathlib import Path

from sardonyx._src.compile.llvm.jit import host
from sardonyx._src.compile.saved import writing
from sardonyx._src.interp.program import refuse_missing_kernels
from sardonyx._src.io.nesting import nesting_limited
from sardonyx._src.ir.graph import Model
from sardonyx._src.runtime.arrays import FIELDS
from sardonyx._src.runtime.helped import helped
from sardonyx._src.runtime.native import compile_model


def save_compiled(model: Model, path: Path) -> None:
    """Compiles a model for this machine into a file that `Session` opens without compiling anything.

    Raises what a session raises for a model that cannot be run, and SardonyxError where programs cannot be saved.
    """
    refuse_missing_kernels(model)
    with nesting_limited(), helped():
        writing.write(path, model, compile_model(model), host(), FIELDS)
