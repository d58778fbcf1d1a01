"""sentence-transformers: embeddings of texts with backend="onnx", which exports the network through Optimum."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from programs.transformers_models import TEXTS, save_bert


def run() -> dict[str, object]:
    from sentence_transformers import SentenceTransformer, models  # lazy: reads the environment

    with tempfile.TemporaryDirectory() as folder:
        save_bert(Path(folder, "bert"))
        transformer = models.Transformer(str(Path(folder, "bert")))
        pooling = models.Pooling(transformer.get_word_embedding_dimension())
        whole = SentenceTransformer(modules=[transformer, pooling], device="cpu")
        whole.save(f"{folder}/whole")
        model = SentenceTransformer(f"{folder}/whole", backend="onnx", device="cpu")
        embeddings, expected = model.encode(TEXTS), whole.encode(TEXTS)
        np.testing.assert_allclose(embeddings, expected, rtol=1e-3, atol=2e-3)  # those of torch
        return {
            "embeddings": embeddings.tolist(),
            "similarity": model.similarity(embeddings, embeddings).tolist(),
        }
