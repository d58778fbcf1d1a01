"""Images in files: pictures, and arrays that are one image each."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from sardonyx._src.errors import InputError, MissingPackage
from sardonyx._src.ir import Array

NOT_NUMPY = (ValueError, EOFError, OSError, zipfile.BadZipFile)
PICTURES = (".png", ".jpg", ".jpeg", ".bmp", ".webp")
IMAGES = (*PICTURES, ".npy")
IMAGE_COLUMN, LABEL_COLUMN = "image", "label"


def read_classes(folders: list[Path]) -> dict[str, Array]:
    """Images [n, height, width] or [n, channels, height, width], and the number of the folder of each."""
    paths = {path: label for label, folder in enumerate(folders) for path in image_paths(folder)}
    if not paths:
        raise InputError(
            f"{folders[0].parent} must have images ({', '.join(IMAGES)}) in its folders; there are none",
            name=str(folders[0].parent),
        )
    return {IMAGE_COLUMN: read_images(list(paths)), LABEL_COLUMN: np.array(list(paths.values()), np.int64)}


def read_images(paths: Sequence[Path]) -> Array:
    """Images of one shape: [n, height, width] or [n, channels, height, width]."""
    images: list[Array] = []
    for path in paths:
        images.append(read_image(path))
        if images[-1].shape != images[0].shape:
            what = f"{path} must have the shape {list(images[0].shape)} of the other images; got {list(images[-1].shape)}"
            raise InputError(what, name=str(path))
    return np.stack(images)


def image_paths(folder: Path) -> Iterator[Path]:
    return (p for p in sorted(folder.iterdir()) if p.suffix.lower() in IMAGES)


def read_image(path: Path) -> Array:
    """An array file as it is; a picture as [height, width] or, with colors, [3, height, width] of uint8."""
    if path.suffix.lower() == ".npy":
        return map_array(path)
    try:
        from PIL import Image, UnidentifiedImageError  # an optional dependency
    except ImportError:
        raise MissingPackage(
            "reading images requires pillow: pip install 'sardonyx[image]'", package="pillow"
        ) from None
    try:
        with Image.open(path) as picture:
            pixels = np.asarray(picture if picture.mode == "L" else picture.convert("RGB"), np.uint8)
    except (UnidentifiedImageError, OSError) as error:
        raise InputError(f"{path}: {error}", name=str(path)) from None
    return pixels if pixels.ndim == 2 else np.moveaxis(pixels, -1, 0)


def map_array(path: Path) -> Array:
    try:
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except NOT_NUMPY as error:
        raise InputError(f"{path}: {error}", name=str(path)) from None
