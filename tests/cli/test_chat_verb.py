"""`sardonyx chat` answers lines, keeps the conversation, and obeys commands."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from generate.folders import TEMPLATE, write_folder
from sardonyx._src.cli.main import main
from sardonyx._src.cli.verbs import chat
from sardonyx._src.generate.conversation import Conversation
from sardonyx.generate import Generator

Streams = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_folder(tmp_path / "model", files={"config.json": {"max_position_embeddings": 40}})
    (tmp_path / "model" / "chat_template.jinja").write_text(TEMPLATE, encoding="utf-8")


def talk(monkeypatch: pytest.MonkeyPatch, text: str, options: Sequence[str] = ()) -> int:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    return main(["chat", "model", "--max-tokens", "3", *options])


def expected(*messages: str, roles: str = "user assistant user") -> str:
    generator = Generator("model")
    prompt = [{"role": role, "content": text} for role, text in zip(roles.split(), messages, strict=False)]
    return generator.generate(prompt, max_tokens=3).text


def test_each_line_is_answered_after_those_before(monkeypatch: pytest.MonkeyPatch, capsys: Streams) -> None:
    assert talk(monkeypatch, "w1 w4\n\nw2\n") == 0
    streams = capsys.readouterr()
    first = expected("w1 w4")
    assert streams.out == f"{first}\n{expected('w1 w4', first, 'w2')}\n"
    assert streams.err.count("tokens read in") == 2


def test_commands(monkeypatch: pytest.MonkeyPatch, capsys: Streams) -> None:
    text = "w1 w4\n/undo\nw2\n/clear\nw3\n/system w5\nw3\n/help\n/exit\nw6\n"
    assert talk(monkeypatch, text) == 0
    streams = capsys.readouterr()
    answers = [expected("w1 w4"), expected("w2"), expected("w3"), expected("w5", "w3", roles="system user")]
    assert streams.out == "".join(f"{answer}\n" for answer in answers)
    assert "/undo forgets the last turn" in streams.err


def test_json_lines_and_lines_that_go_on(monkeypatch: pytest.MonkeyPatch, capsys: Streams) -> None:
    assert talk(monkeypatch, "w1\\\nw4\nw2\n", ["--json", "--system", "w5"]) == 0
    streams = capsys.readouterr()
    first, second = map(json.loads, streams.out.splitlines())
    assert first["text"] == expected("w5", "w1\nw4", roles="system user")
    assert (first["prompt_tokens"], first["generated_tokens"], second["prompt_tokens"]) == (3, 3, 7)
    assert streams.err == ""


def test_ctrl_c_ends_an_answer_and_keeps_what_there_is(
    monkeypatch: pytest.MonkeyPatch, capsys: Streams
) -> None:
    written: list[str] = []

    def interrupt(pieces: Sequence[str]) -> None:
        written.extend(pieces)
        if len(written) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(chat, "write_out", interrupt)
    conversation = Conversation(Generator("model"))
    chat.answer("w1 w4", conversation, {"max_tokens": 3}, is_json=False)
    ((question, answer),) = conversation.turns
    assert question == "w1 w4"
    assert answer.split() == expected("w1 w4").split()[:2]


def test_a_model_without_a_template_and_a_conversation_that_is_too_long(
    monkeypatch: pytest.MonkeyPatch, capsys: Streams
) -> None:
    assert talk(monkeypatch, " ".join(["w1"] * 50) + "\n") == 2
    assert "fewer tokens than the context of the model, 40; got 50: shorten it" in capsys.readouterr().err
    Path("model/chat_template.jinja").unlink()
    assert talk(monkeypatch, "w1\n") == 2
    assert (
        "a conversation requires a chat template, and model has none: use `sardonyx generate`"
        in capsys.readouterr().err
    )
