"""The benchmark of language models: its tables, and files of llama.cpp."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from test_zoo import import_benchmark

PEAKS = {"Sardonyx": 90e6, "llama.cpp": 100e6}


def sample(prompt: float, token: float, peak: float) -> dict[str, Any]:
    times = {"prompt": prompt, "token": token, "peak": peak, "tokens": [1, 2]}
    return {"opened": 0.5, "prompts": {str(length): times for length in (16, 128, 1024, 4000)}}


@pytest.fixture
def case() -> Any:
    samples = {
        "Sardonyx": [sample(0.05, 0.002, 90e6), sample(0.07, 0.004, 92e6), sample(0.06, 0.003, 91e6)],
        "llama.cpp": [sample(0.1, 0.002, 100e6)],
    }
    return import_benchmark("decoding").Case("0.1", "float32", 1, samples)


def test_times_are_medians_and_missed_bars_are_bold(case: Any) -> None:
    decoding = import_benchmark("decoding")
    (_, _, line, *_) = decoding.times_table([case], "token", (1.05, 0.75))
    assert line == "| 0.1 | float32 | 1 | 16 | 3.00 | 2.00 |  |  |  | **1.50** |  |"
    (_, _, line, *_) = decoding.times_table([case], "prompt", (0.6, 0.6))
    assert line == "| 0.1 | float32 | 1 | 16 | 60.0 | 100.0 |  |  |  | 0.60 |  |"


def test_peaks_are_those_up_to_the_prompt_of_128(case: Any) -> None:
    (_, _, line) = import_benchmark("decoding").memory_table([case])
    assert line.startswith("| 0.1 | float32 | 1 | 91 | 100 |  |  |  | 0.91 | 0.50 / 0.50 |")


def test_a_file_of_llama_cpp_has_aligned_tensors(tmp_path: Path) -> None:
    decoder = import_benchmark("zoo.packed_decoder")
    shape = decoder.DecoderShape(layers=1, width=64, inner=96, heads=4, key_heads=2, vocabulary=40)
    path = tmp_path / "m.gguf"
    import_benchmark("language.gguf_file").save_gguf(path, shape, "Q4_0")
    magic, version, tensors, values = struct.unpack("<4sIQQ", path.read_bytes()[:24])
    assert (magic, version, tensors, values) == (b"GGUF", 3, 12, 12)
    blocks = (2 * 40 * 64 + 64 * 64 * 2 + 32 * 64 * 2 + 3 * 64 * 96) // 32
    assert path.stat().st_size % 32 == 0
    assert path.stat().st_size > blocks * 18 + 3 * 64 * 4
