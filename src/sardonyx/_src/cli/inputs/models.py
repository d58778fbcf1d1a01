"""The model argument that most verbs share, and the options for loading it."""

from __future__ import annotations

import argparse
import importlib
import os
import sys

from sardonyx._src.cli.output.streams import standard_input
from sardonyx._src.errors import InputError
from sardonyx._src.io.external import Policy
from sardonyx._src.io.loading.environment import OPERATOR_SETS_VARIABLE
from sardonyx._src.io.loading.load import load
from sardonyx._src.ir import Model


def add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help="model file (.onnx, .onnxtxt, .json), or - for standard input")
    parser.add_argument(
        "--policy",
        choices=[p.value for p in Policy],
        default=Policy.HUB.value,
        help="which links to external data files are followed (%(default)s)",
    )
    add_checksums(
        parser, "use external data even if its file does not have the checksum that the model states"
    )
    add_operator_sets(parser)


def add_checksums(parser: argparse.ArgumentParser, what: str) -> None:
    """Adds the option that leaves checksums unverified; `what` is its help."""
    parser.add_argument("--no-verify-checksums", dest="verify_checksums", action="store_false", help=what)


def add_operator_sets(parser: argparse.ArgumentParser) -> None:
    """Adds the options that name operator-set documents."""
    parser.add_argument(
        "--operator-set",
        action="append",
        default=[],
        metavar="FILE",
        help="use this operator-set document: its functions and declarations; may be repeated",
    )
    parser.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="MODULE",
        help="import this Python module first, which defines operators, passes or rules; may be repeated",
    )
    parser.add_argument(
        "--operator-set-path",
        action="append",
        default=[],
        metavar="FOLDERS",
        help=f"search these folders, separated by {os.pathsep!r}, for operator-set documents by domain and version; may be "
        f"repeated; those of the environment variable {OPERATOR_SETS_VARIABLE} are searched last",
    )


def load_plugin(name: str) -> str:
    """Imports a module that registers operators; raises InputError if it cannot be imported."""
    from sardonyx._src.ops.installed_plugins import IMPORTED  # lazy: `--help` needs no operators

    IMPORTED.add(name)
    sys.path.insert(0, os.getcwd())  # modules in the current folder are found, as with `python -m`
    try:
        importlib.import_module(name)
    except Exception as error:
        what = f"--plugin must be a module that can be imported; {name}: {type(error).__name__}: {error}"
        raise InputError(what, name="--plugin") from error
    finally:
        sys.path.remove(os.getcwd())
    return name


def import_plugins(args: argparse.Namespace) -> None:
    """Imports the plugins of installed packages, and those that the options name."""
    from sardonyx._src.ops.installed_plugins import load_installed  # lazy: `--help` needs no operators

    load_installed()
    for name in args.plugin:
        load_plugin(name)


def operator_sets(args: argparse.Namespace) -> list[str]:
    """The documents and folders that the options name, after importing plugins; raises InputError for what does not exist."""
    import_plugins(args)
    folders = [folder for word in args.operator_set_path for folder in word.split(os.pathsep) if folder]
    for folder in folders:
        if not os.path.isdir(folder):
            raise InputError(
                f"--operator-set-path must be existing folders; got {folder}", name="--operator-set-path"
            )
    return [*args.operator_set, *folders]


def load_model(args: argparse.Namespace) -> Model:
    """The model that the command line names."""
    source = standard_input() if args.model == "-" else args.model
    return load(
        source,
        policy=args.policy,
        operator_sets=operator_sets(args),
        verify_checksums=args.verify_checksums,
    )
