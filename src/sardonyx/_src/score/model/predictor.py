"""Predictions for data frames, by the conventions of scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sardonyx._src.errors import InputError
from sardonyx._src.io.loading.load import ModelSource
from sardonyx._src.ir import Array
from sardonyx._src.runtime.session.session import Engine, Session
from sardonyx._src.score.model.inputs import plan_inputs
from sardonyx._src.score.model.options import ScoreOptions
from sardonyx._src.score.model.table_models import open_model
from sardonyx._src.score.model.tensors import feeds_of
from sardonyx._src.tables.bad_rows import BadRows
from sardonyx._src.tables.encodings import plain_batch
from sardonyx._src.tables.opening import open_table
from sardonyx._src.tables.sources import MAX_READ_ROWS


class TablePredictor:
    """Runs a model on the rows of tables and arrays, and returns the outputs as arrays."""

    def __init__(
        self, model: ModelSource | Session, options: ScoreOptions, engine: Engine, threads: int | None
    ) -> None:
        self.model, self.options = open_model(model, engine, threads), options
        self.session = self.model.session
        self.labels = next(iter(self.model.labels.values()), None)

    def run(self, rows: object) -> list[Array]:
        """The outputs of the model, each with a row for each row."""
        parts = [list(self.session.run(feeds).values()) for feeds in self.feeds(rows)]
        if not parts:
            raise InputError("the table must have rows; got none", name="rows")
        for value in parts[0]:
            if not isinstance(value, np.ndarray):
                raise InputError(
                    "the outputs of the model must be tensors to be predictions; got maps", name="model"
                )
        return [np.concatenate(values) for values in zip(*parts, strict=True)]

    def feeds(self, rows: object) -> Iterator[dict[str, Array]]:
        """The feeds of the rows, in parts of as many rows as one run computes."""
        if isinstance(rows, np.ndarray):
            (value, *others) = self.session.inputs
            if rows.ndim != 2 or others or value.dtype is None:
                raise InputError("an array must be [rows, features], for a model with one input", name="rows")
            for start in range(0, len(rows), MAX_READ_ROWS):
                yield {value.name: rows[start : start + MAX_READ_ROWS].astype(value.dtype.numpy, copy=False)}
            return
        source = open_table(rows)
        plans = plan_inputs(self.model, source.schema, self.options.columns)
        columns = list(dict.fromkeys(name for plan in plans for name in plan.columns))
        for part in source.read(0, columns, MAX_READ_ROWS):
            try:
                yield feeds_of(plain_batch(part.batch), plans, self.options)
            except BadRows as bad:
                row, reason = min(bad.reasons.items())
                raise InputError(f"row {part.first + row}: {reason}", name="rows") from None

    def predict(self, rows: object) -> Array:
        """[rows]: the first output; for a model that only returns probabilities, the most probable class."""
        first = self.run(rows)[0]
        if first.ndim == 2 and first.shape[1] > 1 and first.dtype.kind == "f":
            best: Array = first.argmax(axis=1)
            return best if self.labels is None else np.array(self.labels, object).take(best)
        return first.reshape(len(first)) if first.size == len(first) else first

    def predict_probabilities(self, rows: object) -> Array:
        """[rows, classes]: the last output that is a matrix of floats."""
        matrices = [value for value in self.run(rows) if value.ndim == 2 and value.dtype.kind == "f"]
        if not matrices:
            raise InputError(
                "the model must have an output [rows, classes] of floats; it has none", name="model"
            )
        return matrices[-1]
