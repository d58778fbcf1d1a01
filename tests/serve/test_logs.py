"""Structured logs: a line of JSON for each event, request and error."""

from __future__ import annotations

import io
import json
import logging
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from sardonyx._src.rewrite.optimize import run_passes
from sardonyx._src.runtime.session import activity
from sardonyx._src.serve.models.model_config import ModelConfig
from sardonyx._src.serve.models.opening import open_model
from sardonyx._src.serve.service.service import Service
from sardonyx._src.serve.settings.logs import LOGGERS, configure_logs
from serve.repositories import write_scale
from serve.running import post, run_service

BODY = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 2], "data": [1, 2]}]}
LOG = logging.getLogger("sardonyx.serve")
PATIENCE = 20.0  # seconds


@pytest.fixture(autouse=True)
def loggers() -> Iterator[None]:
    """Leaves the loggers as they were."""
    before = {
        name: (log := logging.getLogger(name), log.handlers, log.propagate, log.level) for name in LOGGERS
    }
    logging.captureWarnings(False)  # of a service in this process, before pytest took warnings over again
    yield
    logging.captureWarnings(False)
    for log, handlers, propagate, level in before.values():
        log.handlers, log.propagate = handlers, propagate
        log.setLevel(level)


def test_errors_are_one_line_with_their_cause() -> None:
    stream = io.StringIO()
    configure_logs("json", stream)
    try:
        raise ValueError("the\ncause")
    except ValueError:
        LOG.exception("a %s failed", "run")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("stale sizes", stacklevel=1)
    error, warning = map(json.loads, stream.getvalue().splitlines())
    assert (error["level"], error["message"], error["logger"]) == ("error", "a run failed", "sardonyx.serve")
    assert "ValueError: the\ncause" in error["error"]
    assert (warning["level"], "stale sizes" in warning["message"]) == ("warning", True)


def test_a_model_that_opens_slowly_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    configure_logs("text", stream)
    monkeypatch.setattr(activity, "LINES_DELAY", 0.0)
    monkeypatch.setattr(activity, "POLL_SECONDS", 0.01)

    def run(*args: object, **options: object) -> object:
        end = time.monotonic() + PATIENCE
        while "optimizing" not in stream.getvalue() and time.monotonic() < end:
            time.sleep(0.01)
        return run_passes(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("sardonyx._src.compile.prepare.prepare.run_passes", run)
    write_scale(tmp_path / "slow.onnx", 4711)  # which no session has opened
    open_model("slow", "1", tmp_path / "slow.onnx", ModelConfig()).retire()
    assert "INFO model slow version 1: optimizing\n" in stream.getvalue()


@pytest.mark.parametrize("form", ["json", "text", "off"])
def test_the_access_log_has_a_line_for_each_request(tmp_path: Path, form: str) -> None:
    write_scale(tmp_path / "a.onnx", 3)
    stream = io.StringIO()
    assert form in ("json", "text", "off")
    configure_logs(form, stream)  # type: ignore[arg-type]

    async def scenario(service: Service) -> None:
        assert (await post(service, "/v2/models/a/infer", BODY)).status == 200
        assert (await post(service, "/v2/models/b/infer", BODY)).status == 404

    run_service(tmp_path, scenario, {"access_log": True})
    lines = [line for line in stream.getvalue().splitlines() if "milliseconds" in line]
    if form == "off":
        assert stream.getvalue() == ""
    elif form == "text":
        assert "method=POST path=/v2/models/a/infer status=200 milliseconds=" in lines[0]
    else:
        first, second = map(json.loads, lines)
        assert (first["method"], first["path"], first["status"]) == ("POST", "/v2/models/a/infer", 200)
        assert 0 < first["milliseconds"] < 60_000
        assert (second["path"], second["status"]) == ("/v2/models/b/infer", 404)
