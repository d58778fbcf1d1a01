"""Opening the file that a location names, as far as a policy allows."""

from __future__ import annotations

import enum
import errno
import os
import stat

from sardonyx._src.errors import ExternalDataError
from sardonyx._src.io.external.entries import brief, components
from sardonyx._src.io.external.folders import READ, Folder, is_link


class Policy(enum.StrEnum):
    """Which files the external data of a model may be.  No policy reads FIFOs, sockets or devices.

    `STRICT`: regular files in the model's directory or below it, named by a relative location without `..`, with
    one name (no hard links) and no symbolic link on the way from the model's directory, which may itself be reached
    by links.

    `HUB`, the default: as `STRICT`, but the last component may be a symbolic link to a file that lies in the very
    directory in which the model file really lies.  That is the cache of the Hugging Face Hub, where `model.onnx`
    and `model.onnx_data` both link into `blobs`.  It gives a model nothing that a plain location would not give it
    when opened by its real path.  Hard links stay refused: a count of links does not tell where the other names
    are, and the model's own count proves nothing, because who can plant one hard link can plant two.  Files that an
    installer has put in place by hard links (uv, `cp -l`) need `TRUSTED`, or a copy.

    `TRUSTED`: the caller vouches for the model.  Links of both kinds are followed; absolute locations and `..` too.
    """

    STRICT = "strict"
    HUB = "hub"
    TRUSTED = "trusted"


def canonical(location: str, policy: Policy, where: str) -> str:
    """One spelling for all locations of a file that `policy` can tell to be the same from their text.

    Raises ExternalDataError for a location that the policy refuses.
    """
    if policy is not Policy.TRUSTED:
        return "/".join(components(location, where))
    if "\0" in location:
        raise ExternalDataError(f"location {brief(location)} has a NUL character", location=where)
    return location


def open_data(model: str, location: str, policy: Policy, where: str) -> tuple[int, int]:
    """A descriptor of the regular file at a canonical `location`, and the file's size in bytes.

    `model` is the absolute path of the model file; the location starts at its directory.
    Raises ExternalDataError when there is no such file, or the policy refuses it.
    """
    try:
        if policy is Policy.TRUSTED:
            fd = open_trusted(os.path.join(os.path.dirname(model), location), location, where)
        else:
            fd = open_contained(model, location, policy, where)
    except OSError as error:
        raise ExternalDataError(because(error, model, location), location=where) from error
    status = os.fstat(fd)
    try:
        refuse_irregular(status, location, where)
        if status.st_nlink > 1 and policy is not Policy.TRUSTED:
            what = f"{brief(location)} has {status.st_nlink} hard links, so it may be a file from anywhere"
            cure = 'copy it, or pass policy="trusted" if you trust the model'
            raise ExternalDataError(f"{what}; {cure}", location=where)
    except ExternalDataError:
        os.close(fd)
        raise
    return fd, status.st_size


def open_trusted(path: str, location: str, where: str) -> int:
    # Looked at first because opening a device can do things to it; what is opened is looked at again.
    refuse_irregular(os.stat(path), location, where)
    return os.open(path, READ)


def open_contained(model: str, location: str, policy: Policy, where: str) -> int:
    """Opens a location without following links, but for the last component under `HUB`."""
    *folders, name = location.split("/")
    with Folder.at(os.path.dirname(model)) as base, base.reach(folders) as folder:
        status = folder.status(name)
        if not is_link(status):
            refuse_irregular(status, location, where)
            return folder.open(name)
        target = os.path.realpath(os.path.join(folder.path, name))
    home = os.path.dirname(os.path.realpath(model))
    if policy is Policy.HUB and os.path.dirname(target) == home:
        # Whatever became of the links since: this opens a file of the model's real directory, or nothing.
        with Folder.at(home) as folder:
            refuse_irregular(folder.status(os.path.basename(target)), location, where)
            return folder.open(os.path.basename(target))
    raise ExternalDataError(link_refused(location, target, home, policy), location=where)


def refuse_irregular(status: os.stat_result, location: str, where: str) -> None:
    if stat.S_ISREG(status.st_mode):
        return
    kinds = {stat.S_IFDIR: "directory", stat.S_IFIFO: "FIFO", stat.S_IFCHR: "device", stat.S_IFBLK: "device"}
    kinds |= {stat.S_IFSOCK: "socket", stat.S_IFLNK: "symbolic link"}
    what = f"{brief(location)} is a {kinds.get(stat.S_IFMT(status.st_mode), 'special file')}"
    raise ExternalDataError(f"{what}; external data must be a regular file", location=where)


def link_refused(location: str, target: str, home: str, policy: Policy) -> str:
    what = f"{brief(location)} is a symbolic link to {target}"
    if policy is Policy.STRICT:
        return f'{what}; the strict policy follows none, policy="hub" those that end where the model file is'
    what = f"{what}, which is not in the model file's own directory {home}"
    return f'{what}; put the data beside the model, or pass policy="trusted" if you trust the model'


def because(error: OSError, model: str, location: str) -> str:
    """The sentence for a file that could not be opened."""
    folder = os.path.dirname(model)
    if error.errno == errno.ENOENT:
        what = f"no file {brief(location)} in {folder}; put the data file there"
        if os.path.islink(model):
            what += f", or open the model by its real path {os.path.realpath(model)} if its data are there"
        return what
    if error.errno == errno.ELOOP:
        what = f"a symbolic link stands on the way to {brief(location)}"
        return f'{what}; put the data beside the model, or pass policy="trusted" if you trust the model'
    if error.errno in (errno.EMFILE, errno.ENFILE):
        what = f"{brief(location)} cannot be opened: this process has too many open files"
        return f"{what}; raise the limit, or save the model with all its data in one file"
    return f"{brief(location)} in {folder} cannot be opened: {error.strerror or error}"
