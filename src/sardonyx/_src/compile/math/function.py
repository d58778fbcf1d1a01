"""Functions that kernels call by name, and the definitions that a kernel's text needs for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sardonyx._src.compile.llvm.jit import host
from sardonyx._src.compile.text import Code, Kind, Value


@dataclass(frozen=True)
class Function:
    """A function of floats, lane by lane; the text of its definition for a number of lanes when it is called.

    `body` puts the instructions down and answers with the result; bodies call one another's, not the definitions.
    """

    name: str
    arity: int
    body: Callable[..., Value]
    __doc__: str | None = field(default=None, compare=False)

    def symbol(self, lanes: int) -> str:
        return f"@sx_{self.name}_f{lanes}"

    def call(self, lanes: int, *operands: str) -> str:
        """The instruction that calls it with these names: `call <4 x float> @sx_exp_f4(<4 x float> %x)`."""
        assert len(operands) == self.arity, f"{self.name} takes {self.arity} operands, not {len(operands)}"
        kind = Kind("float", lanes)
        return f"call {kind} {self.symbol(lanes)}({', '.join(f'{kind} {name}' for name in operands)})"

    def __call__(self, lanes: int) -> str:
        """The definition and the declarations that it needs, for the processor of this process."""
        definitions = Definitions(host().fused)
        definitions.need(self, lanes)
        return definitions.text()


class Definitions:
    """What a module has to define and declare for the functions that its kernels call, each once."""

    def __init__(self, fused: bool) -> None:
        self.fused = fused
        self._declarations: dict[str, None] = {}
        self._definitions: dict[str, str] = {}

    def need(self, function: Function, lanes: int) -> str:
        """The symbol of the function for this number of lanes, which `text` will define."""
        symbol = function.symbol(lanes)
        if symbol not in self._definitions:
            self._definitions[symbol] = self._defined(function, lanes)
        return symbol

    def declare(self, *lines: str) -> None:
        """Adds declarations that the kernels have besides: LLVM takes none twice."""
        self._declarations.update(dict.fromkeys(lines))

    def text(self) -> str:
        """The declarations and definitions, to stand before the kernels."""
        return "\n".join((*self._declarations, *self._definitions.values()))

    def _defined(self, function: Function, lanes: int) -> str:
        kind = Kind("float", lanes)
        code = Code(self.fused)
        operands = [Value(code, kind, f"%x{i}") for i in range(function.arity)]
        result = function.body(code, *operands)
        self._declarations.update(code.declarations)
        head = f"define internal {kind} {function.symbol(lanes)}({', '.join(map(str, operands))})"
        return "\n".join((f"{head} alwaysinline nounwind {{", "entry:", *code.lines, f" ret {result}", "}"))


def function(body: Callable[..., Value]) -> Function:
    """A `Function` named as its body is, of as many operands as the body takes besides the code."""
    return Function(body.__name__, body.__code__.co_argcount - 1, body, body.__doc__)
