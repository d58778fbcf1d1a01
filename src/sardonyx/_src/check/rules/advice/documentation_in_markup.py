"""SX922 documentation-in-markup: documentation is written in HTML or another markup than Markdown.

Clause: IR.md, "Graphs", doc_string
Catalogue: STY-03
Why:    readers show it as plain text or Markdown.  Reported if `style` is selected.
Bad:    <doc_string: "<p>Finds <b>cats</b>.</p>"> g @{doc_string: "Cats."} (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <doc_string: "Finds **cats**."> g @{doc_string: "Cats."} (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sardonyx._src.check.engine.api import Finding, rule
from sardonyx._src.check.engine.context import RuleContext
from sardonyx._src.proto.record import Record, brief

TAGS = (
    "a b big blockquote body br center code dd div dl dt em font h[1-6] head hr html i img li ol p pre s small "
    "span strike strong sub sup table tbody td th thead title tr tt u ul"
)
MARKUP = re.compile(
    rf"</?(?:{'|'.join(TAGS.split())})(?:\s[^<>]*)?/?>|<!--|<\?xml|\A\s*\{{\\rtf|\\(?:begin|documentclass)\{{",
    re.IGNORECASE,
)


@rule("SX922", "info", visits=Record, needs="doc_string", opt_in=True)
def check_documentation_in_markup(record: Record, context: RuleContext) -> Iterator[Finding]:
    text = record.__dict__.get("doc_string", "")
    match = MARKUP.search(text)
    if match is not None:
        yield Finding("doc_string", f"the text contains {brief(match[0])}", "write plain text or Markdown")
