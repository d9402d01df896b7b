"""Packs an installed tree (cmake --install) as a wheel: programs become scripts of the environment, everything else
goes to the same places below it. Needs only python3 and readelf.

usage: python3 -I make_wheel.py --tree TREE --version 0.1.0 --license LICENSE --out FOLDER

The platform tag names the newest glibc that a packed file needs. Equal trees give equal wheels.
"""

import argparse
import base64
import hashlib
import os
import pathlib
import platform
import sys
import zipfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from needed_glibc import needed_glibc  # noqa: E402

NAME = "expertscope"
METADATA = """\
Metadata-Version: 2.1
Name: {name}
Version: {version}
Summary: Profiler for grouped quantize and GEMM of Mixture-of-Experts layers
License: MIT
Requires-Python: >=3.8

Programs without a Python module: `expertscope` is the window and the command line. It needs an x86-64 Linux with
glibc {glibc} or newer and libstdc++ of GCC 12 or newer. The window also needs OpenGL and X11 of the system, and the
CUDA backend an NVIDIA driver.
"""
WHEEL = """\
Wheel-Version: 1.0
Generator: make_wheel.py
Root-Is-Purelib: false
Tag: {tag}
"""
# The time of every member: the earliest that a zip file can have.
TIME = (1980, 1, 1, 0, 0, 0)


class Wheel:
    """A zip file and its record: path, hash and size of every member."""

    def __init__(self, path):
        self.archive = zipfile.ZipFile(path, "w")
        self.record = []

    def add(self, name, content, mode=0o644):
        member = zipfile.ZipInfo(name, TIME)
        member.external_attr = (0o100000 | mode) << 16
        member.compress_type = zipfile.ZIP_DEFLATED
        self.archive.writestr(member, content, compresslevel=9)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(content)}")

    def close(self, record):
        member = zipfile.ZipInfo(record, TIME)
        member.external_attr = 0o100644 << 16
        self.archive.writestr(member, "\n".join([*self.record, f"{record},,", ""]))
        self.archive.close()


def place_of(path):
    """Where a file of the tree is in the wheel. Scripts go to the environment's bin, data to its root."""
    if path.parts[0] == "bin":
        return f"scripts/{path.relative_to('bin')}"
    return f"data/{path}"


def make_wheel(tree, version, license_file, out):
    major, minor = needed_glibc(tree)
    tag = f"py3-none-manylinux_{major}_{minor}_{platform.machine()}"
    stem = f"{NAME}-{version}"
    path = out / f"{stem}-{tag}.whl"
    for former in out.glob(f"{NAME}-*.whl"):
        former.unlink()
    unfinished = path.with_suffix(".unfinished")
    wheel = Wheel(unfinished)
    for file in sorted(tree.rglob("*")):
        if file.is_file():
            mode = 0o755 if os.access(file, os.X_OK) else 0o644
            wheel.add(f"{stem}.data/{place_of(file.relative_to(tree))}", file.read_bytes(), mode)
    facts = f"{stem}.dist-info"
    wheel.add(f"{facts}/METADATA", METADATA.format(name=NAME, version=version, glibc=f"{major}.{minor}").encode())
    wheel.add(f"{facts}/WHEEL", WHEEL.format(tag=tag).encode())
    wheel.add(f"{facts}/LICENSE", license_file.read_bytes())
    wheel.close(f"{facts}/RECORD")
    unfinished.rename(path)
    return path


def main():
    parser = argparse.ArgumentParser(description="Packs an installed tree as a wheel.")
    for name in ("tree", "license", "out"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--version", required=True)
    options = parser.parse_args()
    path = make_wheel(options.tree, options.version, options.license, options.out)
    print(f"{path}\n{path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
