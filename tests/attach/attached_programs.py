"""Programs to attach to and what `expertscope attach` reports of them, for the tests beside this file.

Arguments of those tests: expertscope, the folder with the stub and the programs."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
FOLDER = pathlib.Path(sys.argv.pop(1)).resolve()
WAYS = ["linked", "dlsym", "getproc", "getproc-per-thread"]


def command(scenario, way="getproc"):
    name = "attached_subject_linked" if way == "linked" else "attached_subject"
    return [str(FOLDER / name), way, scenario]


def environment(**more):
    return {**os.environ, "LD_LIBRARY_PATH": str(FOLDER), **more}


class AttachCase(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def attach(self, arguments, *options, expect, **more):
        done = subprocess.run([PROGRAM, "attach", "--json", "--folder", self.folder.name, *options, "--", *arguments],
                              capture_output=True, text=True, timeout=60, env=environment(**more))
        self.assertEqual(done.returncode, expect, done.stderr + done.stdout)
        return json.loads(done.stdout), done.stderr

    def findings(self, scenario, way="getproc", expect=1):
        reports, err = self.attach(command(scenario, way), expect=expect)
        self.assertNotIn("ended with exit code 9", err)  # fail() of the program
        return [finding for report in reports for finding in report["findings"]]
