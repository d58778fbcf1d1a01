"""rembg: the background of a picture removed, with a stand-in for U2-Net."""

from __future__ import annotations

import os

import numpy as np
from PIL import Image

from programs.stand_ins import FOLDER, save_segmentation


def run() -> dict[str, object]:
    os.environ |= {"U2NET_HOME": str(FOLDER), "MODEL_CHECKSUM_DISABLED": "1"}
    save_segmentation()
    from rembg import new_session, remove  # lazy: reads the environment

    y, x = np.mgrid[0:48, 0:64]
    picture = np.stack([x * 4 % 256, y * 5 % 256, x * y % 256], axis=-1).astype(np.uint8)
    session = new_session("u2netp")
    mask = np.asarray(remove(Image.fromarray(picture), session=session, only_mask=True))
    cut = np.asarray(remove(Image.fromarray(picture), session=session))
    # Means of blocks, since single pixels may be rounded the other way.
    blocks = (mask / 255).reshape(6, 8, 8, 8).mean(axis=(1, 3))
    return {"mask": blocks.tolist(), "shape": list(cut.shape)}
