"""SX023 image-metadata-missing: an input is an image, and the model does not tell how its pixels are stored.

Clause: MetadataProps.md, "Image Category Definition"; TypeDenotation.md
Catalogue: MET-04
Why:    the denotation IMAGE invites readers to feed pictures; without format, gamma and range they have to guess.
Bad:    g (float[1, 3, 8, 8] @{denotation: "IMAGE"} x) => (float[1, 3, 8, 8] y) { y = Abs(x) }
Good:   <metadata_props: ["Image.BitmapPixelFormat": "Rgb8", "Image.ColorSpaceGamma": "SRGB",
         "Image.NominalPixelRange": "NominalRange_0_255"]>
        g (float[1, 3, 8, 8] @{denotation: "IMAGE"} x) => (float[1, 3, 8, 8] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import ModelProto

KEYS = ("Image.BitmapPixelFormat", "Image.ColorSpaceGamma", "Image.NominalPixelRange")


@rule("SX023", "warning", visits=ModelProto)
def image_metadata_missing(model: ModelProto, context: Context) -> Iterator[Finding]:
    inputs = model.graph.input if model.graph is not None else []
    image = next(
        (i for i, v in enumerate(inputs) if v.type is not None and v.type.denotation == "IMAGE"), None
    )
    given = {entry.key.lower() for entry in model.metadata_props}
    missing = [key for key in KEYS if key.lower() not in given]
    if image is not None and missing:
        says = f"the input is denoted IMAGE, but metadata_props lacks {', '.join(missing)}"
        yield Finding(f"graph.input[{image}]", says, "add the keys to the model's metadata_props")
