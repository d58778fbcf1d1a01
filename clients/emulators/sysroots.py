"""Root folders of other machines: Debian's Python for them, with NumPy, ml_dtypes and llvmlite, and QEMU to run it.

    python -m emulators.sysroots FOLDER

Debian's packages are unpacked, not installed: `apt-get` with lists of its own downloads them, which needs no rights, and
`dpkg-deb` unpacks them.  Wheels come from PyPI where it has them.  For RISC-V it has none: NumPy is Debian's there,
ml_dtypes is compiled with Debian's cross compiler (`g++-riscv64-linux-gnu`), and llvmlite is missing, as for users.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

SUITE = "trixie"
SOURCES = f"""Types: deb
URIs: http://deb.debian.org/debian
Suites: {SUITE}
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
"""
PYTHON = "3.13"  # the suite's
COMPLETE = ".complete"


@dataclass(frozen=True)
class Root:
    """The root of an architecture.

    debian: the architecture's name in Debian.  packages: Debian's.  wheels: of PyPI.
    """

    debian: str
    packages: tuple[str, ...]
    wheels: tuple[str, ...] = ()


QEMU = Root("amd64", ("qemu-user",))  # statically linked, so that it runs on any distribution
ROOTS = {
    "aarch64": Root("arm64", ("python3", "libstdc++6", "zlib1g"), ("numpy", "ml_dtypes", "llvmlite")),
    "riscv64": Root("riscv64", ("python3", "python3-numpy", f"libpython{PYTHON}-dev")),
}


def main(folder: Path) -> None:
    build(folder / "qemu", QEMU, with_dependencies=False)
    for machine, root in ROOTS.items():
        build(folder / machine, root, with_dependencies=True)


def build(folder: Path, root: Root, *, with_dependencies: bool) -> None:
    """Makes a root folder, unless it is complete."""
    if (folder / COMPLETE).exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    site = folder / "site"
    site.mkdir(parents=True)
    downloads = folder / "downloads"
    for package in download_packages(downloads, root, with_dependencies=with_dependencies):
        subprocess.run(["dpkg-deb", "--extract", package, folder], check=True)
    if with_dependencies and not (folder / "lib").exists():
        (folder / "lib").symlink_to("usr/lib")
    for wheel in download_wheels(downloads, root):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)
    if with_dependencies and not root.wheels:
        compile_ml_dtypes(folder, downloads, site)
    shutil.rmtree(downloads)
    (folder / COMPLETE).touch()


# --- Debian ------------------------------------------------------------------------------------


def download_packages(folder: Path, root: Root, *, with_dependencies: bool) -> list[Path]:
    """Downloads Debian's packages of an architecture, with all that they depend on if asked."""
    archives = folder / "cache" / "archives"
    for path in (folder / "state" / "lists" / "partial", archives / "partial"):
        path.mkdir(parents=True, exist_ok=True)
    (folder / "debian.sources").write_text(SOURCES)
    apt(folder, root, "update")
    if with_dependencies:
        options = ("--yes", "--download-only", "--no-install-recommends")
        apt(folder, root, "install", *options, *root.packages)
    else:
        apt(folder, root, "download", *root.packages, cwd=archives)
    return sorted(archives.glob("*.deb"))


def apt(folder: Path, root: Root, *words: str, cwd: Path | None = None) -> None:
    """Runs apt-get with lists of its own, as on a machine of this architecture that has no packages."""
    settings = {
        "APT::Architecture": root.debian,
        "APT::Architectures::": root.debian,
        "APT::Sandbox::User": "root",  # the folder need not be readable for apt's own user
        "Dir::State": folder / "state",
        "Dir::State::status": "/dev/null",
        "Dir::Cache": folder / "cache",
        "Dir::Etc::sourcelist": folder / "debian.sources",
        "Dir::Etc::sourceparts": "/dev/null",
    }
    options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
    subprocess.run(["apt-get", "-qq", *options, *words], check=True, cwd=cwd, stdout=subprocess.DEVNULL)


# --- PyPI --------------------------------------------------------------------------------------


def download_wheels(folder: Path, root: Root) -> list[Path]:
    """Downloads wheels in the versions that this Python has installed, so that both machines run the same ones."""
    if not root.wheels:
        return []
    platforms = ("manylinux_2_28_aarch64", "manylinux_2_27_aarch64", "manylinux_2_17_aarch64")
    options = [
        "--only-binary=:all:",
        "--python-version",
        PYTHON,
        *(f"--platform={name}" for name in platforms),
    ]
    pip_download(folder / "wheels", options, root.wheels)
    return sorted((folder / "wheels").glob("*.whl"))


def pip_download(folder: Path, options: Sequence[str], names: Sequence[str]) -> None:
    pins = [f"{name}=={version(name)}" for name in names]
    command = [sys.executable, "-m", "pip", "download", "-qq", "--no-deps", "--dest", str(folder)]
    subprocess.run([*command, *options, *pins], check=True)


def compile_ml_dtypes(folder: Path, downloads: Path, site: Path) -> None:
    """Compiles the one extension module of ml_dtypes for RISC-V."""
    pip_download(downloads, ["--no-binary=ml_dtypes"], ["ml_dtypes"])
    (archive,) = downloads.glob("ml_dtypes-*.tar.gz")
    with tarfile.open(archive) as sources:
        sources.extractall(downloads, filter="data")
    source = downloads / archive.name.removesuffix(".tar.gz")
    shutil.copytree(source / "ml_dtypes", site / "ml_dtypes")
    headers = folder / "usr" / "include"
    numpy_headers = folder / "usr/lib/python3/dist-packages/numpy/_core/include"
    includes = (headers / f"python{PYTHON}", numpy_headers, source, source / "third_party" / "eigen")
    subprocess.run(
        [
            *("riscv64-linux-gnu-g++", "-O1", "-std=c++17", "-shared", "-fPIC", "-fvisibility=hidden"),
            *(f"-I{path}" for path in includes),
            *("-idirafter", headers),  # Python's settings; the C library's headers are the compiler's
            *sorted((source / "ml_dtypes" / "_src").glob("*.cc")),
            *("-o", site / "ml_dtypes" / "_ml_dtypes_ext.so"),
        ],
        check=True,
    )


if __name__ == "__main__":
    assert sysconfig.get_platform().startswith("linux"), "QEMU emulates user programs under Linux only"
    main(Path(sys.argv[1]).resolve())
