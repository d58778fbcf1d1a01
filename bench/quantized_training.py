"""What does training with fake quantization win back of what rounding to 4 bits has lost?

    python bench/quantized_training.py

Trains small classifiers of the digits of this repository in floats, rounds their weights to 4 bits, and trains the rounded ones;
also, for comparison, the floats for as long again before they are rounded.  Writes docs/generated/quantized_training.md, its
picture, and the heat map of the tutorial, which requires the extra `view`.  Everything is seeded.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

import sardonyx as sx
from bar_chart import LIGHT, text
from example_runs import GENERATED, ROOT
from sardonyx.train import AdamW, CosineSchedule, add_fake_quantization, fit, fold_fake_quantization, prepare

SEEDS = range(8)
HIDDEN = 16  # few, so that 4 bits cost something
EPOCHS, BATCH, RATE = 30, 64, 3e-3
TUNED_EPOCHS, TUNED_RATE = 15, 1e-3
CALIBRATION_ROWS = 256
SCALES = {"block": 0, "algorithm": "nearest"}  # one scale for each column, as integer arithmetic needs it
ROUNDED = "rounded to 4 bits"
WIDTH, LABELS, BAR, GAP = 560, 230, 18, 8  # of the picture, in pixels


def main() -> None:
    train, test = load("train"), load("test")
    runs = [shares_wrong(seed, train, test) for seed in SEEDS]
    means = {name: statistics.mean(run[name] for run in runs) for name in runs[0]}
    (GENERATED / "quantized_digits.svg").write_text(heat_map(train), "utf-8")
    (GENERATED / "quantized_training.svg").write_text(draw(means), "utf-8")
    (GENERATED / "quantized_training.md").write_text("\n".join(page(runs, means)), "utf-8")


def heat_map(train: Mapping[str, NDArray[np.generic]]) -> str:
    """The digits model of the repository in 4 bits, with the share of each layer in the final error."""
    model = sx.load(ROOT / "examples/digits/digits.onnx")
    rows = {"image": train["image"][:CALIBRATION_ROWS]}
    result = sx.quantize(model, "int4", data=rows, force=True, rounds=0)
    return sx.view(result.model, report=result.report).svg()


def load(name: str) -> dict[str, NDArray[np.generic]]:
    data = np.load(ROOT / f"examples/digits/{name}.npz")
    return {"image": data["image"].astype(np.float32), "target": data["digit"].astype(np.int64)}


def network(seed: int) -> sx.Model:
    """64 pixels, a hidden layer, ten classes; weights as He et al. (2015) draw them."""
    rng = np.random.default_rng(seed)
    b = sx.Builder(opset=21, name="digits")
    y = b.input("image", "float32", ["N", 64]) * np.float32(1 / 16)
    for number, (terms, columns) in enumerate(((64, HIDDEN), (HIDDEN, 10))):
        weight = (rng.standard_normal((terms, columns)) * np.sqrt(2 / terms)).astype(np.float32)
        y = b.Gemm(
            y if not number else b.Relu(y),
            b.constant(f"w{number}", weight),
            b.constant(f"b{number}", np.zeros(columns, np.float32)),
        )
    return b.model(scores=y)


def trained(model: sx.Model, data: Mapping[str, object], epochs: int, rate: float, seed: int) -> sx.Model:
    steps = epochs * -(-len(np.asarray(data["target"])) // BATCH)
    training = prepare(model, optimizer=AdamW(rate=CosineSchedule(rate, steps=steps), weight_decay=0.05))
    return fit(training, data, epochs=epochs, batch_size=BATCH, seed=seed).model


def shares_wrong(
    seed: int, train: Mapping[str, NDArray[np.generic]], test: Mapping[str, NDArray[np.generic]]
) -> dict[str, float]:
    """The shares of wrong digits of the test, by model."""
    floats = trained(network(seed), train, EPOCHS, RATE, seed)
    tuned = trained(floats, train, TUNED_EPOCHS, TUNED_RATE, seed)

    def fake(model: sx.Model) -> sx.Model:
        rows = {"image": train["image"][:CALIBRATION_ROWS]}
        return add_fake_quantization(model, "int4", data=rows, **SCALES)  # type: ignore[arg-type]

    quantized = trained(fake(floats), train, TUNED_EPOCHS, TUNED_RATE, seed)
    models = {
        "floats": floats,
        ROUNDED: fake(floats),
        "floats, trained further": tuned,
        f"trained further, {ROUNDED}": fake(tuned),
        "trained with 4 bits": quantized,
    }
    return {name: wrong(fold_fake_quantization(model), test) for name, model in models.items()}


def wrong(model: sx.Model, test: Mapping[str, NDArray[np.generic]]) -> float:
    scores = np.asarray(sx.Session(model).run({"image": test["image"]})["scores"])
    return float((scores.argmax(axis=1) != test["target"]).mean())


def page(runs: Sequence[Mapping[str, float]], means: Mapping[str, float]) -> list[str]:
    return [
        "# Training with 4 bits",
        "",
        f"Written by `bench/quantized_training.py`: {len(runs)} networks of 64, {HIDDEN} and 10 neurons, from seeds 0 to {len(runs) - 1}, learn the digits of",
        f"`examples/digits` in {EPOCHS} epochs. Their weights are rounded to integers of 4 bits with one scale for each column; or they are",
        f"trained for {TUNED_EPOCHS} epochs more, in floats, or with the rounded weights. Shares of the 360 test images that are read wrong:",
        "",
        f"| model | mean of {len(runs)} | each |",
        "|---|---|---|",
        *(
            f"| {name} | {mean:.2%} | {', '.join(f'{run[name]:.1%}' for run in runs)} |"
            for name, mean in means.items()
        ),
        "",
        "![Shares of wrong digits](quantized_training.svg)",
        "",
    ]


def draw(means: Mapping[str, float]) -> str:
    """A bar for each model."""
    longest = max(means.values())
    height = 44 + (BAR + GAP) * len(means)
    parts = [
        text(0, 18, "Share of test digits that are read wrong", LIGHT.text, size=16, weight="bold"),
    ]
    for row, (name, share) in enumerate(means.items()):
        y = 36 + row * (BAR + GAP)
        width = share / longest * (WIDTH - LABELS - 60)
        color = LIGHT.bars[0 if "4 bits" in name else 1]
        parts.append(text(LABELS - 10, y + 13, name, LIGHT.text, anchor="end"))
        parts.append(f'<rect x="{LABELS}" y="{y}" width="{width:.1f}" height="{BAR}" fill="{color}"/>')
        parts.append(text(LABELS + width + 6, y + 13, f"{share:.2%}", LIGHT.text))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-12 -8 {WIDTH + 24} {height + 16}" width="{WIDTH}" role="img" '
        'font-family="-apple-system, Segoe UI, Helvetica, Arial, sans-serif" font-size="12">'
    )
    described = "; ".join(f"{name}: {share:.2%}" for name, share in means.items())
    back = f'<rect x="-12" y="-8" width="{WIDTH + 24}" height="{height + 16}" fill="#ffffff"/>'
    return "\n".join([head, f"<desc>{described}</desc>", back, *parts, "</svg>\n"])


if __name__ == "__main__":
    main()
