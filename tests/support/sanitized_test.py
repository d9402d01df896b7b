"""A sanitized build reports the faults that it is built for, from a process whose exit is ignored, and is silent
about a program without one. None of our own code is in the suppression lists."""

import pathlib
import re
import subprocess
import sys
import unittest

SUPPORT = pathlib.Path(__file__).resolve().parent
KIND, PROGRAM = sys.argv[1:3]
del sys.argv[1:3]
REPORTS = {
    "address": {
        "use_after_free": r"AddressSanitizer: heap-use-after-free(.|\n)*#0 .*use_after_free",
        "leak": r"LeakSanitizer: detected memory leaks(.|\n)*#1 .* in leak .*known_faults\.cpp",
        "signed_overflow": r"known_faults\.cpp:\d+:\d+: runtime error: signed integer overflow",
    },
    "thread": {"race": r"ThreadSanitizer: data race(.|\n)*known_faults\.cpp"},
}


def run(fault):
    # A shell in between, which succeeds whatever happens to the program.
    return subprocess.run(
        [SUPPORT / "sanitized", KIND, "1", "sh", "-c", '"$0" "$1"; true', PROGRAM, fault],
        capture_output=True, text=True, timeout=60)


class KnownFaults(unittest.TestCase):
    def test_each_is_reported_and_fails_the_test(self):
        for fault, report in REPORTS[KIND].items():
            with self.subTest(fault):
                done = run(fault)
                self.assertRegex(done.stdout, report)
                self.assertIn("reported in 1 processes", done.stdout)
                self.assertNotEqual(done.returncode, 0)

    def test_a_program_without_one_passes(self):
        done = run("none")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_the_status_of_the_program_is_kept(self):
        done = subprocess.run([SUPPORT / "sanitized", KIND, "1", PROGRAM, "no such fault"], capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 2)


class Suppressions(unittest.TestCase):
    def test_each_names_a_library_of_others_and_has_its_reason_before_it(self):
        for path in (SUPPORT / "suppressions").glob("*.txt"):
            lines = path.read_text().splitlines()
            for before, line in zip(["", *lines], lines):
                if line and not line.startswith("#"):
                    self.assertRegex(line, r"^(leak|race|called_from_lib|deadlock|mutex):[\w.+-]+\.so$", path.name)
                    self.assertTrue(before.startswith("# ") or re.match(r"^\w+:", before), f"{path.name}: {line}")


if __name__ == "__main__":
    unittest.main()
