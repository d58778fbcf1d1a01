"""Verified programs: the programs of an engine, with runs that are compared with the reference engine.

Compared is the first run of each set of sizes, or every run.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable, Mapping
from functools import partial

import numpy as np

from sardonyx._src.compile.program import EXACT
from sardonyx._src.compile.program.encoding.length_equations import LengthEquations
from sardonyx._src.compile.program.verification.defects import typed_defects
from sardonyx._src.errors import EvaluationError, SardonyxError, VerificationError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.interp.run_control import RunControl
from sardonyx._src.interp.run_state import RandomSource
from sardonyx._src.ir import Model
from sardonyx._src.ops.run_values import RunLimits, RuntimeValue
from sardonyx._src.rewrite.proof.compare import RELATIVE_TOLERANCES, kind_difference
from sardonyx._src.rewrite.proof.prove import random_outputs
from sardonyx._src.runtime.engine.engine import NativeEngine, Programs, run_interruptibly
from sardonyx._src.runtime.engine.lazy_model import LazyModel
from sardonyx._src.runtime.limits.run_limits import Bailout
from sardonyx._src.runtime.programs.stats import RunCounters
from sardonyx._src.runtime.results.output_arrays import OutputMemory
from sardonyx._src.runtime.runs.native_program import NativeProgram
from sardonyx._src.runtime.specialization.program import SpecializedProgram
from sardonyx._src.runtime.specialization.programs import SpecializedPrograms
from sardonyx._src.runtime.verification.modes import Verify
from sardonyx._src.runtime.verification.values import ValueComparison, compare_value

log = logging.getLogger(__name__)
Values = Mapping[str, RuntimeValue]


def verify_runs(engine: NativeEngine, verify: Verify) -> None:
    """Makes an engine verify its runs: the first run of each set of sizes, or every run.

    Under "first", the fast path only repeats the sizes of earlier runs, so that it is verified only for "every".
    """
    programs = VerifiedPrograms(engine, is_every=verify == "every")
    if verify == "every":
        engine.try_run = programs.try_run
    engine.programs = programs


class VerifiedPrograms:
    """The programs of an engine, with runs that are verified.

    is_every: whether every run is verified.
    tolerance: the relative tolerance of floats; None for the tolerance of each element type.
    verified: for each verified run, the element types and sizes of feeds and outputs, and the assumptions of its program.
    """

    def __init__(self, engine: NativeEngine, *, is_every: bool) -> None:
        self.programs: Programs = engine.programs
        self.source: Model | LazyModel = engine.source
        self.limits: RunLimits = engine.limits
        self.counters: RunCounters = engine.counters
        self.is_every = is_every
        self.tolerance = None if engine.precision == EXACT else RELATIVE_TOLERANCES["bfloat16"]
        self.verified: set[Hashable] = set()

    def run(
        self, feeds: Values, limits: RunLimits, random_source: RandomSource, control: RunControl
    ) -> dict[str, RuntimeValue]:
        """The outputs by name; raises VerificationError, and what runs of programs raise."""
        outputs = self.programs.run(feeds, limits, random_source, control)
        key = sizes_of(feeds), sizes_of(outputs), self.last_program.assumptions
        if self.is_every or key not in self.verified:
            self.verify(feeds, outputs, control)
            self.verified.add(key)
        return outputs

    def try_run(
        self, feeds: object, control: RunControl | None = None, out: OutputMemory | None = None
    ) -> dict[str, RuntimeValue] | None:
        """`run` on the fast path; None if there is no fast path for these feeds."""
        outputs = self.programs.try_run(feeds, control, out)
        if outputs is not None:
            assert isinstance(feeds, dict), "the fast path takes a dict"
            self.verify(feeds, outputs, control or RunControl(self.counters.cancellation))
        return outputs

    def record_validated(self, feeds: Values, *, equations: LengthEquations | None) -> None:
        """`record_validated` of the programs; the first run of each set of sizes is verified, not on the fast path."""
        self.programs.record_validated(feeds, equations=equations if self.is_every else None)

    def verify(self, feeds: Values, outputs: Values, control: RunControl) -> None:
        """Raises VerificationError if outputs differ from those of the reference engine by more than rounding explains."""
        comparisons, random = self.compare(feeds, outputs, control)
        differing = [comparison for comparison in comparisons if not comparison.agrees]
        if differing:
            repeatable = {name: value for name, value in outputs.items() if name not in random}
            self.explain(differing[0], feeds, repeatable, control)
        error = max((comparison.error for comparison in comparisons), default=0.0)
        self.counters.record_verified(error, is_amplified=bool(differing))

    def compare(
        self, feeds: Values, outputs: Values, control: RunControl
    ) -> tuple[list[ValueComparison], frozenset[str]]:
        """The comparison of each output with that of the reference engine, and the names of the random outputs.

        Of a random output, only element type and rank are compared.
        """
        model, random_source = self.model, RandomSource(0)
        reference = Interpreter(model, limits=self.limits, random_source=random_source)
        try:
            expected = run_interruptibly(reference, feeds, None, control)
        except EvaluationError as error:
            why = f"the native engine accepts feeds that the reference engine refuses: {error.why}"
            raise VerificationError(why, output=next(iter(outputs)), node=error.location) from error
        random = random_outputs(model) if random_source.has_drawn else frozenset()
        with np.errstate(all="ignore"):
            comparisons = [
                compare_kinds(name, outputs[name], value)
                if name in random
                else compare_value(name, "", outputs[name], value, self.tolerance)
                for name, value in expected.items()
            ]
        return comparisons, random

    def explain(self, first: ValueComparison, feeds: Values, outputs: Values, control: RunControl) -> None:
        """Raises VerificationError, with the first wrong value and its step, unless every step is right for its inputs.

        first: the comparison of the first output that differs.
        outputs: the outputs that do not depend on random numbers.
        """
        from sardonyx._src.runtime.verification.fault_location import find_fault  # lazy: few runs differ

        what = f"output {first.name!r} differs from the reference engine's ({first.why})"
        fail = partial(VerificationError, output=first.name, error=first.error, tolerance=first.tolerance)
        try:
            with typed_defects("locate a fault"):
                fault = find_fault(
                    self.model, self.last_program, feeds, outputs, self.limits, control, self.tolerance
                )
        except (SardonyxError, Bailout) as error:
            raise fail(f"{what}; its origin is unknown, since the run cannot be repeated: {error}") from error
        if fault is None:
            log.info(
                "%s, since the model amplifies rounding errors: every step is right for its inputs", what
            )
            return
        wrong, by = fault.comparison, f", by {fault.step}" if fault.step else ""
        origin = f"the first wrong value is {wrong.name!r} of {wrong.node}{by}: " if wrong.node else ""
        raise fail(f"{what}; {origin}{wrong.why}", node=wrong.node, step=fault.step)

    @property
    def last_program(self) -> SpecializedProgram:
        """The program that ran last in this thread."""
        if isinstance(self.programs, SpecializedPrograms):
            return self.programs.last_program
        assert isinstance(self.programs, NativeProgram), "an engine has one program, or specialized ones"
        return SpecializedProgram((), self.programs)

    @property
    def model(self) -> Model:
        return self.source if isinstance(self.source, Model) else self.source.model


def compare_kinds(name: str, actual: RuntimeValue, expected: RuntimeValue) -> ValueComparison:
    """The comparison of element types and ranks of random values; their numbers of elements may be random, too."""
    if isinstance(actual, np.ndarray) and isinstance(expected, np.ndarray) and actual.ndim == expected.ndim:
        expected = np.empty(actual.shape, expected.dtype)
    return ValueComparison(name, "", 0.0, 0.0, 0.0, (0, 0), kind_difference(actual, expected))


def sizes_of(values: Values) -> Hashable:
    """The element types and sizes of values, by name."""
    return tuple((name, size_of(values[name])) for name in sorted(values))


def size_of(value: RuntimeValue) -> Hashable:
    """The element type and shape of a tensor, the same of each element of a sequence, or the length of a map."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape
    if isinstance(value, list):
        return tuple(map(size_of, value))
    return len(value) if isinstance(value, dict) else None
