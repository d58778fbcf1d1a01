"""The interpreters as modules, for libraries."""

from __future__ import annotations

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.elementwise import interpreter as elementwise
from sardonyx._src.compile.llvm.interpreted_code import module_names
from sardonyx._src.compile.llvm.jit import Module
from sardonyx._src.compile.program.encoding import size_interpreter


def interpreter_modules(target: Target) -> list[Module]:
    """The interpreters, and the templates that call them."""
    interpreter, template = module_names("elementwise")
    sizes, size_template = module_names("sizes")
    return [
        Module(interpreter, lambda: elementwise.interpreter_module(target)),
        Module(template, elementwise.kernel_template),
        Module(sizes, size_interpreter.interpreter_text),
        Module(size_template, size_interpreter.template_text),
    ]
