"""The command line as a user calls it, for its tests: real programs and a real worker next to
the one that the first argument names."""

import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)
CPU = ["--worker-backend", "cpu"]
SMALL = ["--num_experts", 4, "--tokens", 64, "--n", 64, "--k", 256, "--iterations", 2]


def call(*arguments, env=None):
    return subprocess.run(
        [PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=100,
        env={**os.environ, **(env or {})})


def grouped(count):
    """A count as people read it: 1234567 -> "1 234 567"."""
    return f"{count:,}".replace(",", " ")


class CommandLine(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)

    def path(self, name):
        return os.path.join(self._folder.name, name)

    def worker_that_writes_its_pid(self):
        """A worker for --worker that first writes the number of its process to the file "pid". -> its path"""
        path = self.path("worker")
        worker = os.path.join(os.path.dirname(PROGRAM), "expertscope-worker")
        with open(path, "w") as script:
            script.write(f'#!/bin/sh\necho $$ > "{self.path("pid")}"\nexec "{worker}" "$@"\n')
        os.chmod(path, 0o700)
        return path

    def ok(self, *arguments, env=None):
        done = call(*arguments, env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def refused(self, code, *arguments, env=None):
        done = call(*arguments, env=env)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertNotEqual(done.stderr, "")
        return done.stderr
