#!/usr/bin/env python3
"""The command line on a CUDA device: every gallery case through the doctor, backends and measurements.

Usage: device_test.py EXPERTSCOPE [unittest arguments]. Without a CUDA device every test is skipped by name.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = ""

# The case that needs a cuBLASLt with the bug is doctor_gpu_test's.
PROVED = [
    "flag-not-reset",
    "workspace-freed",
    "workspace-regrown",
    "pool-alias",
    "host-pointer-array",
    "host-source-reused",
    "scalar-baked",
    "splits-baked",
    "allocation-without-free",
    "programmatic-without-wait",
    "unordered-siblings",
    "missing-join",
    "lazy-load-in-capture",
    "sync-in-capture",
    "saved-tensor-freed",
    "concurrent-workspace",
    "replays-out-of-order",
    "one-scale-for-all",
]
SMALL = "--shape.num_experts 4 --shape.rows 1024 --shape.n 256 --shape.k 512 --launch.iterations 10".split()


def call(*arguments, expect=(0,)):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=120)
    if done.returncode not in expect:
        raise AssertionError(f"{arguments} ended with {done.returncode}: {done.stderr[-2000:]}")
    return done


def no_device():
    done = subprocess.run([PROGRAM, "list", "--json"], capture_output=True, text=True, timeout=60)
    backends = json.loads(done.stdout)["backends"]
    for backend in backends:
        if backend["name"].lower().startswith("cublaslt") and backend["available"]:
            return ""
    return "; ".join(backend["reason"] for backend in backends if not backend["available"])


class OnDevice(unittest.TestCase):
    def setUp(self):
        if reason := no_device():
            self.skipTest(reason)

    def run_json(self, *arguments):
        return json.loads(call("run", *SMALL, *arguments, "--json").stdout)


class Trust(OnDevice):
    def test_a_library_of_a_file_is_loaded_only_with_consent_and_then_refused_as_no_cublaslt(self):
        library = os.environ["MARKER_LIBRARY"]
        with tempfile.TemporaryDirectory() as folder:
            marker = pathlib.Path(folder, "marker")
            request = pathlib.Path(folder, "request.json")
            request.write_text(json.dumps({"backend": "cublaslt-grouped", "cublaslt_library": library}))
            for command in (["run"], ["doctor"]):
                for options, loaded in (([], False), (["--allow-library", library], True)):
                    marker.unlink(missing_ok=True)
                    done = subprocess.run([PROGRAM, *command, "--request", request, *options], capture_output=True,
                                          text=True, timeout=120, env={**os.environ, "MARKER_FILE": str(marker)})
                    self.assertNotEqual(done.returncode, 0)
                    self.assertEqual(marker.exists(), loaded, done.stderr)
                    self.assertIn("has no cublasLt" if loaded else "--allow-library", done.stderr)


class Gallery(OnDevice):
    def test_every_case_is_found_and_proved_and_every_twin_is_clean(self):
        for case in PROVED:
            with self.subTest(case=case):
                faulty = call("doctor", "--case", case, "--prove", "--json", expect=(1, 2))
                findings = json.loads(faulty.stdout)["findings"]
                self.assertIn("proved", [finding["confidence"] for finding in findings], findings)
            with self.subTest(case=case, healthy=True):
                twin = call("doctor", "--case", case, "--healthy", "--prove", "--json")
                confidences = {finding["confidence"] for finding in json.loads(twin.stdout)["findings"]}
                self.assertLessEqual(confidences, {"possible", "disproved"})

    def test_a_load_names_its_kernel_and_the_way_out(self):
        report = json.loads(call("doctor", "--case", "lazy-load-in-capture", "--json").stdout)
        finding = next(finding for finding in report["findings"] if finding["rule"] == "lazy-load")
        self.assertTrue(any("late_loaded_kernel" in line for line in finding["evidence"]), finding["evidence"])
        self.assertIn("CUDA_MODULE_LOADING", json.dumps(finding["fix"]))

    def test_a_broken_capture_says_which_call_broke_it(self):
        report = json.loads(call("doctor", "--case", "sync-in-capture", "--prove", "--json", expect=(1,)).stdout)
        self.assertIn("cudaErrorStreamCaptureUnsupported (900)", report["conclusion"])


class Backends(OnDevice):
    def test_the_backend_that_was_asked_for_is_the_one_that_runs(self):
        for backend in ("cublaslt-grouped", "cublaslt-per-expert"):
            with self.subTest(backend=backend):
                result = self.run_json("--backend", backend, "--scaling", "fp8-per-tensor")["result"]
                self.assertEqual(result["effective"]["backend"], backend)
                self.assertNotIn("backend", [one["field"] for one in result["deviations"]])


class Measurements(OnDevice):
    def test_everything_that_was_asked_for_is_in_the_answer(self):
        result = self.run_json("--backend", "cublaslt-grouped", "--launch.kind", "graph-replay", "--stamps", "true",
                               "--isolated", "true", "--observer", "true", "--ceilings", "true")["result"]
        measured = result["measurements"]
        self.assertEqual({row["level"] for row in measured["observer"]}, {"nodes", "graphs", "off"})
        methods = {(row["method"], row["stage"]) for row in measured["experts"]}
        self.assertEqual(methods, {("stamps", "quantize"), ("isolated", "quantize"),
                                   ("isolated", "fprop")})
        self.assertGreater(measured["ceilings"]["copy_bytes_per_s"], 1e11)
        self.assertEqual(result["deviations"], [])


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main(verbosity=2)
