"""Garbage collection of a service: what its models have is exempt while they are served, and no longer."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

from sardonyx._src.serve.service.service import Service
from serve.repositories import write_scale
from serve.running import run_service, wait_until

MANY = 10_000  # objects: fewer than the imported modules have


def test_objects_are_exempt_until_models_change(tmp_path: Path) -> None:
    write_scale(tmp_path / "a.onnx", 3)

    async def scenario(service: Service) -> None:
        assert gc.get_freeze_count() > MANY
        replaced = weakref.ref(service.repository.find("a").session)
        write_scale(tmp_path / "a.onnx", 5)
        await service.repository.load("a")
        await wait_until(lambda: replaced() is None and gc.get_freeze_count() > MANY)
        unloaded = weakref.ref(service.repository.find("a").session)
        await service.repository.unload("a")
        await wait_until(lambda: unloaded() is None and gc.get_freeze_count() > MANY)

    run_service(tmp_path, scenario)
    assert gc.get_freeze_count() == 0
