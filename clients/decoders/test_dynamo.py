"""Decoders with caches that torch exports are native."""

from __future__ import annotations

from pathlib import Path

import pytest

from decoders.dynamo_exports import BUILDS, write
from decoders.judge import assert_native


@pytest.mark.parametrize("name", BUILDS)
def test_an_export_is_native(name: str, tmp_path: Path) -> None:
    write(BUILDS[name], tmp_path)
    assert_native(tmp_path)
