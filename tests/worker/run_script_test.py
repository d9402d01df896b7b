"""app/run with an up-to-date build: what it hands to the program.

Usage: run_script_test.py APP   (the folder of the script)
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

APP = pathlib.Path(sys.argv.pop(1))


class RunScript(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("app", "engine", "kernels", "profiling", "build/bin"):
            (self.root / name).mkdir(parents=True)
        for name in ("run", "setup.sh"):
            shutil.copy(APP / name, self.root / "app" / name)
        (self.root / "CMakeLists.txt").touch()
        for name in ("expertscope", "expertscope-worker", "expertscope-guard"):
            program = self.root / "build" / "bin" / name
            program.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
            program.chmod(0o755)
        (self.root / "build" / ".up-to-date").touch()

    def given(self, *arguments):
        """What the program is called with; with a display, so that the window is opened on it."""
        done = subprocess.run([self.root / "app" / "run", *arguments], capture_output=True, text=True, timeout=30,
                              env={**os.environ, "DISPLAY": ":0"})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split()

    def test_arguments_go_to_open(self):
        self.assertEqual(self.given(), ["open"])
        self.assertEqual(self.given("x.session"), ["open", "x.session"])
        self.assertEqual(self.given("--size", "800", "600"), ["open", "--size", "800", "600"])

    def test_the_command_may_be_named_as_for_the_program_itself(self):
        self.assertEqual(self.given("open"), ["open"])
        self.assertEqual(self.given("open", "x.session"), ["open", "x.session"])

    def test_nothing_is_opened_after_a_build_alone_or_for_help(self):
        self.assertEqual(self.given("--build-only"), [])
        self.assertIn("Usage:", self.given("--help"))


if __name__ == "__main__":
    unittest.main()
