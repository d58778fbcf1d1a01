"""Location of a fault: the first value of a model that the native engine computes wrongly, and the step that computes it.

The model is compiled again and run step by step.  A reference kernel computes each value once more from the nearest values
of the native engine (`local_reference.py`).  If every step is right, the values of the model are compared with those of the
*prepared model*, the one that the compiler made of it by passes.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

import numpy as np

from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import compile_stages
from sardonyx._src.compile.program.verification.defects import typed_defects
from sardonyx._src.errors import SardonyxError
from sardonyx._src.interp.run_control import RunControl
from sardonyx._src.io.garbage_collection import pause_gc
from sardonyx._src.io.nesting import limit_nesting
from sardonyx._src.ir import Model
from sardonyx._src.ops.run_values import RunLimits, RuntimeValue
from sardonyx._src.rewrite.proof.compare import difference
from sardonyx._src.runtime.engine.engine import NativeEngine
from sardonyx._src.runtime.programs.async_compilation import async_compilation
from sardonyx._src.runtime.programs.stats import RunCounters
from sardonyx._src.runtime.runs.native_program import NativeProgram, constant_evaluation
from sardonyx._src.runtime.specialization.program import SpecializedProgram
from sardonyx._src.runtime.verification.held_values import HeldValues
from sardonyx._src.runtime.verification.local_reference import Computed, LocalReference
from sardonyx._src.runtime.verification.values import ValueComparison
from sardonyx._src.runtime.verification.verifying_context import (
    OVERWRITTEN,
    UNBOUND,
    Fault,
    VerifyingContext,
    WrongValue,
)
from sardonyx._src.tools.extract import extract

PREPARATION = "the preparation of the model, before any step"
UNREPEATED = "a run of a new program, step by step, computes another value"


def find_fault(
    model: Model,
    program: SpecializedProgram,
    feeds: Mapping[str, RuntimeValue],
    outputs: Mapping[str, RuntimeValue],
    limits: RunLimits,
    control: RunControl,
    tolerance: float | None,
) -> Fault | None:
    """The first fault of a run; None if every step is right for its inputs, so that the model amplifies rounding errors.

    program: the program that computed the outputs.
    outputs: the outputs that do not depend on random numbers.
    tolerance: the relative tolerance of floats; None for the tolerance of each element type.
    Raises what compilation and a run raise.
    """
    original = LocalReference(model, limits, control, tolerance)
    context = compile_verified(model, program, limits, control, tolerance)
    try:
        with np.errstate(all="ignore"), limit_nesting():
            results = context.verify_run(feeds, limits, control)
    except WrongValue as wrong:
        return locate_in(original, narrow(wrong.fault, context))
    return find_in_preparation(original, context.graph, context.known) or find_unrepeated(outputs, results)


def compile_verified(
    model: Model, program: SpecializedProgram, limits: RunLimits, control: RunControl, tolerance: float | None
) -> VerifyingContext:
    """A context for the model's program, compiled again: the result of layout assignment says which tensor holds which value,
    and a program does not keep it."""
    tolerant, precision = program.native.counters.tolerates_faults, program.native.program.precision
    with async_compilation(), limit_nesting(), pause_gc():
        laid_out, executable = compile_stages(
            model,
            host_target(),
            tolerant=tolerant,
            assumptions=program.assumptions,
            precision=precision,
            evaluate=constant_evaluation(tolerant=tolerant),
        )
        counters = RunCounters(tolerates_faults=tolerant)
        native = NativeProgram(executable, program.native.pool.threads, counters)
    graph = LocalReference(executable.program.model, limits, control, tolerance)
    return VerifyingContext(native, HeldValues(laid_out, executable.program.actions), graph)


def narrow(fault: Fault, context: VerifyingContext) -> Fault:
    """A fault of a value inside a step of several nodes, if one can be found; else the given fault.

    Parts of the step that end at an inner value are compiled by themselves, in order, and the first wrong one is the fault.
    """
    graph, known, program = context.graph, context.known, context.native.program
    if fault.comparison.why in (UNBOUND, OVERWRITTEN):
        return fault
    steps, sources = graph.steps_between(graph.values[fault.comparison.name], known)
    feeds = {value.name: known[value.name] for value in sources}
    inner = [value.name for step in steps for value in step.writes if value is not None]
    with suppress(SardonyxError), typed_defects("compile"):  # raised for a part that cannot be a model
        for name in inner[:-1]:
            part = extract(program.model, inputs=[*feeds], outputs=[name])
            engine = NativeEngine(part, threads=context.native.pool.threads, precision=program.precision)
            comparison = graph.compare(name, engine.run(feeds)[name], known)
            if comparison is not None and not comparison.agrees:
                return replace(fault, comparison=comparison)
    return fault


def locate_in(model: LocalReference, fault: Fault) -> Fault:
    """A fault of the prepared model with the location of the node in the original model, if that has the value."""
    comparison = fault.comparison
    node = model.location(comparison.name) or f"{comparison.node} of the prepared model"
    return replace(fault, comparison=replace(comparison, node=node))


def find_in_preparation(
    original: LocalReference, prepared: LocalReference, known: Mapping[str, RuntimeValue]
) -> Fault | None:
    """The first value that the prepared model computes otherwise than the original, if an output is different, too; else None.

    A difference of an inner value is no fault by itself: passes may give a value another meaning.  For example, a product
    changes if a scale is moved into its weights.
    known: the values of the native engine.  Other values of the prepared model are computed from these.
    """
    checked = {name: x for name, x in known.items() if name not in original.values}
    changed: list[ValueComparison] = []
    for name in [name for name in original.values if name in prepared.values]:
        actual = known[name] if name in known else value_of(prepared.compute(name, known))
        if actual is None:
            continue
        comparison = original.compare(name, actual, checked)
        if comparison is not None and not comparison.agrees:
            changed.append(comparison)
            if name in original.outputs:
                earlier = original.ancestors(name)
                return Fault(next(other for other in changed if other.name in earlier), PREPARATION)
        elif name in known:
            checked[name] = actual
    return None


def value_of(computed: Computed | None) -> RuntimeValue:
    return None if computed is None else computed.value


def find_unrepeated(first: Mapping[str, RuntimeValue], second: Mapping[str, RuntimeValue]) -> Fault | None:
    """A fault for an output of the first run that differs in the second run; None if all are equal."""
    for name, value in first.items():
        if difference(value, second[name]):
            return Fault(ValueComparison(name, "", 0.0, 0.0, 0.0, (0, 0), UNREPEATED), "")
    return None
