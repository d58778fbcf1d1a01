"""A folder for the files that the runner of the onnx wheel writes, which would take the user's home, and its warnings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True, scope="session")
def _models_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ONNX_MODELS", str(tmp_path_factory.mktemp("onnx_models")))
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Official cases feed sequences whose elements differ in a size that has one name: sessions warn, and run them."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.filterwarnings("ignore::sardonyx.ShapeWarning"))
