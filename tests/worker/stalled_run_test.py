"""`expertscope run` when a replay is late, with a fake worker that answers as a real one does.

Usage: stalled_run_test.py EXPERTSCOPE FAKE_WORKER
"""

import contextlib
import json
import os
import sqlite3
import stat
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

FAKE_WORKER = sys.argv.pop(2)
PROGRAM = sys.argv.pop(1)
WORKER_FAILED = 2


class StalledRun(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.worker = self.path("worker")
        with open(self.worker, "w", encoding="utf-8") as script:
            script.write(f'#!/bin/sh\nexec "{FAKE_WORKER}" stall-in-run\n')
        os.chmod(self.worker, stat.S_IRWXU)

    def path(self, name):
        return os.path.join(self._folder.name, name)

    def run_it(self, *arguments):
        done = subprocess.run([PROGRAM, "run", "--worker", self.worker, *arguments], capture_output=True,
                              text=True, timeout=60)
        self.assertEqual(done.returncode, WORKER_FAILED, done.stdout + done.stderr)
        self.assertIn("replay 41 had not finished", done.stderr)
        return done.stdout

    def test_says_where_it_stands(self):
        output = " ".join(self.run_it("--launch.kind", "graph-replay", "--markers", "true").split())
        self.assertIn("In the run itself replay 41 hangs", output)
        self.assertIn("deadline 0.5 s; 99 % of the previous replays took 12.50 µs or less", output)
        self.assertIn("a kernel spins", output)
        self.assertIn("last finished: offsets", output)
        self.assertIn("running grouped_gemm", output)

    def test_as_json_and_recorded(self):
        session = self.path("stalled.session")
        output = json.loads(self.run_it("--json", "--markers", "true", "--deadline_factor", "7.5",
                                      "--record", session))
        self.assertEqual(output["request"]["launch"]["deadline_factor"], 7.5)
        self.assertTrue(output["request"]["launch"]["markers"])
        stall = output["stalled"]["experiments"][0]["stall"]
        self.assertEqual((stall["replay"], stall["last_finished"]), (41, 1))
        self.assertAlmostEqual(stall["p99_seconds"], 12.5e-6)
        with sqlite3.connect(session) as file:
            self.assertEqual(file.execute("SELECT count(*) FROM runs").fetchone(), (0,))
            self.assertEqual(file.execute("SELECT replay, last_finished FROM experiment_stalls").fetchall(),
                             [(41, 1)])
            self.assertEqual(file.execute("SELECT p99_seconds FROM experiment_stalls").fetchall(), [(12.5e-6,)])
        rules = subprocess.run([PROGRAM, "doctor", "--snapshot", session], capture_output=True, text=True,
                               timeout=60)
        self.assertIn("the captured step of this run", rules.stdout)

    def test_a_core_dump_is_requested_on_demand_and_the_trigger_is_removed(self):
        with open(self.worker, "w", encoding="utf-8") as script:
            script.write('#!/bin/sh\n: > "$CUDA_COREDUMP_PIPE"\n'  # like the driver
                         f'env > "{self.path("environment")}"\nexec "{FAKE_WORKER}" stall-in-run\n')
        dumps = self.path("dumps")
        os.mkdir(dumps)
        self.run_it("--core-dump", dumps)
        with open(self.path("environment"), encoding="utf-8") as file:
            settings = dict(line.rstrip("\n").split("=", 1) for line in file if line.startswith("CUDA_"))
        self.assertEqual(settings["CUDA_ENABLE_USER_TRIGGERED_COREDUMP"], "1")
        self.assertTrue(settings["CUDA_COREDUMP_FILE"].startswith(dumps + "/run-"))
        self.assertIn("skip_global_memory", settings["CUDA_COREDUMP_GENERATION_FLAGS"])
        self.assertEqual(os.listdir(dumps), [])
        refused = subprocess.run([PROGRAM, "run", "--remote", "nowhere", "--core-dump", dumps],
                                 capture_output=True, text=True, timeout=60)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("without --remote", refused.stderr)

    def test_only_the_requested_core_dump_is_read(self):
        """The answer of a worker, perhaps on another machine, must not choose which file is opened here."""
        debugger = self.path("cuda-gdb")
        with open(debugger, "w", encoding="utf-8") as script:
            script.write(f'#!/bin/sh\necho "$@" >> "{self.path("opened")}"\n')
        os.chmod(debugger, stat.S_IRWXU)
        dumps = self.path("dumps")
        os.mkdir(dumps)
        path = self.path("") + os.pathsep + os.environ["PATH"]
        for named, options, opened in (("/etc/passwd", [], False), ("/etc/passwd", ["--core-dump", dumps], False),
                                       ("$CUDA_COREDUMP_FILE", ["--core-dump", dumps], True)):
            with open(self.worker, "w", encoding="utf-8") as script:
                script.write(f'#!/bin/sh\nFAKE_CORE_DUMP={named} exec "{FAKE_WORKER}" stall-in-run\n')
            with unittest.mock.patch.dict(os.environ, {"PATH": path}):
                self.run_it(*options)
            self.assertEqual(os.path.exists(self.path("opened")), opened, named)

    def test_what_the_debugger_reads_is_kept_by_the_recording(self):
        debugger = self.path("cuda-gdb")
        with open(debugger, "w", encoding="utf-8") as script:
            script.write("""#!/bin/sh
echo 'Opening GPU coredump: run.core'
echo '[Current focus set to CUDA kernel 0, grid 9, block (5,0,0), thread (96,0,0), device 0, sm 14, warp 3, lane 0]'
echo '#0  0x00007fffd5257000 in spin_kernel<<<(132,1,1),(384,1,1)>>> (flag=0x0) at spin.cu:12'
printf '=> 0x7fffd5257030 <spin_kernel+48>:\\tBAR.SYNC.DEFER_BLOCKING 0x0 ;\\n'
""")
        os.chmod(debugger, stat.S_IRWXU)
        with open(self.worker, "w", encoding="utf-8") as script:
            script.write(f'#!/bin/sh\nFAKE_CORE_DUMP=$CUDA_COREDUMP_FILE exec "{FAKE_WORKER}" stall-in-run\n')
        os.mkdir(self.path("dumps"))
        session = self.path("stalled.session")
        path = self.path("") + os.pathsep + os.environ["PATH"]
        with unittest.mock.patch.dict(os.environ, {"PATH": path}):
            output = " ".join(self.run_it("--core-dump", self.path("dumps"), "--record", session).split())
        self.assertIn("spin_kernel<<<(132,1,1),(384,1,1)>>>, block (5,0,0), warp 3 on SM 14, at "
                      "BAR.SYNC.DEFER_BLOCKING 0x0 (waits for a barrier of its thread block), spin.cu:12",
                      output)
        with contextlib.closing(sqlite3.connect(session)) as file:
            self.assertEqual(file.execute("SELECT core_kernel, core_block, core_warp, core_instruction "
                                          "FROM experiment_stalls").fetchall(),
                             [("spin_kernel", "(5,0,0)", 3, "BAR.SYNC.DEFER_BLOCKING 0x0")])

    def test_a_factor_that_means_nothing_is_refused_before_a_worker_starts(self):
        done = subprocess.run([PROGRAM, "run", "--worker", self.worker, "--deadline_factor", "1"],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn("--deadline_factor is 1", done.stderr)


if __name__ == "__main__":
    unittest.main()
