"""Checks declared sizes against actual ones: numbers, variables (one name is one length), and expressions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, cast

import numpy as np

from sardonyx._src.errors import InputError, OutputError
from sardonyx._src.ir.dims import Expr, evaluate
from sardonyx._src.ir.tensors import Array, SparseTensor
from sardonyx._src.ops.api import SEQUENCES, RuntimeValue
from sardonyx._src.ops.persistent_sequence import PersistentSequence
from sardonyx._src.runtime.declarations.declared_sizes import Declaration, DeclaredSizes, Place
from sardonyx._src.runtime.declarations.shape_policy import Kind, ShapePolicy, ShapeReports, response

FIRST_IR_WITH_GLOBAL_NAMES = 4  # before, a name of an inner value is its own


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
    lengths: dict[str, int] = field(default_factory=dict)  # those of `bound`
    pending: list[tuple[Expr, Binding]] = field(default_factory=list)
    findings: list[tuple[str, str]] = field(default_factory=list)
    input_contradicted: bool = False
    last_versions: dict[int, int] = field(default_factory=dict)  # of persistent sequences, by the id of sizes
    of_one_value: DeclaredDims | None = None  # for values whose names are their own

    # --- values ------------------------------------------------------------------------------

    def check_inputs(self, inputs: list[tuple[RuntimeValue, Declaration]]) -> None:
        """Checks fed values; raises InputError.

        Elements of sequences and maps come last, so that they cannot determine what a name means.
        """
        containers = []
        for value, declaration in inputs:
            if declaration.sizes is None:
                continue
            if type(value) is list or type(value) is dict:
                containers.append((value, declaration))
            else:
                self.check(value, declaration.sizes, declaration.place)
        for value, declaration in containers:
            assert declaration.sizes is not None, "containers without sizes are not checked"
            self.check(value, declaration.sizes, declaration.place)
        if self.pending:
            self.check_pending()

    def check_result(self, value: RuntimeValue, sizes: DeclaredSizes, place: Place) -> None:
        """Checks an output or inner value; raises OutputError under the policy "strict"."""
        self.check(value, sizes, place)
        if self.pending:
            self.check_pending()

    def check_inner(self, value: RuntimeValue, sizes: DeclaredSizes, place: Place, *, is_local: bool) -> None:
        """Checks a value inside the model as an output.

        is_local: whether the names of its dims are its own, as in functions, whose calls have sizes of their own.
        """
        if not (is_local or self.ir_version < FIRST_IR_WITH_GLOBAL_NAMES):
            self.check_result(value, sizes, place)
            return
        if self.of_one_value is None:
            self.of_one_value = DeclaredDims(
                self.ir_version, self.policy, self.reports, findings=self.findings
            )
        self.of_one_value.bound.clear()
        self.of_one_value.lengths.clear()
        self.of_one_value.check_result(value, sizes, place)

    def check(self, value: RuntimeValue, sizes: DeclaredSizes, place: Place) -> None:
        elements = sizes.elements
        if elements is None:
            if isinstance(value, np.ndarray | np.generic | SparseTensor) and not self.is_as_declared(
                value.shape, sizes
            ):
                self.check_shape(value.shape, sizes, place)
        elif isinstance(value, SEQUENCES):
            for i in self.unchecked_elements(value, sizes):
                self.check(value[i], elements, place.element(i))
        elif isinstance(value, dict):
            for key, element in value.items():
                # Files declare the numbers in maps as scalars as well as vectors of one element.
                is_number = isinstance(element, np.generic) or np.size(cast(Array, element)) == 1
                if not (elements.is_one_element and is_number):
                    self.check(element, elements, place.element(key))

    def extends(self, value: RuntimeValue, sizes: DeclaredSizes) -> bool:
        """Whether a value is a sequence that an earlier check against these sizes has seen, with no more than new elements
        that have exactly these sizes: what most iterations of a loop do to a sequence."""
        elements = sizes.elements
        if elements is None or type(value) is not PersistentSequence:
            return False
        if value.shape is not None:
            return value.shape == elements.dims
        new = value.inserted_since(self.last_versions.get(id(sizes), -1))
        if new is None:
            return False
        for i in new:
            element = value[i]
            if type(element) is not np.ndarray or element.shape != elements.dims:
                return False
        self.last_versions[id(sizes)] = value.version
        return True

    def unchecked_elements(
        self, value: list[RuntimeValue] | PersistentSequence, sizes: DeclaredSizes
    ) -> Iterable[int]:
        """The numbers of the elements that tell about all: one if they have one shape; else those that no earlier check
        against these sizes has seen, which are few if a loop edits the sequence, and, if names are declared, of the first other one, which stands for all that were compared with it."""
        if type(value) is not PersistentSequence:
            return range(len(value))
        if value.shape is not None:
            return range(min(len(value), 1))
        new = value.inserted_since(self.last_versions.get(id(sizes), -1))
        self.last_versions[id(sizes)] = value.version
        if new is None:
            return range(len(value))
        if sizes.elements is None or not sizes.elements.has_names:
            return new
        first = next((i for i in range(len(value)) if i not in new), None)
        return sorted(new if first is None else [first, *new])

    # --- shapes ------------------------------------------------------------------------------

    def is_as_declared(self, shape: tuple[int, ...], sizes: DeclaredSizes) -> bool:
        """Whether a shape is as declared, as far as names are bound and without expressions: most shapes are."""
        dims = sizes.dims
        if len(shape) != len(dims):
            return False
        lengths = self.lengths
        for length, dim in zip(shape, dims, strict=True):
            if dim is not None and dim != length and (type(dim) is not str or lengths.get(dim) != length):
                return False
        return True

    def check_shape(self, shape: tuple[int, ...], sizes: DeclaredSizes, place: Place) -> None:
        """Binds names, and reports what is not as declared."""
        if len(shape) != len(sizes.dims):
            what = f"must be {sizes.type}, of rank {len(sizes.dims)}; got shape {list(shape)}"
            self.report("rank", place, None, f"{place.text} {what}")
            return
        for axis, (length, dim) in enumerate(zip(shape, sizes.dims, strict=True)):
            if dim is None or dim == length:
                continue
            if isinstance(dim, int):
                what = f"must have length {dim} ({sizes.type}); got {length}"
                self.report("size", place, axis, f"{place.text} axis {axis} {what}")
            elif isinstance(dim, str):
                self.bind(dim, Binding(int(length), place, axis))
            else:
                self.pending.append((dim, Binding(int(length), place, axis)))

    def bind(self, name: str, actual: Binding) -> None:
        """Compares a length with what a name means; if it means nothing yet, an input determines it."""
        known = self.bound.get(name)
        if known is None:
            if actual.place.subject != "result" or self.policy == "strict":
                self.bound[name] = actual
                self.lengths[name] = actual.length
        elif known.length != actual.length:
            what = f"dimension {name!r} must have one length; got {known.length} in {known.text}"
            self.report("variable", actual.place, actual.axis, f"{what} and {actual.length} in {actual.text}")

    def check_pending(self) -> None:
        """Checks the dims that were declared as expressions, now that the variables are bound.

        An expression over names that no dim binds is a name itself: `batch-size` is one in many files.
        """
        values = self.lengths
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
