"""The arguments of a session: their checks, and how a session is opened again from them."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from sardonyx._src.arguments import require_choice, require_flag, require_integer, require_type
from sardonyx._src.compile.llvm.kernel_origin import STARTS, Start
from sardonyx._src.compile.program import EXACT, Precision
from sardonyx._src.compile.program.steps.precision import PRECISIONS
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InputError, SardonyxError
from sardonyx._src.io.external import Policy
from sardonyx._src.io.loading.model_sources import DecoderFile, ModelSource
from sardonyx._src.ir import Model
from sardonyx._src.ops.run_values import RunLimits
from sardonyx._src.runtime.declarations.shape_policy import SHAPE_POLICIES, ShapePolicy
from sardonyx._src.runtime.verification.modes import VERIFICATIONS, Verify

if TYPE_CHECKING:
    from sardonyx._src.io.loading.operator_sets import OperatorSetSource

Functions = Sequence[Callable[..., object]]
Engine = Literal["auto", "reference", "native"]
ENGINES: tuple[Engine, ...] = ("auto", "reference", "native")
MAX_THREADS = 1 << 16


def has_definitions(operators: Functions) -> bool:
    """Whether a session has operators of its own; raises InputError for a function that defines none."""
    if isinstance(operators, tuple) and not operators:
        return False
    from sardonyx._src.build.session_operators import definitions_of  # lazy: few sessions have any

    return bool(definitions_of(operators))


def check_options(
    engine: Engine,
    shapes: ShapePolicy,
    threads: int | None,
    limits: RunLimits | None,
    verify_checksums: bool,
    precision: Precision,
    verify: Verify,
    start: Start,
) -> None:
    """Raises TypeError or InputError for an invalid argument of `Session`, and UnsupportedProcessor as `require_precision`."""
    require_choice("engine", engine, ENGINES)
    require_choice("shapes", shapes, SHAPE_POLICIES)
    require_integer("threads", threads, 1, MAX_THREADS, optional=True)
    require_type("limits", limits, (RunLimits, type(None)), "sx.RunLimits or None")
    require_flag("verify_checksums", verify_checksums)
    require_choice("precision", precision, PRECISIONS)
    require_choice("verify", verify, VERIFICATIONS)
    require_choice("start", start, STARTS)
    if verify != "off" and engine == "reference":
        what = (
            'verify must be "off" for engine="reference", since it compares the native engine with that one'
        )
        raise InputError(f"{what}; got {verify!r}", name="verify")
    if precision != EXACT:
        if engine == "reference":
            raise SardonyxError(
                f'precision="{precision}" requires the native engine; got engine="reference", which computes in float32'
            )
        from sardonyx._src.runtime.programs.precision import (
            require_precision,  # lazy: few sessions need the target
        )

        require_precision(precision)


def saved_program_path(
    source: ModelSource, engine: Engine, verify: Verify = "off", *, has_operators: bool = False
) -> Path | None:
    """The path of a program that `sardonyx compile` wrote (`.sdx`); None if the source is a model.

    Raises SardonyxError or InputError for an engine, a verification, or operators of the session, which need the model.
    """
    if not isinstance(source, str | os.PathLike) or not os.fspath(source).endswith(".sdx"):
        return None
    if engine == "reference":
        raise SardonyxError(f"{source} holds a compiled program, which the reference engine cannot run")
    if verify != "off":
        what = f'verify must be "off" for {source}, a compiled program without its model'
        raise InputError(f"{what}; got {verify!r}: open the model", name="verify")
    if has_operators:
        raise SardonyxError(
            f"{source} holds a compiled program, whose operators are fixed: open its model instead"
        )
    return Path(source)


def path_of(source: ModelSource) -> str | DecoderFile | None:
    """The absolute path of a model's file; None for a model that does not come from a path."""
    if isinstance(source, DecoderFile):
        return DecoderFile(os.path.abspath(source), source.edit)
    return os.path.abspath(os.fspath(source)) if isinstance(source, str | os.PathLike) else None


@dataclass(frozen=True, slots=True)
class SessionOrigin:
    """The arguments of a session, except for the engine, from which it is opened again after pickling.

    source: the path of the model, or its bytes; None for a model without a path, whose bytes `stored` adds.
    """

    source: str | DecoderFile | bytes | None
    threads: int | None
    seed: int | None
    limits: RunLimits | None
    policy: Policy | str
    operator_sets: tuple[OperatorSetSource, ...]
    verify_checksums: bool
    shapes: ShapePolicy
    operators: Functions = ()
    precision: Precision = EXACT
    verify: Verify = "off"
    start: Start = "library"

    def stored(self, model: Model) -> SessionOrigin:
        """The arguments with the model's bytes as source; the model includes the operator sets already."""
        from sardonyx._src.io.saving.save import save  # lazy: few sessions are pickled

        content = io.BytesIO()
        save(model, content)
        return replace(self, source=content.getvalue(), operator_sets=())
