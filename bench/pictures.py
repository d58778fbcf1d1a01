"""Draws the shared models, as `sardonyx view --svg` does, for docs/generated/pictures.md."""

from __future__ import annotations

from pathlib import Path

import sardonyx as sx

ROOT = Path(__file__).resolve().parent.parent
MODELS = ROOT.parent / "shared/models"
PAGE = ROOT / "docs/generated/pictures.md"
HEAD = """# Pictures of models

Written by `bench/pictures.py`: what `sardonyx view m.onnx --svg m.svg` draws of the models that the tests share. Boxes with a plus are folded parts, which open in the page.
"""
PICTURES = {
    "mnist_8": "a convolutional classifier: weights are named inside their nodes",
    "skl_text_column_transformer": "a pipeline of scikit-learn: strings, numbers and trees",
    "ort_nuphar_loop": "a Loop, folded",
    "ort_gh18338_functions": "calls of functions",
    "mobilenet_qdq_maui": "a quantized network of 724 nodes",
    "yunet_n_dynamic": "a detector with symbolic sizes",
    "vespa_t5_decoder": "a decoder of a language model",
    "silero_vad_v3": "607 nodes without scopes: parts are named by their operators",
}


def main() -> None:
    folder = PAGE.with_suffix("")
    folder.mkdir(exist_ok=True)
    parts = [HEAD]
    for name, what in PICTURES.items():
        (path,) = (MODELS / name).glob("*.onnx")
        (folder / f"{name}.svg").write_text(sx.view(path).svg())
        parts.append(f"\n## {name}\n\n{what[0].upper()}{what[1:]}.\n\n![{what}](pictures/{name}.svg)\n")
    PAGE.write_text("".join(parts))


if __name__ == "__main__":
    main()
