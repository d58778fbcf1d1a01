"""Models with trained weights, feeds to calibrate with, and other feeds that errors are measured with."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import sardonyx as sx
from optimizing import MODELS
from quantizing.llama_layers import llama_feeds, llama_layers
from sardonyx._src.ir import Array
from shared_models import feeds_of

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / ".demo/digits.onnx"
CHARACTERS = ROOT / ".bench/characters/model.onnx"
SHARED = {
    "MNIST": "mnist_8",
    "silero": "silero_vad_v3",
    "magika": "magika_v3_3",
    "YuNet": "yunet_n_dynamic",
    "PicoDet": "picodet_s_320",
    "SqueezeNet": "squeezenet_winml_imagescaler",
}
CONTEXT = 24  # characters that the model of characters reads
ROWS = 64  # of the digits and of the texts: for calibration, and each run of the test
VARIANTS = 6  # of the stored feeds of a shared model, for calibration and for the test
MOST_SHIFT = 40  # pixels by which an image is rolled
RATE, SAMPLES = 22050, 43844  # of basic-pitch: samples a second, and of its window
Feeds = dict[str, Array]


@dataclass(frozen=True)
class Subject:
    """A model, feeds for calibration, and others for the test."""

    name: str
    path: Path
    calibration: Sequence[Feeds]
    test: Sequence[Feeds]


def subjects(folder: Path) -> Iterator[Subject]:
    """Those whose files are there; folder: for models that are built."""
    if DIGITS.exists():
        with np.load(ROOT / "examples/digits/test.npz") as rows:
            (name,) = (value.name for value in sx.load(DIGITS).graph.inputs)
            images = rows[name].astype(np.float32)
        yield Subject("digits", DIGITS, [{name: images[:ROWS]}], [{name: images[ROWS:]}])
    if CHARACTERS.exists():
        yield Subject("characters", CHARACTERS, *texts())
    for name, model in SHARED.items():
        if (MODELS / model).exists():
            feeds = feeds_of(MODELS / model)
            calibration, test = ([*variants(feeds, seed)] for seed in (1, 2))
            yield Subject(name, MODELS / model / "model.onnx", calibration, [feeds, *test])
    if "BASIC_PITCH" in os.environ:
        yield Subject("basic-pitch", Path(os.environ["BASIC_PITCH"]), chords(1), chords(2))
    path = folder / "llama.onnx"
    sx.save(llama_layers(), path)
    yield Subject("Llama layers", path, llama_feeds(1), llama_feeds(2))


def texts() -> tuple[list[Feeds], list[Feeds]]:
    """Windows of text of the kind that the model was trained with: the first ones, and later ones."""
    vocabulary = json.loads(CHARACTERS.with_name("tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    text = (ROOT / "docs/glossary.md").read_text("utf-8")
    numbers = np.array([vocabulary[character] for character in text if character in vocabulary], np.int64)
    windows = np.lib.stride_tricks.sliding_window_view(numbers, CONTEXT)[::CONTEXT]
    return [{"context": windows[:ROWS].copy()}], [{"context": windows[ROWS : 5 * ROWS].copy()}]


def variants(feeds: Feeds, seed: int) -> Iterator[Feeds]:
    """Feeds like the stored ones: shifted, mirrored, darker, and with noise; all numbers stay within their range."""
    draw = np.random.default_rng(seed)
    for _ in range(VARIANTS):
        yield {name: variant(array, draw) for name, array in feeds.items()}


def variant(array: Array, draw: np.random.Generator) -> Array:
    if not array.ndim:
        return array
    if array.dtype.kind != "f":
        return np.roll(array, int(draw.integers(1, array.shape[-1])), -1)
    numbers = array.astype(np.float64)
    if array.ndim > 2 and array.shape[-1] > 1:
        shifts = draw.integers(-MOST_SHIFT, MOST_SHIFT, 2)
        numbers = np.roll(numbers, (int(shifts[0]), int(shifts[1])), (-2, -1))
    else:
        numbers = np.roll(numbers, int(draw.integers(0, array.shape[-1])), -1)
    if draw.random() < 0.5:
        numbers = numbers[..., ::-1]
    noise = draw.standard_normal(array.shape) * array.std() * draw.uniform(0, 0.06)
    numbers = numbers * draw.uniform(0.6, 1.1) + noise
    return np.ascontiguousarray(np.clip(numbers, array.min(), array.max()).astype(array.dtype))


def chords(seed: int) -> list[Feeds]:
    """Windows of sound, each of three notes with overtones: float32 [1, samples, 1]."""
    draw = np.random.default_rng(seed)
    time = np.arange(SAMPLES) / RATE
    windows = []
    for _ in range(VARIANTS):
        notes = 110 * 2 ** (draw.integers(0, 36, 3) / 12)
        tones = [np.sin(2 * np.pi * note * part * time) / part for note in notes for part in (1, 2, 3)]
        sound = np.sum(tones, axis=0) / 8 + draw.standard_normal(SAMPLES) / 200
        windows.append({"serving_default_input_2:0": sound.astype(np.float32).reshape(1, -1, 1)})
    return windows
