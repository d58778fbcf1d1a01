"""Model repositories: layouts, versions, loading and unloading, hot replacement, readiness."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from pathlib import Path

import numpy as np
import pytest

from sardonyx._src.serve.models.repository import ModelRepository
from sardonyx._src.serve.protocol.failures import FailureKind, RequestFailure
from sardonyx._src.serve.protocol.requests import InferenceRequest
from serve.repositories import write_scale

X = np.array([[1, 2]], np.float32)
Scenario = Callable[[ModelRepository], Coroutine[None, None, None]]


def run_scenario(folder: Path, scenario: Scenario) -> None:
    """Runs a scenario on the loaded repository of a folder."""

    async def run() -> None:
        repository = ModelRepository.of_folder(folder)
        await repository.load_all()
        await scenario(repository)
        await repository.close()

    asyncio.run(run())


async def scale_of(repository: ModelRepository, name: str, version: str = "") -> float:
    """The factor by which a model of `write_scale` multiplies."""
    response = await repository.find(name, version).infer(InferenceRequest(name, {"x": X}))
    return float(response.outputs["y"][0, 0])


def assert_failure(kind: FailureKind, repository: ModelRepository, name: str, version: str = "") -> str:
    with pytest.raises(RequestFailure) as caught:
        repository.find(name, version)
    assert caught.value.kind is kind
    return str(caught.value)


def test_layouts_and_versions(tmp_path: Path) -> None:
    write_scale(tmp_path / "file.onnx", 2)
    write_scale(tmp_path / "folder/model.onnx", 3)
    for version in (1, 2, 10):
        write_scale(tmp_path / f"versions/{version}/model.onnx", version)
    (tmp_path / "versions/config.json").write_text('{"versions": "all"}')
    (tmp_path / "notes.txt").write_text("no model")

    async def scenario(repository: ModelRepository) -> None:
        assert repository.is_ready
        assert await scale_of(repository, "file") == 2
        assert await scale_of(repository, "folder", "1") == 3
        assert [await scale_of(repository, "versions", v) for v in ("", "1", "2", "10")] == [10, 1, 2, 10]
        assert "did you mean 'file'" in assert_failure(FailureKind.NOT_FOUND, repository, "fil")
        assert "1, 2, 10" in assert_failure(FailureKind.NOT_FOUND, repository, "versions", "3")
        assert [(row.name, row.version, row.state) for row in repository.index()] == [
            ("file", "1", "READY"),
            ("folder", "1", "READY"),
            *[("versions", version, "READY") for version in ("1", "2", "10")],
        ]

    run_scenario(tmp_path, scenario)


def test_unload_and_load(tmp_path: Path) -> None:
    write_scale(tmp_path / "a.onnx", 2)

    async def scenario(repository: ModelRepository) -> None:
        await repository.unload("a")
        assert_failure(FailureKind.UNAVAILABLE, repository, "a")
        assert repository.is_ready, "a model that was unloaded by request"
        await repository.refresh()
        assert_failure(FailureKind.UNAVAILABLE, repository, "a")
        await repository.load("a")
        assert await scale_of(repository, "a") == 2
        with pytest.raises(RequestFailure, match="there is no model 'b'"):
            await repository.load("b")

    run_scenario(tmp_path, scenario)


def test_replacement_keeps_the_requests_that_have_begun(tmp_path: Path) -> None:
    write_scale(tmp_path / "a.onnx", 2)

    async def scenario(repository: ModelRepository) -> None:
        old = repository.find("a")
        with old.lease():
            write_scale(tmp_path / "a.onnx", 5)
            await repository.refresh()
            assert await scale_of(repository, "a") == 5
            response = await old.infer(InferenceRequest("a", {"x": X}))
            assert response.outputs["y"][0, 0] == 2
        with pytest.raises(RequestFailure, match="closed"):
            await old.infer(InferenceRequest("a", {"x": X}))

    run_scenario(tmp_path, scenario)


def test_new_version_takes_the_place_of_the_newest(tmp_path: Path) -> None:
    write_scale(tmp_path / "a/1/model.onnx", 2)

    async def scenario(repository: ModelRepository) -> None:
        write_scale(tmp_path / "a/2/model.onnx", 3)
        await repository.refresh()
        assert await scale_of(repository, "a") == 3
        assert repository.versions("a") == ["2"]

    run_scenario(tmp_path, scenario)


def test_failed_replacement_leaves_the_old_model_in_service(tmp_path: Path) -> None:
    write_scale(tmp_path / "a.onnx", 2)

    async def scenario(repository: ModelRepository) -> None:
        (tmp_path / "a.onnx").write_bytes(b"no model")
        with pytest.raises(RequestFailure, match="cannot be loaded"):
            await repository.load("a")
        assert await scale_of(repository, "a") == 2
        assert repository.is_ready

    run_scenario(tmp_path, scenario)


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"a/model.onnx": b"no model"}, "a/model.onnx"),
        ({"a/config.json": b"{}"}, "must have model.onnx"),
        ({"a.onnx": b"", "a.sdx": b""}, "got several"),
    ],
)
def test_model_that_cannot_be_served_has_its_reason_in_the_index(
    tmp_path: Path, files: dict[str, bytes], reason: str
) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)

    async def scenario(repository: ModelRepository) -> None:
        assert not repository.is_ready
        assert reason in assert_failure(FailureKind.UNAVAILABLE, repository, "a")
        (row,) = repository.index()
        assert row.state == "UNAVAILABLE"
        assert reason in row.reason

    run_scenario(tmp_path, scenario)


@pytest.mark.parametrize(
    ("warm_up", "reason"),
    [
        ([{"sizes": {"N": 3}}], ""),
        ([{"inputs": [{"name": "x", "datatype": "FP32", "shape": [2, 2], "data": [1, 2, 3, 4]}]}], ""),
        ([{"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 2], "data": [1]}]}], "2 elements"),
        ([{"inputs": [{"name": "z", "datatype": "FP32", "shape": [1], "data": [1]}]}], "warm-up"),
        ([{"sizes": {"N": "3"}}], "length"),
        ([{"sizes": {"M": 3}}], "'N'"),
        ([{"size": 1}], "must have"),
    ],
    ids=str,
)
def test_configured_warm_up(tmp_path: Path, warm_up: object, reason: str) -> None:
    write_scale(tmp_path / "a/model.onnx", 2)
    (tmp_path / "a/config.json").write_text(json.dumps({"warm_up": warm_up}))

    async def scenario(repository: ModelRepository) -> None:
        assert repository.is_ready == (not reason)
        if reason:
            assert reason in assert_failure(FailureKind.UNAVAILABLE, repository, "a")
        else:
            assert await scale_of(repository, "a") == 2

    run_scenario(tmp_path, scenario)


def test_unknown_setting_is_named(tmp_path: Path) -> None:
    write_scale(tmp_path / "a/model.onnx", 2)
    (tmp_path / "a/config.json").write_text('{"version": "all"}')

    async def scenario(repository: ModelRepository) -> None:
        assert "did you mean 'versions'" in assert_failure(FailureKind.UNAVAILABLE, repository, "a")

    run_scenario(tmp_path, scenario)
