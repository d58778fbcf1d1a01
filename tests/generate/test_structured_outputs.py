"""A sample of the drawn forms: `python -m generate.structured_outputs 10000` draws them all."""

from __future__ import annotations

import pytest

from generate.structured_outputs import check_output, open_bytes
from sardonyx.generate import Generator


@pytest.fixture(scope="module")
def generator(tmp_path_factory: pytest.TempPathFactory) -> Generator:
    return open_bytes(tmp_path_factory.mktemp("bytes"))


def test_outputs_of_drawn_forms_are_valid(generator: Generator) -> None:
    kinds = {check_output(generator, number) for number in range(60)}
    assert kinds == {"schema", "regex", "parentheses", "sum", "list", "lines"}


def test_a_wrong_output_is_no_match(generator: Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("generate.structured_outputs.complete_text", lambda *_, **__: "[1, ?")
    for number in range(10):
        with pytest.raises((AssertionError, ValueError, SyntaxError)):
            check_output(generator, number)
