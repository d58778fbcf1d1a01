"""Checks declared dims against actual ones: numbers, variables (one name is one length), and expressions."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sardonyx._src.errors import InputError, OutputError
from sardonyx._src.ir.dims import Dim, Expr, evaluate
from sardonyx._src.ir.dims.atoms import Symbol, lone_atom
from sardonyx._src.ir.tensors import SparseTensor
from sardonyx._src.ir.types import OptionalType, SequenceType, SparseTensorType, TensorType, Type
from sardonyx._src.ops.api import RuntimeValue


@dataclass(slots=True)
class DeclaredDims:
    """The lengths of the dimension variables in one run (IR.md, "Static tensor shapes").

    From IR version 4 on, a name means one length throughout the model; before, within its own declaration.  Inputs bind
    names, and outputs are checked against them; a name that only outputs have is not compared among them (`learns` is
    false for outputs), because exporters use one name for unrelated sizes.
    """

    ir_version: int
    error: type[InputError] | type[OutputError] = InputError
    learns: bool = True
    bound: dict[str, tuple[int, str]] = field(default_factory=dict)  # length, and where it was bound
    pending: list[tuple[Expr, int, str]] = field(default_factory=list)

    def check(self, value: RuntimeValue, declared: Type | None, where: str) -> None:
        """Checks the shapes of a value against its declared type; raises InputError or OutputError."""
        match declared:
            case TensorType() | SparseTensorType():
                if isinstance(value, np.ndarray | SparseTensor):
                    self.check_shape(value.shape, declared, where)
            case SequenceType() if isinstance(value, list):
                for i, element in enumerate(value):
                    self.check(element, declared.elem, f"{where}[{i}]")
            case OptionalType() if value is not None:
                self.check(value, declared.elem, where)

    def check_shape(
        self, shape: tuple[int, ...], declared: TensorType | SparseTensorType, where: str
    ) -> None:
        if declared.shape is None:
            return
        if len(shape) != len(declared.shape):
            what = f"{where} must be {declared}, of rank {len(declared.shape)}; got shape {list(shape)}"
            raise self.make_error(what, where)
        if self.ir_version < 4:
            self.bound.clear()
        for axis, (length, dim) in enumerate(zip(shape, declared.shape, strict=True)):
            self.check_dim(int(length), dim, f"{where} axis {axis}", declared, shape)

    def check_dim(
        self,
        length: int,
        dim: Dim,
        where: str,
        declared: TensorType | SparseTensorType,
        shape: tuple[int, ...],
    ) -> None:
        if isinstance(dim, int) and dim != length:
            raise self.make_error(f"{where} must have length {dim} ({declared}); got {length}", where)
        if not isinstance(dim, Expr):
            return
        atom = lone_atom(dim)
        if isinstance(atom, Symbol):
            self.bind(atom.name, length, where)
        else:
            self.pending.append((dim, length, where))

    def bind(self, name: str, length: int, where: str) -> None:
        if not self.learns and name not in self.bound:
            return
        known, place = self.bound.setdefault(name, (length, where))
        if known != length:
            raise self.make_error(
                f"dimension {name!r} must have one length; got {known} in {place} and {length} in {where}",
                where,
            )

    def check_pending(self) -> None:
        """Checks the dims that were declared as expressions, now that the variables are bound.

        An expression over names that no dim binds is a name itself: `batch-size` is one in many files.
        """
        values = {name: length for name, (length, _) in self.bound.items()}
        for dim, length, where in self.pending:
            if not dim.symbols() <= values.keys():
                self.bind(str(dim), length, where)
                continue
            expected = evaluate(dim, values)
            if expected is not None and expected != length:
                names = ", ".join(f"{n} = {values[n]}" for n in sorted(dim.symbols()))
                raise self.make_error(
                    f"{where} must be {dim}, which is {expected} for {names}; got {length}", where
                )
        self.pending.clear()

    def make_error(self, why: str, where: str) -> InputError | OutputError:
        return self.error(why, name=where.split("'")[1] if "'" in where else where)
