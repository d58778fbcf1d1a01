"""Checks declared sizes against actual ones: numbers, variables (one name is one length), and expressions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sardonyx._src.errors import InputError, OutputError
from sardonyx._src.ir.dims import Dim, Expr, evaluate
from sardonyx._src.ir.dims.atoms import Symbol, lone_atom
from sardonyx._src.ir.tensors import SparseTensor
from sardonyx._src.ir.types import OptionalType, SequenceType, SparseTensorType, TensorType, Type
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.runtime.shape_policy import Kind, ShapePolicy, ShapeReports, Subject, response

FIRST_IR_WITH_GLOBAL_NAMES = 4  # before, a name of an inner value is its own


class Place(NamedTuple):
    """A value that is checked.  name: of the input or output; text: what messages call it; key: the same without indices."""

    name: str
    text: str
    key: str
    subject: Subject

    def element(self, index: int) -> Place:
        """The place of an element of this sequence."""
        subject: Subject = "element" if self.subject == "input" else self.subject
        return Place(self.name, f"{self.text}[{index}]", f"{self.key}[]", subject)


class Binding(NamedTuple):
    """What a name means in a run: the length of an axis of a value."""

    length: int
    place: Place
    axis: int

    @property
    def text(self) -> str:
        return f"{self.place.text} axis {self.axis}"


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
    bound: dict[str, Binding] = field(default_factory=dict)
    pending: list[tuple[Expr, Binding]] = field(default_factory=list)
    findings: list[tuple[str, str]] = field(default_factory=list)
    input_contradicted: bool = False

    # --- values ------------------------------------------------------------------------------

    def check_inputs(self, inputs: list[tuple[str, RuntimeValue, Type | None]]) -> None:
        """Checks fed values, each with its name and declared type; raises InputError.

        Elements of sequences come last, so that they cannot determine what a name means.
        """
        sequences = []
        for name, value, declared in inputs:
            where = f"input {name!r}"
            if type(value) is list:
                sequences.append((value, declared, Place(name, where, where, "input")))
            else:
                self.check(value, declared, Place(name, where, where, "input"))
        for value, declared, place in sequences:
            self.check(value, declared, place)
        if self.pending:
            self.check_pending()

    def check_output(self, name: str, value: RuntimeValue, declared: Type | None) -> None:
        """Checks the shapes of a result; raises OutputError under the policy "strict"."""
        where = f"output {name!r}"
        self.check(value, declared, Place(name, where, where, "result"))
        if self.pending:
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
        if dims.pending:
            dims.check_pending()

    def check(self, value: RuntimeValue, declared: Type | None, place: Place) -> None:
        match declared:
            case TensorType() | SparseTensorType():
                if declared.shape is not None and isinstance(value, np.ndarray | SparseTensor):
                    self.check_shape(value.shape, declared.shape, declared, place)
            case SequenceType() if isinstance(value, list):
                for i, element in enumerate(value):
                    self.check(element, declared.elem, place.element(i))
            case OptionalType() if value is not None:
                self.check(value, declared.elem, place)

    # --- shapes ------------------------------------------------------------------------------

    def check_shape(
        self, shape: tuple[int, ...], dims: tuple[Dim, ...], declared: Type, place: Place
    ) -> None:
        if len(shape) != len(dims):
            what = f"must be {declared}, of rank {len(dims)}; got shape {list(shape)}"
            self.report("rank", place, None, f"{place.text} {what}")
            return
        for axis, (length, dim) in enumerate(zip(shape, dims, strict=True)):
            if dim is None or dim == length:
                continue
            if isinstance(dim, int):
                what = f"must have length {dim} ({declared}); got {length}"
                self.report("size", place, axis, f"{place.text} axis {axis} {what}")
                continue
            atom = lone_atom(dim)
            if isinstance(atom, Symbol):
                self.bind(atom.name, Binding(int(length), place, axis))
            else:
                self.pending.append((dim, Binding(int(length), place, axis)))

    def bind(self, name: str, actual: Binding) -> None:
        """Compares a length with what a name means; if it means nothing yet, an input determines it."""
        known = self.bound.get(name)
        if known is None:
            if actual.place.subject != "result" or self.policy == "strict":
                self.bound[name] = actual
        elif known.length != actual.length:
            what = f"dimension {name!r} must have one length; got {known.length} in {known.text}"
            self.report("variable", actual.place, actual.axis, f"{what} and {actual.length} in {actual.text}")

    def check_pending(self) -> None:
        """Checks the dims that were declared as expressions, now that the variables are bound.

        An expression over names that no dim binds is a name itself: `batch-size` is one in many files.
        """
        values = {name: known.length for name, known in self.bound.items()}
        for dim, actual in self.pending:
            if not dim.symbols() <= values.keys():
                self.bind(str(dim), actual)
                continue
            expected = evaluate(dim, values)
            if expected is not None and expected != actual.length:
                names = ", ".join(f"{n} = {values[n]} in {self.bound[n].text}" for n in sorted(dim.symbols()))
                what = f"{actual.text} must be {dim}, which is {expected} for {names}; got {actual.length}"
                self.report("variable", actual.place, actual.axis, what)
        self.pending.clear()

    # --- mismatches --------------------------------------------------------------------------

    def report(self, kind: Kind, place: Place, axis: int | None, why: str) -> None:
        """Raises an error or adds a finding, as the policy says.  axis: None for a rank."""
        if place.subject == "input":
            self.input_contradicted = True
        what = response(self.policy, place.subject, kind)
        if what == "error":
            error = OutputError if place.subject == "result" else InputError
            raise error(why, name=place.name)
        key = place.key if axis is None else f"{place.key} axis {axis}"
        if what == "warning" and key not in self.reports.places:
            self.findings.append((key, why))
