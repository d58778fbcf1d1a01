"""Reports for machines: JSON, and SARIF 2.1.0, which code-scanning services show."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from sardonyx.check.api import Diagnostic, Report
from sardonyx.check.pages import page

Json: TypeAlias = "str | int | bool | Mapping[str, Json] | Sequence[Json] | None"
Checked: TypeAlias = Sequence[tuple[str, Report]]  # name of a file, its report
SARIF = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def to_json(checked: Checked) -> str:
    """`[{"source", "ok", "diagnostics": [{"rule", "name", "severity", …}]}]`, one object a document."""
    documents: list[Json] = [
        {"source": name, "ok": report.ok, "diagnostics": [as_json(d) for d in report.diagnostics]}
        for name, report in checked
    ]
    return json.dumps(documents, indent=2)


def as_json(one: Diagnostic) -> Json:
    return {name: getattr(one, name) for name in Diagnostic.__slots__}


def to_sarif(checked: Checked, version: str) -> str:
    """A SARIF log of one run; `version` is that of Sardonyx."""
    codes = sorted({d.rule for _, report in checked for d in report.diagnostics})
    driver: Json = {"name": "sardonyx", "version": version, "rules": [described(code) for code in codes]}
    results: list[Json] = [
        result(name, one, codes.index(one.rule)) for name, report in checked for one in report.diagnostics
    ]
    run: Json = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json.dumps({"$schema": SARIF, "version": "2.1.0", "runs": [run]}, indent=2)


def described(code: str) -> Json:
    """A reportingDescriptor."""
    about = page(code)
    return {
        "id": code,
        "name": "".join(word.capitalize() for word in about.name.split("-")),
        "shortDescription": {"text": about.title},
        "fullDescription": {"text": about.why},
        "help": {"text": about.text()},
        "defaultConfiguration": {"level": LEVELS[about.severity]},
    }


def result(name: str, one: Diagnostic, index: int) -> Json:
    """A result; models have no lines, so that the place is a logical location in the file."""
    place: Json = {
        "physicalLocation": {"artifactLocation": {"uri": uri(name)}},
        "logicalLocations": [{"fullyQualifiedName": one.location or "document", "kind": "element"}],
    }
    text = f"{one.location}: {one.message}" if one.location else one.message
    return {
        "ruleId": one.rule,
        "ruleIndex": index,
        "level": LEVELS[one.severity],
        "message": {"text": f"{text} (help: {one.help})"},
        "locations": [place],
    }


def uri(name: str) -> str:
    """A relative reference for a relative path, else a file URI."""
    from urllib.parse import quote  # needed for this form alone

    path = Path(name)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
