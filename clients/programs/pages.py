"""A picture of lines of text."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

LINES = ("Open Neural Network Exchange", "The quick brown fox 1234567890", "jumps over the lazy dog.")


def draw_page() -> NDArray[np.uint8]:
    """Dark text on white, [height, width, 3]."""
    image = Image.new("RGB", (720, 260), "white")
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(36)
    for number, line in enumerate(LINES):
        draw.text((40, 30 + 70 * number), line, fill=(20, 20, 20), font=font)
    return np.asarray(image)
