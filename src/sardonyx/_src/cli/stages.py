"""The stages that a model passes on its way to native code, printed one a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sardonyx._src.cli.streams import printable, write_out
from sardonyx._src.compile import show
from sardonyx._src.compile.llvm.jit import host
from sardonyx._src.compile.plan import planned
from sardonyx._src.interp.program import refuse_missing_kernels
from sardonyx._src.io.nesting import nesting_limited
from sardonyx._src.ir.graph import Model
from sardonyx._src.runtime.native import compile_model


def print_stage(stage: str, model: Model, lengths: Mapping[str, int]) -> None:
    """Prints a stage of a model's program, `lengths` in place of the variables that they are of.

    Raises what a session raises for a model that cannot be run.
    """
    refuse_missing_kernels(model)
    with nesting_limited():
        write_out(f"{line}\n" for line in lines(stage, model, lengths))


def lines(stage: str, model: Model, lengths: Mapping[str, int]) -> Iterator[str]:
    program, names = compile_model(model), show.Names(lengths)
    match stage:
        case "steps":
            found = show.steps(program, names)
        case "loops":
            found = show.loops(program, names)
        case "plan":
            found = show.memory(program, planned(program), names)
        case _:
            assert stage == "llvm", f"there is no stage {stage}"
            yield from show.llvm(program, host())
            return
    yield from map(printable, found)
