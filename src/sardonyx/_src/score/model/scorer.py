"""Scorers: they turn record batches of a table into record batches of results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from sardonyx._src.errors import EvaluationError, InputError, SardonyxError
from sardonyx._src.ir import Array
from sardonyx._src.runtime.session.session import Session
from sardonyx._src.score.model.columns import columns_of, probability_structs
from sardonyx._src.score.model.inputs import InputColumns, plan_inputs, require_columns
from sardonyx._src.score.model.options import ScoreOptions
from sardonyx._src.score.model.table_models import TableModel
from sardonyx._src.score.model.tensors import feeds_of
from sardonyx._src.suggestions import suggest
from sardonyx._src.tables.arrow import pa, pc
from sardonyx._src.tables.bad_rows import BadRows, find_failures
from sardonyx._src.tables.encodings import empty_batch, is_list, plain_batch, python_values
from sardonyx._src.tables.sources import SourceBatch


@dataclass(frozen=True)
class Reject:
    """A row that was not scored.

    row: its number in the source, from 0.
    values: the values that the job reads of it, or its text if it does not parse.
    """

    row: int
    reason: str
    values: object


@dataclass(frozen=True)
class ScoredBatch:
    """The results of a batch.

    batch: the results of the rows that could be scored; None if there are none.
    rejects: the other rows.
    rows: the number of rows of both kinds.
    """

    batch: pa.RecordBatch | None
    rejects: tuple[Reject, ...]
    rows: int


class BatchScorer:
    """Scores record batches of one schema with a session.  Several threads may use one scorer.

    rejects: whether bad rows are returned beside the results; if not, they raise InputError, or the error of the model.
    """

    def __init__(
        self,
        model: TableModel,
        schema: pa.Schema,
        options: ScoreOptions,
        *,
        rejects: bool = False,
    ) -> None:
        self.model, self.options, self.rejects = model, options, rejects
        self.plans = plan_inputs(model, schema, options.columns)
        self.outputs = {value.name: value for value in self.session.outputs}
        for name in options.outputs or ():
            if name not in self.outputs:
                raise InputError(
                    f"the model has no output {name!r}{suggest(name, self.outputs, 'outputs')}", name=name
                )
        if options.keep:
            require_columns(options.keep, schema)
        fed = {column for plan in self.plans for column in plan.columns}
        for name in options.defaults:
            if name not in fed:
                raise InputError(
                    f"defaults (--default) must be of columns that feed the model; got {name!r}{suggest(name, fed, 'columns')}",
                    name=name,
                )

    @property
    def session(self) -> Session:
        return self.model.session

    @property
    def coded_columns(self) -> list[str]:
        """The columns of strings that only feed inputs by codes."""
        others = [column for plan in self.plans if plan.vocabulary is None for column in plan.columns]
        coded = (column for plan in self.plans if plan.vocabulary is not None for column in plan.columns)
        return [column for column in dict.fromkeys(coded) if column not in (*others, *self.options.keep)]

    @property
    def columns(self) -> list[str]:
        """The columns of the table that scoring reads."""
        fed = (column for plan in self.plans for column in plan.columns)
        return list(dict.fromkeys([*fed, *self.options.keep]))

    def score(self, batch: pa.RecordBatch, first: int = 0) -> ScoredBatch:
        """The results of a batch; first: the number of its first row in the source."""
        batch = plain_batch(batch)
        rest, places = batch, np.arange(batch.num_rows)
        reasons: dict[int, str] = {}
        while rest.num_rows:
            try:
                result = self.score_groups(rest, first)
            except BadRows as bad:
                if not self.rejects:
                    row, reason = min(bad.reasons.items())
                    raise InputError(f"row {first + int(places[row])}: {reason}", name="source") from None
                reasons.update((int(places[row]), reason) for row, reason in bad.reasons.items())
                is_good = np.ones(rest.num_rows, bool)
                is_good[list(bad.reasons)] = False
                rest, places = rest.filter(pa.array(is_good)), places[is_good]
            else:
                return ScoredBatch(result, self.list_rejects(batch, reasons, first), batch.num_rows)
        return ScoredBatch(None, self.list_rejects(batch, reasons, first), batch.num_rows)

    def score_part(self, part: SourceBatch) -> ScoredBatch:
        """The results of consecutive rows of a source; some of the rows may be unreadable."""
        if not part.unreadable:
            return self.score(part.batch, part.first)
        rows = np.array([u.place for u in part.unreadable]) + np.arange(len(part.unreadable))
        if not self.rejects:
            raise InputError(f"row {part.first + int(rows[0])}: {part.unreadable[0].reason}", name="source")
        scored = self.score(part.batch)
        numbers = part.first + np.setdiff1d(np.arange(part.rows), rows)
        rejects = [replace(reject, row=int(numbers[reject.row])) for reject in scored.rejects]
        rejects += [
            Reject(part.first + int(row), u.reason, u.text)
            for row, u in zip(rows, part.unreadable, strict=True)
        ]
        return ScoredBatch(scored.batch, tuple(sorted(rejects, key=lambda reject: reject.row)), part.rows)

    def score_empty(self, schema: pa.Schema) -> pa.RecordBatch | None:
        """The results for a table without rows; None if the model cannot run without rows."""
        try:
            return self.score_rows(empty_batch(schema), 0)
        except SardonyxError:
            return None

    def list_rejects(self, batch: pa.RecordBatch, reasons: dict[int, str], first: int) -> tuple[Reject, ...]:
        columns = self.columns
        return tuple(
            Reject(
                first + row,
                reasons[row],
                {name: python_values(batch.column(name).slice(row, 1))[0] for name in columns},
            )
            for row in sorted(reasons)
        )

    def score_groups(self, batch: pa.RecordBatch, first: int) -> pa.RecordBatch:
        """The results of a batch; rows whose lists have different lengths are run separately.  Raises BadRows."""
        groups = list(group_by_length(batch, self.plans))
        if len(groups) < 2:
            return self.score_rows(batch, first)
        tables = []
        for rows in groups:
            try:
                tables.append(self.score_rows(batch.take(pa.array(rows)), first))
            except BadRows as bad:
                raise BadRows({int(rows[row]): reason for row, reason in bad.reasons.items()}) from None
        order = np.argsort(np.concatenate(groups))
        scored = pa.Table.from_batches(tables).take(pa.array(order)).combine_chunks()
        return scored.to_batches()[0]

    def score_rows(self, batch: pa.RecordBatch, first: int) -> pa.RecordBatch:
        """The results of a batch whose rows can run together.  Raises BadRows."""
        feeds = feeds_of(batch, self.plans, self.options)
        try:
            results = self.session.run(feeds, self.options.outputs)
        except EvaluationError as error:
            if not self.rejects:
                error.add_note(f"in rows {first} to {first + batch.num_rows - 1} of the source")
                raise
            reasons = find_failures(batch.num_rows, lambda start, count: self.failure_of(feeds, start, count))
            if not reasons:
                raise
            raise BadRows(reasons) from None
        named = [(name, batch.column(name)) for name in self.options.keep]
        for name, result in results.items():
            if name in self.model.labels and isinstance(result, np.ndarray):
                named.append((name, probability_structs(result, self.model.labels[name])))
            else:
                named += columns_of(self.outputs[name], result, batch.num_rows, self.options.vectors)
        names = [name for name, _ in named]
        for name in self.options.keep:
            if names.count(name) > 1:
                raise InputError(
                    f"column {name!r} must not be kept, since results have this name; leave it out of keep (--keep), or rename the output with `sardonyx rename`",
                    name=name,
                )
        return pa.RecordBatch.from_arrays([column for _, column in named], names)

    def failure_of(self, feeds: dict[str, Array], first: int, count: int) -> str | None:
        """Why the model fails on a range of rows; None if it does not."""
        try:
            self.session.run(
                {name: feed[first : first + count] for name, feed in feeds.items()}, self.options.outputs
            )
        except SardonyxError as error:
            return str(error)
        return None


def group_by_length(batch: pa.RecordBatch, plans: list[InputColumns]) -> Iterator[Array]:
    """The rows in groups whose lists have equal lengths; nothing if no input accepts lists of any length."""
    lengths = [
        pc.fill_null(pc.list_value_length(batch.column(plan.columns[0])), -1).to_numpy(zero_copy_only=False)
        for plan in plans
        if not plan.packed and None in plan.dims[:1] and is_list(batch.schema.field(plan.columns[0]).type)
    ]
    if not lengths:
        return
    _, groups = np.unique(np.stack(lengths, axis=1), axis=0, return_inverse=True)
    for group in range(int(groups.max(initial=0)) + 1):
        yield np.flatnonzero(groups == group)
