"""Models for tables: sessions without the operations that are slow for many rows, maps in results and look-ups of strings."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sardonyx._src.io.loading.load import ModelSource
from sardonyx._src.ir import Model
from sardonyx._src.runtime.session.session import Engine, Session
from sardonyx._src.score.model.text_codes import with_text_codes
from sardonyx._src.score.model.zip_maps import without_maps


@dataclass(frozen=True)
class TableModel:
    """A session that scores the rows of tables.

    labels: by output, the keys of the maps that the model returns; the session returns a tensor [rows, labels] instead.
    vocabularies: by input, the strings that the model knows; the session receives a code, int64, instead of a string: the index
        of the string, or the number of strings for all others.
    """

    session: Session
    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    vocabularies: Mapping[str, Sequence[str]] = field(default_factory=dict)


def open_model(model: ModelSource | Session, engine: Engine, threads: int | None) -> TableModel:
    """A session for a model; an open session, or one that is saved as .sdx, runs as it is."""
    if isinstance(model, Session):
        return TableModel(model)
    session = Session(model, engine=engine, threads=threads)
    if isinstance(model, str | os.PathLike) and os.fspath(model).endswith(".sdx"):
        return TableModel(session)
    simpler, labels, vocabularies = simplify(session.model)
    if not labels and not vocabularies:
        return TableModel(session)
    return TableModel(Session(simpler, engine=engine, threads=threads), labels, vocabularies)


def simplify(model: Model) -> tuple[Model, dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """The model without final ZipMap nodes and look-ups of strings, its labels and its vocabularies."""
    simpler, labels = without_maps(model)
    simpler, vocabularies = with_text_codes(simpler)
    return simpler, labels, vocabularies
