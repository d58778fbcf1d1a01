"""Checks declared sizes against actual ones: numbers, variables (one name is one length), and expressions."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sardonyx._src.errors import InputError, OutputError
from sardonyx._src.ir.dims import Dim, Expr, evaluate
from sardonyx._src.ir.dims.atoms import Symbol, lone_atom
from sardonyx._src.ir.tensors import SparseTensor
from sardonyx._src.ir.types import OptionalType, SequenceType, SparseTensorType, TensorType, Type
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.runtime.shape_policy import Kind, ShapePolicy, ShapeReports, Subject, response

FIRST_IR_WITH_GLOBAL_NAMES = 4  # before, a name of an inner value is its own


@dataclass(frozen=True, slots=True)
class Place:
    """A value that is checked.  name: of the input or output; text: what messages call it; key: the same without indices."""

    name: str
    text: str
    key: str
    subject: Subject

    def element(self, index: int) -> Place:
        """The place of an element of this sequence."""
        subject: Subject = "element" if self.subject == "input" else self.subject
        return Place(self.name, f"{self.text}[{index}]", f"{self.key}[]", subject)

    def axis(self, axis: int) -> Place:
        return Place(self.name, f"{self.text} axis {axis}", f"{self.key} axis {axis}", self.subject)


@dataclass(frozen=True, slots=True)
class Declared:
    """A declared tensor type with the shape of a value of it."""

    type: TensorType | SparseTensorType
    shape: tuple[int, ...]


@dataclass(slots=True)
class DeclaredDims:
    """The lengths of the dimension variables in one run (IR.md, "Static tensor shapes"), and what contradicts them.

    A name means one length throughout the model.  Up to IR version 3 that holds of inputs and outputs, and a name of an
    inner value is its own.  Inputs bind names, and other values are checked against them; a name that no input has is
    compared under the policy "strict" only, because exporters use one name for unrelated sizes.

    findings: mismatches that are warnings, each with the key of its place.  input_contradicted: whether the sizes of an
    input tensor are others than declared, so that compiled programs, which rely on them, must not run.
    """

    ir_version: int
    policy: ShapePolicy = "inputs"
    reports: ShapeReports = field(default_factory=ShapeReports)
    bound: dict[str, tuple[int, str]] = field(default_factory=dict)  # length, and where it was bound
    pending: list[tuple[Expr, int, Place]] = field(default_factory=list)
    findings: list[tuple[str, str]] = field(default_factory=list)
    input_contradicted: bool = False

    # --- values ------------------------------------------------------------------------------

    def check_inputs(self, inputs: list[tuple[str, RuntimeValue, Type | None]]) -> None:
        """Checks fed values, each with its name and declared type; raises InputError.

        Elements of sequences come last, so that they cannot determine what a name means.
        """
        for name, value, declared in sorted(inputs, key=lambda entry: is_sequence(entry[2])):
            place = Place(name, f"input {name!r}", f"input {name!r}", "input")
            self.check(value, declared, place)
        self.check_pending()

    def check_output(self, name: str, value: RuntimeValue, declared: Type | None) -> None:
        """Checks the shapes of a result; raises OutputError under the policy "strict"."""
        self.check(value, declared, Place(name, f"output {name!r}", f"output {name!r}", "result"))
        self.check_pending()

    def check_inner(
        self, name: str, where: str, value: RuntimeValue, declared: Type, *, is_local: bool
    ) -> None:
        """Checks a value inside the model as an output.

        is_local: whether the names of its dims are its own, as in functions, whose calls have sizes of their own.
        """
        dims = self
        if is_local or self.ir_version < FIRST_IR_WITH_GLOBAL_NAMES:
            dims = DeclaredDims(self.ir_version, self.policy, self.reports, findings=self.findings)
        dims.check(value, declared, Place(name, where, where, "result"))
        dims.check_pending()

    def check(self, value: RuntimeValue, declared: Type | None, place: Place) -> None:
        match declared:
            case TensorType() | SparseTensorType():
                if declared.shape is not None and isinstance(value, np.ndarray | SparseTensor):
                    self.check_shape(Declared(declared, tuple(map(int, value.shape))), declared.shape, place)
            case SequenceType() if isinstance(value, list):
                for i, element in enumerate(value):
                    self.check(element, declared.elem, place.element(i))
            case OptionalType() if value is not None:
                self.check(value, declared.elem, place)

    # --- shapes ------------------------------------------------------------------------------

    def check_shape(self, actual: Declared, dims: tuple[Dim, ...], place: Place) -> None:
        if len(actual.shape) != len(dims):
            self.report(
                "rank",
                place,
                f"{place.text} must be {actual.type}, of rank {len(dims)}; got shape {list(actual.shape)}",
            )
            return
        for axis, (length, dim) in enumerate(zip(actual.shape, dims, strict=True)):
            if isinstance(dim, int):
                if dim != length:
                    what = f"must have length {dim} ({actual.type}); got {length}"
                    self.report("size", place.axis(axis), f"{place.text} axis {axis} {what}")
            elif dim is not None:
                self.check_symbolic(dim, length, place.axis(axis))

    def check_symbolic(self, dim: Expr, length: int, place: Place) -> None:
        atom = lone_atom(dim)
        if isinstance(atom, Symbol):
            self.bind(atom.name, length, place)
        else:
            self.pending.append((dim, length, place))

    def bind(self, name: str, length: int, place: Place) -> None:
        learns = place.subject != "result" or self.policy == "strict"
        if not learns and name not in self.bound:
            return
        known, where = self.bound.setdefault(name, (length, place.text))
        if known != length:
            what = f"dimension {name!r} must have one length; got {known} in {where}"
            self.report("variable", place, f"{what} and {length} in {place.text}")

    def check_pending(self) -> None:
        """Checks the dims that were declared as expressions, now that the variables are bound.

        An expression over names that no dim binds is a name itself: `batch-size` is one in many files.
        """
        if not self.pending:
            return
        values = {name: length for name, (length, _) in self.bound.items()}
        for dim, length, place in self.pending:
            if not dim.symbols() <= values.keys():
                self.bind(str(dim), length, place)
                continue
            expected = evaluate(dim, values)
            if expected is not None and expected != length:
                names = ", ".join(f"{n} = {values[n]} in {self.bound[n][1]}" for n in sorted(dim.symbols()))
                what = f"{place.text} must be {dim}, which is {expected} for {names}; got {length}"
                self.report("variable", place, what)
        self.pending.clear()

    # --- mismatches --------------------------------------------------------------------------

    def report(self, kind: Kind, place: Place, why: str) -> None:
        """Raises an error or adds a finding, as the policy says."""
        if place.subject == "input":
            self.input_contradicted = True
        what = response(self.policy, place.subject, kind)
        if what == "error":
            error = OutputError if place.subject == "result" else InputError
            raise error(why, name=place.name)
        if what == "warning" and place.key not in self.reports.places:
            self.findings.append((place.key, why))


def is_sequence(type: Type | None) -> bool:
    """Whether values of a type are lists."""
    return isinstance(type.elem if isinstance(type, OptionalType) else type, SequenceType)
