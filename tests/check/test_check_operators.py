"""Requirements of operators on shapes, attributes and constants beyond their schemas.

A block of `refusals.txt` has a part of the message, and a model with `«valid|invalid»`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from check.examples import write
from check.test_check_pairs import EDIT
from sardonyx._src.check import check

ML = '<opset_import: ["": 21, "ai.onnx.ml": 5]>'
BLOCKS = (Path(__file__).parent / "refusals.txt").read_text(encoding="utf-8").strip().split("\n\n")


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.partition("\n")[0])
def test_an_operator_refuses_what_does_not_fit(block: str, tmp_path: Path) -> None:
    message, _, text = block.replace("%ML", ML).partition("\n")
    good, bad = (errors(EDIT.sub(which, text), tmp_path) for which in (r"\1", r"\2"))
    assert good == []
    assert len(bad) == 1 and message in bad[0], "\n".join(bad)


def errors(text: str, folder: Path) -> list[str]:
    path, _ = write(text, folder)
    return [str(d) for d in check(path).of("error")]
