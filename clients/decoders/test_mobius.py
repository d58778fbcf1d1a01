"""Decoders and encoder-decoders of mobius are native."""

from __future__ import annotations

from pathlib import Path

import pytest

from decoders.judge import SPEECH, assert_native
from decoders.mobius_exports import BUILDS, PROVIDERS, write


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("name", BUILDS)
def test_a_build_is_native(name: str, provider: str, tmp_path: Path) -> None:
    write(name, provider, tmp_path)
    assert_native(tmp_path)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_speech_is_native(provider: str, tmp_path: Path) -> None:
    write("whisper", provider, tmp_path)
    assert_native(tmp_path, [2, 7, 9], SPEECH)
