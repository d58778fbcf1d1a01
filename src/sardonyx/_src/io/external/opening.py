"""Policies on external data files, and opening the file at a location under a policy."""

from __future__ import annotations

import enum
import errno
import os
import stat

from sardonyx._src.arguments import require_choice
from sardonyx._src.errors import ExternalDataError
from sardonyx._src.io.external.entries import brief, components
from sardonyx._src.io.external.folders import Folder, is_link
from sardonyx._src.io.open_flags import READ_FLAGS
from sardonyx._src.io.regular_files import kind_of_file


class Policy(enum.StrEnum):
    """Which files may be external data of a model.  No policy allows FIFOs, sockets or devices.

    `STRICT`: regular files below the model's directory, at a relative location without `..`, with a link count of 1
    and without symbolic links between the model's directory and the file.  The path of the model's directory itself
    may contain links.

    `HUB`, the default: as `STRICT`, but the last component may be a symbolic link to a file in the directory that
    contains the resolved model file.  This is the layout of the Hugging Face Hub cache, where `model.onnx` and
    `model.onnx_data` both link into `blobs`.  A model gains access to no file that it could not name directly when
    loaded by its resolved path.  Hard links are still rejected: a link count does not reveal where the other names
    are, and comparing it with the model's proves nothing, because an attacker who can create one hard link
    can create two.  Files that were installed as hard links (uv, `cp -l`) require `TRUSTED`, or a copy.

    `TRUSTED`: the caller trusts the model.  Symbolic and hard links, absolute locations and `..` are allowed.
    """

    STRICT = "strict"
    HUB = "hub"
    TRUSTED = "trusted"


def policy_of(policy: Policy | str) -> Policy:
    """The policy with a name; raises InputError for an argument that is no policy or name of one."""
    require_choice("policy", policy, [policy.value for policy in Policy])
    return Policy(policy)


def canonical_location(location: str, policy: Policy, where: str) -> str:
    """The location in canonical form, in which `a/b`, `./a/b` and `a//b` are equal; as it is if the policy is TRUSTED.

    Raises ExternalDataError for a location that the policy rejects.
    """
    if policy is not Policy.TRUSTED:
        return "/".join(components(location, where))
    if "\0" in location:
        raise ExternalDataError(f"a location must not contain NUL; got {brief(location)}", location=where)
    return location


def open_data(model: str, location: str, policy: Policy, where: str) -> tuple[int, int]:
    """A descriptor of the regular file at a canonical `location`, and the file's size in bytes.

    `model` is the absolute path of the model file; the location is relative to its directory.
    Raises ExternalDataError if the file does not exist or the policy rejects it.
    """
    try:
        if policy is Policy.TRUSTED:
            fd = open_following_links(os.path.join(os.path.dirname(model), location), location, where)
        else:
            fd = open_without_links(model, location, policy, where)
    except OSError as error:
        raise ExternalDataError(open_error_message(error, model, location), location=where) from error
    status = os.fstat(fd)
    try:
        refuse_irregular(status, location, where)
        if status.st_nlink > 1 and policy is not Policy.TRUSTED:
            what = f"the link count of {brief(location)} must be 1; got {status.st_nlink}: it may be a file from anywhere"
            cure = 'copy it, or pass policy="trusted" if you trust the model'
            raise ExternalDataError(f"{what}; {cure}", location=where)
    except ExternalDataError:
        os.close(fd)
        raise
    return fd, status.st_size


def open_following_links(path: str, location: str, where: str) -> int:
    # Checked before opening, because opening a device can have side effects; the descriptor is checked again.
    refuse_irregular(os.stat(path), location, where)
    return os.open(path, READ_FLAGS)


def open_without_links(model: str, location: str, policy: Policy, where: str) -> int:
    """Opens a location without following links, except for the last component under `HUB`."""
    *folders, name = location.split("/")
    with Folder.from_path(os.path.dirname(model)) as base, base.reach(folders) as folder:
        status = folder.status(name)
        if not is_link(status):
            refuse_irregular(status, location, where)
            return folder.open(name)
        target = os.path.realpath(os.path.join(folder.path, name))
    home = os.path.dirname(os.path.realpath(model))
    if policy is Policy.HUB and os.path.dirname(target) == home:
        # Safe even if links changed since: this opens a file in the resolved model directory, or nothing.
        with Folder.from_path(home) as folder:
            refuse_irregular(folder.status(os.path.basename(target)), location, where)
            return folder.open(os.path.basename(target))
    raise ExternalDataError(link_message(location, target, home, policy), location=where)


def refuse_irregular(status: os.stat_result, location: str, where: str) -> None:
    if stat.S_ISREG(status.st_mode):
        return
    what = f"external data must be a regular file; got {brief(location)}, a {kind_of_file(status)}"
    raise ExternalDataError(what, location=where)


def link_message(location: str, target: str, home: str, policy: Policy) -> str:
    actual = f"{brief(location)}, a symbolic link to {target}"
    if policy is Policy.STRICT:
        what = f"external data must not be a symbolic link under the strict policy; got {actual}"
        return f'{what}; policy="hub" allows links into the directory of the model file'
    what = f"the target of a symbolic link must be in the directory of the model file, {home}; got {actual}"
    return f'{what}; put the data next to the model, or pass policy="trusted" if you trust the model'


def open_error_message(error: OSError, model: str, location: str) -> str:
    """The error message for a file that could not be opened."""
    folder = os.path.dirname(model)
    if error.errno == errno.ENOENT:
        what = f"{brief(location)} must exist in {folder}; got no such file; put the data file there"
        if os.path.islink(model):
            what += (
                f", or load the model by its resolved path {os.path.realpath(model)} if its data are there"
            )
        return what
    if error.errno == errno.ELOOP:
        what = f"the path to {brief(location)} must not contain a symbolic link; got one"
        return f'{what}; put the data next to the model, or pass policy="trusted" if you trust the model'
    if error.errno in (errno.EMFILE, errno.ENFILE):
        what = f"{brief(location)} cannot be opened: the process has too many open files"
        return f"{what}; raise the limit, or save the model with all its data in one file"
    return f"{brief(location)} in {folder} cannot be opened: {error.strerror or error}"
