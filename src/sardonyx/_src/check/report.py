"""Reports for machines: JSON, and SARIF 2.1.0, which code-scanning services show."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from sardonyx._src.check.api import Diagnostic, Report
from sardonyx._src.check.mends import Mend
from sardonyx._src.check.pages import Page, page

Json: TypeAlias = "str | int | bool | Mapping[str, Json] | Sequence[Json] | None"
Checked: TypeAlias = Sequence[tuple[str, Report]]  # name of a file, its report
Mended: TypeAlias = Mapping[str, tuple[Sequence[Mend], str | None]]  # what was done, and the file that has it
SARIF = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {"error": "error", "warning": "warning", "info": "note"}
PROBLEMS = {"error": "error", "warning": "warning", "info": "recommendation"}
LINE = re.compile(r"line (\d+), column (\d+)\Z")


def to_json(checked: Checked, mended: Mended | None = None) -> str:
    """`[{"source", "ok", "diagnostics": [{"rule", "name", "severity", …}]}]`, one object a document.

    With `mended`, by source, each has `"mends": [{"rule", "name", "location", "did"}]` and `"written"`, too.
    """
    documents: list[Json] = []
    for name, report in checked:
        one: dict[str, Json] = {"source": name, "ok": report.ok}
        if mended is not None:
            mends, written = mended.get(name, ((), None))
            one |= {"mends": [as_json(mend) for mend in mends], "written": written}
        documents.append({**one, "diagnostics": [as_json(d) for d in report.diagnostics]})
    return json.dumps(documents, indent=2)


def as_json(one: Diagnostic | Mend) -> Json:
    return {name: getattr(one, name) for name in type(one).__slots__}


def to_sarif(checked: Checked, version: str) -> str:
    """A SARIF log of one run; `version` is that of Sardonyx."""
    codes = sorted({d.rule for _, report in checked for d in report.diagnostics})
    driver: Json = {
        "name": "sardonyx",
        "version": version,
        "rules": [described(page(code)) for code in codes],
    }
    index = {code: i for i, code in enumerate(codes)}
    results: list[Json] = []
    for name, report in checked:
        seen: Counter[str] = Counter()
        for one in report.diagnostics:
            print_ = fingerprint(one)
            seen[print_] += 1
            results.append(result(name, one, index[one.rule], f"{print_}:{seen[print_]}"))
    run: Json = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": True}],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return json.dumps({"$schema": SARIF, "version": "2.1.0", "runs": [run]}, indent=2)


def described(about: Page) -> Json:
    """A reportingDescriptor."""
    return {
        "id": about.code,
        "name": "".join(word.capitalize() for word in about.name.split("-")),
        "shortDescription": {"text": about.title},
        "fullDescription": {"text": about.why},
        "help": {"text": about.text(), "markdown": about.markdown()},
        "defaultConfiguration": {"level": LEVELS[about.severity]},
        "properties": {
            "precision": "very-high",
            "problem.severity": PROBLEMS[about.severity],
            "tags": ["onnx"],
        },
    }


def result(name: str, one: Diagnostic, index: int, fingerprint: str) -> Json:
    """A result; the place in a model is a logical location, as binary files have no lines: services want one, the first."""
    line = LINE.match(one.location)
    region = {"startLine": int(line[1]), "startColumn": int(line[2])} if line else {"startLine": 1}
    place: Json = {
        "physicalLocation": {"artifactLocation": {"uri": uri(name)}, "region": region},
        "logicalLocations": [{"fullyQualifiedName": one.location or "document", "kind": "element"}],
    }
    text = f"{one.location}: {one.message}" if one.location else one.message
    return {
        "ruleId": one.rule,
        "ruleIndex": index,
        "level": LEVELS[one.severity],
        "message": {"text": f"{text} (help: {one.help})"},
        "locations": [place],
        "partialFingerprints": {"primaryLocationLineHash": fingerprint},
    }


def fingerprint(one: Diagnostic) -> str:
    """What tells a fault from others of its file, in this run and the next: its rule, place and message."""
    text = "\0".join((one.rule, one.location, one.message))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def uri(name: str) -> str:
    """A relative reference for a file at or below the working directory, as services want it, else a file URI."""
    from urllib.parse import quote  # needed for this form alone

    path, here = Path(os.path.normpath(name)), Path.cwd()
    if path.is_absolute() and path.is_relative_to(here):
        path = path.relative_to(here)
    if path.is_absolute() or path.parts[:1] == ("..",):
        return Path(os.path.normpath(here / path)).as_uri()
    return quote(os.fsencode(path.as_posix()))
