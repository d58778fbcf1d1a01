"""Compiles models into `.sdx` files."""

from __future__ import annotations

from pathlib import Path

from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.program.defects import typed_defects
from sardonyx._src.grad.runnable import without_gradient_nodes
from sardonyx._src.interp.program import check_kernels
from sardonyx._src.io.nesting import limit_nesting
from sardonyx._src.ir.model import Model
from sardonyx._src.runtime.arrays import FIELDS
from sardonyx._src.runtime.async_compilation import async_compilation
from sardonyx._src.runtime.declaration_analysis import analyze_declarations
from sardonyx._src.runtime.native_program import compile_for_host
from sardonyx._src.runtime.saved_programs import writing


def save_compiled(model: Model, path: Path) -> None:
    """Compiles a model for this machine into a file that `Session` opens without compiling anything.

    Raises what a session raises for a model that cannot be run, MissingPackage without llvmlite, and SardonyxError on
    systems without saved programs.
    """
    model = without_gradient_nodes(model)
    check_kernels(model)
    with typed_defects("compile"), limit_nesting(), async_compilation():
        executable = compile_for_host(model)
        writing.write_program(path, model, analyze_declarations(model), executable, host_target(), FIELDS)
