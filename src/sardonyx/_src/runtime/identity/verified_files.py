"""Records of verified saved programs: their constants are read once per version of a file, not at every start.

The cache folder has a record for each file, with the file's stamp; a hash of the path is its name.  A change of the file
changes its stamp, unless it happens within the resolution of the clock after the stamp was taken.  So a record counts only
if it was written later than the file was changed (git calls a file for which this fails "racily clean").  The modification
time of a record is the time of the last use of the file.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from threading import Thread

from sardonyx._src.compile.llvm.cache import default_folder, open_private, warn_not_private
from sardonyx._src.errors import LimitError
from sardonyx._src.io.file_stamps import FileStamp
from sardonyx._src.io.private_files import make_private_folder, open_private_file
from sardonyx._src.threads import start_thread

MAX_RECORDS = 4096  # if there are more, the oldest ones are removed
RECORDS = "verified"  # the folder in the cache folder
VERIFIED: set[FileStamp] = set()  # stamps of the files that this process has verified


def is_verified(stamp: FileStamp) -> bool:
    """Whether this version of a file was verified, by this process or an earlier one; updates the time of its last use."""
    path = record_path(stamp.path)
    result = stamp in VERIFIED or (path is not None and has_record(path, stamp))
    if result and path is not None:
        with suppress(OSError):
            os.utime(path)
    return result


def has_record(path: Path, stamp: FileStamp) -> bool:
    """Whether the record at a path is for this version of a file, and was written after the file was changed."""
    try:
        with open_private_file(path) as file:
            is_current = file.read() == encode_stamp(stamp)
            return is_current and os.fstat(file.fileno()).st_mtime_ns > stamp.changed
    except FileNotFoundError:
        return False
    except OSError as error:
        warn_not_private(error)
        return False


def record_verified(stamp: FileStamp) -> None:
    """Records that this version of a file is intact; best effort."""
    VERIFIED.add(stamp)
    path = record_path(stamp.path)
    if path is None:
        return
    temporary = path.with_name(f"{os.urandom(8).hex()}.tmp")
    try:
        make_private_folder(path.parent)
        with open(temporary, "xb", opener=open_private) as file:
            file.write(encode_stamp(stamp))
        os.replace(temporary, path)
        trim_records(path.parent)
    except OSError as error:
        warn_not_private(error)
        with suppress(OSError):
            temporary.unlink()


def record_when_flushed(stamp: FileStamp) -> None:
    """Records that a file which this process has just written is intact, once the system has written it to the disk.

    A thread waits for the disk, which takes seconds for the weights of a large model.  If the process ends before, there
    is no record, and the next process verifies the file: after a power loss it may be damaged.
    """
    VERIFIED.add(stamp)

    def flush() -> None:
        with suppress(OSError):
            with open(stamp.path, "rb", buffering=0) as file:
                os.fsync(file.fileno())
                is_same = FileStamp.from_descriptor(stamp.path, file.fileno()) == stamp
            if is_same:
                record_verified(stamp)

    with suppress(LimitError):  # without a thread there is no record
        start_thread(Thread(target=flush, name="sardonyx-flush", daemon=True))


def last_use(path: Path) -> int:
    """The time of a file's last use, in nanoseconds: the time of its record, or else the file's own modification time."""
    record = record_path(os.path.realpath(path))
    try:
        return (path if record is None else record).stat().st_mtime_ns
    except OSError:
        return path.stat().st_mtime_ns


def record_path(path: str) -> Path | None:
    """The path of a file's record; None without a cache folder."""
    folder = default_folder()
    return None if folder is None else folder / RECORDS / hashlib.sha256(os.fsencode(path)).hexdigest()[:32]


def encode_stamp(stamp: FileStamp) -> bytes:
    return repr((stamp.path, stamp.device, stamp.inode, stamp.size, stamp.modified, stamp.changed)).encode()


def trim_records(folder: Path) -> None:
    """Removes the oldest quarter of the records if there are too many."""
    names = os.listdir(folder)
    if len(names) <= MAX_RECORDS:
        return
    paths = sorted((folder / name for name in names), key=lambda path: path.lstat().st_mtime_ns)
    for path in paths[: len(paths) // 4]:
        path.unlink(missing_ok=True)
