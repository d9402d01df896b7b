"""A source tree whose build has no CUDA, whatever this one has: its programs, and a script in the place of
app/build_cuda_worker that only says that it compiles. The worker that it "builds" is the fake one, and so is that of the
tree, which differs from it in what it says of itself."""

import os
import pathlib
import shutil

GPU = {"nvidia-smi": "echo '0, NVIDIA H200, 143771 MiB, 580.95.05'\n"}  # for SshServer(programs=...)
PLAN = "fetch=the CUDA compiler, 115 MB\nfetch=cuBLASLt 13, 400 MB\ncpu_minutes=1\n"
SCRIPT = """#!/bin/sh
here=$(dirname "$0")
echo "$*" >> "$here/calls"
if [ "$1" = --plan ]; then cat "$here/plan"; exit; fi
echo 'Fetching the compiler' >&2
if [ -e "$here/broken" ]; then echo 'nvcc fatal: this one is broken' >&2; exit 1; fi
printf '[1/2] Building CUDA object bias.cu.o\\n[2/2] Linking\\n' >&2
mkdir -p "$1/bin" && cp "$here/worker" "$1/bin/expertscope-worker" && cp "$here"/expertscope-* "$1/bin"
"""


class Tree:
    """`program` is its expertscope, `app` the folder of its script. `library`: its library to preload; None = it has none."""

    def __init__(self, root, program, fake_worker, assets, library=None):
        self.root, self._fake = pathlib.Path(root), pathlib.Path(fake_worker).read_bytes()
        programs, built = self.root / "build/bin", pathlib.Path(program).parent
        programs.mkdir(parents=True)
        sent = ("expertscope-attach-agent", "expertscope-guard")
        for one in ("expertscope", "expertscope-askpass", *sent):
            shutil.copy(built / one, programs)
        if library is not None:
            libraries = self.root / "build/lib/expertscope"
            libraries.mkdir(parents=True)
            shutil.copy(library, libraries / "libexpertscope-attach.so")
        worker = programs / "expertscope-worker"
        shutil.copy(fake_worker, worker)
        worker.write_bytes(self._fake.replace(b"fake_worker, CUDA", b"fake_worker, CPU "))
        # The assets are found from the programs, the script from the assets.
        os.symlink(assets, self.root / "assets")
        self.app = self.root / "app"
        self.app.mkdir()
        shutil.copy(fake_worker, self.app / "worker")
        for one in sent:
            shutil.copy(built / one, self.app)
        (self.app / "build_cuda_worker").write_text(SCRIPT)
        (self.app / "build_cuda_worker").chmod(0o755)
        (self.app / "plan").write_text(PLAN)
        self.program = programs / "expertscope"

    def calls(self):
        """What the script was asked for."""
        calls = self.app / "calls"
        return calls.read_text().splitlines() if calls.exists() else []

    def was_sent(self, bundle):
        """Whether a bundle that arrived holds the worker that the script built."""
        return (bundle / "bin/expertscope-worker").read_bytes() == self._fake
