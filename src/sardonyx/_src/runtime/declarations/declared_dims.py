"""Compares the actual sizes of a run's values with declared ones: numbers, variables (one name is one length), expressions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import NamedTuple, cast

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InputError, OutputError
from sardonyx._src.ir import Array, SparseTensor
from sardonyx._src.ir.dims import Expr, evaluate
from sardonyx._src.ops.persistent_sequence import PersistentSequence
from sardonyx._src.ops.run_values import SEQUENCES, RuntimeValue
from sardonyx._src.runtime.declarations.declared_sizes import Declaration, DeclaredSizes, ValueLocation
from sardonyx._src.runtime.declarations.shape_policy import Kind, ShapePolicy, ShapeReports, response

FIRST_IR_WITH_GLOBAL_NAMES = (
    4  # before, a name in the type of an inner value has a meaning only for this value
)


class Binding(NamedTuple):
    """The length that a name means in a run, and the value and axis that determined it."""

    length: int
    location: ValueLocation
    axis: int

    @property
    def text(self) -> str:
        return f"{self.location.text} axis {self.axis}"


@dataclass(slots=True)
class DeclaredDims:
    """The lengths of the dimension variables in one run (IR.md, "Static tensor shapes"), and the sizes that contradict them.

    A name means one length throughout the model.  Up to IR version 3 this applies only to inputs and outputs, and a name in
    the type of an inner value has a meaning only for this value.  Inputs bind names, and other values are checked against
    them.  A name that no input has is compared only under the policy "strict", because exporters use one name for unrelated
    sizes.

    reports: the locations that the session has warned of already.
    bound: the meanings of names so far; lengths: the same as numbers.
    pending: dims declared as expressions, which are checked when names are bound.
    findings: mismatches that are warnings, each with the key of its location.
    input_contradicted: whether the sizes of an input tensor contradict the model.  Compiled programs rely on declared sizes
        and must not run then.
    last_versions: for a persistent sequence that was checked, its version at that time, by the id of the declared sizes.
    of_one_value: a second instance for values with names of their own.
    """

    ir_version: int
    policy: ShapePolicy = "inputs"
    reports: ShapeReports = field(default_factory=ShapeReports)
    bound: dict[str, Binding] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)
    pending: list[tuple[Expr, Binding]] = field(default_factory=list)
    findings: list[tuple[str, str]] = field(default_factory=list)
    input_contradicted: bool = False
    last_versions: dict[int, int] = field(default_factory=dict)
    of_one_value: DeclaredDims | None = None

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
                self.check(value, declaration.sizes, declaration.location)
        for value, declaration in containers:
            assert declaration.sizes is not None, "containers without sizes are not checked"
            self.check(value, declaration.sizes, declaration.location)
        if self.pending:
            self.check_pending()

    def check_result(self, value: RuntimeValue, sizes: DeclaredSizes, location: ValueLocation) -> None:
        """Checks an output or inner value; raises OutputError under the policy "strict"."""
        self.check(value, sizes, location)
        if self.pending:
            self.check_pending()

    def check_inner(
        self, value: RuntimeValue, sizes: DeclaredSizes, location: ValueLocation, *, is_local: bool
    ) -> None:
        """Checks a value inside the model as `check_result` checks an output.

        is_local: whether the names of its dims have a meaning only for this value.  That is so in functions, since each call
            of a function may have other sizes.
        """
        if not (is_local or self.ir_version < FIRST_IR_WITH_GLOBAL_NAMES):
            self.check_result(value, sizes, location)
            return
        if self.of_one_value is None:
            self.of_one_value = DeclaredDims(
                self.ir_version, self.policy, self.reports, findings=self.findings
            )
        self.of_one_value.bound.clear()
        self.of_one_value.lengths.clear()
        self.of_one_value.check_result(value, sizes, location)

    def check(self, value: RuntimeValue, sizes: DeclaredSizes, location: ValueLocation) -> None:
        elements = sizes.elements
        if elements is None:
            if isinstance(value, np.ndarray | np.generic | SparseTensor) and not self.is_as_declared(
                value.shape, sizes
            ):
                self.check_shape(value.shape, sizes, location)
        elif isinstance(value, SEQUENCES):
            for i in self.unchecked_elements(value, sizes):
                self.check(value[i], elements, location.element(i))
        elif isinstance(value, dict):
            for key, element in value.items():
                # Some files declare the numbers in maps as scalars, others as vectors of one element: both are accepted.
                is_number = isinstance(element, np.generic) or np.size(cast(Array, element)) == 1
                if not (elements.is_one_element and is_number):
                    self.check(element, elements, location.element(key))

    def extends(self, value: RuntimeValue, sizes: DeclaredSizes) -> bool:
        """Whether a sequence needs no other check: an earlier version of it was checked against these sizes, and all elements
        inserted since then have exactly these sizes.  Most iterations of a loop edit a sequence in this way."""
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
        """The indices of the elements that must be checked so that all are.

        If all elements have one shape, one is enough.  Else they are the elements that no earlier check against these sizes
        has seen, which are few if a loop edits the sequence.  If names are declared, the first of the other elements is
        added: the new ones are compared with it, as the others were.
        """
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
        """Whether a shape consists of declared numbers and lengths of bound names: a quick test that most shapes pass."""
        dims = sizes.dims
        if len(shape) != len(dims):
            return False
        lengths = self.lengths
        for length, dim in zip(shape, dims, strict=True):
            if dim is not None and dim != length and (type(dim) is not str or lengths.get(dim) != length):
                return False
        return True

    def check_shape(self, shape: tuple[int, ...], sizes: DeclaredSizes, location: ValueLocation) -> None:
        """Binds names, and reports each axis that contradicts its declaration."""
        if len(shape) != len(sizes.dims):
            what = f"must be {sizes.type}, of rank {len(sizes.dims)}; got shape {list(shape)}"
            self.report("rank", location, None, f"{location.text} {what}")
            return
        for axis, (length, dim) in enumerate(zip(shape, sizes.dims, strict=True)):
            if dim is None or dim == length:
                continue
            if isinstance(dim, int):
                what = f"must have length {dim} ({sizes.type}); got {length}"
                self.report("size", location, axis, f"{location.text} axis {axis} {what}")
            elif isinstance(dim, str):
                self.bind(dim, Binding(int(length), location, axis))
            else:
                self.pending.append((dim, Binding(int(length), location, axis)))

    def bind(self, name: str, actual: Binding) -> None:
        """Compares a length with the meaning of a name.

        A name without a meaning is bound to the length, if the value is an input or the policy is "strict".
        """
        known = self.bound.get(name)
        if known is None:
            if actual.location.subject != "result" or self.policy == "strict":
                self.bound[name] = actual
                self.lengths[name] = actual.length
        elif known.length != actual.length:
            what = f"dimension {name!r} must have one length; got {known.length} in {known.text}"
            self.report(
                "variable", actual.location, actual.axis, f"{what} and {actual.length} in {actual.text}"
            )

    def check_pending(self) -> None:
        """Checks the dims that were declared as expressions, now that the variables are bound.

        An expression with a name that no dim binds is a name itself: many files have `batch-size` as a name.
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
                self.report("variable", actual.location, actual.axis, what)
        self.pending.clear()

    # --- mismatches --------------------------------------------------------------------------

    def report(self, kind: Kind, location: ValueLocation, axis: int | None, why: str) -> None:
        """Raises an error or adds a finding, depending on the policy.  axis: None for a wrong rank."""
        if location.subject == "input":
            self.input_contradicted = True
        what = response(self.policy, location.subject, kind)
        if what == "error":
            error = OutputError if location.subject == "result" else InputError
            raise error(why, name=location.name)
        key = location.key if axis is None else f"{location.key} axis {axis}"
        if what == "warning" and key not in self.reports.locations:
            self.findings.append((key, why))
