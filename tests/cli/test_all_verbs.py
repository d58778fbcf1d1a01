"""What all verbs do alike, from the table of their parsers: a new verb is tested without a change here."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from pages import stub_viewer
from sardonyx._src.cli.main import SPELLINGS, main, verb_names, verb_parser
from sardonyx._src.cli.output.destinations import OutputPath, output_actions

Streams = pytest.CaptureFixture[str]
Output = tuple[str, str]  # a verb, and its option that names what to write
MODEL = "g (float[N,2] x) => (float[N,2] y) <float[2] w = {1, 2}> { a = Add(x, w)  y = Relu(a) }"
# The words that a command needs, besides its models, to do its work.
WORK = {
    "bench": ["--turns", "1", "--threads", "1"],
    "check": ["--fix"],
    "completion": ["bash"],
    "convert": ["--opset", "22"],
    "generate": ["m.onnx", "text"],
    "merge": ["second.onnx"],
    "ops": ["export", "ai.onnx", "18"],
    "profile": [],
    "run": ["x=[[1, 2]]"],
    "score": ["rows.jsonl", "--to", "json", "--engine", "reference"],
    "set-dims": ["--dim", "N=4"],
    "verify": ["x=[[1, 2]]"],
    "train": ["--data", "train.npz", "--engine", "reference", "--epochs", "1", "--loss", "mse"],
}
MODELS = {"merge-adapters": "adapted.onnx"}  # of the verbs that do not take every model
NEEDED_FOR_STREAM = {"externalise": ["--location", "weights.bin", "--threshold", "1"]}


def outputs() -> Iterator[Output]:
    for verb in verb_names():
        for action in output_actions(verb_parser(verb)):
            yield verb, action.option_strings[-1]


def verbs_with_model() -> Iterator[str]:
    for verb in verb_names():
        if any(action.dest == "model" for action in verb_parser(verb)._actions):
            yield verb


def has_second_model(verb: str) -> bool:
    return any(action.dest in ("other", "second") for action in verb_parser(verb)._actions)


def kind_of(output: Output) -> OutputPath:
    verb, option = output
    (kind,) = (a.type for a in output_actions(verb_parser(verb)) if option in a.option_strings)
    assert isinstance(kind, OutputPath)
    return kind


def command(verb: str, model: str = "") -> list[str]:
    """A command line of a verb that works, without the options that name outputs."""
    model = model or MODELS.get(verb, "m.onnx")
    models = [
        {"second": "second.onnx", "other": "m.onnx", "certificate": "c.json"}.get(action.dest, model)
        for action in verb_parser(verb)._actions
        if action.dest in ("model", "other", "second", "certificate") and not action.option_strings
    ]
    return [verb, *models, *(word for word in WORK.get(verb, ()) if word not in models)]


def required_outputs(verb: str, but: str = "") -> list[str]:
    """The outputs that a verb requires, to a file."""
    required = [a.option_strings[-1] for a in output_actions(verb_parser(verb)) if a.required]
    required += ["--out"] if verb == "train" and but != "--checkpoint" else []
    return [word for option in required if option != but for word in (option, required_file(verb, option))]


def required_file(verb: str, option: str) -> str:
    suffixes = kind_of((verb, option)).suffixes
    return f"required{'.onnx' if '.onnx' in suffixes else suffixes[0]}"


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    stub_viewer(monkeypatch)
    model = parse_model(MODEL)
    sx.save(model, "m.onnx")
    sx.save(parse_model(MODEL), "m.onnx")
    sx.save(parse_model("g (float[N,2] y) => (float[N,2] z) { b = Neg(y)  z = Relu(b) }"), "second.onnx")
    dense = parse_model(
        "g (float[N,2] x) => (float[N,2] y) <float[2,2] w = {1, 2, 3, 4}> { y = MatMul(x, w) }"
    )
    sx.save(sx.train.add_adapters(dense, 1), "adapted.onnx")
    sx.tools.certify(model, {"x": np.array([[1, 2]], np.float32)}, engine="reference").save("c.json")
    Path("rows.jsonl").write_text('{"x": [1, 2]}\n')
    np.savez("train.npz", x=np.ones((4, 2), np.float32), target=np.ones((4, 2), np.float32))
    (tmp_path / "folder").mkdir()


def files() -> set[str]:
    return {str(path) for path in Path().rglob("*")}


@pytest.mark.parametrize("output", list(outputs()), ids=" ".join)
def test_a_dash_is_standard_output(output: Output, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    verb, option = output
    before = files()
    words = [*command(verb), *required_outputs(verb, but=option), *NEEDED_FOR_STREAM.get(verb, ())]
    assert main([*words, option, "-"]) == 0
    streams = capfdbinary.readouterr()
    assert b"written" not in streams.out and len(streams.out) > 8
    assert b"standard output" in streams.err and b"written" in streams.err
    assert files() - before <= {"required.onnx", "weights.bin"}
    Path("piped").write_bytes(streams.out)
    if option == "--out" and verb not in ("run", "compile", "ops", "score", "view"):
        assert sx.load("piped", policy="hub").graph.inputs
    elif output == ("run", "--out"):
        assert np.load("piped")["y"].tolist() == [[2, 4]]


@pytest.mark.parametrize("output", list(outputs()), ids=" ".join)
def test_an_unknown_suffix_is_refused(output: Output, capsys: Streams) -> None:
    verb, option = output
    before = files()
    assert main([*command(verb), *required_outputs(verb, but=option), option, "new/out.bogus"]) == 2
    assert re.search(rf"{option}: must end in \..*; got 'new/out.bogus'", capsys.readouterr().err)
    assert files() == before


@pytest.mark.parametrize("output", list(outputs()), ids=" ".join)
def test_folders_are_created_and_what_was_written_is_said(output: Output, capsys: Streams) -> None:
    verb, option = output
    path = f"new/deep/out{kind_of(output).suffixes[0]}"
    assert main([*command(verb), *required_outputs(verb, but=option), option, path]) == 0
    assert Path(path).stat().st_size > 0
    assert re.search(rf"written( to)?:? .*{path}", capsys.readouterr().out)


@pytest.mark.parametrize("output", [o for o in outputs() if not kind_of(o).folders], ids=" ".join)
def test_a_folder_is_no_file(output: Output, capsys: Streams) -> None:
    verb, option = output
    for folder in ("folder", "new/"):
        assert main([*command(verb), *required_outputs(verb, but=option), option, folder]) == 2
        assert f"must be a file; got the folder {folder}" in capsys.readouterr().err


@pytest.mark.parametrize("output", list(outputs()), ids=" ".join)
def test_standard_output_gets_one_document(output: Output, capsys: Streams) -> None:
    verb, option = output
    before = files()
    words = [*command(verb), *required_outputs(verb, but=option), option, "-", "--json"]
    assert main(words) == 2
    assert "--json must not both write to standard output" in capsys.readouterr().err
    assert files() == before


@pytest.mark.parametrize("verb", list(verb_names()))
def test_a_misspelled_verb_gets_a_suggestion(verb: str, capsys: Streams) -> None:
    misspelled = verb[:1] + verb[2:] if len(verb) > 3 else verb + verb[-1]
    assert main([misspelled, "m.onnx"]) == 2
    assert f"there is no verb '{misspelled}'; did you mean '{verb}'?" in capsys.readouterr().err


@pytest.mark.parametrize("verb", list(verb_names()))
def test_a_misspelled_option_gets_a_suggestion(verb: str, capsys: Streams) -> None:
    for action in verb_parser(verb)._actions:
        option = next((flag for flag in action.option_strings if len(flag) > 4), None)
        if option is not None:
            assert main([*command(verb), *required_outputs(verb), option[:-1] + "ij=1"]) == 2
            assert "did you mean '--" in capsys.readouterr().err


@pytest.mark.parametrize("verb", list(verbs_with_model()))
def test_a_folder_is_no_model(verb: str, capsys: Streams) -> None:
    assert main([*command(verb, "folder"), *required_outputs(verb)]) == 1
    streams = capsys.readouterr()
    expected = "folder must be a file; got a directory; name the model file in it"
    assert expected in streams.err + streams.out


@pytest.mark.parametrize("verb", list(verbs_with_model()))
def test_a_missing_file_is_wrong_use(verb: str, capsys: Streams) -> None:
    assert main([*command(verb, "none.onnx"), *required_outputs(verb)]) == 2
    assert "none.onnx: No such file or directory" in capsys.readouterr().err


@pytest.mark.parametrize("verb", list(verbs_with_model()))
def test_a_dash_is_standard_input(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    content = Path(MODELS.get(verb, "m.onnx")).read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    options = [option for name, option in outputs() if name == verb][:1]
    extra = [word for o in options for word in (o, f"o{kind_of((verb, o)).suffixes[0]}")]
    out = required_outputs(verb) or extra
    assert main([*command(verb, "-"), *out]) in (0, 1, 3)


@pytest.mark.parametrize("verb", [v for v in verbs_with_model() if has_second_model(v)])
def test_standard_input_is_one_model(verb: str, capsys: Streams, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(Path("m.onnx").read_bytes())))
    assert main([verb, "-", "-", *required_outputs(verb)]) == 2
    assert "standard input must be one model" in capsys.readouterr().err


@pytest.mark.parametrize("verb", list(verb_names()))
def test_every_argument_is_explained(verb: str) -> None:
    unexplained = [a.dest for a in verb_parser(verb)._actions if not a.help]
    assert unexplained == []


@pytest.mark.parametrize("verb", list(verbs_with_model()))
def test_every_verb_on_models_prints_json(verb: str, capsys: Streams) -> None:
    out = required_outputs(verb)
    assert main([*command(verb), *out, "--json"]) in (0, 1, 3)
    assert isinstance(json.loads(capsys.readouterr().out), dict | list)


def test_both_spellings_of_verbs(capsys: Streams) -> None:
    for other, verb in SPELLINGS.items():
        assert main([other, "--help"]) == 0
        assert f"usage: sardonyx {verb} " in capsys.readouterr().out


def test_the_list_of_verbs_is_in_two_columns(capsys: Streams, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    columns = {
        re.search(rf"^    {verb} +", line).end()  # type: ignore[union-attr]
        for verb in verb_names()
        for line in lines
        if line.split()[:1] == [verb]
    }
    assert len(columns) == 1


def test_every_option_that_names_a_file_to_write_is_an_output() -> None:
    """Options that write are of one kind, so that the tests above see them."""
    for verb in verb_names():
        for action in verb_parser(verb)._actions:
            if "-o" in action.option_strings or (action.help or "").startswith(("write the", "save the")):
                assert isinstance(action.type, OutputPath), (verb, action)
