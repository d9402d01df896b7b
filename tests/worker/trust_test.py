"""A file must not decide whose code runs. The command line, with a shared object that leaves a
mark when it is loaded, and with modules of Python that do.

Usage: trust_test.py EXPERTSCOPE MARKER_LIBRARY SOURCE_ROOT
"""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

SOURCE_ROOT = pathlib.Path(sys.argv.pop(3))
LIBRARY = sys.argv.pop(2)

from command_line import CPU, PROGRAM, SMALL, CommandLine, call  # reads the program from what is left of argv


class LibrariesOfFiles(CommandLine):
    def setUp(self):
        super().setUp()
        self.marker = self.path("marker")
        self.env = {"MARKER_FILE": self.marker}
        request = {"shape": {"num_experts": 4, "rows": 64, "n": 64, "k": 256}, "launch": {"iterations": 2},
                   "cublaslt_library": LIBRARY}
        self.request = self.write("request.json", json.dumps(request))
        self.log = self.write("requests.jsonl", json.dumps(request) + "\n" + json.dumps(request) + "\n")

    def write(self, name, text):
        pathlib.Path(self.path(name)).write_text(text, encoding="utf-8")
        return self.path(name)

    def commands(self):
        """Every command that reads a request from a file: the file, and the command."""
        return [(self.request, ["run", "--request", self.request]),
                (self.log, ["run", "--requests", self.log]),
                (self.request, ["compare", "--request", self.request, "--timed_launches", "0"]),
                (self.request, ["sweep", "--request", self.request, "--axes", "pow2"]),
                (self.request, ["ab", "--a", self.request, "--b", self.request, "--blocks", "2", "--iterations", "2"])]

    def test_a_library_that_a_file_names_is_refused_with_the_way_out(self):
        doctor = (self.request, ["doctor", "--request", self.request])
        for file, command in [*self.commands(), doctor]:
            with self.subTest(command=command[:2]):
                done = call(*command, *CPU, env=self.env)
                self.assertEqual(done.returncode, 3 if command[0] == "doctor" else 1, done.stdout)
                self.assertIn(file + " names the cuBLASLt library " + LIBRARY, done.stderr)
                self.assertIn("--allow-library " + LIBRARY, done.stderr)
                self.assertFalse(os.path.exists(self.marker))

    def test_what_was_allowed_goes_on(self):
        for _, command in self.commands():
            with self.subTest(command=command[:2]):
                self.ok(*command, *CPU, "--allow-library", LIBRARY, env=self.env)
        # Another library is still not allowed.
        done = call("run", "--request", self.request, *CPU, "--allow-library", "/another.so", env=self.env)
        self.assertEqual(done.returncode, 1)

    def test_an_option_is_the_users_choice(self):
        self.ok("run", *SMALL, *CPU, "--cublaslt_library", LIBRARY)
        self.ok("run", "--request", self.request, *CPU, "--cublaslt_library", LIBRARY)
        self.ok("run", "--request", self.request, *CPU, "--cublaslt", LIBRARY)
        self.ok("run", "--request", self.request, *CPU, "--cublaslt_library", "")


class MaliciousModules(CommandLine):
    """Malicious modules in the current folder and in PYTHONPATH."""

    def setUp(self):
        super().setUp()
        self.marker = pathlib.Path(self.path("imported"))
        self.traps = pathlib.Path(self.path("traps"))
        self.traps.mkdir()
        for name in ("pip", "numpy", "venv", "ensurepip", "hashlib", "tempfile", "zipfile", "runpy", "sitecustomize",
                     "usercustomize", "pytest", "json", "torch"):
            (self.traps / f"{name}.py").write_text(
                f'with open({str(self.marker)!r}, "a") as file: file.write({name!r} + "\\n")\n'
                f'raise ImportError("the malicious {name}")\n', encoding="utf-8")
        python = self.traps / "python"
        python.write_text(f'#!/bin/sh\necho PIP_PYTHON >> "{self.marker}"\nexit 1\n', encoding="utf-8")
        python.chmod(0o700)
        self.env = {**os.environ, "PYTHONPATH": str(self.traps), "PIP_PYTHON": str(python),
                    "PIP_REQUIREMENT": str(self.traps / "pip.py"), "XDG_CACHE_HOME": self.path("cache"),
                    # An index that is empty: all checks come before it is queried.
                    "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": self.path("none"), "PIP_CONFIG_FILE": "/dev/null"}

    def call(self, *command):
        return subprocess.run(list(map(str, command)), cwd=self.traps, env=self.env, capture_output=True, text=True,
                              timeout=100)

    def shell(self, script):
        setup = shlex.quote(str(SOURCE_ROOT / "app" / "setup.sh"))
        return self.call("bash", "-c", f"set -euo pipefail; source {setup}; {script}")

    def nothing_was_imported(self, done):
        said = done.stdout + done.stderr
        self.assertNotIn("the malicious", said)
        self.assertFalse(self.marker.exists(), said)

    def test_the_traps_catch_careless_code(self):
        self.call(sys.executable, "-m", "pip", "--version")
        self.assertIn("pip\n", self.marker.read_text(encoding="utf-8"))

    def test_fetching_a_library(self):
        done = self.call(PROGRAM, "doctor", "fetch", "13.5.1.27")
        self.nothing_was_imported(done)
        self.assertEqual(done.returncode, 3)
        self.assertIn("No matching distribution", done.stderr)  # pip itself has looked

    def test_app_run_providing_the_library(self):
        toolkit = pathlib.Path(self.path("toolkit/bin"))
        toolkit.mkdir(parents=True)
        done = self.shell(f"nvcc={shlex.quote(str(toolkit))}/nvcc; provide_cublas; echo $no_cuda")
        self.nothing_was_imported(done)
        self.assertIn("could not be fetched", done.stdout)
        self.assertIn("No matching distribution", done.stderr)

    def test_tests_run_making_its_environment(self):
        done = self.shell("provide_python")
        self.nothing_was_imported(done)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("could not install the packages", done.stderr)

    def test_the_peer_of_the_benchmark(self):
        """Its torch comes from the named Python and its PYTHONPATH, never from the current folder."""
        self.env.pop("PYTHONPATH")
        done = self.call(PROGRAM, "bench", "--suite", "linear", "--cpu", "--presets", "laptop-tiny", "--seconds", "0.01",
                         "--torch", sys.executable)
        self.nothing_was_imported(done)

    def test_only_hashed_wheels_are_installed(self):
        lines = (SOURCE_ROOT / "tests/support/requirements.txt").read_text(encoding="utf-8")
        for one in re.split(r"\n(?=\w)", re.sub(r"#.*\n", "", lines).strip()):
            self.assertRegex(one, r"^[\w-]+==[\w.]+( \\\n +--hash=sha256:[0-9a-f]{64})+$")

    def test_the_script_wants_to_be_isolated(self):
        done = subprocess.run([sys.executable, SOURCE_ROOT / "assets/fetch_cublaslt.py", "13.10.0.20",
                               self.path("to")], capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 2)
        self.assertIn("python3 -I", done.stderr)

    def test_both_lists_of_versions_are_equal(self):
        listed = [line.split()[0] for line in self.ok("doctor", "fetch").splitlines()]
        script = subprocess.run([sys.executable, "-I", SOURCE_ROOT / "assets/fetch_cublaslt.py"], capture_output=True,
                                text=True, timeout=100).stderr
        self.assertEqual(listed, re.search(r"Known versions: (.*)", script)[1].split(", "))

    def test_a_version_without_a_hash_is_refused(self):
        said = self.refused(3, "doctor", "fetch", "13.99.0.1")
        self.assertIn("13.99.0.1", said)
        self.assertIn("13.10.0.20", said)


if __name__ == "__main__":
    unittest.main()
