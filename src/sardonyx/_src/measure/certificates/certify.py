"""`certify`: a run, and its certificate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sardonyx._src.arguments import require_integer
from sardonyx._src.compile.program import EXACT, Precision
from sardonyx._src.io.loading.load import ModelSource, resolve_model
from sardonyx._src.ir import Model
from sardonyx._src.measure.certificates.certificate import Certificate, NumericOptions
from sardonyx._src.ops.api import RunResult, RuntimeValue
from sardonyx._src.runtime.declarations.declared_dims import DeclaredDims
from sardonyx._src.runtime.declarations.declared_sizes import declarations_of
from sardonyx._src.runtime.declarations.shape_policy import ShapePolicy
from sardonyx._src.runtime.feeds.feeds import check_feeds
from sardonyx._src.runtime.session.session import Engine, Session

DEFAULT_SEED = 0  # of certified runs: random operators without a seed could not be verified


def certify(
    model: ModelSource,
    feeds: Mapping[str, object] | None = None,
    *,
    outputs: Sequence[str] | None = None,
    engine: Engine = "auto",
    precision: Precision = EXACT,
    seed: int = DEFAULT_SEED,
    shapes: ShapePolicy = "inputs",
    threads: int | None = None,
) -> Certificate:
    """Runs a model, and returns a certificate of what it computed, which `verify` repeats on any machine.

    outputs: names of the outputs to compute; by default all.  The other arguments are those of `Session`.
    Raises what sessions raise.
    """
    require_integer("seed", seed)
    resolved = resolve_model(model)
    with Session(
        resolved, engine=engine, precision=precision, seed=seed, shapes=shapes, threads=threads
    ) as session:
        results = session.run({} if feeds is None else feeds, outputs)
        return certificate_of(resolved, session, {} if feeds is None else feeds, results, seed, shapes)


def certificate_of(
    model: Model,
    session: Session,
    feeds: Mapping[str, object],
    outputs: Mapping[str, RunResult],
    seed: int,
    shapes: ShapePolicy,
) -> Certificate:
    """The certificate of the first run of a session of this model."""
    options = NumericOptions(session.engine, session.precision, seed, shapes)
    return Certificate.of(model, options, run_values(model, feeds), outputs)


def run_values(model: Model, feeds: Mapping[str, object]) -> dict[str, RuntimeValue]:
    """Feeds as a run reads them: arrays of the declared element types.  Raises InputError as a run does, sizes excepted."""
    dims = DeclaredDims(model.ir_version, "off")
    return dict(check_feeds(feeds, declarations_of(model.graph.inputs, "input"), dims))
