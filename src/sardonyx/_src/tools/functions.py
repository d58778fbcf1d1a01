"""The tools as functions of paths, bytes and models, with their arguments checked."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from sardonyx._src.arguments import (
    items_of,
    require_flag,
    require_integer,
    require_mapping,
    require_number,
    require_path,
    require_text,
    texts_of,
)
from sardonyx._src.errors import InputError
from sardonyx._src.io.loading.load import ModelSource, load, resolve_model
from sardonyx._src.ir import Model
from sardonyx._src.tools import extract as extraction
from sardonyx._src.tools import inline as inlining
from sardonyx._src.tools import rename as renaming
from sardonyx._src.tools.diff import Difference
from sardonyx._src.tools.diff import diff as diff_models
from sardonyx._src.tools.externalise import PROTOBUF_LIMIT
from sardonyx._src.tools.externalise import externalise as write_externalised
from sardonyx._src.tools.externalise import internalise as write_internalised
from sardonyx._src.tools.merge.models import DEFAULT_PREFIX
from sardonyx._src.tools.merge.models import merge as merge_models
from sardonyx._src.tools.set_dims import set_dims as set_dims_of

Names = Mapping[str, str]


def extract(
    model: ModelSource,
    *,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    graph: str | None = None,
) -> Model:
    """The part of a model that computes `outputs` from `inputs`; both may name any value of the graph.

    graph: the graph from which the part is extracted; by default the main graph.  A function is named by `domain.name`, a
        nested graph by node and attribute, as in `loop.body`, or either by its own name.  Values that a nested graph captures
        become inputs; the body of a function has the types and attributes of its first call.

    Raises InputError for unknown names, and for outputs that need an input that is not given.
    """
    for name, names in (("inputs", inputs), ("outputs", outputs)):
        if names is not None:
            texts_of(name, names)
    if graph is not None:
        require_text("graph", graph)
    return extraction.extract(resolve_model(model), inputs=inputs, outputs=outputs, graph=graph)


def merge(
    first: ModelSource,
    second: ModelSource,
    connect: Iterable[tuple[str, str]] | None = None,
    *,
    prefix: str = DEFAULT_PREFIX,
    prefix_public: bool = False,
    keep_connected: bool = False,
) -> Model:
    """One model of two: outputs of the first feed inputs of the second.

    connect: pairs of an output and an input; by default those with equal names, or the only output and the only input.
    """
    require_text("prefix", prefix)
    require_flag("prefix_public", prefix_public)
    require_flag("keep_connected", keep_connected)
    if connect is not None:
        connect = items_of("connect", connect, tuple, "pairs of names")
        for pair in connect:
            if len(texts_of("connect", pair)) != 2:
                raise InputError(
                    f"connect must be pairs of an output and an input; got {pair!r}", name="connect"
                )
    return merge_models(
        resolve_model(first),
        resolve_model(second),
        connect,
        prefix=prefix,
        prefix_public=prefix_public,
        keep_connected=keep_connected,
    )


def diff(first: ModelSource, second: ModelSource, *, weights_tolerance: float = 0.0) -> list[Difference]:
    """The differences of two models; empty if they are equal."""
    require_number("weights_tolerance", weights_tolerance)
    return list(diff_models(resolve_model(first), resolve_model(second), weights_tolerance=weights_tolerance))


def rename(
    model: ModelSource,
    *,
    inputs: Names | None = None,
    outputs: Names | None = None,
    values: Names | None = None,
    nodes: Names | None = None,
    dims: Names | None = None,
    functions: Names | None = None,
    domains: Names | None = None,
    graph: str = "",
    regex: bool = False,
) -> Model:
    """A copy of a model with other names; all references are updated.

    inputs, outputs, values, nodes, dims, functions, domains: the new name by the old name.
    graph: the new name of the main graph.
    regex: whether old names are regular expressions that match whole names.
    Raises InputError for a name that the model lacks, and for a new name that is in use.
    """
    tables = {
        "inputs": inputs,
        "outputs": outputs,
        "values": values,
        "nodes": nodes,
        "dims": dims,
        "functions": functions,
        "domains": domains,
    }
    for key, table in tables.items():
        if table is not None:
            require_mapping(key, table, str, str, "old names to new names")
    require_text("graph", graph)
    require_flag("regex", regex)
    names = renaming.Renaming(
        inputs=inputs or {},
        outputs=outputs or {},
        values=values or {},
        nodes=nodes or {},
        dims=dims or {},
        functions=functions or {},
        domains=domains or {},
        graph=graph,
        regex=regex,
    )
    return renaming.rename(resolve_model(model), names)


def set_dims(
    model: ModelSource,
    *,
    dims: Mapping[str, int] | None = None,
    inputs: Mapping[str, Sequence[int | str]] | None = None,
    free: Mapping[tuple[str, int], str] | None = None,
) -> Model:
    """A copy of a model with other sizes.

    dims: the length of dimension variables.
    inputs: the shape of inputs, of numbers and names of variables.
    free: for an input and axis, the name of the variable that its size becomes.
    Constants that hold a changed size are repaired; `notes` of the result lists the repairs.
    """
    if dims is not None:
        require_mapping("dims", dims, str, (int, np.integer), "variables to sizes")
    if inputs is not None:
        require_mapping("inputs", inputs, str, Sequence, "names to sizes")
    if free is not None:
        require_mapping("free", free, tuple, str, "an input and an axis to a variable")
    return set_dims_of(resolve_model(model), dims=dims, inputs=inputs, free=free)


def inline(model: ModelSource, functions: Iterable[str] | None = None) -> Model:
    """A copy of a model with calls of functions, all or those named, replaced by their bodies."""
    names = None if functions is None else texts_of("functions", functions)
    return inlining.inline(resolve_model(model), names)


def externalise(
    model: ModelSource,
    target: str | os.PathLike[str],
    *,
    location: str | None = None,
    threshold: int = 1024,
    one_file_per_tensor: bool = False,
    align: int = 4096,
    checksum: bool | None = None,
) -> Model:
    """Writes a model with its weights in external data files, and returns the model that was written."""
    require_path("target", target)
    require_flag("one_file_per_tensor", one_file_per_tensor)
    if location is not None:
        require_text("location", location)
    write_externalised(
        resolve_model(model),
        target,
        location=location,
        threshold=threshold,
        one_file_per_tensor=one_file_per_tensor,
        align=align,
        checksum=checksum,
    )
    return load(target)


def internalise(model: ModelSource, target: str | os.PathLike[str], *, limit: int = PROTOBUF_LIMIT) -> Model:
    """Writes a model with all weights inside, and returns the model that was written.

    Raises LimitError for a model of more than `limit` bytes.
    """
    require_path("target", target)
    require_integer("limit", limit, 0)
    write_internalised(resolve_model(model), target, limit=limit)
    return load(target)
