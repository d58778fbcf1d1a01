"""gliner: named entities of texts by a small random network, which GLiNER itself exports."""

from __future__ import annotations

import tempfile
from pathlib import Path

from programs.transformers_models import TEXTS, WORDS, save_bert, spread_weights

LABELS = ["model", "network"]


def run() -> dict[str, object]:
    from gliner import GLiNER, GLiNERConfig  # lazy: reads the environment

    with tempfile.TemporaryDirectory() as folder:
        save_bert(Path(folder, "bert"))
        config = GLiNERConfig(
            model_name=f"{folder}/bert", hidden_size=32, vocab_size=len(WORDS) + 3, max_len=32, max_width=4,
            words_splitter_type="whitespace", span_mode="markerV0",
        )  # fmt: skip
        whole = spread_weights(GLiNER.from_config(config).eval(), 2)
        whole.save_pretrained(folder)
        whole.export_to_onnx(folder)
        model = GLiNER.from_pretrained(folder, load_onnx_model=True, load_tokenizer=True)
        return {"entities": [model.predict_entities(text, LABELS, threshold=0.2) for text in TEXTS]}
