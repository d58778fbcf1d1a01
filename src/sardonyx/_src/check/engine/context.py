"""The context of a rule: the path to the visited record, the body that contains it, and the document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

from sardonyx._src.check.engine.body import BodyScope
from sardonyx._src.check.engine.document import Document
from sardonyx._src.dataclass import dataclass
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.record import Field, Record
from sardonyx._src.schema import OpSchema
from sardonyx._src.suggestions import did_you_mean

RecordT = TypeVar("RecordT", bound=Record)


@dataclass(slots=True)  # not frozen, since construction would take twice as long
class RecordPath:
    """The path from the document to a record: the parent's path, its field and the index in a list."""

    record: Record
    parent: RecordPath | None = None
    field: Field | None = None
    index: int = -1

    def ancestors(self) -> Iterator[RecordPath]:
        """This path, then those of the enclosing records, up to the document."""
        path: RecordPath | None = self
        while path is not None:
            yield path
            path = path.parent


@dataclass(slots=True)
class RuleContext:
    """What a rule receives beside the record that it visits.

    body: the graph or function that contains the record; None outside of both.
    record_path: the path to the visited record.
    scope: the number of the outermost body.  In the bodies nested in it, operator names and attribute references mean the
        same, so that equal nodes need to be checked once (`engine/fingerprints.py`).
    """

    document: Document
    body: BodyScope | None
    record_path: RecordPath
    scope: int = 0

    @property
    def schema(self) -> OpSchema | None:
        """The schema of the operator, standard or registered by a caller, that the visited node refers to."""
        node = self.record_path.record
        return self.body.schema(node) if isinstance(node, m.NodeProto) and self.body is not None else None

    @property
    def callee(self) -> m.FunctionProto | None:
        """The local function that the visited node calls."""
        node = self.record_path.record
        return self.body.callee(node) if isinstance(node, m.NodeProto) and self.body is not None else None

    @property
    def ir_version(self) -> int:
        return self.document.ir_version

    @property
    def is_root(self) -> bool:
        """Whether the visited record is the document itself."""
        return self.record_path.parent is None

    def near(self, name: str, known: Iterable[str]) -> str:
        """ "; did you mean 'x'?" if a known name is close, else "".

        The work of all suggestions for a document is limited by `Document.comparisons`, and that of one by the numbers here.
        """
        if self.document.comparisons <= 0:
            return ""
        candidates = [n for n in dict.fromkeys(islice(known, 1000)) if len(n) < 2 * len(name) + 2 < 200]
        self.document.comparisons -= len(candidates) * len(name) ** 2
        return did_you_mean(name, candidates)

    def enclosing(self, message_class: type[RecordT]) -> RecordT | None:
        """The nearest record of a class that encloses the visited one."""
        for path in self.record_path.ancestors():
            if path is not self.record_path and isinstance(path.record, message_class):
                return path.record
        return None
