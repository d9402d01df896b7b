"""The newest glibc that any program or library of a folder needs, for example 2.34.

usage: python3 -I needed_glibc.py FOLDER

FOLDER may be an installed tree, or a build folder, which is then installed into a temporary one first.
"""

import pathlib
import re
import subprocess
import sys
import tempfile


def elf_files(tree):
    """Programs and shared libraries in the folder, sorted by name."""
    found = []
    for path in sorted(pathlib.Path(tree).rglob("*")):
        if path.is_file() and not path.is_symlink():
            with open(path, "rb") as file:
                if file.read(4) == b"\x7fELF":
                    found.append(path)
    return found


def needed_versions(path):
    """Versions of glibc's symbols that one file needs, as tuples: {(2, 2, 5), (2, 34)}"""
    shown = subprocess.run(["readelf", "--wide", "--version-info", path], capture_output=True, text=True, check=True,
                           env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}).stdout
    needs = shown.partition("Version needs section")[2].partition("Version definition section")[0]
    return {tuple(map(int, version.split("."))) for version in re.findall(r"\bGLIBC_([0-9.]+)\b", needs)}


def needed_glibc(tree):
    """The newest of all files, as (2, 34)."""
    return max(version for path in elf_files(tree) for version in needed_versions(path))[:2]


def main():
    folder = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as installed:
        if (folder / "cmake_install.cmake").exists():
            subprocess.run(["cmake", "--install", folder, "--prefix", installed], check=True, stdout=subprocess.DEVNULL)
            folder = pathlib.Path(installed)
        print(".".join(map(str, needed_glibc(folder))))


if __name__ == "__main__":
    main()
