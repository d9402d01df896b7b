"""A worker with CUDA for a machine that has a GPU, from a build without CUDA: what is asked, built, sent and said. The
toolchain is a script that only says that it compiles."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ARGUMENTS = [sys.argv.pop(2) for _ in range(3)]
sys.path.insert(0, ARGUMENTS[0])
from command_line import PROGRAM, CommandLine, on_terminal  # noqa: E402
from ssh_server import HOST, SshServer, why_not  # noqa: E402
from unbuilt_cuda_worker import GPU, PLAN, Tree  # noqa: E402

FAKE_WORKER, APP = map(os.path.abspath, ARGUMENTS[1:])


class CudaWorker(CommandLine):
    def setUp(self):
        super().setUp()
        if why_not():
            self.skipTest(why_not())
        self.tree = Tree(self.path("tree"), PROGRAM, FAKE_WORKER, pathlib.Path(APP).parent / "assets")
        self.app, self.program = self.tree.app, self.tree.program
        self.server = self.enterContext(SshServer(programs=GPU))
        self.env = {**self.server.client(), "XDG_CACHE_HOME": self.path("cache")}

    def connect_on_terminal(self, *answers):
        return on_terminal(["connect", HOST, "--remote-cublaslt", "skip"], self.env,
                           [("(yes/no)", one) for one in answers], program=self.program)

    def steps_without_terminal(self):
        done = subprocess.run([self.program, "connect", HOST, "--json"], env={**os.environ, **self.env},
                              capture_output=True, text=True, timeout=60, start_new_session=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {step["step"]: step for step in json.loads(done.stdout)["steps"]}

    def bundle(self, *more):
        return subprocess.run([self.program, "bundle", *more], env={**os.environ, **self.env}, capture_output=True,
                              text=True, timeout=60)

    def has_built(self):
        return any(map(self.tree.was_sent, self.server.bundles()))

    def test_it_is_built_after_a_yes_and_used_from_then_on(self):
        code, shown = self.connect_on_terminal("yes")
        self.assertEqual(code, 0, shown)
        self.assertIn("elsewhere has a GPU, and the worker of this build has no CUDA", shown)
        self.assertIn("It fetches the CUDA compiler, 115 MB and cuBLASLt 13, 400 MB from PyPI, then compiles for about 1 "
                      "minute", shown)
        self.assertIn("Fetching the compiler", shown)
        self.assertIn("Compiling, file 1 of 2", shown)
        self.assertIn("left out, as requested", shown)
        self.assertTrue(self.has_built())
        self.assertEqual(self.tree.calls(), ["--plan", str(self.tree.root / "build/cuda-worker")])
        code, shown = self.connect_on_terminal()
        self.assertEqual(code, 0, shown)
        self.assertNotIn("(yes/no)", shown)
        self.assertIn("already there, unchanged", shown)

    def test_after_a_no_the_cpu_worker_is_sent(self):
        code, shown = self.connect_on_terminal("no")
        self.assertEqual(code, 0, shown)
        self.assertIn("Runs use the CPU there", shown)
        self.assertFalse(self.has_built())
        self.assertEqual(self.tree.calls(), ["--plan"])

    def test_without_a_terminal_nothing_is_built(self):
        steps = self.steps_without_terminal()
        self.assertEqual(steps["cublaslt"]["state"], "skipped")
        self.assertIn("`expertscope bundle --cuda` builds one", steps["cublaslt"]["words"])
        self.assertEqual(self.tree.calls(), ["--plan"])

    def test_a_machine_without_a_gpu_asks_for_nothing(self):
        (self.server.root / "there/nvidia-smi").write_text("#!/bin/sh\nexit 1\n")
        self.steps_without_terminal()
        self.assertEqual(self.tree.calls(), [])

    def test_what_is_missing_here_is_named(self):
        (self.app / "plan").write_text("missing=cmake\nmissing=ninja\n" + PLAN)
        steps = self.steps_without_terminal()
        self.assertIn("cmake, ninja are missing here", steps["cublaslt"]["words"])
        done = self.bundle("--cuda")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("cmake, ninja are missing here", done.stderr)

    def test_an_installation_says_that_it_has_none(self):
        (self.app / "build_cuda_worker").unlink()
        steps = self.steps_without_terminal()
        self.assertIn("this installation has no worker with CUDA", steps["cublaslt"]["words"])
        self.assertIn("install a package that was built with CUDA", self.bundle("--cuda").stderr)

    def test_a_build_that_fails_is_said_and_can_be_declined(self):
        (self.app / "broken").touch()
        code, shown = self.connect_on_terminal("yes")
        self.assertEqual(code, 1, shown)
        self.assertIn("could not be built: nvcc fatal: this one is broken", shown)
        self.assertEqual(self.connect_on_terminal("no")[0], 0)

    def test_the_command_says_what_it_takes_and_packs_it(self):
        done = self.bundle("--cuda", "--out", self.path("worker.bundle"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.strip(), self.path("worker.bundle"))
        self.assertLess(done.stderr.index("It fetches the CUDA compiler"), done.stderr.index("with CUDA, "))
        self.assertTrue(os.path.getsize(self.path("worker.bundle")))


class Plan(unittest.TestCase):
    """Of the script itself."""

    def plan(self, **env):
        done = subprocess.run([pathlib.Path(APP) / "build_cuda_worker", "--fetched-compiler", "--plan"],
                              capture_output=True, text=True, timeout=60, check=True, env={**os.environ, **env})
        return done.stdout.splitlines()

    def test_an_empty_cache_has_to_be_filled(self):
        plan = self.plan(XDG_CACHE_HOME="/nonexistent")
        self.assertRegex(plan[0], r"^fetch=the CUDA compiler, \d+ MB \(\d+ MB unpacked\)$")
        self.assertRegex(plan[1], r"^fetch=cuBLASLt [\d.]+, about 400 MB$")
        self.assertRegex(plan[2], r"^cpu_minutes=\d+$")
        self.assertEqual(len(plan), 3)

    def test_what_is_missing_is_named(self):
        with tempfile.TemporaryDirectory() as few:
            for name in ("bash", "dirname", "readlink", "sed", "cmp", "python3"):
                os.symlink(shutil.which(name), os.path.join(few, name))
            plan = self.plan(PATH=few)
        self.assertEqual([one for one in plan if one.startswith("missing=")],
                         ["missing=cmake", "missing=ninja", "missing=c++", "missing=protoc"])

    def test_every_package_of_the_compiler_is_pinned(self):
        text = (pathlib.Path(APP) / "cuda_compiler.txt").read_text()
        packages = [line for line in text.splitlines() if "==" in line]
        self.assertEqual(len(packages), 7)
        self.assertEqual(text.count("--hash=sha256:"), len(packages))


if __name__ == "__main__":
    unittest.main()
