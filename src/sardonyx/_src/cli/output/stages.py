"""The intermediate stages of native compilation, printed for `run --show`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sardonyx._src.cli.output.streams import printable, write_out
from sardonyx._src.compile import printer
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.program.memory_plan import plan_memory
from sardonyx._src.interp.program import check_kernels
from sardonyx._src.io.nesting import limit_nesting
from sardonyx._src.ir.model import Model
from sardonyx._src.runtime.native_program import compile_model


def print_stage(stage: str, model: Model, lengths: Mapping[str, int]) -> None:
    """Prints a stage of the compiled program, with `lengths` substituted for dimension variables.

    Raises the errors of a session for a model that cannot be run.
    """
    check_kernels(model)
    with limit_nesting():
        write_out(f"{line}\n" for line in lines(stage, model, lengths))


def lines(stage: str, model: Model, lengths: Mapping[str, int]) -> Iterator[str]:
    program, formatter = compile_model(model), printer.ProgramFormatter(lengths)
    match stage:
        case "steps":
            text = printer.format_steps(program, formatter)
        case "loops":
            text = printer.format_loops(program, formatter)
        case "plan":
            text = printer.format_memory_plan(program, plan_memory(program), formatter)
        case _:
            assert stage == "llvm", f"unknown stage {stage}"
            yield from printer.format_llvm(program, host_target())
            return
    yield from map(printable, text)
