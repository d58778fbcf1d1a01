"""Models compiled into files."""

from __future__ import annotations

from pathlib import Path

from sardonyx.compile.llvm.jit import host
from sardonyx.compile.saved import writing
from sardonyx.interp.program import refuse_missing_kernels
from sardonyx.io.nesting import nesting_limited
from sardonyx.ir.graph import Model
from sardonyx.runtime.arrays import FIELDS
from sardonyx.runtime.helped import helped
from sardonyx.runtime.native import compile_model


def save_compiled(model: Model, path: Path) -> None:
    """Compiles a model for this machine into a file that `Session` opens without compiling anything.

    Raises what a session raises for a model that cannot be run, and SardonyxError where programs cannot be saved.
    """
    refuse_missing_kernels(model)
    with nesting_limited(), helped():
        writing.write(path, model, compile_model(model), host(), FIELDS)
