"""Dispatch of checked runs: which engine executes a run, and whether it observes the values inside the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from sardonyx._src.compile.program.encoding.length_equations import LengthEquations
from sardonyx._src.errors import SardonyxError
from sardonyx._src.interp.run_control import RunControl
from sardonyx._src.ir import Model, Node
from sardonyx._src.ops.run_values import RuntimeValue
from sardonyx._src.runtime.declarations.declared_dims import DeclaredDims
from sardonyx._src.runtime.declarations.declared_equations import declared_equations
from sardonyx._src.runtime.declarations.declared_sizes import Declaration
from sardonyx._src.runtime.declarations.inner_declarations import (
    DeclarationObserver,
    InnerDeclarations,
    find_declarations,
)
from sardonyx._src.runtime.declarations.shape_policy import ShapePolicy, ShapeReports
from sardonyx._src.runtime.engine.engine import NativeEngine, run_interruptibly
from sardonyx._src.runtime.limits.run_limits import BRANCH_SIZES, INNER_SIZES, INPUT_SIZES
from sardonyx._src.runtime.session.closed_session import ClosedSession
from sardonyx._src.runtime.session.engine_opening import OpenedModel

if TYPE_CHECKING:
    from sardonyx._src.interp.interpreter import Interpreter

Runner: TypeAlias = "Interpreter | NativeEngine | ClosedSession"


class RunDispatch:
    """Chooses what executes a run.  The runner is an argument of each method, since closing a session replaces it.

    source: the model, or the encoded model of a cached program.
    shapes: the shape policy of the session.
    reports: the locations for which the session has issued a ShapeWarning.
    is_saved: whether the program is a `.sdx` file, which has no reference engine.
    always_observes: whether every run compares inner values with their declarations.  The reference engine executes such
        runs, because a compiled program does not keep its inner values.
    equations: what lengths must satisfy so that a run is as the model declares; None if that is unknown.
    is_compared: whether `equations` is determined.
    """

    def __init__(
        self, opened: OpenedModel, shapes: ShapePolicy, saved: Path | None, reports: ShapeReports
    ) -> None:
        """saved: the path of a saved program; None for a model.

        Raises SardonyxError for a saved program that would have to observe inner values.
        """
        self.source, self.ir_version = opened.source, opened.interface.ir_version
        self.shapes, self.reports, self.is_saved = shapes, reports, saved is not None
        self.always_observes = self.must_observe(opened.runner, saved)
        self.equations: LengthEquations | None = None
        self.is_compared = False

    @property
    def model(self) -> Model:
        """The model.  The model of a cached program is decoded when it is first needed."""
        return self.source if isinstance(self.source, Model) else self.source.model

    def new_dims(self) -> DeclaredDims:
        """The dimension variables of a new run."""
        return DeclaredDims(self.ir_version, self.shapes, self.reports)

    def must_observe(self, runner: Interpreter | NativeEngine, saved: Path | None) -> bool:
        """The value of `always_observes`; raises as the constructor does."""
        if self.shapes == "off":
            return False
        if not isinstance(runner, NativeEngine):
            return bool(self.declarations)
        is_required = self.shapes == "strict" and not runner.declarations.hold
        if is_required and saved:
            what = f"{saved} is a saved program, which cannot compare its inner values with the model's declarations"
            raise SardonyxError(f'{what}: run the model itself for shapes="strict"')
        return is_required

    @cached_property
    def declarations(self) -> InnerDeclarations:
        """The sizes that the model declares of inner values."""
        return find_declarations(self.model)

    def observes(self, dims: DeclaredDims) -> bool:
        """Whether the reference engine executes a run: to observe inner values, or because input sizes contradict the model."""
        return self.always_observes or dims.input_contradicted

    def execute(
        self, runner: Runner, feeds: Mapping[str, RuntimeValue], dims: DeclaredDims, control: RunControl
    ) -> dict[str, RuntimeValue]:
        """The outputs by name.

        The reference engine computes them if the run is observed, or if input sizes contradict those that the program was
        compiled for.
        """
        if isinstance(runner, ClosedSession):
            return runner.run(feeds)
        observer = DeclarationObserver(self.declarations, dims) if self.always_observes else None
        if not isinstance(runner, NativeEngine):
            return run_interruptibly(runner, feeds, observer, control)
        if self.observes(dims):
            guard = INNER_SIZES if self.always_observes else INPUT_SIZES
            return runner.run_reference(feeds, guard, observer, control)
        if self.shapes != "off":
            dims.findings += runner.declarations.findings(dims.lengths)
            locations = runner.declarations.doubtful_locations(dims.lengths)
            if locations and not self.is_saved and dims.reports.must_observe(locations, dims.lengths):
                observer = DeclarationObserver(self.declarations, dims)
                return runner.run_reference(feeds, BRANCH_SIZES, observer, control)
        return runner.run(feeds, control)

    def record_validated(
        self,
        engine: NativeEngine,
        feeds: Mapping[str, RuntimeValue],
        inputs: Mapping[str, Declaration],
        outputs: Mapping[str, Declaration],
    ) -> None:
        """Records that a run with feeds of these sizes matched the declarations of the model's inputs and outputs."""
        if not self.is_compared and engine.specialized is None:
            program = engine.native.program
            self.equations = declared_equations(program, inputs, outputs, engine.declarations, self.shapes)
            self.is_compared = True
        engine.record_validated(feeds, equations=self.equations)

    def trace(
        self,
        runner: Runner,
        feeds: Mapping[str, RuntimeValue],
        dims: DeclaredDims,
        control: RunControl,
        observe: Callable[[Node, Sequence[RuntimeValue]], None],
    ) -> None:
        """A run of the reference engine that reports every node."""
        if isinstance(runner, ClosedSession):
            runner.run(feeds)
            return
        declarations = {} if self.shapes == "off" else self.declarations
        observer = DeclarationObserver(declarations, dims, observe)
        if isinstance(runner, NativeEngine):
            runner.run_reference(feeds, "", observer, control)
        else:
            run_interruptibly(runner, feeds, observer, control)
