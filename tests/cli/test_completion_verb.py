"""Completion scripts and the manual page, both made from the parsers of all verbs."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

import manual_page
from sardonyx._src.cli.main import main, verb_names, verb_parser

Streams = pytest.CaptureFixture[str]


def test_bash_completes_verbs_and_options(capsys: Streams) -> None:
    pytest.importorskip("shtab")
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    assert f"_shtab_sardonyx_subparsers=({' '.join(verb_names())})" in script
    assert "_shtab_sardonyx_run_pos_0_COMPGEN=_shtab_compgen_files" in script
    assert "_shtab_sardonyx_convert___out_COMPGEN=_shtab_compgen_files" in script
    if bash := shutil.which("bash"):
        line = "COMP_WORDS=(sardonyx conv); COMP_CWORD=1; _shtab_sardonyx sardonyx conv; echo ${COMPREPLY[@]}"
        done = subprocess.run([bash, "-c", f"{script}\n{line}"], capture_output=True, text=True, check=True)
        assert done.stdout.split() == ["convert"]


def test_without_the_package_the_extra_is_named(capsys: Streams, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "zsh"]) == 1
    assert capsys.readouterr().err.endswith("run: pip install 'sardonyx[completion]'\n")


def test_the_manual_page_has_every_option() -> None:
    (page,) = manual_page.files().values()
    for verb in verb_names():
        assert f"\n.SS {manual_page.roff(verb)}\n" in page
        for action in verb_parser(verb)._actions:
            if action.dest != "help":
                assert f".TP\n{manual_page.term(action)}\n" in page


def test_the_manual_page_is_valid() -> None:
    if not (groff := shutil.which("groff")):
        pytest.skip("groff is not installed")
    (page,) = manual_page.files().values()
    command = [groff, "-man", "-Tutf8", "-ww"]
    done = subprocess.run(command, input=page, capture_output=True, text=True, check=True)
    assert "SARDONYX(1)" in done.stdout
    assert done.stderr == ""
