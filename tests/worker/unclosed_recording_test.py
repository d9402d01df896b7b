"""What `expertscope` says, and how it ends, when its recording cannot be closed: another program has
emptied the file, and there is no room for a copy.

Usage: unclosed_recording_test.py EXPERTSCOPE   (the worker is next to it)
"""

import contextlib
import fcntl
import json
import os
import resource
import select
import shutil
import signal
import sqlite3
import subprocess
import time
import unittest

from command_line import CPU, PROGRAM, SMALL, CommandLine


class UnclosedRecording(CommandLine):
    def damage(self, process, session):
        """As another program that empties the file, when no room is left for a copy of it. -> the log"""
        with open(session + "-wal", "rb") as file:
            log = file.read()
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (4096, 4096))
        os.truncate(session, 0)
        self.assertTrue(log)
        return log

    def assert_both_files_are_named(self, said, session, log):
        """Once, without a word about what was recorded."""
        lost = [line for line in said.splitlines() if "during recording" in line]
        self.assertEqual(len(lost), 1, said)
        self.assertTrue(lost[0].startswith(f"expertscope: {session} was overwritten or shortened"), said)
        self.assertTrue(lost[0].endswith(
            f"What is left of it is {session} and its log {session}-wal: keep both together"), said)
        for success in ("recorded before that", "The whole recording is now in", "was undone"):
            self.assertNotIn(success, said)
        with open(session + "-wal", "rb") as file:
            self.assertEqual(file.read(), log, "the only copy of what was recorded")

    def test_a_recording_that_cannot_be_closed_is_no_success(self):
        session = self.path("unclosed.session")
        reader, writer = os.pipe()
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)  # less than the result: printing it waits
        with os.fdopen(reader) as printed:
            process = subprocess.Popen([PROGRAM, "run", *CPU, *map(str, SMALL), "--json", "--record", session],
                                       stdout=writer, stderr=subprocess.PIPE, text=True)
            with process:
                os.close(writer)
                self.assertTrue(select.select([printed], [], [], 60)[0])
                log = self.damage(process, session)  # what is printed has been recorded before
                result = json.loads(printed.read())
                _, said = process.communicate(timeout=60)
        self.assertEqual(len(result["result"]["iterations"]), 2, "the result is not lost with it")
        self.assertEqual(process.returncode, 1, said)
        self.assert_both_files_are_named(said, session, log)

    def await_runs(self, session, complete):
        """Until these labels of the recorded runs are enough. The writer alone may read its file, so a copy
        of it is read."""
        copy = self.path("copy.session")
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with contextlib.suppress(FileNotFoundError, sqlite3.DatabaseError):  # not there, or half written
                for suffix in ("", "-wal"):
                    shutil.copyfile(session + suffix, copy + suffix)
                with contextlib.closing(sqlite3.connect(copy)) as database:
                    if complete([label for label, in database.execute("SELECT group_label FROM runs")]):
                        return
            time.sleep(0.02)
        self.fail("too few runs were recorded")

    def printed_without_recording(self, complete, *arguments):
        """What a batch prints whose recording is damaged once these runs are in it."""
        session = self.path("lost.session")
        process = subprocess.Popen([PROGRAM, *map(str, arguments), *CPU, "--json", "--record", session],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        with process:
            self.await_runs(session, complete)
            self.damage(process, session)
            printed, said = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1, said)
        self.assertIn("is not in the recording", said)
        return json.loads(printed)

    def test_a_sweep_prints_what_it_measured_without_its_recording(self):
        out = self.printed_without_recording(
            lambda labels: len(labels) >= 2, "sweep", *SMALL[:-2], "--iterations", 1500, "--axes", "recipe")
        measured = [run for run in out["runs"] if "median_ns" in run]
        self.assertGreaterEqual(len(measured), 3, "the run that could not be recorded, too")
        self.assertGreater(len(out["runs"]), len(measured), "nothing is measured in vain after that")
        self.assertTrue(all(run["median_ns"] > 0 for run in measured))

    def test_an_interleaved_measurement_prints_what_it_measured_without_its_recording(self):
        request = self.path("request.json")
        with open(request, "w") as file:
            json.dump({"shape": {"num_experts": 4, "rows": 64, "n": 64, "k": 256}}, file)
        out = self.printed_without_recording(
            lambda labels: {"A", "B"} <= set(labels), "ab", "--a", request, "--b", request, "--iterations", 1500)
        self.assertGreater(out["n_a"], 0)
        self.assertGreater(out["n_b"], 0)
        self.assertGreater(out["ratio"], 0)

    def test_a_run_that_fails_says_too_that_its_recording_cannot_be_closed(self):
        session = self.path("unclosed.session")
        requests = [{"shape": {"num_experts": 4, "rows": 64, "n": 64, "k": 256}, "launch": {"iterations": count}}
                    for count in (2, 100_000)]
        with open(self.path("log.jsonl"), "w") as file:
            file.writelines(json.dumps(request) + "\n" for request in requests)
        worker = self.worker_that_writes_its_pid()
        process = subprocess.Popen(
            [PROGRAM, "run", *CPU, "--worker", worker, "--requests", self.path("log.jsonl"), "--json",
             "--record", session], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        with process:
            self.assertTrue(process.stdout.readline())
            log = self.damage(process, session)
            with open(self.path("pid")) as file:
                os.kill(int(file.read()), signal.SIGKILL)
            _, said = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 2, said)
        self.assertIn("the worker is lost", said)
        self.assert_both_files_are_named(said, session, log)


if __name__ == "__main__":
    unittest.main()
