"""Golden files of the stages: regions, layouts and steps of small graphs, for fixed targets.

A file of `golden` is a model, a line `---`, and the text of its stages.  A new file needs the model only.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from compile.stage_text import format_stages
from compile.stages import AVX2, AVX512, stages_of

GOLDEN = Path(__file__).parent / "golden"
SEPARATOR = "---\n"
UPDATE = "SARDONYX_UPDATE_GOLDEN"
CURE = f"if the change is intended, run `{UPDATE}=1 pytest {Path(__file__).name}` in tests/compile, and review the diff"
TARGETS = {"avx2": AVX2, "avx512": AVX512}


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.txt")), ids=lambda path: path.stem)
def test_stages_are_those_of_the_golden_file(path: Path) -> None:
    model, _, expected = path.read_text("utf-8").partition(SEPARATOR)
    actual = text_of_stages(model)
    if os.environ.get(UPDATE):
        path.write_text(model + SEPARATOR + actual, "utf-8")
        return
    assert actual.splitlines() == expected.splitlines(), f"{path.name} differs: {CURE}"


def text_of_stages(model: str) -> str:
    """The stages for all targets; those that are the same for all of them once."""
    texts = {name: format_stages(stages_of(model, target)) for name, target in TARGETS.items()}
    lines = []
    for section in ("regions", "layouts", "steps"):
        versions = {name: text[section] for name, text in texts.items()}
        if len(set(versions.values())) == 1:
            lines.append(f"{section}\n{versions['avx2']}")
        else:
            lines += [f"{section} for {name}\n{text}" for name, text in versions.items()]
    return "".join(lines)
