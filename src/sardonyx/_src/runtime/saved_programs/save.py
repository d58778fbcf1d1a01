"""Compiles models into saved programs, `.sdx` files."""

from __future__ import annotations

from pathlib import Path

from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.lower.operators.own_kernel import C_FUNCTION_KEY
from sardonyx._src.compile.program import EXACT, Precision
from sardonyx._src.compile.program.steps.program import Program
from sardonyx._src.compile.program.verification.defects import typed_defects
from sardonyx._src.errors import SardonyxError
from sardonyx._src.grad.runnable import without_gradient_nodes
from sardonyx._src.interp.program import check_kernels
from sardonyx._src.io.nesting import limit_nesting
from sardonyx._src.ir import Model
from sardonyx._src.runtime.declarations.declaration_analysis import analyze_declarations
from sardonyx._src.runtime.programs.arrays import FIELDS
from sardonyx._src.runtime.programs.async_compilation import async_compilation
from sardonyx._src.runtime.programs.precision import require_precision
from sardonyx._src.runtime.runs.native_program import compile_for_host
from sardonyx._src.runtime.saved_programs import writing


def refuse_c_functions(program: Program) -> None:
    """Raises SardonyxError for a program that calls C functions: their addresses are valid only in this process."""
    for step in program.steps:
        if step.kernel.key.startswith(C_FUNCTION_KEY):
            what = f"node {step.nodes[0] if step.nodes else ''!r} calls a C function of this process"
            raise SardonyxError(
                f"{what}, which no file can hold; define its operator by a kernel or an expression"
            )


def save_compiled(model: Model, path: Path, precision: Precision = EXACT) -> None:
    """Compiles a model for this machine into a file that `Session` opens without compiling anything.

    precision: as of `Session`.
    Raises what a session raises for a model that cannot be run, MissingPackage without llvmlite, and SardonyxError on
    systems without saved programs.
    """
    require_precision(precision)
    model = without_gradient_nodes(model)
    check_kernels(model)
    with typed_defects("compile"), limit_nesting(), async_compilation():
        executable = compile_for_host(model, precision=precision)
        refuse_c_functions(executable.program)
        writing.write_program(path, model, analyze_declarations(model), executable, host_target(), FIELDS)
