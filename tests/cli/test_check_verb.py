"""`sardonyx check`: options, streams, exit codes, and what --fix writes."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import sardonyx as sx
from check.examples import model
from sardonyx._src.cli.main import main
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import decode, encode

GOOD = "g (float[2] x) => (float[2] y) { y = Abs(x) }"
BAD = "g (float[2] x) => (float[2] y) { y = Abz(x) }"
UNSORTED = "g (float[2] x) => (float[2] y) { y = Neg(a) a = Abs(x) }"
MANY = "g (float[2] x) => (float[2] y0) { " + " ".join(f"y{i} = Abz(x)" for i in range(5000)) + " }"
OUTSIDE = 'g (float[2] x) => (float[2] y) <float[2] w = ["location": "d/w.bin"]> { y = Add(a, w) a = Abs(x) }'
Streams = pytest.CaptureFixture[str]


def save_text(text: str, path: Path) -> str:
    path.write_bytes(encode(model(text)))
    return str(path)


def with_data(folder: Path) -> str:
    """An unsorted model with a weight in an external data file."""
    (folder / "d").mkdir(parents=True)
    (folder / "d/w.bin").write_bytes(bytes(range(8)))
    return save_text(OUTSIDE, folder / "m.onnx")


def call(*words: object) -> int:
    return main(["check", *map(str, words)])


def program(
    *words: object, env: Mapping[str, str] | None = None, **options: object
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sardonyx", "check", *map(str, words)]
    return subprocess.run(command, env={**os.environ, **(env or {})}, text=True, check=False, **options)  # type: ignore[call-overload, no-any-return]


def nodes(path: Path) -> list[str]:
    graph = decode(path.read_bytes(), m.ModelProto).graph
    assert graph is not None
    return [node.op_type for node in graph.node]


# --- choosing ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", ["SX2", "sx201", "operator-unknown", "SX0,operator-unknown", "SX113 SX201"])
def test_select_takes_codes_names_and_beginnings(words: str, tmp_path: Path) -> None:
    assert call(save_text(BAD, tmp_path / "m.onnx"), "--select", words) == 1
    assert call(save_text(BAD, tmp_path / "m.onnx"), "--ignore", words) == 0


def test_options_add_up(tmp_path: Path) -> None:
    path = save_text(BAD, tmp_path / "m.onnx")
    assert call(path, "--select", "SX0", "--select", "SX2") == 1
    assert call(path, "--select", "SX2", "--ignore", "SX201") == 0


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["--select", "operator-unknwon"], "did you mean 'operator-unknown'?"),
        (["--ignore", "SX9999"], "did you mean 'SX"),
        (["--explain", "operatr-unknown"], "did you mean 'operator-unknown'?"),
    ],
)
def test_a_word_that_means_no_rule_is_wrong_use(
    words: list[str], near: str, tmp_path: Path, capsys: Streams
) -> None:
    assert call(save_text(GOOD, tmp_path / "m.onnx"), *words) == 2
    assert near in capsys.readouterr().err


def test_explain_takes_a_name_in_any_case(capsys: Streams) -> None:
    assert call("--explain", "sx111") == 0
    page = capsys.readouterr().out
    assert page.startswith("SX111 node-before-producer (error): ")
    assert "\nFix: " in page


# --- files and streams -------------------------------------------------------------------------------


def test_many_files_are_summed_up(tmp_path: Path, capsys: Streams) -> None:
    good, bad = save_text(GOOD, tmp_path / "a.onnx"), save_text(BAD, tmp_path / "b.onnx")
    assert call(good, bad, bad) == 1
    out = capsys.readouterr().out
    assert f"{good}: no issues found\n" in out
    assert out.endswith("3 files: 2 errors\n")


def test_a_file_that_is_not_there_hides_nothing_of_the_others(tmp_path: Path, capsys: Streams) -> None:
    assert call(tmp_path / "none.onnx", save_text(BAD, tmp_path / "m.onnx")) == 2
    streams = capsys.readouterr()
    assert "SX201" in streams.out
    assert streams.err == f"sardonyx: {tmp_path}/none.onnx: No such file or directory\n"


def test_standard_input_is_checked(capsys: Streams, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(encode(model(BAD)))))
    assert call("-") == 1
    assert capsys.readouterr().out.startswith("-: graph.node[0] (Abz): error: SX201 ")


def test_quiet_prints_only_violations(tmp_path: Path, capsys: Streams) -> None:
    assert call(save_text(GOOD, tmp_path / "m.onnx"), "--quiet") == 0
    assert capsys.readouterr().out == ""
    assert call(save_text(BAD, tmp_path / "m.onnx"), "-q") == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert ": error: SX201 operator-unknown: " in line


def test_a_reader_that_has_seen_enough_changes_no_exit_code(tmp_path: Path) -> None:
    for text, code in ((MANY, 1), (GOOD, 0)):
        reading, writing = os.pipe()
        os.close(reading)
        done = program(save_text(text, tmp_path / "m.onnx"), stdout=writing, stderr=subprocess.PIPE)
        os.close(writing)
        assert (done.returncode, done.stderr) == (code, "")


def on_terminal(path: str, env: Mapping[str, str]) -> str:
    ours, theirs = pty.openpty()
    done = program(path, stdout=theirs, stderr=subprocess.DEVNULL, env=env)
    os.close(theirs)
    text = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert done.returncode == 1
    return text


def test_color_is_for_terminals_that_want_it(tmp_path: Path) -> None:
    path = save_text(BAD, tmp_path / "m.onnx")
    plain = {"TERM": "xterm", "NO_COLOR": ""}
    assert "\x1b[1;31merror\x1b[0m: SX201" in on_terminal(path, plain)
    assert "\x1b" not in on_terminal(path, {**plain, "NO_COLOR": "1"})
    assert "\x1b" not in on_terminal(path, {**plain, "TERM": "dumb"})
    assert "\x1b" not in program(path, stdout=subprocess.PIPE, env=plain).stdout


def test_a_name_steers_no_terminal(tmp_path: Path, capsys: Streams) -> None:
    path = save_text(BAD, tmp_path / "m\x1b[31m.onnx")
    assert call(path) == 1
    assert "\x1b" not in capsys.readouterr().out


# --- --fix -------------------------------------------------------------------------------------------


def test_fix_replaces_the_file_and_lists_what_was_done(tmp_path: Path, capsys: Streams) -> None:
    path = tmp_path / "m.onnx"
    save_text(UNSORTED, path)
    assert call(path, "--fix") == 0
    assert nodes(path) == ["Abs", "Neg"]
    fix, count = capsys.readouterr().out.splitlines()
    assert fix.startswith(f"{path}: graph.node[0] (Neg).input[0]: fixed: SX111 node-before-producer: ")
    assert count == f"{path}: fixed 1 issue, written to {path}; remaining: no issues found"


def test_a_file_without_violations_is_not_written(tmp_path: Path, capsys: Streams) -> None:
    path = tmp_path / "m.onnx"
    save_text(GOOD, path)
    before = path.stat()
    assert call(path, "--fix") == 0
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert capsys.readouterr().out == f"{path}: no issues found\n"


def test_fixing_twice_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    save_text(UNSORTED, path)
    assert call(path, "--fix") == 0
    once = path.read_bytes()
    assert call(path, "--fix", "-o", tmp_path / "again.onnx") == 0
    assert (tmp_path / "again.onnx").read_bytes() == once


def test_what_cannot_be_fixed_fails(tmp_path: Path, capsys: Streams) -> None:
    path = save_text("g (float[2] x) => (float[2] y) { y = Abz(a) a = Abs(x) }", tmp_path / "m.onnx")
    assert call(path, "--fix") == 1
    out = capsys.readouterr().out
    assert "fixed: SX111" in out
    assert "error: SX201" in out
    assert out.endswith("; remaining: 1 error\n")


def test_out_leaves_the_file_alone(tmp_path: Path) -> None:
    path, out = tmp_path / "m.onnx", tmp_path / "out.onnxtxt"
    save_text(UNSORTED, path)
    before = path.read_bytes()
    assert call(path, "--fix", "-o", out) == 0
    assert path.read_bytes() == before
    assert [node.op_type for node in sx.load(out).graph.nodes] == ["Abs", "Neg"]


def test_a_dry_run_writes_nothing(tmp_path: Path, capsys: Streams) -> None:
    path = tmp_path / "m.onnx"
    save_text(UNSORTED, path)
    before = path.read_bytes()
    assert call(path, "--fix", "--dry-run", "-o", tmp_path / "out.onnx") == 0
    assert path.read_bytes() == before
    assert not (tmp_path / "out.onnx").exists()
    assert "fixable: SX111" in capsys.readouterr().out


def test_json_lists_fixes(tmp_path: Path, capsys: Streams) -> None:
    path = save_text(UNSORTED, tmp_path / "m.onnx")
    assert call(path, "--fix", "--json") == 0
    (document,) = json.loads(capsys.readouterr().out)
    assert document["written"] == path
    (applied_fix,) = document["fixes"]
    assert (applied_fix["rule"], applied_fix["location"]) == ("SX111", "graph.node[0] (Neg).input[0]")
    assert applied_fix["did"] == "sorted the nodes: 2 moved"
    assert document["diagnostics"] == []


def test_standard_input_is_fixed_into_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(encode(model(UNSORTED)))))
    assert call("-", "--fix") == 2
    assert call("-", "--fix", "-o", tmp_path / "out.onnx") == 0
    assert nodes(tmp_path / "out.onnx") == ["Abs", "Neg"]


def test_standard_output_takes_the_fixed_model(tmp_path: Path) -> None:
    path = save_text(UNSORTED, tmp_path / "m.onnx")
    command = [sys.executable, "-m", "sardonyx", "check", path, "--fix", "-o", "-"]
    done = subprocess.run(command, capture_output=True, check=True)
    graph = decode(done.stdout, m.ModelProto).graph
    assert graph is not None
    assert [node.op_type for node in graph.node] == ["Abs", "Neg"]
    assert b"fixed: SX111" in done.stderr
    assert call(tmp_path / "m.onnx", "--fix", "-o", "-", "--json") == 2


def test_a_document_that_does_not_decode_is_reported_and_left(tmp_path: Path, capsys: Streams) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(b"\x08")
    assert call(path, "--fix", "-o", tmp_path / "out.onnx") == 1
    assert "SX001" in capsys.readouterr().out
    assert not (tmp_path / "out.onnx").exists()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["-o", "x.onnx"], "--out requires --fix"),
        (["--dry-run"], "--dry-run requires --fix"),
        (["m.onnx", "--fix", "-o", "x.onnx"], "--out requires a single input"),
        (["--fix", "-o", "x.pbtxt"], "must end in .onnx"),
    ],
)
def test_contradicting_options_are_wrong_use(
    words: list[str], why: str, tmp_path: Path, capsys: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert call(save_text(UNSORTED, tmp_path / "m.onnx"), *words) == 2
    assert why in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]


def test_a_link_is_not_replaced(tmp_path: Path, capsys: Streams) -> None:
    save_text(UNSORTED, tmp_path / "blob")
    (tmp_path / "m.onnx").symlink_to("blob")
    assert call(tmp_path / "m.onnx", "--fix") == 2
    assert "must not be a symbolic link" in capsys.readouterr().err
    assert nodes(tmp_path / "blob") == ["Neg", "Abs"]


def test_data_files_stay_where_they_are(tmp_path: Path) -> None:
    path = Path(with_data(tmp_path / "a"))
    before = (tmp_path / "a/d/w.bin").stat().st_mtime_ns
    assert call(path, "--fix") == 0
    assert (tmp_path / "a/d/w.bin").stat().st_mtime_ns == before
    assert sorted(p.name for p in (tmp_path / "a").rglob("*")) == ["d", "m.onnx", "w.bin"]


def test_data_files_come_along_to_another_directory(tmp_path: Path, capsys: Streams) -> None:
    path = with_data(tmp_path / "a")
    (tmp_path / "b").mkdir()
    assert call(path, "--fix", "-o", tmp_path / "b/out.onnx") == 0
    assert "copied d/w.bin to the directory of" in capsys.readouterr().out
    assert (tmp_path / "b/d/w.bin").read_bytes() == bytes(range(8))
    assert call(tmp_path / "b/out.onnx", "--ignore", "SX352") == 0
    assert call(path, "--fix", "-o", tmp_path / "b/again.onnx") == 0  # the same data are there already


def test_data_of_others_are_not_overwritten(tmp_path: Path, capsys: Streams) -> None:
    path = with_data(tmp_path / "a")
    (tmp_path / "b/d").mkdir(parents=True)
    (tmp_path / "b/d/w.bin").write_bytes(b"others")
    assert call(path, "--fix", "-o", tmp_path / "b/out.onnx") == 2
    assert "another file exists at the path of the data file" in capsys.readouterr().err
    assert sorted(p.name for p in (tmp_path / "b").rglob("*")) == ["d", "w.bin"]
    assert (tmp_path / "b/d/w.bin").read_bytes() == b"others"


def test_operator_sets_and_stored_data_are_fixed(tmp_path: Path) -> None:
    document = m.OperatorSetProto(magic="ONNX", ir_version=10, domain="com.example", opset_version=1)
    (tmp_path / "s.onnxopset").write_bytes(encode(document))
    assert call(tmp_path / "s.onnxopset", "--kind", "operator-set", "--fix") == 0
    assert (tmp_path / "s.onnxopset").read_bytes()[:11] == b"\x0a\x09ONNXOPSET"
    tensor = m.TensorProto(dims=[1], data_type=9, raw_data=b"\x02")
    (tmp_path / "t.pb").write_bytes(encode(tensor))
    assert call(tmp_path / "t.pb", "--fix") == 0
    assert decode((tmp_path / "t.pb").read_bytes(), m.TensorProto).raw_data == b"\x01"
