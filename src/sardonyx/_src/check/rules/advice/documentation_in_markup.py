"""SX922 documentation-in-markup: documentation is written in HTML or another markup than Markdown.

Clause: IR.md, "Graphs", doc_string
Catalogue: STY-03
Why:    readers show it as plain text or Markdown.
Bad:    <doc_string: "<p>Finds <b>cats</b>.</p>"> g @{doc_string: "Cats."} (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <doc_string: "Finds **cats**."> g @{doc_string: "Cats."} (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.record import Record, brief

HTML_TAGS = (
    "a abbr address article aside audio b big blockquote body br button canvas caption center cite code col colgroup "
    "dd del details dfn dialog div dl dt em embed fieldset figcaption figure font footer form h[1-6] head header hr html i "
    "iframe img input ins kbd label legend li link main map mark math menu meta nav noscript object ol optgroup option p "
    "picture pre q s samp script section select small source span strike strong style sub summary sup svg table tbody td "
    "template textarea tfoot th thead time title tr track tt u ul var video wbr"
)
MARKUPS = (
    rf"</?(?:{'|'.join(HTML_TAGS.split())})(?:\s[^<>]*)?/?>|<!--|<!doctype\b|<\?xml",
    r"\A\s*\{\\rtf",
    r"\\(?:begin|documentclass|section|subsection|textbf|textit|emph|href|item|cite|ref)\b[{\s]",  # LaTeX
    r"^\s*\.\. [\w-]+::|:[\w-]+:`[^`]+`",  # reStructuredText
    r"\[/(?:b|i|u|url|img|code|quote|list)\]",  # BBCode
)
MARKUP = re.compile("|".join(MARKUPS), re.IGNORECASE | re.MULTILINE)


@rule("SX922", "info", visits=Record, needs="doc_string", group="style")
def check_documentation_in_markup(record: Record, context: RuleContext) -> Iterator[Finding]:
    text = record.__dict__.get("doc_string", "")
    match = MARKUP.search(text)
    if match is not None:
        yield Finding("doc_string", f"the text contains {brief(match[0])}", "write plain text or Markdown")
