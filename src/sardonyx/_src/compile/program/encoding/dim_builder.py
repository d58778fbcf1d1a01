"""Dim expressions as LLVM code: i64 arithmetic that computes each subexpression once, and detects overflows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue
from sardonyx._src.compile.codegen.blocks import BlockBuilder
from sardonyx._src.compile.program.encoding.size_limits import MAX_INT64, MIN_INT64, fits_int64
from sardonyx._src.compile.program.steps.program import stage_of
from sardonyx._src.ir.dims import Expr, Known
from sardonyx._src.ir.dims.atoms import Atom, DimCall, Symbol


class DimBuilder(BlockBuilder):
    """Emits dim expressions.

    stages: the stage of each symbol (`Program.stages`); 0 for symbols that are not in it.
    symbols: the LLVM value of each symbol.
    overflows: for each sum, product and quotient its stage, and an i1, whether it exceeds 64 bits.
    constant_violations: the number of constants and factors that no i64 can hold.
    """

    def __init__(self, stages: Mapping[str, int]) -> None:
        super().__init__(has_fma=False)
        self.stages, self.stage = dict(stages), 0
        self.symbols: dict[str, LLVMValue] = {}
        self.emitted: dict[Expr | DimCall, LLVMValue] = {}
        self.overflows: list[tuple[int, LLVMValue]] = []
        self.constant_violations = 0

    def emit_dim(self, dim: Known) -> LLVMValue:
        if not isinstance(dim, Expr):
            return self.emit_number(dim)
        if dim not in self.emitted:
            with self.at_stage(stage_of(dim, self.stages)):
                terms = [self.emit_term(monomial, factor) for monomial, factor in dim.terms.items()]
                self.emitted[dim] = reduce(lambda a, b: self.emit_checked("sadd", a, b), terms)
        return self.emitted[dim]

    @contextmanager
    def at_stage(self, stage: int) -> Iterator[None]:
        """Attributes the overflows of the code that is emitted in the block to a stage."""
        outer, self.stage = self.stage, stage
        yield
        self.stage = outer

    def emit_number(self, number: int) -> LLVMValue:
        """A constant; one that an i64 cannot hold is recorded, since LLVM would truncate it."""
        if fits_int64(number):
            return self.constant(number, I64)
        self.constant_violations += 1
        return self.constant(0, I64)

    def emit_term(self, monomial: Sequence[Atom], factor: int) -> LLVMValue:
        factors = [self.emit_atom(atom) for atom in monomial]
        if factor != 1 or not factors:
            factors.append(self.emit_number(factor))
        return reduce(lambda a, b: self.emit_checked("smul", a, b), factors)

    def emit_checked(self, operation: str, a: LLVMValue, b: LLVMValue) -> LLVMValue:
        """A sum or product (`sadd`, `smul`); an overflow is recorded, since a buffer of the wrapped size would be too small."""
        result, overflow = self.emit_with_overflow(operation, a, b)
        self.overflows.append((self.stage, overflow))
        return result

    def emit_saturated(self, operation: str, a: LLVMValue, b: LLVMValue) -> LLVMValue:
        """A sum or product of numbers >= 0; MAX_INT64 where it exceeds 64 bits."""
        result, overflow = self.emit_with_overflow(operation, a, b)
        return self.select(overflow, MAX_INT64, result)

    def emit_with_overflow(self, operation: str, a: LLVMValue, b: LLVMValue) -> tuple[LLVMValue, LLVMValue]:
        """A sum or product (`sadd`, `smul`), and an i1, whether it exceeds 64 bits."""
        self.declarations[f"declare {{i64, i1}} @llvm.{operation}.with.overflow.i64(i64, i64)"] = None
        self._count += 1
        pair = f"%o{self._count}"
        self.lines.append(f" {pair} = call {{i64, i1}} @llvm.{operation}.with.overflow.i64({a}, {b})")
        overflow = self.emit(LLVMType("i1"), f"extractvalue {{i64, i1}} {pair}, 1")
        return self.emit(I64, f"extractvalue {{i64, i1}} {pair}, 0"), overflow

    def emit_atom(self, atom: Atom) -> LLVMValue:
        if isinstance(atom, Symbol):
            return self.symbols[atom.name]
        assert isinstance(atom, DimCall), f"size must be an expression of dims; got {atom}"
        if atom not in self.emitted:
            with self.at_stage(max(stage_of(arg, self.stages) for arg in atom.args)):
                args = [self.emit_dim(arg) for arg in atom.args]
                self.emitted[atom] = reduce(lambda a, b: self.emit_call(atom.op, a, b), args)
        return self.emitted[atom]

    def emit_call(self, op: str, a: LLVMValue, b: LLVMValue) -> LLVMValue:
        """`max`, `min`, or Python's `//` and `%`, where a zero divisor counts as 1."""
        match op:
            case "max":
                return self.select(a < b, b, a)
            case "min":
                return self.select(a < b, a, b)
        overflows = a.eq(MIN_INT64) & b.eq(-1)
        self.overflows.append((self.stage, overflows))
        divisor = self.select(b.eq(0) | overflows, 1, b)  # either division would trap
        quotient = self.emit(I64, f"sdiv {a}, {divisor.name}")
        remainder = a - quotient * divisor
        rounds_down = remainder.ne(0) & ((remainder ^ divisor) < 0)
        if op == "//":
            return self.select(rounds_down, quotient - 1, quotient)
        return self.select(rounds_down, remainder + divisor, remainder)
