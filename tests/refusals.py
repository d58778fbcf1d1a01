"""Upward conversions to the newest opset that may be refused: by operator and version, a part of the reason."""

from __future__ import annotations

REFUSALS: dict[tuple[str, int], str] = {
    ("Split", 1): "the lengths must be constant",  # versions 2 to 11 have no such input
    ("Resize", 11): "to replace tf_half_pixel_for_nn",
    ("Resize", 13): "to replace tf_half_pixel_for_nn",
    ("Scan", 8): "the target version has no sequence_lens",
    ("LabelEncoder", 2): "zeros and NaN are compared by their bits",
}
