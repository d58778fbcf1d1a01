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

from sardonyx._src.io.file_stamps import FileStamp
from sardonyx._src.runtime.identity.records import (
    read_records,
    record_folders,
    start_background,
    touch_record,
    write_record,
)

RECORDS = "verified"  # the folder in the cache folder
VERIFIED: set[FileStamp] = set()  # stamps of the files that this process has verified


def is_verified(stamp: FileStamp) -> bool:
    """Whether this version of a file was verified, by this process or an earlier one; updates the time of its last use."""
    name = record_name(stamp.path)
    result = stamp in VERIFIED or has_record(name, stamp)
    if result:
        touch_record(RECORDS, name)
    return result


def has_record(name: str, stamp: FileStamp) -> bool:
    """Whether the record of this name is for this version of a file, and was written after the file was changed."""
    content = encode_stamp(stamp)
    return any(record == content and time > stamp.changed for record, time in read_records(RECORDS, name))


def record_verified(stamp: FileStamp) -> None:
    """Records that this version of a file is intact; best effort."""
    VERIFIED.add(stamp)
    write_record(RECORDS, record_name(stamp.path), encode_stamp(stamp))


def record_when_flushed(stamp: FileStamp) -> None:
    """Records that a file which a process may have just written is intact, once the system has written it to the disk.

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

    start_background(flush, "sardonyx-flush")


def last_use(path: Path) -> int:
    """The time of a file's last use, in nanoseconds: the time of its record, or else the file's own modification time."""
    name = record_name(os.path.realpath(path))
    for folder in record_folders(RECORDS):
        with suppress(OSError):
            return (folder / name).stat().st_mtime_ns
    return path.stat().st_mtime_ns


def record_name(path: str) -> str:
    """The name of a file's record."""
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:32]


def digest_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def encode_stamp(stamp: FileStamp) -> bytes:
    return repr((stamp.path, stamp.device, stamp.inode, stamp.size, stamp.modified, stamp.changed)).encode()
