"""Machine-readable reports: JSON, and SARIF 2.1.0 for code-scanning services."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from sardonyx._src.check.driver.pages import RulePage, page
from sardonyx._src.check.engine.api import Diagnostic, Report
from sardonyx._src.check.fixing.api import AppliedFix

Json: TypeAlias = "str | int | bool | Mapping[str, Json] | Sequence[Json] | None"
CheckedDocuments: TypeAlias = Sequence[tuple[str, Report]]  # pairs of file name and report
AppliedFixes: TypeAlias = Mapping[
    str, tuple[Sequence[AppliedFix], str | None]
]  # file name: applied fixes, written file
SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
SARIF_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
PROBLEM_SEVERITIES = {"error": "error", "warning": "warning", "info": "recommendation"}
TEXT_POSITION = re.compile(r"line (\d+), column (\d+)\Z")


def to_json(checked: CheckedDocuments, fixed: AppliedFixes | None = None) -> str:
    """`[{"source", "ok", "diagnostics": [{"rule", "name", "severity", …}]}]`, one object per document.

    With `fixed`, by source, each also has `"fixes": [{"rule", "name", "location", "did"}]` and `"written"`.
    """
    documents: list[Json] = []
    for name, report in checked:
        document: dict[str, Json] = {"source": name, "ok": report.ok}
        if fixed is not None:
            applied, written = fixed.get(name, ((), None))
            document |= {"fixes": [as_json(applied_fix) for applied_fix in applied], "written": written}
        documents.append({**document, "diagnostics": [as_json(d) for d in report.diagnostics]})
    return json.dumps(documents, indent=2)


def as_json(entry: Diagnostic | AppliedFix) -> Json:
    return {name: getattr(entry, name) for name in type(entry).__slots__}


def to_sarif(checked: CheckedDocuments, version: str) -> str:
    """A SARIF log of one run of this version of Sardonyx."""
    codes = sorted({d.rule for _, report in checked for d in report.diagnostics})
    driver: Json = {
        "name": "sardonyx",
        "version": version,
        "rules": [reporting_descriptor(page(code)) for code in codes],
    }
    index = {code: i for i, code in enumerate(codes)}
    results: list[Json] = []
    for name, report in checked:
        seen: Counter[str] = Counter()
        for diagnostic in report.diagnostics:
            key = fingerprint(diagnostic)
            seen[key] += 1
            results.append(result(name, diagnostic, index[diagnostic.rule], f"{key}:{seen[key]}"))
    run: Json = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": True}],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return json.dumps({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def reporting_descriptor(about: RulePage) -> Json:
    """A rule as a reportingDescriptor of SARIF."""
    return {
        "id": about.code,
        "name": "".join(word.capitalize() for word in about.name.split("-")),
        "shortDescription": {"text": about.title},
        "fullDescription": {"text": about.why},
        "help": {"text": about.text(), "markdown": about.markdown()},
        "defaultConfiguration": {"level": SARIF_LEVELS[about.severity]},
        "properties": {
            "precision": "very-high",
            "problem.severity": PROBLEM_SEVERITIES[about.severity],
            "tags": ["onnx"],
        },
    }


def result(name: str, diagnostic: Diagnostic, index: int, fingerprint: str) -> Json:
    """A diagnostic as a result of SARIF, with a logical location in the model.

    Services require a line number, which binary files do not have: it is 1.
    """
    line = TEXT_POSITION.match(diagnostic.location)
    region = {"startLine": int(line[1]), "startColumn": int(line[2])} if line else {"startLine": 1}
    location: Json = {
        "physicalLocation": {"artifactLocation": {"uri": uri(name)}, "region": region},
        "logicalLocations": [{"fullyQualifiedName": diagnostic.location or "document", "kind": "element"}],
    }
    text = f"{diagnostic.location}: {diagnostic.message}" if diagnostic.location else diagnostic.message
    return {
        "ruleId": diagnostic.rule,
        "ruleIndex": index,
        "level": SARIF_LEVELS[diagnostic.severity],
        "message": {"text": f"{text} (help: {diagnostic.help})"},
        "locations": [location],
        "partialFingerprints": {"primaryLocationLineHash": fingerprint},
    }


def fingerprint(diagnostic: Diagnostic) -> str:
    """A stable identity of a violation in its file: a hash of rule, location and message."""
    text = "\0".join((diagnostic.rule, diagnostic.location, diagnostic.message))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def uri(name: str) -> str:
    """A relative reference for a file in or below the working directory, as services expect, else a file URI."""
    from urllib.parse import quote  # slow to load

    path, working_directory = Path(os.path.normpath(name)), Path.cwd()
    if path.is_absolute() and path.is_relative_to(working_directory):
        path = path.relative_to(working_directory)
    if path.is_absolute() or path.parts[:1] == ("..",):
        return Path(os.path.normpath(working_directory / path)).as_uri()
    return quote(os.fsencode(path.as_posix()))
