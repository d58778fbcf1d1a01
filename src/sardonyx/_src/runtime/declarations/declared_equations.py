"""What the lengths of a run must satisfy so that its sizes are those that the model declares of inputs, outputs, inner values.

A program accepts feeds whose dims are those of its inputs: numbers, symbols and expressions of symbols.  The comparisons of
`declared_dims.py` are repeated here with these dims instead of lengths.  Most are proved for all lengths.  The others remain
as equations, which native code checks in each run of new sizes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sardonyx._src.compile.program.encoding.length_equations import (
    LengthEquation,
    LengthEquations,
    length_equations,
)
from sardonyx._src.compile.program.encoding.port_dims import port_dims
from sardonyx._src.compile.program.steps.program import Program
from sardonyx._src.ir.dims import Expr, Known, known_equal
from sardonyx._src.runtime.declarations.declared_sizes import Declaration, DeclaredDim
from sardonyx._src.runtime.declarations.inner_declarations import StaticDeclarations
from sardonyx._src.runtime.declarations.shape_policy import ShapePolicy


def declared_equations(
    program: Program,
    inputs: Mapping[str, Declaration],
    outputs: Mapping[str, Declaration],
    inner: StaticDeclarations,
    policy: ShapePolicy,
) -> LengthEquations | None:
    """The equations that the lengths of a run satisfy if no size contradicts the model.

    inputs, outputs: the declarations of the model by name.
    None if native code cannot check all of them, or no lengths satisfy them.
    """
    ports = port_dims(program)
    if ports is None or (policy != "off" and (inner.open_dims or inner.conditional_dims)):
        return None
    fed = [each for each in inputs.values() if each.value.initializer is None]
    shapes = {value.name: tensor.shape for value, tensor in program.inputs.items()}
    results = dict(zip((value.name for value in program.outputs), ports.outputs, strict=True))
    comparison = SizeComparison(is_compared=policy != "off")
    for declaration in fed:
        comparison.add_input(shapes.get(declaration.value.name), declaration)
    comparison.add_pending()
    for name, declaration in outputs.items():
        comparison.add(
            results[name].shape if name in results else None, declaration, binds=policy == "strict"
        )
    return tuple(comparison.equations) if comparison.is_possible else None


class SizeComparison:
    """The dims of a program that the names in declarations mean, and the comparisons of dims with declarations.

    names: the dim by name.
    pending: the declared dims of inputs that are expressions, with the dims of the program.
    equations: of the dims that are not equal in all runs.
    is_possible: whether native code can check them, and lengths can satisfy them.
    is_compared: whether dims are compared, or only ranks.
    """

    def __init__(self, *, is_compared: bool) -> None:
        self.is_compared = is_compared
        self.names: dict[str, Known] = {}
        self.pending: list[tuple[Expr, Known]] = []
        self.equations: list[LengthEquation] = []
        self.is_possible = True

    def add_input(self, shape: Sequence[Known] | None, declaration: Declaration) -> None:
        """Compares the shape of an input; dims that are expressions are compared once all names are bound."""
        for declared, dim in self.declared_dims(shape, declaration):
            if isinstance(declared, Expr):
                self.pending.append((declared, dim))
            else:
                self.compare(declared, dim, binds=True)

    def add_pending(self) -> None:
        """Compares the dims of inputs that are declared as expressions."""
        for declared, dim in self.pending:
            self.compare(declared, dim, binds=True)

    def add(self, shape: Sequence[Known] | None, declaration: Declaration, *, binds: bool) -> None:
        """Compares the shape of an output.  binds: whether a name that no input has means the first dim that it declares."""
        for declared, dim in self.declared_dims(shape, declaration):
            self.compare(declared, dim, binds=binds)

    def declared_dims(
        self, shape: Sequence[Known] | None, declaration: Declaration
    ) -> list[tuple[DeclaredDim, Known]]:
        """The declared dims and those of the program; none if they cannot be compared."""
        sizes = declaration.sizes
        if sizes is None and shape is not None:
            return []
        if sizes is None or shape is None or sizes.elements is not None or len(sizes.dims) != len(shape):
            self.is_possible = False
            return []
        return [*zip(sizes.dims, shape, strict=True)]

    def compare(self, declared: DeclaredDim, dim: Known, *, binds: bool) -> None:
        """Compares a declared dim with the dim of the program."""
        expected: Known | None
        if declared is None or not self.is_compared:
            return
        if isinstance(declared, Expr) and declared.symbols() <= self.names.keys():
            expected = declared.substitute(self.names)
        elif isinstance(declared, int):
            expected = declared
        else:  # a name, or an expression of other names, which is itself a name
            name = str(declared)
            if binds:
                self.names.setdefault(name, dim)
            expected = self.names.get(name, dim)
        equal = None if expected is None else known_equal(expected, dim)
        if equal is True:
            return
        equations = None if expected is None or equal is False else length_equations(expected, dim)
        if equations is None:
            self.is_possible = False
        else:
            self.equations += equations
