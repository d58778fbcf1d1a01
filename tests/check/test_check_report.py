"""Output of the check command: text, JSON, SARIF, rule pages and exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import rules_pages
import sardonyx as sx
from check.examples import model
from sardonyx._src.check import check
from sardonyx._src.check.driver.checking import GROUPS
from sardonyx._src.check.driver.pages import page
from sardonyx._src.check.driver.report import to_sarif
from sardonyx._src.check.engine.registry import rules
from sardonyx._src.cli.main import main
from sardonyx._src.proto.binary import encode

GOOD = "g (float[2] x) => (float[2] y) { y = Abs(x) }"
BAD = "g (float[2] x) => (float[2] y) { y = Abz(x) }"
ODD = '<domain: ""> g (float[2] x) => (float[2] y) { y = Abs(x) }'
Streams = pytest.CaptureFixture[str]


def save_model(text: str, folder: Path) -> str:
    path = folder / "m.onnx"
    path.write_bytes(encode(model(text)))
    return str(path)


def call(*words: str) -> int:
    return main(["check", *words])


def test_a_good_model_exits_with_0(tmp_path: Path, capsys: Streams) -> None:
    path = save_model(GOOD, tmp_path)
    assert call(path) == 0
    assert capsys.readouterr().out == f"{path}: no issues found\n"


def test_a_bad_model_exits_with_1_and_shows_location_rule_and_help(tmp_path: Path, capsys: Streams) -> None:
    path = save_model(BAD, tmp_path)
    assert call(path) == 1
    first, cure, count = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{path}: graph.node[0] (Abz): error: SX201 operator-unknown: ")
    assert cure.startswith("    help: ")
    assert count == f"{path}: 1 error"


def test_a_warning_fails_only_under_strict(tmp_path: Path) -> None:
    path = save_model(
        '<opset_import: ["ai.onnx.ml": 3]> ' + GOOD.replace("Abs", "ai.onnx.ml.Binarizer"), tmp_path
    )
    assert call(path) == 0
    assert call(path, "--strict") == 1
    assert call(path, "--strict", "--ignore", "SX031") == 0


def test_habits_and_pedantry_are_reported_on_request(tmp_path: Path, capsys: Streams) -> None:
    path = save_model(
        '<domain: ""> g/h (float[2] x) => (float[2] y) { y = Abs(x) }'.replace("g/h", '"g/h"'), tmp_path
    )
    assert call(path) == 0
    assert capsys.readouterr().out == f"{path}: no issues found\n"
    assert call(path, "--select", "style") == 0
    assert "SX013" in (style := capsys.readouterr().out) and "SX130" not in style
    assert call(path, "--strict") == 1
    assert "SX130" in (strict := capsys.readouterr().out) and "SX013" not in strict
    assert call("--explain", "SX130") == 0
    assert "Reported: with --strict\n" in capsys.readouterr().out


def test_many_findings_of_one_rule_are_summed_up(tmp_path: Path, capsys: Streams) -> None:
    nodes = " ".join(f"y{i} = Abz(x)" for i in range(5))
    path = save_model(f"g (float[2] x) => (float[2] y0) {{ {nodes} }}", tmp_path)
    assert call(path) == 1
    out = capsys.readouterr().out
    assert out.count("error: SX201") == 3
    assert f"{path}: SX201 operator-unknown: 2 more; --full lists all\n{path}: 5 errors\n" in out
    assert call(path, "--full") == 1
    assert capsys.readouterr().out.count("error: SX201") == 5
    assert call(path, "-q") == 1
    assert capsys.readouterr().out.count("error: SX201") == 5
    report = sx.check(path)
    assert not report and repr(report) == "<Report: 5 errors>"
    assert str(report).count("SX201") == 4 and str(report).endswith(
        "SX201 operator-unknown: 2 more\n5 errors"
    )


def test_wrong_use_exits_with_2(tmp_path: Path, capsys: Streams) -> None:
    assert call() == 2
    assert call(str(tmp_path / "none.onnx")) == 2
    assert call(save_model(GOOD, tmp_path), "--select", "SX9999") == 2
    assert call("--explain", "SX9999") == 2
    assert "SX9999" in capsys.readouterr().err


def test_explain_prints_the_page(capsys: Streams) -> None:
    assert call("--explain", "value-defined-twice") == 0
    assert capsys.readouterr().out == page("SX110").text()


def test_json_holds_every_field(tmp_path: Path, capsys: Streams) -> None:
    path = save_model(BAD, tmp_path)
    assert call(path, "--json") == 1
    (document,) = json.loads(capsys.readouterr().out)
    assert (document["source"], document["ok"]) == (path, False)
    (diagnostic,) = document["diagnostics"]
    assert set(diagnostic) == {"rule", "name", "severity", "location", "message", "help", "clause"}
    assert (diagnostic["rule"], diagnostic["severity"], diagnostic["location"]) == (
        "SX201",
        "error",
        "graph.node[0] (Abz)",
    )


def test_sarif_has_the_structure_of_2_1_0(tmp_path: Path, capsys: Streams) -> None:
    assert call(save_model(BAD, tmp_path), "--sarif") == 1
    assert_sarif(json.loads(capsys.readouterr().out))


def test_sarif_of_violations_of_every_severity_has_the_structure_of_2_1_0() -> None:
    text = '<domain: "", unknown: [hex "9a060178"]> g (float[2] x) => (float[2] y) { y = Abz(x) }'
    log = json.loads(to_sarif([("a b.onnx", check(model(text), select=GROUPS, ignore=["SX92"]))], "1.0"))
    assert_sarif(log)
    (run,) = log["runs"]
    assert sorted(r["level"] for r in run["results"]) == ["error", "note", "warning"]
    place = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": "a%20b.onnx"}


def assert_sarif(log: dict[str, Any]) -> None:
    """Asserts the requirements of sections 3.13 to 3.28 and 3.49 of SARIF 2.1.0."""
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-schema-2.1.0.json")
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "sardonyx" and driver["version"]
    for descriptor in driver["rules"]:
        assert descriptor["id"] and descriptor["shortDescription"]["text"] and descriptor["help"]["text"]
        assert descriptor["defaultConfiguration"]["level"] in ("none", "note", "warning", "error")
    assert len({d["id"] for d in driver["rules"]}) == len(driver["rules"])
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("none", "note", "warning", "error")
        assert result["message"]["text"]
        for location in result["locations"]:
            assert location["physicalLocation"]["artifactLocation"]["uri"]
            assert all(logical["fullyQualifiedName"] for logical in location["logicalLocations"])


def test_the_page_of_rules_has_a_section_for_each() -> None:
    (text,) = rules_pages.files().values()
    for code in rules():
        assert f"\n## {code} {page(code).name}\n" in text
    assert text.count("\n## ") == len(rules())


def test_names_that_do_not_print_are_escaped(tmp_path: Path, capsys: Streams) -> None:
    assert call(save_model('g (float[2] x) => (float[2] y) { [b"a\\x1b\\x0ab"] y = Abs(z) }', tmp_path)) == 1
    assert '"a\\u001b\\nb"' in capsys.readouterr().out
