"""Exceptions of onnxruntime, and the conversion of errors of this package to them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sardonyx._src.errors import (
    CancelledError,
    DecodeError,
    InferenceError,
    InputError,
    InvalidModel,
    OutputError,
    SardonyxError,
    UnsupportedOperator,
)


class OrtError(Exception):
    """The base class of the exceptions here; onnxruntime has no common one below Exception.

    code, label: the number and name of the status of onnxruntime that the exception stands for.
    """

    code, label = 1, "FAIL"

    @classmethod
    def of(cls, why: str) -> OrtError:
        """The exception with a message in the form of onnxruntime."""
        return cls(f"[ONNXRuntimeError] : {cls.code} : {cls.label} : {why}")


class Fail(OrtError):
    """Any failure that has no class of its own."""


class InvalidArgument(OrtError):
    """A feed, an output name or an option that does not fit the model."""

    code, label = 2, "INVALID_ARGUMENT"


class NoSuchFile(OrtError):
    """A model file that does not exist."""

    code, label = 3, "NO_SUCHFILE"


class NoModel(OrtError):
    """A session without a model."""

    code, label = 4, "NO_MODEL"


class EngineError(OrtError):
    """A failure of the engine itself."""

    code, label = 5, "ENGINE_ERROR"


class RuntimeException(OrtError):
    """An operator that failed in a run."""

    code, label = 6, "RUNTIME_EXCEPTION"


class InvalidProtobuf(OrtError):
    """Bytes that are no model."""

    code, label = 7, "INVALID_PROTOBUF"


class ModelLoaded(OrtError):
    """A session that has a model already."""

    code, label = 8, "MODEL_LOADED"


class NotImplemented(OrtError):  # onnxruntime's name
    """An operator or a function that is not implemented."""

    code, label = 9, "NOT_IMPLEMENTED"


class InvalidGraph(OrtError):
    """A model that is not valid."""

    code, label = 10, "INVALID_GRAPH"


class EPFail(OrtError):
    """A failure of an execution provider."""

    code, label = 11, "EP_FAIL"


class ModelLoadCanceled(OrtError):
    """A load that was canceled."""

    code, label = 12, "MODEL_LOAD_CANCELED"


class ModelRequiresCompilation(OrtError):
    """A model that a provider must compile before it is loaded."""

    code, label = 13, "MODEL_REQUIRES_COMPILATION"


class NotFound(OrtError):
    """Something that was looked up and does not exist."""

    code, label = 14, "NOT_FOUND"


LOADING: tuple[tuple[type[SardonyxError], type[OrtError]], ...] = (
    (DecodeError, InvalidProtobuf),
    (UnsupportedOperator, NotImplemented),
    (InvalidModel, InvalidGraph),
    (InferenceError, InvalidGraph),
    (InputError, InvalidArgument),
)
RUNNING: tuple[tuple[type[SardonyxError], type[OrtError]], ...] = (
    (InputError, InvalidArgument),
    (CancelledError, Fail),
    (OutputError, RuntimeException),
)


@contextmanager
def loading_errors(what: str) -> Iterator[None]:
    """Converts errors of opening a model; what: its path, or "the bytes"."""
    try:
        yield
    except FileNotFoundError as error:
        raise NoSuchFile.of(f"{what}: there is no such file") from error
    except OSError as error:
        raise Fail.of(f"{what}: {error}") from error
    except SardonyxError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            raise NoSuchFile.of(f"{what}: there is no such file") from error
        raise class_of(error, LOADING, Fail).of(f"{what}: {error}") from error


@contextmanager
def running_errors() -> Iterator[None]:
    """Converts errors of a run."""
    try:
        yield
    except CancelledError as error:
        raise Fail.of("RunOptions.terminate ended the run") from error
    except SardonyxError as error:
        raise class_of(error, RUNNING, RuntimeException).of(str(error)) from error


def class_of(
    error: SardonyxError,
    table: tuple[tuple[type[SardonyxError], type[OrtError]], ...],
    default: type[OrtError],
) -> type[OrtError]:
    """The exception for an error, by the first row of a table whose class it has."""
    return next((result for kind, result in table if isinstance(error, kind)), default)
