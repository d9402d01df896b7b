"""The command line as a user calls it, for its tests: real programs and a real worker next to
the one that the first argument names."""

import os
import pty
import select
import signal
import subprocess
import sys
import tempfile
import time
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


def on_terminal(arguments, env, answers, seconds=60, program=PROGRAM):
    """Runs the program on a terminal of its own; each (question, answer) is typed once its question
    appears. -> exit code, all that the terminal showed"""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(program, [program, *map(str, arguments)], {**os.environ, **env})
    shown, seen, waiting = "", 0, list(answers)
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                shown += os.read(terminal, 4096).decode(errors="replace")
            except OSError:
                break
        if waiting and waiting[0][0] in shown[seen:]:
            seen = len(shown)
            time.sleep(0.2)  # the terminal stops showing what is typed after the question
            os.write(terminal, (waiting.pop(0)[1] + "\n").encode())
    else:
        os.kill(pid, signal.SIGKILL)
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown


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
