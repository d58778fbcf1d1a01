"""SX022 image-metadata-value: a metadata key about images has a value that is not one of its values.

Clause: MetadataProps.md, "Image Category Definition"
Catalogue: MET-03
Why:    a reader that prepares images by these keys cannot know what is meant.
Bad:    <metadata_props: ["Image.BitmapPixelFormat": "Rgb9"]> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <metadata_props: ["Image.BitmapPixelFormat": "rgb8"]> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import ModelProto
from sardonyx._src.proto.record import brief

VALUES = {  # keys and values are compared without regard to case
    "image.bitmappixelformat": "Gray8 Rgb8 Bgr8 Rgba8 Bgra8",
    "image.colorspacegamma": "Linear SRGB",
    "image.nominalpixelrange": "NominalRange_0_255 Normalized_0_1 Normalized_1_1 NominalRange_16_235",
}


@rule("SX022", "warning", visits=ModelProto)
def image_metadata_value(model: ModelProto, context: Context) -> Iterator[Finding]:
    for i, entry in enumerate(model.metadata_props):
        allowed = VALUES.get(entry.key.lower(), "")
        if allowed and entry.value.lower() not in allowed.lower().split():
            says = f"{brief(entry.key)} is {brief(entry.value)}"
            yield Finding(f"metadata_props[{i}].value", says, f"write one of {', '.join(allowed.split())}")
