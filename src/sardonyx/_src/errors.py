"""Every error that Sardonyx raises for a user's fault.

    SardonyxError
    ├── DecodeError          bytes that are not the message they should be: .offset, .path
    ├── TextError            text that is not ONNX textual syntax: .line, .column
    ├── JsonError            JSON that is not the mapping of a message: .path
    ├── LimitError           an explicit limit, which the caller may raise, was passed: .limit
    ├── InvalidModel         records that cannot be a graph: .location
    ├── ExternalDataError    a tensor's external data that may not or cannot be used: .location
    ├── InputError           feeds that do not fit the model: .name
    ├── OutputError          a result that breaks the model's own declaration: .name
    ├── UnsupportedOperator  no facet for this version of an operator: .domain .op_type .version .location
    ├── InferenceError       types or shapes that contradict an operator or each other: .location .about
    ├── EvaluationError      an operator that refuses the values it was given: .location
    ├── UnsupportedProcessor a compiled program for another kind of machine: .features
    ├── ConversionError      what a version cannot express: .domain .op_type .version .target .location
    └── OptimizationError    a rewritten model whose results differ: .edit .name .place

Faults of Sardonyx itself are assertions, not errors of this tree.
"""

from __future__ import annotations

from typing import Literal


class SardonyxError(Exception):
    """The root: catch this to catch every fault of a model, a file or an input."""


class DecodeError(SardonyxError):
    """Bytes that are not the message they should be."""

    def __init__(self, why: str, *, offset: int, path: str = "", source: str = "") -> None:
        """`offset` counts bytes from the start of the data; `path` names the field, as `graph.node[3].name`."""
        self.why, self.offset, self.path, self.source = why, offset, path, source
        place = f"byte {offset}" + (f" ({path})" if path else "")
        super().__init__(f"{source + ': ' if source else ''}{place}: {why}")


class TextError(SardonyxError):
    """Text that is not ONNX textual syntax."""

    def __init__(self, why: str, *, line: int, column: int, source: str = "") -> None:
        """`line` and `column` count from 1."""
        self.why, self.line, self.column, self.source = why, line, column, source
        super().__init__(f"{source + ':' if source else ''}{line}:{column}: {why}")


class JsonError(SardonyxError):
    """JSON that is not protobuf's mapping of the message it should be."""

    def __init__(self, why: str, *, path: str) -> None:
        self.why, self.path = why, path
        super().__init__(f"{path or 'document'}: {why}")


class LimitError(SardonyxError):
    """An explicit limit was passed; the message names the limit and how to raise it."""

    def __init__(self, why: str, *, limit: str) -> None:
        """`limit` is the name of the limit's parameter."""
        self.why, self.limit = why, limit
        super().__init__(f"{why} (limit `{limit}`, which the caller may raise)")


class Located(SardonyxError):
    """An error at a place in a model, as `graph.node[3] 'stem' (Conv)`."""

    def __init__(self, why: str, *, location: str = "") -> None:
        self.why, self.location = why, location
        super().__init__(f"{location}: {why}" if location else why)


class InvalidModel(Located):
    """Records that cannot be a graph; `sardonyx check` lists every fault of such a model."""


class ExternalDataError(Located):
    """A tensor's external data that may not or cannot be used."""


class InputError(SardonyxError):
    """A feed that does not fit the model's inputs."""

    def __init__(self, why: str, *, name: str) -> None:
        self.why, self.name = why, name
        super().__init__(why)


class OutputError(SardonyxError):
    """A result that contradicts what the model declares of its output."""

    def __init__(self, why: str, *, name: str) -> None:
        self.why, self.name = why, name
        super().__init__(why)


class UnsupportedOperator(Located):
    """An operator version for which Sardonyx has no facet of the kind that is needed."""

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
        name = f"{domain or 'ai.onnx'}.{op_type}" + (f"-{version}" if version is not None else "")
        super().__init__(f"{name} has no {facet}" + (f"; {hint}" if hint else ""), location=location)


class InferenceError(Located):
    """Types or shapes that contradict an operator's definition or each other."""

    def __init__(self, why: str, *, location: str = "", about: Literal["", "axis", "broadcast"] = "") -> None:
        """`about` tells an axis outside of a rank, and sizes that do not broadcast, from other contradictions."""
        self.about = about
        super().__init__(why, location=location)


class EvaluationError(Located):
    """An operator that refuses the values it was given."""


class UnsupportedProcessor(SardonyxError):
    """A compiled program that this processor cannot run."""

    def __init__(self, why: str, *, features: tuple[str, ...]) -> None:
        """`features`: what the program asks of a processor and this one has not, in the words of Linux."""
        self.features = features
        super().__init__(why)


class ConversionError(Located):
    """Something that the version to which a model is converted cannot express."""

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
        """`version`: of the operator as the model has it; `target`: of the operator set that cannot express it.

        For what no node says, as a feature of an IR version, `op_type` is empty and `target` is that IR version.
        """
        self.domain, self.op_type, self.version, self.target = domain, op_type, version, target
        set_name = f"{domain or 'ai.onnx'} {target}"
        subject = f"{op_type}-{version} cannot be said in {set_name}: " if op_type else ""
        super().__init__(subject + why, location=location)


class OptimizationError(SardonyxError):
    """A rewritten model whose results differ from those of the original; nothing has been written."""

    def __init__(self, why: str, *, edit: int, name: str, place: str) -> None:
        """`edit` is the number of the first edit after which results differ, `name` its pass, `place` its node."""
        self.why, self.edit, self.name, self.place = why, edit, name, place
        cure = f"report it, and go on with --skip {name} or --stop-after {edit - 1}"
        super().__init__(f"edit {edit} ({name} at {place}) changes results: {why}; {cure}")
