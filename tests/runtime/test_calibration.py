"""Calibration of a machine: kernels that compute what they say, sizes that fit, and records that are read again."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.peak_products import OPERATIONS, peak_products
from sardonyx._src.compile.kernels.tuning import peak
from sardonyx._src.compile.llvm.compiler import compile_module
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.llvm.target_classes import CLASSES, target_of
from sardonyx._src.errors import MissingPackage
from sardonyx._src.measure.machine import calibration as module
from sardonyx._src.measure.machine.calibration import Calibration, ReadRate, calibrate, scanned_levels
from sardonyx._src.measure.machine.processor import Processor
from sardonyx._src.measure.machine.stored_calibration import (
    RECORDS,
    record_name,
    store_calibration,
    stored_calibration,
)
from sardonyx._src.measure.machine.surroundings import Allotment
from sardonyx._src.runtime.identity import records
from sardonyx._src.runtime.limits.topology import CacheLevel, Topology, read_topology
from sardonyx._src.runtime.runs.profile import kernel_call

CACHES = (CacheLevel(1, 32 << 10, 64, 1), CacheLevel(2, 1 << 20, 64, 1), CacheLevel(3, 32 << 20, 64, 8))
PROCESSOR = Processor("a processor", "x86_64", "vendor 1 2 3", "0x1", "x86-64-v3", ("x86-64-v3",), "", (), "", False)  # fmt: skip
ALLOTMENT = Allotment(8, None, 8, 1 << 34, None, 1 << 33, 0.0)
CALIBRATION = Calibration(
    1.0, 0.25, 8, {"float32": 1e11}, [ReadRate("L1", 16384, 1e11, 8e11)], 1e-6, 2e-7, 1.5
)
F = np.float32


def test_a_machine_is_calibrated() -> None:
    result = calibrate(read_topology())
    assert {"float32", "int8"} <= result.products.keys()
    assert all(rate > 1e7 for rate in result.products.values())
    assert [rate.level for rate in result.reads][:2] == ["L1", "L2"]
    assert all(rate.single > 1e6 and rate.all > 1e6 and rate.bytes > 0 for rate in result.reads)
    assert result.call > 0 and result.barrier >= 0 and result.subnormals > 0


def test_a_calibration_takes_less_than_300_ms() -> None:
    """Of the processor time of the thread that measures, so that other processes do not count."""

    def seconds() -> float:
        start = time.thread_time()
        calibrate(topology)
        return time.thread_time() - start

    topology = read_topology()
    assert min(seconds() for _ in range(3)) < 0.3


def test_native_code_that_fails_has_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    assert module.find_native_failure() == ""

    def refuse(*_: object) -> None:
        raise MissingPackage("llvmlite is missing", package="llvmlite")

    monkeypatch.setattr(module, "kernel_call", refuse)
    assert module.find_native_failure() == "MissingPackage: llvmlite is missing"
    monkeypatch.setattr(module, "kernel_call", lambda *_: lambda: None)
    assert module.find_native_failure() == "a kernel computes a wrong sum"


# --- kernels ---------------------------------------------------------------------------------


def test_a_scan_adds_all_elements_in_each_pass() -> None:
    lanes = host_target().lanes
    array = np.arange(3 * peak.READ_VECTORS * lanes, dtype=F)
    total = np.zeros(lanes, F)
    kernel_call(peak.READ_KERNEL, 2, array.ctypes.data, array.size, total.ctypes.data)()
    np.testing.assert_array_equal(total, 2 * array.reshape(-1, lanes).sum(axis=0))


@pytest.mark.parametrize("number", [1.0, 1e-40])
def test_a_product_by_one_keeps_the_number(number: float) -> None:
    values = np.repeat(np.array([number, 1], F), host_target().lanes)
    kernel_call(peak.SCALE_KERNEL, 100, values.ctypes.data)()
    assert set(values.tolist()) == {float(F(number)), 1.0} and np.any(values[: host_target().lanes])


@pytest.mark.parametrize("target_class", [c for c in CLASSES if c.machine == "x86_64"], ids=lambda c: c.name)
def test_every_class_has_kernels_of_its_products(target_class: object) -> None:
    target: Target = target_of(target_class, "x86_64-unknown-linux-gnu", host_target().compiler)  # type: ignore[arg-type]
    products = {product.name: product for product in peak_products(target)}
    features = set(target.features.split(","))
    expected = {"float32", "int8"} | ({"bf16"} if "+avx512bf16" in features else set())
    expected |= {"int8 tiles", "bf16 tiles"} if "+amx-tile" in features else set()
    assert products.keys() == expected
    assert products["int8"].operations == target.lanes * peak.NUM_ACCUMULATORS * OPERATIONS["int8"]
    for product in products.values():
        text = product.kernel.source(product.kernel.key, target)
        assert compile_module(text, target.triple, target.cpu, target.features)


# --- sizes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("threads", "free", "expected"),
    [
        (1, 1 << 40, {"L1": 16 << 10, "L2": 512 << 10, "L3": 4 << 20, "memory": 64 << 20}),
        (8, 1 << 40, {"L1": 16 << 10, "L2": 512 << 10, "L3": 2 << 20, "memory": 8 << 20}),
        (2, 100 << 20, {"L1": 16 << 10, "L2": 512 << 10, "L3": 4 << 20}),  # an eighth fits in L3
    ],
)
def test_what_is_read_fits_its_level(threads: int, free: int, expected: dict[str, int]) -> None:
    assert dict(scanned_levels(Topology((0,), 1, (), CACHES), threads, free)) == expected


def test_without_caches_sizes_are_assumed() -> None:
    assert dict(scanned_levels(Topology(), 1, 1 << 40)) == {
        "L1": 16 << 10, "L2": 128 << 10, "memory": 32 << 20,
    }  # fmt: skip


def test_a_cache_that_is_larger_than_what_may_be_read_leaves_memory_out() -> None:
    caches = (*CACHES[:2], CacheLevel(3, 512 << 20, 64, 8))
    assert "memory" not in dict(scanned_levels(Topology((0,), 1, (), caches), 1, 1 << 40))


# --- records ---------------------------------------------------------------------------------


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SARDONYX_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path / "cache"


def test_a_calibration_is_read_again_on_the_same_machine(cache: Path) -> None:
    assert stored_calibration(PROCESSOR, ALLOTMENT) is None
    store_calibration(CALIBRATION, PROCESSOR, ALLOTMENT)
    assert stored_calibration(PROCESSOR, ALLOTMENT) == CALIBRATION
    assert stored_calibration(PROCESSOR, replace(ALLOTMENT, free=0)) == CALIBRATION
    others = [
        (replace(PROCESSOR, microcode="0x2"), ALLOTMENT),
        (replace(PROCESSOR, target="x86-64-v2"), ALLOTMENT),
        (PROCESSOR, replace(ALLOTMENT, quota=1.5)),
        (PROCESSOR, replace(ALLOTMENT, affinity=4)),
    ]
    assert [stored_calibration(*other) for other in others] == [None] * 4


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"time": 1}', b"null"])
def test_a_damaged_record_is_none(content: bytes, cache: Path) -> None:
    store_calibration(CALIBRATION, PROCESSOR, ALLOTMENT)
    path = cache / RECORDS / record_name(PROCESSOR, ALLOTMENT)
    path.write_bytes(content)
    assert stored_calibration(PROCESSOR, ALLOTMENT) is None


@pytest.mark.parametrize(
    "changed",
    [
        {"time": float("inf")},
        {"time": float("nan")},
        {"time": 1e300},
        {"time": -1},
        {"threads": float("inf")},
        {"reads": [{"level": "L1", "bytes": float("inf"), "single": 1, "all": 1}]},
    ],
)
def test_numbers_that_none_can_be_are_damage(changed: dict[str, object], cache: Path) -> None:
    store_calibration(CALIBRATION, PROCESSOR, ALLOTMENT)
    path = cache / RECORDS / record_name(PROCESSOR, ALLOTMENT)
    path.write_text(json.dumps({**json.loads(path.read_text()), **changed}))
    assert stored_calibration(PROCESSOR, ALLOTMENT) is None
    path.write_text('{"reads": ' + "[" * 100_000)
    assert stored_calibration(PROCESSOR, ALLOTMENT) is None


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="records for temporary files are of POSIX")
def test_the_newer_of_two_records_counts(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache folder that can no longer be written to keeps an older one."""
    store_calibration(CALIBRATION, PROCESSOR, ALLOTMENT)
    newer = replace(CALIBRATION, time=CALIBRATION.time + 1)
    folders = list(records.record_folders(RECORDS))
    with monkeypatch.context() as patch:
        patch.setattr(records, "record_folders", lambda kind: iter(folders[1:]))
        store_calibration(newer, PROCESSOR, ALLOTMENT)
    assert stored_calibration(PROCESSOR, ALLOTMENT) == newer


def test_without_a_cache_nothing_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SARDONYX_CACHE", "")
    store_calibration(CALIBRATION, PROCESSOR, ALLOTMENT)
    assert stored_calibration(PROCESSOR, ALLOTMENT) is None
