"""Train a language model of characters from nothing on the documents of this repository, and let it write.

    python examples/characters/train.py --epochs 6 --out characters
    sardonyx generate characters "The compiler " --temperature 0.5 --max-tokens 300

The model predicts the next character from the 24 before it: an embedding of each, a hidden layer, and a score for each character
(Bengio et al., "A Neural Probabilistic Language Model", 2003).  With --out, model and tokenizer are written to a folder that `sardonyx generate` reads; with --folder, the run
keeps checkpoints, metrics and curves.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import sardonyx as sx
from sardonyx.train import AdamW, CosineSchedule, TrainingStatus, WarmUp, fit, prepare

ROOT = Path(__file__).resolve().parents[2]
TEXTS = (
    "docs/rulings.md",
    "docs/architecture.md",
    "docs/architecture/compiler.md",
    "docs/architecture/runtime.md",
    "docs/glossary.md",
)
CONTEXT, EMBEDDING, HIDDEN = 24, 16, 256
BATCH = 256
Integers = NDArray[np.int64]


def read_text(limit: int | None) -> str:
    return "\n".join((ROOT / name).read_text(encoding="utf-8") for name in TEXTS)[:limit]


def windows(numbers: Integers) -> dict[str, Integers]:
    """Every run of characters [n, CONTEXT], and the character after it [n]."""
    view = np.lib.stride_tricks.sliding_window_view(numbers, CONTEXT + 1)
    return {"context": view[:, :-1], "target": view[:, -1]}


def build(characters: int) -> sx.Model:
    """Contexts [N, CONTEXT] to the scores of the next character [N, characters]; the weights are zero."""
    b = sx.Builder(opset=21, name="characters")
    context = b.input("context", sx.DataType.INT64, ["N", CONTEXT])

    def weight(name: str, *shape: int) -> sx.ir.Value:
        return b.constant(name, np.zeros(shape, np.float32))

    embedded = b.Gather(weight("embedding", characters, EMBEDDING), context)
    flat = b.Reshape(embedded, b.constant("flat", np.array([-1, CONTEXT * EMBEDDING], np.int64)))
    hidden = b.Relu(b.Gemm(flat, weight("w1", CONTEXT * EMBEDDING, HIDDEN), weight("b1", HIDDEN)))
    scores = b.Gemm(hidden, weight("w2", HIDDEN, characters), weight("b2", characters))
    b.output(scores, "scores", sx.Builder.tensor(sx.DataType.FLOAT, ["N", characters]))
    return b.model()


def write(model: sx.Model, alphabet: str, start: str, length: int) -> str:
    """Continues a text by drawing from the model's probabilities, sharpened."""
    generator = sx.Generator(model)
    numbers = [alphabet.index(c) for c in start]
    written = generator.generate(numbers, max_tokens=length, temperature=0.5)
    return start + "".join(alphabet[i] for i in written.tokens)


def save(model: sx.Model, alphabet: str, folder: Path) -> None:
    """Writes the model, and a tokenizer of the package tokenizers whose tokens are characters."""
    folder.mkdir(parents=True, exist_ok=True)
    sx.save(model, folder / "model.onnx")
    vocabulary = {character: i for i, character in enumerate(alphabet)}
    tokenizer = {
        "version": "1.0",
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": alphabet[0]},
        "pre_tokenizer": {
            "type": "Split",
            "pattern": {"Regex": r"[\s\S]"},
            "behavior": "Isolated",
            "invert": False,
        },
        "decoder": {"type": "Fuse"},
        "added_tokens": [],
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")


def show(status: TrainingStatus) -> None:
    if status.record is not None:
        metrics, held_out = status.record.metrics, status.record.validation
        print(
            f"epoch {status.epoch}: loss {metrics['loss']:.3f}; on held-out text loss {held_out['loss']:.3f}, "
            f"{held_out['accuracy']:.1%} of the characters right",
            file=sys.stderr,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--folder", help="keep checkpoints, metrics and curves here")
    parser.add_argument("--out", type=Path, help="write the model and its tokenizer to this folder")
    parser.add_argument("--limit", type=int, help="characters of the text to use (all)")
    args = parser.parse_args()
    text = read_text(args.limit)
    alphabet = "".join(sorted(set(text)))
    numbers = np.array([alphabet.index(c) for c in text], np.int64)
    split = len(numbers) * 19 // 20  # the last twentieth is not trained on
    steps = args.epochs * -(-split // BATCH)
    model = prepare(
        build(len(alphabet)),
        optimizer=AdamW(rate=WarmUp(50, CosineSchedule(3e-3, steps=steps)), weight_decay=0.01),
        initialization="he_normal",
        clip_norm=1.0,
    )
    result = fit(
        model,
        windows(numbers[:split]),
        validation=windows(numbers[split:]),
        epochs=args.epochs,
        batch_size=BATCH,
        initialize=True,
        folder=args.folder,
        report=show,
    )
    if args.out is not None:
        save(result.model, alphabet, args.out)
    print(write(result.model, alphabet, text[:CONTEXT], 300))


if __name__ == "__main__":
    main()
