#!/usr/bin/env -S python3 -I
"""Fetches one version of cuBLASLt from the nvidia-cublas package on PyPI.

usage: python3 -I fetch_cublaslt.py VERSION FOLDER

Keeps FOLDER/include (headers) and FOLDER/lib/libcublasLt.so.13. The wheel's SHA-256 must be the one listed
here. Everything is created in a temporary folder next to FOLDER and renamed at the end, so that an interrupted
download leaves nothing half done. Needs only python3; without pip it creates an environment that has it.

It must be started with -I: a module in the current folder, or in PYTHONPATH, is never imported. pip is started
the same way, in the temporary folder; of pip's variables only those that select the index and the way to
reach it are passed on.
"""

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

# Wheels for x86-64 Linux. The first three predate the fix for grouped matmuls that share a workspace in a
# captured graph; they are fetched to reproduce the fault.
SHA256 = {
    "13.4.1.1": "28c983c8c03aa9a2d7b36cddcef2bfeeea85e13241d77df7622665502159f347",
    "13.5.1.27": "db3a1f0c8bc24945a4d195ba199d83f27e650ffdfc0c32e6b8362c314f14d553",
    "13.6.0.2": "b82c80c886cea6da6e149a5c3bdba274f12b7e4ec4b00a050b916b0446fb4153",
    "13.6.1.10": "feb2ed8a1e211bc5774413efc0f1a08c4d5269b56f68b4ac6fe5408e57f7dc1c",
    "13.6.2.16": "3968bb7940ed0690769b2918132ca1368b2806321b7c9d94a89c649a03e3b788",
    "13.7.0.27": "481adf76a6b7585a7a4cd5f53298589abe207415dd584887751b99baa85491d4",
    "13.8.0.4": "9f17797dfcc048694461f4e47de17d2e3c25adf172ef723d2db0a07cd8744b89",
    "13.8.2.12": "21721774d8e7044debec3034ecc1a8cd22e173eb6dae5d7f5f8a014852382894",
    "13.10.0.20": "dcc6d63884c53d07e267ce7e6feac17b2538cebaafec5db865736c3e28e4dc84",
}
# pip's settings for reaching an index, as needed behind a proxy or a mirror. Others could start another
# interpreter or write elsewhere. A download from any index must have the SHA-256 above.
KEPT_PIP_SETTINGS = {"CERT", "CLIENT_CERT", "CACHE_DIR", "CONFIG_FILE", "DEFAULT_TIMEOUT", "EXTRA_INDEX_URL", "FIND_LINKS",
                     "INDEX_URL", "NO_CACHE_DIR", "NO_INDEX", "PROXY", "RETRIES", "TIMEOUT", "TRUSTED_HOST"}
PREFIX = "nvidia/cu13/"
LIBRARY = "lib/libcublasLt.so.13"


def say(text):
    print(text, file=sys.stderr, flush=True)


def environment():
    return {name: value for name, value in os.environ.items()
            if not name.startswith(("PYTHON", "PIP_")) or name.removeprefix("PIP_") in KEPT_PIP_SETTINGS}


def python(program, folder, *arguments, **options):
    """Runs a separate Python, isolated, in the private folder."""
    return subprocess.run([program, "-I", *arguments], cwd=folder, env=environment(), check=False, **options)


def python_with_pip(folder):
    if python(sys.executable, folder, "-m", "pip", "--version", capture_output=True).returncode == 0:
        return sys.executable
    python(sys.executable, folder, "-m", "venv", folder / "venv", stdout=sys.stderr).check_returncode()
    return folder / "venv" / "bin" / "python"


def sha256_of(path):
    # hashlib.file_digest() needs Python 3.11; Ubuntu 22.04 has 3.10.
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def download(version, folder):
    """The wheel's path, or None after saying why not."""
    say(f"Fetching nvidia-cublas {version} (once, about 400 MB; kept: headers and libcublasLt)")
    done = python(python_with_pip(folder), folder, "-m", "pip", "download", "--no-deps", "--only-binary=:all:",
                  "--disable-pip-version-check", "--progress-bar", "on", "--dest", folder,
                  f"nvidia-cublas=={version}", stdout=sys.stderr)
    if done.returncode != 0:
        return None
    wheel = next(folder.glob("*.whl"))
    digest = sha256_of(wheel)
    if digest != SHA256[version]:
        say(f"The downloaded {wheel.name} does not have the expected SHA-256 {SHA256[version]}; it is not used.")
        return None
    return wheel


def unpack(wheel, kept):
    say("Unpacking")
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            name = entry.filename.removeprefix(PREFIX)
            header = name.startswith("include/") and not entry.is_dir()
            if name == entry.filename or not (header or name == LIBRARY):
                continue
            target = kept / name
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(entry) as source, open(target, "wb") as sink:
                shutil.copyfileobj(source, sink, 1 << 20)
    return (kept / "include" / "cublasLt.h").is_file() and (kept / LIBRARY).is_file()


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in SHA256:
        say(__doc__)
        say(f"Known versions: {', '.join(SHA256)}")
        return 2
    if not sys.flags.isolated:
        say("Start this script with python3 -I: without it, modules of the current folder could be imported")
        return 2
    version, target = sys.argv[1], pathlib.Path(sys.argv[2]).absolute()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=target.parent) as temporary:
        folder = pathlib.Path(temporary)
        wheel = download(version, folder)
        if wheel is None or not unpack(wheel, folder / "kept"):
            return 1
        shutil.rmtree(target, ignore_errors=True)
        (folder / "kept").rename(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
