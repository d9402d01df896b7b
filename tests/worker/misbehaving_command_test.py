"""The command line with workers that misbehave: it says what it waits for, gives up, prints nothing
that a terminal would obey, and leaves no process behind.

Usage: misbehaving_command_test.py EXPERTSCOPE FAKE_WORKER
"""

import os
import pathlib
import re
import signal
import stat
import subprocess
import sys
import time
import unittest

FAKE_WORKER = sys.argv.pop(2)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from command_line import PROGRAM, SMALL, CommandLine  # noqa: E402 (takes the first argument itself)
from processes import is_alive  # noqa: E402

WORKER_FAILED = 2
COULD_NOT_RUN = 3  # doctor


def wait_until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


class Misbehaving(CommandLine):
    def worker(self, mode, before=""):
        """A program that is a fake worker of this mode and leaves its process id."""
        path = self.path(mode)
        with open(path, "w", encoding="utf-8") as script:
            script.write(f'#!/bin/sh\necho $$ >> "{path}.pids"\n{before}\nexec "{FAKE_WORKER}" {mode} "$@"\n')
        os.chmod(path, stat.S_IRWXU)
        return ["--worker", path]

    def pids(self, name):
        try:
            with open(self.path(name), encoding="utf-8") as file:
                return [int(line) for line in file]
        except FileNotFoundError:
            return []

    def start(self, *arguments, env=None):
        process = subprocess.Popen([PROGRAM, *map(str, arguments)], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env={**os.environ, **(env or {})})
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def gone(self, *pids):
        self.assertTrue(wait_until(lambda: not any(map(is_alive, pids))),
                        [pid for pid in pids if is_alive(pid)])


class Waiting(Misbehaving):
    """Each of these used to wait forever, in silence."""

    def gives_up(self, code, words, *arguments):
        begun = time.monotonic()
        done = subprocess.run([PROGRAM, *map(str, arguments), "--timeout", "3.5"], capture_output=True,
                              text=True, timeout=60)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertGreater(time.monotonic() - begun, 3.5)
        said = done.stderr.splitlines()
        self.assertRegex(said[0], r"expertscope: the worker \(process \d+\) has made no progress for "
                                  r"[23] s: .*" + words + r".* after 3\.5 s .*--timeout.*Ctrl\+C")
        return said[-1]

    def test_a_mute_worker(self):
        last = self.gives_up(WORKER_FAILED, "has not sent its greeting", "run", *self.worker("mute"), *SMALL)
        self.assertRegex(last, r"gave up on the worker \(process \d+\) after 3\.\d s .*has not sent its greeting")
        self.gone(*self.pids("mute.pids"))

    def test_a_worker_that_is_stopped(self):
        last = self.gives_up(WORKER_FAILED, "has not sent its greeting", "run", *self.worker("stopped", "kill -STOP $$"), *SMALL)
        self.assertIn("gave up", last)
        self.gone(*self.pids("stopped.pids"))

    def test_a_worker_that_does_not_read(self):
        last = self.gives_up(WORKER_FAILED, "has not started the order", "compare", *self.worker("deaf"), *SMALL)
        self.assertIn("has not started the order", last)

    def test_a_worker_that_pulses_and_never_answers(self):
        last = self.gives_up(WORKER_FAILED, "makes no progress", "run", *self.worker("stuck"), *SMALL)
        self.assertIn("makes no progress", last)

    def test_every_command_that_drives_a_worker(self):
        for command in ("run", "list", "quantize", "compare", "bench", "sweep", "ab", "doctor", "doctor matrix"):
            with self.subTest(command=command):
                self.assertIn("--timeout SECONDS", self.ok(*command.split(), "--help"))
        self.gives_up(WORKER_FAILED, "has not sent its greeting", "list", *self.worker("mute"))
        self.gives_up(COULD_NOT_RUN, "has not sent its greeting", "doctor", *self.worker("mute"))

    def test_a_worker_with_progress_is_not_given_up(self):
        process = self.start("run", *self.worker("moving"), *SMALL, "--timeout", 1)
        time.sleep(4)
        self.assertIsNone(process.poll())

    def test_a_long_command_says_in_a_log_what_it_does(self):
        with open(self.path("log.jsonl"), "w", encoding="utf-8") as log:
            log.write('{"launch": {"iterations": 2}}\n' * 40)
        commands = (["run", *self.worker("moving"), *SMALL],
                    ["run", *self.worker("slow-answer"), "--requests", self.path("log.jsonl"), "--json"])
        processes = [subprocess.Popen([PROGRAM, *map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                     for command in commands]
        for process in processes:
            self.addCleanup(process.stderr.close)
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            os.set_blocking(process.stderr.fileno(), False)
        said = [b"", b""]

        def first_lines():
            for i, process in enumerate(processes):
                said[i] += process.stderr.read() or b""
            return all(b"\n" in text for text in said)

        # How many there are by then depends on the machine; the interval is tested in terminal_test.cpp.
        self.assertTrue(wait_until(first_lines), said)
        self.assertNotIn(b"\x1b", b"".join(said))
        of_run, of_batch = (text.decode().splitlines()[0] for text in said)
        self.assertRegex(of_run, r"^expertscope: \d{2,} s: .+, iteration \d+ of \d+ \(\d+ %\)$")
        self.assertRegex(of_batch, r"^expertscope: \d{2,} s: .+ \(\d+ %\)$")

    def test_a_timeout_is_a_number_of_seconds(self):
        self.assertIn("--timeout", self.refused(1, "run", "--timeout", "-1"))

    def test_an_unanswered_cancel_is_reported(self):
        process = self.start("sweep", *self.worker("stuck"), *SMALL, "--axes", "recipe")
        self.assertTrue(wait_until(lambda: self.pids("stuck.pids")))
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        os.set_blocking(process.stderr.fileno(), False)
        said = []
        self.assertTrue(wait_until(lambda: said.append(process.stderr.read() or b"") or (
            b"has not acknowledged the cancel" in b"".join(said))), said)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=20)
        self.gone(*self.pids("stuck.pids"))


class Terminal(Misbehaving):
    CONTROLS = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xa8-\xae]|\xff")

    def prints(self, code, *arguments):
        done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, timeout=60)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(self.CONTROLS.findall(done.stdout + done.stderr), [])
        return done.stderr.decode()

    def test_log_lines_of_a_worker_are_spelled_out(self):
        said = self.prints(0, "run", *self.worker("escapes"), *SMALL)
        self.assertIn(r"worker: \u001b]0;a title\u0007\u001b[2Jgone\u009b1m \u202e\xff", said)

    def test_errors_of_a_worker_are_spelled_out(self):
        said = self.prints(WORKER_FAILED, "run", *self.worker("escaping-error"), *SMALL)
        self.assertIn(r"\u001b[31mred\u001b[0m and \u000d over it", said)

    def test_dropped_lines_are_counted(self):
        said = self.prints(0, "run", *self.worker("endless-line"), *SMALL)
        self.assertRegex(said, r"worker: \d+ older lines were dropped")


class Remote(Misbehaving):
    def test_an_empty_name_is_not_this_machine(self):
        for command in (["run", *SMALL], ["list"], ["open"], ["bench"]):
            self.assertIn("--remote is empty; give it a value", self.refused(1, *command, "--remote", ""))
        self.assertIn("--remote is empty; give it a value", self.refused(COULD_NOT_RUN, "doctor", "--remote", ""))


class KilledProgram(Misbehaving):
    """Nothing outlives the program that started it, however that ends."""

    def test_the_worker_and_all_that_hides_below_it_end_with_a_killed_program(self):
        process = self.start("run", *self.worker("breed"), *SMALL,
                             env={"FAKE_WORKER_PIDS": self.path("hidden")})
        self.assertTrue(wait_until(lambda: len(self.pids("hidden")) == 3))
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.gone(*self.pids("breed.pids"), *self.pids("hidden"))

    def test_what_hides_below_a_killed_guard_ends_with_the_command(self):
        process = self.start("run", *self.worker("kills-guard"), *SMALL,
                             env={"FAKE_WORKER_PIDS": self.path("hidden")})
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, WORKER_FAILED)
        self.assertTrue(self.pids("hidden"))
        self.gone(*self.pids("kills-guard.pids"), *self.pids("hidden"))

    def test_an_experiment_and_all_below_it_end_with_a_killed_doctor(self):
        process = self.start("doctor", *self.worker("breed"), "--case", "shared-workspace",
                             env={"FAKE_WORKER_PIDS": self.path("hidden")})
        self.assertTrue(wait_until(lambda: len(self.pids("hidden")) == 3))
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.gone(*self.pids("breed.pids"), *self.pids("hidden"))


if __name__ == "__main__":
    unittest.main()
