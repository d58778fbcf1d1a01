"""Decoders and encoder-decoders of mobius are native."""

from __future__ import annotations

from pathlib import Path

import pytest

from decoders.judge import SPEECH, assert_native
from decoders.mobius_exports import BUILDS, PROVIDERS, write

# The latest columns of the mask, from total - new on: which is greater is open, as the names of the dims do not say it.
SLICES = {
    ("gemma2-softcap", "default"),
    ("gptoss-sinks", "default"),
    ("gptoss-sinks", "cpu"),
    ("qwen3-next", "default"),
}
FALLBACK = pytest.mark.xfail(
    strict=True, reason="a Slice from a difference of open sizes is a fallback operation"
)


@pytest.mark.parametrize(
    ("name", "provider"),
    [
        pytest.param(name, provider, marks=FALLBACK if (name, provider) in SLICES else ())
        for name in BUILDS
        for provider in PROVIDERS
    ],
)
def test_a_build_is_native(name: str, provider: str, tmp_path: Path) -> None:
    write(name, provider, tmp_path)
    assert_native(tmp_path)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_speech_is_native(provider: str, tmp_path: Path) -> None:
    write("whisper", provider, tmp_path)
    assert_native(tmp_path, [2, 7, 9], SPEECH)
