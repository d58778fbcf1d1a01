"""The columns that feed each input of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.ir import TensorType
from sardonyx._src.runtime.session.session_values import SessionValue
from sardonyx._src.score.model.options import ColumnMap
from sardonyx._src.score.model.table_models import TableModel
from sardonyx._src.suggestions import suggest
from sardonyx._src.tables.arrow import pa


@dataclass(frozen=True)
class InputColumns:
    """The columns of one input.

    input, dtype: the name and the element type of the input.
    columns: the names of its columns.
    dims: the dims of the input after the first, None for those that accept any length.
    packed: whether the columns become one matrix, [rows, columns].
    has_rank: whether the input declares its dims.
    vocabulary: the strings that are fed as codes (`text_codes.py`); None for other inputs.
    """

    input: str
    dtype: DataType
    columns: tuple[str, ...]
    dims: tuple[int | None, ...]
    packed: bool = False
    has_rank: bool = True
    vocabulary: pa.Array | None = None


def plan_inputs(model: TableModel, schema: pa.Schema, columns: ColumnMap) -> list[InputColumns]:
    """The columns of each input: those that `columns` names, else the column of its name, else all numeric columns.

    All numeric columns feed an input only if it is the only required input of the model, has numbers and rank 2, and no column
    has its name.  Raises InputError for an input without a column, for columns that do not exist, and for inputs whose first
    dimension is a number.
    """
    inputs = model.session.inputs
    by_name = {value.name: value for value in inputs}
    for name in columns:
        if name not in by_name:
            raise InputError(f"the model has no input {name!r}{suggest(name, by_name, 'inputs')}", name=name)
    required = sum(not value.has_default for value in inputs)
    plans: list[InputColumns] = []
    for value in inputs:
        vocabulary = model.vocabularies.get(value.name)
        plan = plan_input(value, schema, columns.get(value.name), required, vocabulary is not None)
        if plan is not None:
            texts = None if vocabulary is None else pa.array(vocabulary, pa.string())
            plans.append(replace(plan, vocabulary=texts))
    return plans


def plan_input(
    value: SessionValue,
    schema: pa.Schema,
    stated: str | Sequence[str] | None,
    required: int,
    is_coded: bool,
) -> InputColumns | None:
    """The columns of an input; None for an input with a default that no column feeds.

    stated: the columns that the caller names for the input.
    required: the number of inputs without default.
    is_coded: whether the input receives codes of strings.
    """
    name = value.name if stated is None else stated
    if stated is None and name not in schema.names and value.has_default:
        return None
    dtype, dims, has_rank = row_type(value)
    dtype = DataType.STRING if is_coded else dtype
    if not isinstance(name, str):
        return InputColumns(value.name, dtype, require_columns(name, schema), dims, True, has_rank)
    if stated is not None or name in schema.names:
        return InputColumns(value.name, dtype, require_columns([name], schema), dims, False, has_rank)
    numeric = tuple(field.name for field in schema if is_numeric(field.type))
    can_pack = has_rank and len(dims) == 1 and dtype is not DataType.STRING
    if required == 1 and can_pack and numeric and dims[0] in (None, len(numeric)):
        return InputColumns(value.name, dtype, numeric, dims, True)
    counted = f", and {len(numeric)} numeric columns cannot be packed into {value.type}" if can_pack else ""
    raise InputError(
        f"input {value.name!r} must have a column of its name{suggest(value.name, schema.names, 'columns')}{counted}; name "
        f"its column with columns={{{value.name!r}: ...}} (--map COLUMN={value.name}), or several to pack into it "
        f"(--pack {value.name}=COLUMN,COLUMN)",
        name=value.name,
    )


def row_type(value: SessionValue) -> tuple[DataType, tuple[int | None, ...], bool]:
    """The element type of an input, the dims of one row, and whether the input declares them."""
    type = value.type
    if not isinstance(type, TensorType):
        raise InputError(
            f"input {value.name!r} must be a tensor to be fed from columns; got {type}", name=value.name
        )
    if type.shape is None:
        return type.dtype, (), False
    if not type.shape or isinstance(type.shape[0], int):
        raise InputError(
            f"input {value.name!r} must have an open first dimension, for any number of rows; got {type}: free it with "
            f"`sardonyx set-dims --free {value.name}:0=N`",
            name=value.name,
        )
    return type.dtype, tuple(dim if isinstance(dim, int) else None for dim in type.shape[1:]), True


def require_columns(names: Sequence[str], schema: pa.Schema) -> tuple[str, ...]:
    """The names; raises InputError for a column that the table lacks or has twice."""
    for name in names:
        if name not in schema.names:
            raise InputError(
                f"the table has no column {name!r}{suggest(name, schema.names, 'columns')}", name=name
            )
        if schema.names.count(name) > 1:
            raise InputError(
                f"column {name!r} must be unique in the table; got several of its name", name=name
            )
    if not names:
        raise InputError("an input must have at least one column; got none", name="columns")
    return tuple(names)


def is_numeric(type: pa.DataType) -> bool:
    """Whether elements are numbers or truth values."""
    types = pa.types
    kinds = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return any(is_kind(type) for is_kind in kinds)
