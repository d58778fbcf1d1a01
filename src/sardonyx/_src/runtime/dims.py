"""Declared sizes held against real ones: fixed dims, and variables, of which one name is one length."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sardonyx._src.errors import InputError, OutputError
from sardonyx._src.ir.dims import Dim, Expr, evaluate
from sardonyx._src.ir.dims.expr import Symbol, lone_atom
from sardonyx._src.ir.tensors import SparseTensor
from sardonyx._src.ir.types import OptionalType, SequenceType, SparseTensorType, TensorType, Type
from sardonyx._src.ops.api import RuntimeValue


@dataclass(slots=True)
class Lengths:
    """What the dimension variables of one run stand for (IR.md, "Static tensor shapes").

    From IR version 4 on a name means one length throughout the model; before, one within its own declaration.
    Inputs say what a name stands for, and outputs are held to it; a name that only outputs have is not compared among
    them, since exporters use one for sizes that have nothing to do with each other (`learns` is false by then).
    """

    ir_version: int
    error: type[InputError] | type[OutputError] = InputError
    learns: bool = True
    bound: dict[str, tuple[int, str]] = field(default_factory=dict)  # length, and where it was seen
    later: list[tuple[Expr, int, str]] = field(default_factory=list)

    def hold(self, value: RuntimeValue, declared: Type | None, where: str) -> None:
        """Holds a value against its declared type; raises InputError or OutputError naming both sides."""
        match declared:
            case TensorType() | SparseTensorType():
                if isinstance(value, np.ndarray | SparseTensor):
                    self.hold_shape(value.shape, declared, where)
            case SequenceType() if isinstance(value, list):
                for i, one in enumerate(value):
                    self.hold(one, declared.elem, f"{where}[{i}]")
            case OptionalType() if value is not None:
                self.hold(value, declared.elem, where)

    def hold_shape(self, shape: tuple[int, ...], declared: TensorType | SparseTensorType, where: str) -> None:
        if declared.shape is None:
            return
        if len(shape) != len(declared.shape):
            what = (
                f"{where} is declared {declared}, of rank {len(declared.shape)}, and has shape {list(shape)}"
            )
            raise self.fault(what, where)
        if self.ir_version < 4:
            self.bound.clear()
        for axis, (length, dim) in enumerate(zip(shape, declared.shape, strict=True)):
            self.hold_dim(int(length), dim, f"{where} axis {axis}", declared, shape)

    def hold_dim(
        self,
        length: int,
        dim: Dim,
        where: str,
        declared: TensorType | SparseTensorType,
        shape: tuple[int, ...],
    ) -> None:
        if isinstance(dim, int) and dim != length:
            raise self.fault(f"{where} is declared {dim} ({declared}), and has length {length}", where)
        if not isinstance(dim, Expr):
            return
        atom = lone_atom(dim)
        if isinstance(atom, Symbol):
            self.bind(atom.name, length, where)
        else:
            self.later.append((dim, length, where))

    def bind(self, name: str, length: int, where: str) -> None:
        if not self.learns and name not in self.bound:
            return
        known, at = self.bound.setdefault(name, (length, where))
        if known != length:
            raise self.fault(f"dimension {name!r} is {known} in {at}, and {length} in {where}", where)

    def settle(self) -> None:
        """Holds the sizes that were declared as expressions, now that the variables are known.

        An expression over names that stand nowhere alone is a name itself: `batch-size` is one in many files.
        """
        values = {name: length for name, (length, _) in self.bound.items()}
        for dim, length, where in self.later:
            if not dim.symbols() <= values.keys():
                self.bind(str(dim), length, where)
                continue
            wanted = evaluate(dim, values)
            if wanted is not None and wanted != length:
                names = ", ".join(f"{n} = {values[n]}" for n in sorted(dim.symbols()))
                raise self.fault(
                    f"{where} is declared {dim}, which is {wanted} for {names}, and has {length}", where
                )
        self.later.clear()

    def fault(self, why: str, where: str) -> InputError | OutputError:
        return self.error(why, name=where.split("'")[1] if "'" in where else where)
