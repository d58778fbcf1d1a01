"""Errors of every class can be sent to another process, with what they carry."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator

import pytest

import sardonyx as sx


def error_classes(kind: type[sx.SardonyxError]) -> Iterator[type[sx.SardonyxError]]:
    yield kind
    for subclass in kind.__subclasses__():
        yield from error_classes(subclass)


ERRORS = [
    sx.InputError("the source must be a path", name="source"),
    sx.MissingPackage("requires ray", package="ray"),
    sx.DecodeError("truncated", offset=3, path="graph"),
    sx.EvaluationError("indices are out of range"),
    sx.VerificationError("output 'y' differs", output="y", node="node[0] (Relu)", step="step 0", error=0.5),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_errors_keep_their_message_and_attributes(error: sx.SardonyxError) -> None:
    error.add_note("in rows 0 to 9")
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (type(other), str(other), vars(other)) == (type(error), str(error), vars(error))


@pytest.mark.parametrize("kind", sorted(set(error_classes(sx.SardonyxError)), key=repr))
def test_no_class_needs_its_constructor_to_be_unpickled(kind: type[sx.SardonyxError]) -> None:
    error = kind.__new__(kind, "text")
    other = pickle.loads(pickle.dumps(error))
    assert (type(other), other.args) == (kind, ("text",))
