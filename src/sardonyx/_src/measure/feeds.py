"""Checked feeds for measurements: given values, and random ones for the other inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from sardonyx._src.arguments import require_integer, require_mapping
from sardonyx._src.ir import Model, TensorType
from sardonyx._src.ir.dims import Expr
from sardonyx._src.measure.fitting_sizes import fitting_sizes
from sardonyx._src.measure.random_feeds import RandomFeeds, dims_of, open_sizes, random_feeds
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.runtime.declarations.declared_dims import DeclaredDims
from sardonyx._src.runtime.declarations.declared_sizes import declarations_of
from sardonyx._src.runtime.feeds.feeds import check_feeds
from sardonyx._src.runtime.session.session_values import SessionValue


def ports_of(model: Model) -> list[SessionValue]:
    """The inputs of a model as a session lists them."""
    return [SessionValue(v.name, v.type, v.initializer is not None) for v in model.graph.inputs]


def choose_feeds(
    model: Model, feeds: Mapping[str, object] | None, seed: int, dims: Mapping[str, int] | None
) -> tuple[dict[str, RuntimeValue], RandomFeeds]:
    """The checked feeds, with random values for the inputs that they lack, and what was random."""
    feeds, dims = {} if feeds is None else feeds, {} if dims is None else dims
    require_integer("seed", seed, 0)
    require_mapping("feeds", feeds, str, object, "names of inputs to values")
    require_mapping("dims", dims, str, (int, np.integer), "names of dims to lengths")
    random = random_feeds(ports_of(model), feeds, seed, dims, sizes_for(model, feeds, dims))
    values = {**feeds, **{name: clamp_integers(value) for name, value in random.values.items()}}
    declarations = declarations_of(model.graph.inputs, "input")
    return dict(check_feeds(values, declarations, DeclaredDims(model.ir_version))), random


def sizes_for(model: Model, feeds: Mapping[str, object], dims: Mapping[str, int]) -> Mapping[str, int]:
    """Lengths for the open sizes of the inputs that get random values: those of given values, `dims`, and others that fit."""
    missing = [port for port in ports_of(model) if port.name not in feeds and not port.has_default]
    given = [port for port in ports_of(model) if port.name in feeds]
    known = {**bound_sizes(given, feeds), **dims}
    return known if open_sizes(missing) <= known.keys() else {**fitting_sizes(model, missing, known), **known}


def bound_sizes(ports: Iterable[SessionValue], feeds: Mapping[str, object]) -> dict[str, int]:
    """The lengths that given tensors have for dimension variables."""
    result = {}
    for port in ports:
        shape = np.asarray(feeds[port.name]).shape if isinstance(port.type, TensorType) else ()
        for (_, dim), length in zip(dims_of(port.type), shape, strict=False):
            if isinstance(dim, Expr) and dim.symbols() == {str(dim)}:
                result[str(dim)] = length
    return result


def complete_feeds(
    model: Model, feeds: Mapping[str, object] | None, seed: int, dims: Mapping[str, int] | None
) -> dict[str, RuntimeValue]:
    """The feeds of `choose_feeds`, without the record of what was random."""
    return choose_feeds(model, feeds, seed, dims)[0]


def clamp_integers(value: object) -> object:
    """A random value whose integers are reduced to 0 and 1: these are valid indices of almost any table."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "iu":
        return value % 2
    return value
