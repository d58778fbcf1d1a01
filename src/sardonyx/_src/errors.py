"""The errors that Sardonyx raises for invalid models, files and inputs.

    SardonyxError
    ├── DecodeError          bytes that are not a valid encoding of the expected message: .offset, .path
    ├── TextError            a syntax error in the ONNX textual syntax: .line, .column
    ├── JsonError            JSON that is not a valid encoding of the expected message: .path
    ├── LimitError           an explicit limit, which the caller may raise, was exceeded: .limit
    ├── CancelledError       a run that another thread cancelled
    ├── InvalidModel         records that do not form a valid graph: .location
    ├── ExternalDataError    external data of a tensor that is forbidden, missing or invalid: .location
    ├── FileChanged          a mapped file that was shortened or overwritten while it was in use: .path
    ├── InputError           an invalid argument: a feed, a name, an option: .name
    │   └── CertificateError a certificate that is damaged, or about another model, other inputs, another version: .name
    ├── OutputError          a result that violates the model's declared type: .name
    ├── UnsupportedOperator  an operator version that is not implemented: .domain .op_type .version .location
    ├── InferenceError       types or shapes that contradict an operator or each other: .location .about
    ├── EvaluationError      an operator rejects the values of its inputs: .location
    ├── CompilationError     a defect of the native engine, which the reference engine does not have: .stage .location
    ├── VerificationError    results of the native engine that are not the reference engine's: .output .node .step .error .tolerance
    ├── UnsupportedProcessor a compiled program for another processor: .features
    ├── MissingPackage       an optional package that is not installed: .package
    ├── ConversionError      the target version cannot express a construct: .domain .op_type .version .target .location
    ├── DifferentiationError a node that has no gradient: .domain .op_type .version .location
    ├── TrainingDiverged     a training run whose loss or state is no longer finite: .epoch .step
    └── OptimizationError    an optimized model whose results differ: .edit .name .place

Two are warnings of Python's, not errors: `ShapeWarning`, since sizes that a file declares are often stale, and
`CompilerWarning`, for a CompilationError after which the reference engine computes the results.
Other bugs in Sardonyx itself are AssertionErrors, not errors of this tree.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

InferenceCategory = Literal["", "axis", "broadcast", "declaration", "element type"]


def prefix(location: str) -> str:
    """A location or name as the beginning of a message; "" for an empty one."""
    return f"{text}: " if (text := str(location)) else ""


class SardonyxError(Exception):
    """The base class: catch it to handle every problem of a model, a file or an input."""

    def __reduce__(self) -> tuple[object, ...]:
        """Errors of worker processes are pickled; subclasses have different constructors, so that none is called."""
        return restore_error, (type(self), self.args), self.__dict__


def restore_error(kind: type[SardonyxError], arguments: tuple[object, ...]) -> SardonyxError:
    """An error without attributes, which unpickling sets afterwards."""
    return kind.__new__(kind, *arguments)


class DecodeError(SardonyxError):
    """Bytes that are not a valid encoding of the expected message."""

    def __init__(self, why: str, *, offset: int, path: str = "", source: str = "") -> None:
        """offset: in bytes from the start of the data.  path: the field, as `graph.node[3].name`."""
        self.why, self.offset, self.path, self.source = why, offset, path, source
        location = f"byte {offset}" + (f" ({path})" if str(path) else "")
        super().__init__(f"{prefix(source)}{location}: {why}")


class TextError(SardonyxError):
    """A syntax error in the ONNX textual syntax."""

    def __init__(self, why: str, *, line: int, column: int, source: str = "") -> None:
        """`line` and `column` count from 1."""
        self.why, self.line, self.column, self.source = why, line, column, source
        super().__init__(f"{prefix(source).rstrip()}{line}:{column}: {why}")


class JsonError(SardonyxError):
    """JSON that is not a valid protobuf JSON encoding of the expected message."""

    def __init__(self, why: str, *, path: str) -> None:
        self.why, self.path = why, path
        super().__init__(f"{prefix(path) or 'document: '}{why}")


class LimitError(SardonyxError):
    """An explicit limit was exceeded; the message names the limit and how to raise it."""

    def __init__(self, why: str, *, limit: str) -> None:
        """`limit` is the name of the limit's parameter."""
        self.why, self.limit = why, limit
        super().__init__(f"{why} (limit `{limit}`, which the caller may raise)")


@contextmanager
def typed_memory_errors(what: str) -> Iterator[None]:
    """Converts a MemoryError in the block to LimitError.  what: what needs the memory, as "open the session"."""
    try:
        yield
    except MemoryError as error:
        raise LimitError(f"the machine has too little memory to {what}", limit="limits.run_bytes") from error


class CancelledError(SardonyxError):
    """A run that `Session.cancel` ended; the session can run again."""


class Located(SardonyxError):
    """An error with a location in a model, such as `graph.node[3] 'stem' (Conv)`."""

    def __init__(self, why: str, *, location: str = "") -> None:
        self.why, self.location = why, location
        super().__init__(f"{prefix(location)}{why}")


class InvalidModel(Located):
    """Records that do not form a valid graph; `sardonyx check` lists every violation in such a model."""


class ExternalDataError(Located):
    """External data of a tensor that is forbidden, missing or invalid."""


class FileChanged(SardonyxError):
    """A mapped file that was shortened or overwritten while a model or session used it; its data are not used."""

    def __init__(self, why: str, *, path: str) -> None:
        self.why, self.path = why, path
        super().__init__(f"{path}: {why}")


class InputError(SardonyxError):
    """An invalid argument: a feed that does not match the model's inputs, an unknown name, an option."""

    def __init__(self, why: str, *, name: str) -> None:
        self.why, self.name = why, name
        super().__init__(why)


class CertificateError(InputError):
    """A certificate that says nothing about a run: damaged, or about another model, other inputs or another version.

    Its `name` is the argument of `sx.tools.verify` that does not fit: "certificate", "model", "feeds" or "any_version".
    """


class OutputError(SardonyxError):
    """A result that violates the type that the model declares for its output."""

    def __init__(self, why: str, *, name: str) -> None:
        self.why, self.name = why, name
        super().__init__(why)


class ShapeWarning(UserWarning):
    """A size that contradicts the model's declaration, in a run that continues; see the argument `shapes` of `Session`."""


class CompilerWarning(UserWarning):
    """A defect of the native engine, for which the reference engine runs a node or the model: correct, but slower."""


class UnsupportedOperator(Located):
    """An operator version for which Sardonyx has no implementation of the required kind (`facet`)."""

    def __init__(
        self,
        domain: str,
        op_type: str,
        version: int | None,
        *,
        facet: str,
        location: str = "",
        hint: str = "",
    ) -> None:
        self.domain, self.op_type, self.version, self.facet = domain, op_type, version, facet
        name = f"{str(domain) or 'ai.onnx'}.{op_type}" + (f"-{version}" if version is not None else "")
        super().__init__(f"{name} has no {facet}" + (f"; {hint}" if str(hint) else ""), location=location)


class InferenceError(Located):
    """Types or shapes that contradict an operator's definition or each other."""

    def __init__(self, why: str, *, location: str = "", about: InferenceCategory = "") -> None:
        """about: the category: "axis" out of range, sizes that do not "broadcast", a "declaration" that contradicts the
        inferred type, an "element type" that an operator does not accept, or any other ("")."""
        self.about = about
        super().__init__(why, location=location)


class EvaluationError(Located):
    """An operator rejects the values of its inputs."""


class CompilationError(Located):
    """A defect of the native engine: it cannot compile or run a model that the reference engine can run.

    The defect itself, such as an AssertionError, is the `__cause__`.
    """

    def __init__(self, why: str, *, stage: str = "", location: str = "") -> None:
        """stage: what the compiler was doing, as "lower".  location: the node, if it is known."""
        self.stage = stage
        super().__init__(why, location=location)

    @classmethod
    def of(cls, defect: Exception, *, stage: str, location: str = "") -> CompilationError:
        """The error for an untyped exception of the compiler."""
        if not isinstance(defect, BaseException):
            raise TypeError(f"defect must be an exception; got {type(defect).__name__}")
        text = (str(defect).splitlines() or ["no message"])[0]
        why = (
            f"the compiler failed ({stage}): {type(defect).__name__}: {text}; this is a bug in Sardonyx: "
            'please report it with the model, and run the model with engine="auto" or "reference"'
        )
        error = cls(why, stage=stage, location=location)
        error.__cause__ = defect
        return error


def are_defects_fatal() -> bool:
    """Whether untyped exceptions are raised as they are, since SARDONYX_FATAL_DEFECTS is set: our tests must not miss them."""
    return bool(os.environ.get("SARDONYX_FATAL_DEFECTS"))


class VerificationError(SardonyxError):
    """A result of the native engine that is not the reference engine's, in a session that verifies its runs."""

    def __init__(
        self,
        why: str,
        *,
        output: str,
        node: str = "",
        step: str = "",
        error: float = 0.0,
        tolerance: float = 0.0,
    ) -> None:
        """output: the first output that differs.
        node: the location of the first node that computes a wrong value; "" if it is not known.
        step: the step of the compiled program that computes this value; "" if it is not known.
        error: the largest difference of two elements of the output, relative to its largest element.
        tolerance: the largest error that rounding explains.
        """
        self.why, self.output, self.node, self.step = why, output, node, step
        self.error, self.tolerance = error, tolerance
        cure = 'this is a bug in Sardonyx: run the model with engine="reference", and report it with the model and these inputs'
        super().__init__(f"{why}; {cure}")


class UnsupportedProcessor(SardonyxError):
    """A compiled program, or a precision of products, for which this processor lacks features."""

    def __init__(self, why: str, *, features: tuple[str, ...]) -> None:
        """features: required features that this processor lacks, by their names in Linux."""
        self.features = features
        super().__init__(why)


class MissingPackage(SardonyxError):
    """A package that the call requires is not installed."""

    def __init__(self, why: str, *, package: str) -> None:
        """package: the name to install with pip."""
        self.package = package
        super().__init__(why)


class ConversionError(Located):
    """A construct that the target version of a conversion cannot express."""

    def __init__(
        self,
        why: str,
        *,
        domain: str = "",
        op_type: str = "",
        version: int = 0,
        target: int = 0,
        location: str = "",
    ) -> None:
        """version: version of the operator in the model.  target: version of the operator set that cannot express it.

        For other constructs, such as features of an IR version, `op_type` is empty and `target` is the IR version.
        """
        self.domain, self.op_type, self.version, self.target = domain, op_type, version, target
        set_name = f"{str(domain) or 'ai.onnx'} {target}"
        subject = f"{op_type}-{version} cannot be expressed in {set_name}: " if str(op_type) else ""
        super().__init__(f"{subject}{why}", location=location)


class DifferentiationError(Located):
    """A node through which a gradient would have to flow, and that has none."""

    def __init__(
        self, why: str, *, domain: str = "", op_type: str = "", version: int = 0, location: str = ""
    ) -> None:
        """op_type: empty if a value, not an operator, is the cause."""
        self.domain, self.op_type, self.version = domain, op_type, version
        subject = f"{op_type}-{version} cannot be differentiated: " if str(op_type) else ""
        super().__init__(f"{subject}{why}", location=location)


class TrainingDiverged(SardonyxError):
    """A training run whose loss or state is no longer finite; its last checkpoint is kept."""

    def __init__(self, why: str, *, epoch: int, step: int) -> None:
        """epoch, step: counted from 1."""
        self.why, self.epoch, self.step = why, epoch, step
        cure = "lower the learning rate, clip gradients (clip_norm), or check the data"
        super().__init__(f"epoch {epoch}, step {step}: {why}; {cure}")


class OptimizationError(SardonyxError):
    """An optimized model whose results differ from those of the original; nothing has been written."""

    def __init__(self, why: str, *, edit: int, name: str, place: str) -> None:
        """edit: number of the first edit after which results differ.  name: the pass of the edit.  place: its node."""
        if not isinstance(edit, int):
            raise TypeError(f"edit must be the number of an edit; got {type(edit).__name__}")
        self.why, self.edit, self.name, self.place = why, edit, name, place
        cure = f"report it, and continue with --skip {name} or --stop-after {edit - 1}"
        super().__init__(f"edit {edit} ({name} at {place}) changes results: {why}; {cure}")
