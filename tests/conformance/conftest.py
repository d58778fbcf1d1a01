"""A folder for the files that the runner of the onnx wheel writes: it would take the user's home."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="session")
def _models_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ONNX_MODELS", str(tmp_path_factory.mktemp("onnx_models")))
        yield
