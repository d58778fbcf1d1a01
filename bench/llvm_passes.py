"""Where does LLVM's time go on our kernels, and what would the passes of -O1 take?

    python bench/llvm_passes.py [--only squeezenet,encoder] [--out PAGE]

The kernels are those of networks of `.bench/zoo`, for the class of this processor.  *Text* is the time in which we generate
the modules; the other columns are LLVM's: parsing them, passes, and code generation.  *-O1* is the sum of LLVM's columns
if all modules run the function passes of -O1, and if those of `compiler.LONG_MODULE` characters run the short
pipeline, as they do.  The lists below are of the long modules of all networks, each once, by LLVM's own timers.
All times are milliseconds of processor time, in one process.
"""

from __future__ import annotations

import argparse
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

import sardonyx as sx
from latency import header, line
from measure import BUILD, FOLDER, stamp
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.llvm import compiler
from sardonyx._src.compile.llvm.jit import Module, host_target
from sardonyx._src.compile.llvm.loaded_kernels import kernel_module
from sardonyx._src.compile.pipeline import compile_model

PAGE = FOLDER.parent / "docs" / "generated" / "llvm_passes.md"
NETWORKS = ("squeezenet", "resnet50", "mobilenet_v2", "efficientnet_b0", "encoder", "packed_decoder")
STAGES = ("text", "parse", "passes", "code generation")
SHOWN = 12  # passes
COLUMN = re.compile(
    r"([\d.]+) \(\s*[\d.]+%\)"
)  # of a report: user's, system's if any, their sum, wall clock's


@dataclass
class Times:
    """Milliseconds of processor time by names."""

    spent: Counter[str] = field(default_factory=Counter)

    def call(self, name: str, function: Callable[..., Any], *arguments: object, **options: object) -> Any:
        start = time.process_time()
        result = function(*arguments, **options)
        self.spent[name] += (time.process_time() - start) * 1e3  # type: ignore[assignment]  # of floats
        return result


def network_modules(name: str, target: Target) -> dict[str, Module]:
    """The modules of the kernels of a network by their names."""
    program = compile_model(sx.load(BUILD / "zoo" / f"{name}.onnx"), target).program
    modules = [kernel_module(kernel, target) for kernel in program.kernels]
    return {module.name: module for module in modules}


def compile_text(times: Times, text: str, target: Target, *, short: bool) -> None:
    """Adds the times of each stage; short: whether long modules run the short pipeline."""
    module = times.call("parse", llvm.parse_assembly, text)
    machine = compiler.create_target_machine(target.triple, target.cpu, target.features)
    module.triple, module.data_layout = target.triple, str(machine.target_data)
    is_long = short and len(text) >= compiler.LONG_MODULE
    times.call("passes", compiler.run_passes, module, machine, is_long=is_long)
    times.call("code generation", machine.emit_object, module)


def network_row(name: str, modules: Mapping[str, Module], target: Target) -> str:
    ours, o1 = Times(), Times()
    texts = [ours.call("text", module.text) for module in modules.values()]
    for text in texts:
        compile_text(ours, text, target, short=True)
        compile_text(o1, text, target, short=False)
    sums = [sum(times.spent[stage] for stage in STAGES[1:]) for times in (ours, o1)]
    longest = sum(len(text) for text in texts if len(text) >= compiler.LONG_MODULE) / sum(map(len, texts))
    stages = (f"{ours.spent[stage]:.0f}" for stage in STAGES)
    size = f"{sum(map(len, texts)) / 1e3:.0f}"
    return line(
        name,
        len(texts),
        size,
        f"{longest:.0%}",
        *stages,
        *(f"{s:.0f}" for s in sums),
        f"{sums[0] / sums[1]:.2f}",
    )


def pass_times(texts: Iterable[str], target: Target, *, short: bool) -> tuple[Counter[str], Counter[str]]:
    """Milliseconds by pass on the modules: of passes on IR, and of code generation."""
    ir: Counter[str] = Counter()
    prepared = []
    for text in texts:
        module = llvm.parse_assembly(text)
        machine = compiler.create_target_machine(target.triple, target.cpu, target.features)
        module.triple, module.data_layout = target.triple, str(machine.target_data)
        prepared.append((module, machine))
        ir += timed_run(module, machine, short=short)
    llvm.set_time_passes(True)
    for module, machine in prepared:
        machine.emit_object(module)
    code_generation = report_times(llvm.report_and_reset_timings())
    llvm.set_time_passes(False)
    return ir, code_generation


def timed_run(module: llvm.ModuleRef, machine: llvm.TargetMachine, *, short: bool) -> Counter[str]:
    """Runs the passes on IR with LLVM's timers."""
    builders: list[llvm.PassBuilder] = []
    create = llvm.create_pass_builder

    def create_timed(*arguments: object) -> llvm.PassBuilder:
        builder = create(*arguments)
        builder.start_pass_timing()
        builders.append(builder)
        return builder

    llvm.create_pass_builder = create_timed
    try:
        compiler.run_passes(module, machine, is_long=short)
    finally:
        llvm.create_pass_builder = create
    times: Counter[str] = Counter()
    for builder in builders:
        times += report_times(builder.finish_pass_timing())
    return times


def report_times(report: str) -> Counter[str]:
    """Milliseconds, user's and system's, by pass in a report of LLVM."""
    rows: dict[
        str, float
    ] = {}  # a pass has rows with numbers for its runs, or equal rows for each of two timers
    for text in report.splitlines():
        columns = [*COLUMN.finditer(text)]
        if len(columns) > 1:
            name = text[columns[-1].end() :].strip()
            rows[name] = max(rows.get(name, 0.0), float(columns[-2][1]) * 1e3)
    times: Counter[str] = Counter()
    for name, milliseconds in rows.items():
        if name != "Total":
            times[name.partition(" #")[0]] += milliseconds  # type: ignore[assignment]  # of floats
    return times


def pass_table(old: Mapping[str, float], new: Mapping[str, float]) -> Iterator[str]:
    yield header("pass", "-O1, ms", "short, ms")
    for name, spent in sorted(old.items(), key=lambda item: -item[1])[:SHOWN]:
        yield line(name, f"{spent:.0f}", f"{new.get(name, 0):.0f}")
    rest = [sum(times.values()) for times in (old, new)]
    yield line("all", *(f"{total:.0f}" for total in rest))


def page(names: Iterable[str]) -> str:
    target = host_target()
    networks = {name: network_modules(name, target) for name in names}
    columns = ("kernels", "KB of text", "in long modules", *STAGES, "LLVM", "-O1", "LLVM over -O1")
    table = [header("network", *columns), *(network_row(n, m, target) for n, m in networks.items())]
    modules = {name: module for of_network in networks.values() for name, module in of_network.items()}
    texts = [text for module in modules.values() if len(text := module.text()) >= compiler.LONG_MODULE]
    (old_ir, old_code), (new_ir, new_code) = (
        pass_times(texts, target, short=short) for short in (False, True)
    )
    paragraphs = str(__doc__).split("\n\n")
    parts = (
        "# The time of LLVM",
        f"Written by `bench/llvm_passes.py`. {paragraphs[0]}",
        paragraphs[2].strip().replace("  ", " "),
        stamp(),
        "\n".join(table),
        "## Passes on IR",
        "\n".join(pass_table(old_ir, new_ir)),
        "## Code generation",
        "\n".join(pass_table(old_code, new_code)),
    )
    return "\n\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", help="comma-separated names of files of .bench/zoo")
    parser.add_argument("--out", type=Path, default=PAGE)
    options = parser.parse_args()
    options.out.write_text(page(options.only.split(",") if options.only else NETWORKS))
    print(f"written: {options.out}")


if __name__ == "__main__":
    main()
