"""Vector math functions that kernels call by name, and their definitions in a kernel's module."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sardonyx._src.compile.codegen import FunctionBuilder, LLVMType, LLVMValue


@dataclass(frozen=True)
class VectorFunction:
    """An elementwise function of fp32 vectors, defined once in a module for each number of lanes it is called with.

    body: emits the instructions, given a builder and the operands, and returns the result.  Functions that build on one
    another call each other's bodies, which inlines them.
    """

    name: str
    arity: int
    body: Callable[..., LLVMValue]
    __doc__: str | None = field(default=None, compare=False)  # that of the body, which `help` shows

    def symbol(self, lanes: int) -> str:
        return f"@sx_{self.name}_f{lanes}"

    def call(self, lanes: int, *operands: str) -> str:
        """The call instruction with operands of these names: `call <4 x float> @sx_exp_f4(<4 x float> %x)`.

        The module must have the definition (`VectorFunctionDefinitions.require`).
        """
        assert len(operands) == self.arity, (
            f"{self.name} must have {self.arity} operands; got {len(operands)}"
        )
        vector_type = LLVMType("float", lanes)
        arguments = ", ".join(f"{vector_type} {name}" for name in operands)
        return f"call {vector_type} {self.symbol(lanes)}({arguments})"


class VectorFunctionDefinitions:
    """The definitions and declarations of a module for the vector functions that its kernels call, each once."""

    def __init__(self, has_fma: bool) -> None:
        self.has_fma = has_fma
        self._declarations: dict[str, None] = {}
        self._definitions: dict[str, str] = {}

    def require(self, function: VectorFunction, lanes: int) -> str:
        """Adds the definition for this number of lanes, if it is missing; returns its symbol."""
        symbol = function.symbol(lanes)
        if symbol not in self._definitions:
            self._definitions[symbol] = self._define(function, lanes)
        return symbol

    def declare(self, *lines: str) -> None:
        """Adds declarations of the kernels themselves: LLVM accepts each only once in a module."""
        self._declarations.update(dict.fromkeys(lines))

    def text(self) -> str:
        """The declarations and definitions, which come before the kernels in the module."""
        return "\n".join((*self._declarations, *self._definitions.values()))

    def _define(self, function: VectorFunction, lanes: int) -> str:
        vector_type = LLVMType("float", lanes)
        builder = FunctionBuilder(self.has_fma)
        operands = [LLVMValue(builder, vector_type, f"%x{i}") for i in range(function.arity)]
        result = function.body(builder, *operands)
        self._declarations.update(builder.declarations)
        head = f"define internal {vector_type} {function.symbol(lanes)}({', '.join(map(str, operands))})"
        return "\n".join(
            (f"{head} alwaysinline nounwind {{", "entry:", *builder.lines, f" ret {result}", "}")
        )


def vector_function(body: Callable[..., LLVMValue]) -> VectorFunction:
    """Decorator: a `VectorFunction` with the name, docstring and operands of its body."""
    return VectorFunction(body.__name__, body.__code__.co_argcount - 1, body, body.__doc__)
