"""insightface: embeddings of aligned faces and their similarity, with a stand-in for ArcFace."""

from __future__ import annotations

import numpy as np
from insightface.model_zoo.arcface_onnx import ArcFaceONNX

from programs.stand_ins import save_face_recognition


def run() -> dict[str, object]:
    recognition = ArcFaceONNX(save_face_recognition())
    recognition.prepare(-1)
    pictures = list(np.random.default_rng(0).integers(0, 256, (3, 112, 112, 3), np.uint8))
    features = recognition.get_feat(pictures)
    return {
        "features": features.tolist(),
        "similarity": float(recognition.compute_sim(features[0], features[1])),
    }
