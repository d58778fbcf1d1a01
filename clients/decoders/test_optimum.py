"""Decoders and encoder-decoders of Optimum are native."""

from __future__ import annotations

from pathlib import Path

import pytest

from decoders.judge import PROMPT, SPEECH, assert_native
from decoders.optimum_exports import MODELS, write
from decoders.optimum_exports import SPEECH as SPEECH_TASK


@pytest.mark.parametrize("name", MODELS)
def test_an_export_is_native(name: str, tmp_path: Path) -> None:
    write(MODELS[name], tmp_path)
    if MODELS[name].task == SPEECH_TASK:
        assert_native(tmp_path, [2, 7, 9], SPEECH)
    else:
        assert_native(tmp_path, PROMPT)
