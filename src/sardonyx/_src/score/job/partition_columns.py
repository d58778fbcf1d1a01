"""Columns of a result that name the folders of its files, checked before the first run."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.errors import InputError
from sardonyx._src.score.model.scorer import BatchScorer
from sardonyx._src.tables.arrow import pa
from sardonyx._src.tables.partitions import (
    OPTION,
    check_name,
    check_rest,
    check_type,
    missing_column,
    refusal,
)


def check_partition_columns(names: Sequence[str], scorer: BatchScorer, schema: pa.Schema) -> None:
    """Raises InputError for columns that cannot be partitions, as far as that is known before the first run.

    schema: the schema of the source.
    """
    outputs = {n: v for n, v in scorer.outputs.items() if n in (scorer.options.outputs or scorer.outputs)}
    columns = [*scorer.options.keep, *outputs]
    for name in names:
        check_name(name)
        if names.count(name) > 1:
            raise InputError(f"{OPTION} must name a column once; got {name!r} twice", name=name)
        if name in scorer.options.keep:
            check_type(name, schema.field(name).type)
        elif name in outputs:
            dtype = outputs[name].dtype
            if dtype is not None and dtype.is_float:
                raise refusal(name, str(outputs[name].type))
        elif scorer.options.vectors == "lists" or not name.startswith(tuple(f"{n}_" for n in outputs)):
            raise missing_column(name, columns)
    check_rest(names, columns)
