"""Conversion of a backend's inputs to feeds by name: callers pass them by position, as values or as messages such as
TensorProto."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sardonyx._src.errors import InputError
from sardonyx._src.io.external import ExternalFiles, Policy
from sardonyx._src.io.loading.load import Serializable
from sardonyx._src.io.serde.data import DataRecord, datum_from
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import decode
from sardonyx._src.runtime.session.session import SessionValue

DATA_MESSAGES = {
    kind.__name__: kind
    for kind in (m.TensorProto, m.SparseTensorProto, m.SequenceProto, m.MapProto, m.OptionalProto)
}


def feeds_by_name(inputs: object, formals: Sequence[SessionValue]) -> dict[str, object]:
    """The feeds of a model with these inputs.

    A list or tuple has one value for each input without default, or one for each input, in the model's order.  A dict has
    values by name.  Anything else is the value of the only input.  Raises InputError for a wrong number of values.
    """
    if isinstance(inputs, Mapping):
        return {name: read_message(value, str(name)) for name, value in inputs.items()}
    values = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
    required = [value.name for value in formals if not value.has_default]
    names = [value.name for value in formals] if len(values) != len(required) else required
    if len(values) != len(names):
        expected = f"{len(required)} values, one for each of {required}"
        if len(names) > len(required):
            expected += f", or {len(names)}, one for each of {names}"
        raise InputError(f"inputs must be {expected}; got {len(values)}", name="inputs")
    return {name: read_message(value, name) for name, value in zip(names, values, strict=True)}


def read_message(value: object, name: str) -> object:
    """The value of a TensorProto or another message of stored data; any other value unchanged."""
    record: object = value
    if isinstance(value, Serializable) and type(value).__name__ in DATA_MESSAGES:
        record = decode(value.SerializeToString(), DATA_MESSAGES[type(value).__name__])
    if isinstance(record, DataRecord):
        return datum_from(record, ExternalFiles(None, Policy.HUB), f"input {name!r}")
    return value
