"""Scorers of tables: a session, and a scorer for the schema of each batch."""

from __future__ import annotations

from sardonyx._src.io.loading.load import ModelSource
from sardonyx._src.runtime.session.session import Engine, Session
from sardonyx._src.score.model.options import ScoreOptions
from sardonyx._src.score.model.scorer import BatchScorer
from sardonyx._src.score.model.table_models import open_model
from sardonyx._src.tables.arrow import pa
from sardonyx._src.tables.encodings import empty_batch, plain_schema
from sardonyx._src.tables.opening import open_table
from sardonyx._src.tables.sources import MAX_READ_ROWS


class TableScorer:
    """Scores batches of any schema that has the columns of the model."""

    def __init__(
        self, model: ModelSource | Session, options: ScoreOptions, engine: Engine, threads: int | None
    ) -> None:
        self.model, self.options = open_model(model, engine, threads), options
        self.scorer: tuple[pa.Schema, BatchScorer] | None = None

    def scorer_for(self, schema: pa.Schema) -> BatchScorer:
        """The scorer of a schema; the last one is kept for the next batch."""
        if self.scorer is None or not self.scorer[0].equals(schema):
            self.scorer = (schema, BatchScorer(self.model, schema, self.options))
        return self.scorer[1]

    def score_batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The results of a batch; an empty batch without columns if the model cannot run without rows."""
        schema = plain_schema(batch.schema)
        scorer = self.scorer_for(schema)
        result = scorer.score(batch).batch if batch.num_rows else scorer.score_empty(schema)
        return pa.RecordBatch.from_pylist([], pa.schema([])) if result is None else result

    def score_table(self, table: object) -> pa.Table:
        """The results of the rows of a table, in its order."""
        source = open_table(table)
        columns = self.scorer_for(source.schema).columns
        parts = [self.score_batch(part.batch) for part in source.read(0, columns, MAX_READ_ROWS)]
        return pa.Table.from_batches(parts or [self.score_batch(empty_batch(source.schema))])
