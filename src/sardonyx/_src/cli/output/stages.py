"""The stages of native compilation, printed for `run --show`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sardonyx._src.cli.output.streams import printable, write_out
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.partition import RegionGraph
from sardonyx._src.compile.pipeline import compile_stages
from sardonyx._src.compile.printing.formatter import ProgramFormatter
from sardonyx._src.compile.printing.kernels import format_kernels, format_llvm
from sardonyx._src.compile.printing.layouts import format_layouts
from sardonyx._src.compile.printing.loops import format_loops
from sardonyx._src.compile.printing.plan import format_memory_plan
from sardonyx._src.compile.printing.regions import format_regions
from sardonyx._src.compile.printing.steps import format_steps
from sardonyx._src.compile.program import EXACT, Precision
from sardonyx._src.compile.program.encoding.executable import Executable
from sardonyx._src.compile.program.verification.defects import typed_defects
from sardonyx._src.grad.runnable import without_gradient_nodes
from sardonyx._src.interp.program import check_kernels
from sardonyx._src.io.nesting import limit_nesting
from sardonyx._src.ir import Model
from sardonyx._src.runtime.programs.precision import require_precision
from sardonyx._src.runtime.runs.native_program import constant_evaluation


def print_stage(stage: str, model: Model, lengths: Mapping[str, int], precision: Precision = EXACT) -> None:
    """Prints a stage of compilation, with `lengths` substituted for dimension variables.

    Raises the errors of a session for a model that cannot be run.
    """
    require_precision(precision)
    model = without_gradient_nodes(model)
    check_kernels(model)
    with typed_defects("compile"), limit_nesting():
        lines = format_stage(stage, model, ProgramFormatter(lengths), precision)
        write_out(f"{line if stage == 'llvm' else printable(line)}\n" for line in lines)


def format_stage(
    stage: str, model: Model, formatter: ProgramFormatter, precision: Precision = EXACT
) -> Iterator[str]:
    """The lines of a stage."""
    laid_out, executable = compile_stages(
        model, host_target(), precision=precision, evaluate=constant_evaluation(tolerant=False)
    )
    if stage == "regions":
        return format_regions(laid_out.graph, formatter)
    if stage == "layouts":
        return format_layouts(laid_out, formatter)
    return format_executable(stage, executable, laid_out.graph, formatter)


def format_executable(
    stage: str, executable: Executable, regions: RegionGraph, formatter: ProgramFormatter
) -> Iterator[str]:
    """The lines of one of the last stages."""
    program, target = executable.program, host_target()
    match stage:
        case "steps":
            return format_steps(program, formatter)
        case "loops":
            return format_loops(program, regions, target, formatter)
        case "plan":
            return format_memory_plan(executable, formatter)
        case "kernels":
            return format_kernels(program)
        case _:
            assert stage == "llvm", f"unknown stage {stage}"
            return format_llvm(program, target)
