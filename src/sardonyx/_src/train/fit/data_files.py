"""Columns of training data in files and folders."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from sardonyx._src.errors import InputError, MissingPackage
from sardonyx._src.ir import Array

NOT_NUMPY = (ValueError, EOFError, OSError, zipfile.BadZipFile)
IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".npy")
IMAGE_COLUMN, LABEL_COLUMN = "image", "label"


def read_columns(path: str) -> dict[str, Array]:
    """The columns of a `.npz` or `.parquet` file, or of a folder, by name.

    A folder has one `.npy` file for each column, which is mapped; or several `.npz` or `.parquet` files, which are joined in
    the order of their names; or one folder of images for each class, in the order of their names, which gives the columns
    `image` and `label`.  Raises InputError for anything else, and MissingPackage.
    """
    source = Path(path)
    if source.is_dir():
        return read_folder(source)
    if not source.exists():
        raise InputError(f"{path} must be a .npz or .parquet file or a folder; it does not exist", name=path)
    reader = READERS.get(source.suffix)
    if reader is None:
        raise InputError(f"{path} must be a .npz or .parquet file or a folder", name=path)
    return reader(source)


def read_npz(path: Path) -> dict[str, Array]:
    try:
        content = np.load(path, allow_pickle=False)
        if not isinstance(content, np.lib.npyio.NpzFile):
            raise ValueError("a single array; an archive of named arrays is needed")
        with content:
            return {name: content[name] for name in content.files}
    except NOT_NUMPY as error:
        raise InputError(f"{path}: {error}", name=str(path)) from None


def read_parquet(path: Path) -> dict[str, Array]:
    """Columns of numbers, and of lists of numbers of one length."""
    try:
        from pyarrow import ArrowInvalid, parquet  # an optional dependency
    except ImportError:
        raise MissingPackage(
            "reading Parquet files requires pyarrow: pip install 'sardonyx[train]'", package="pyarrow"
        ) from None
    try:
        table = parquet.read_table(path)
    except (ArrowInvalid, OSError) as error:
        raise InputError(f"{path}: {error}", name=str(path)) from None
    return {name: numbers_of(table[name].to_numpy(), name, path) for name in table.column_names}


def numbers_of(values: Array, name: str, path: Path) -> Array:
    """A column as numbers: [n], or [n, ...] for lists."""
    if values.dtype != object:
        return values
    try:
        rows = [
            np.stack(row) if len(row) and isinstance(row[0], np.ndarray) else np.asarray(row)
            for row in values
        ]
        result = np.stack(rows)
    except (TypeError, ValueError):
        result = np.asarray(values)
    if result.dtype == object:
        raise InputError(
            f"column {name!r} of {path} must have numbers, or lists of numbers of one length", name=name
        )
    return result


READERS: dict[str, Callable[[Path], dict[str, Array]]] = {".npz": read_npz, ".parquet": read_parquet}


def read_folder(folder: Path) -> dict[str, Array]:
    entries = sorted(p for p in folder.iterdir() if not p.name.startswith("."))
    shards = [p for p in entries if p.suffix in READERS]
    if shards:
        return join_shards(shards)
    arrays = [p for p in entries if p.suffix == ".npy"]
    if arrays:
        return {p.stem: map_array(p) for p in arrays}
    classes = [p for p in entries if p.is_dir()]
    if classes:
        return read_classes(classes)
    raise InputError(
        f"{folder} must have .npy, .npz or .parquet files, or one folder for each class; got {len(entries)} entries",
        name=str(folder),
    )


def map_array(path: Path) -> Array:
    try:
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except NOT_NUMPY as error:
        raise InputError(f"{path}: {error}", name=str(path)) from None


def join_shards(paths: list[Path]) -> dict[str, Array]:
    """The rows of all files, one file after the other; raises InputError unless they have the same columns."""
    parts = [READERS[path.suffix](path) for path in paths]
    for path, part in zip(paths, parts, strict=True):
        if part.keys() != parts[0].keys():
            raise InputError(
                f"{path} must have the columns {sorted(parts[0])} of {paths[0].name}; got {sorted(part)}",
                name=str(path),
            )
    result = {}
    for name in parts[0]:
        try:
            result[name] = np.concatenate([part[name] for part in parts])
        except ValueError as error:
            raise InputError(f"column {name!r} of {paths[0].parent}: {error}", name=name) from None
    return result


def read_classes(folders: list[Path]) -> dict[str, Array]:
    """Images [n, height, width] or [n, channels, height, width], and the number of the folder of each."""
    images: list[Array] = []
    labels: list[int] = []
    for label, folder in enumerate(folders):
        for path in image_paths(folder):
            image = read_image(path)
            if images and image.shape != images[0].shape:
                raise InputError(
                    f"{path} must have the shape {list(images[0].shape)} of the other images; got {list(image.shape)}",
                    name=str(path),
                )
            images.append(image)
            labels.append(label)
    if not images:
        raise InputError(
            f"{folders[0].parent} must have images ({', '.join(IMAGES)}) in its folders; there are none",
            name=str(folders[0].parent),
        )
    return {IMAGE_COLUMN: np.stack(images), LABEL_COLUMN: np.array(labels, np.int64)}


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
