"""`expertscope doctor` as a user and a CI job call it, on machines without a GPU and with fake workers.

Usage: doctor_command_test.py EXPERTSCOPE FAKE_WORKER   (the worker is next to the first)
"""

import json
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time
import unittest

FAKE_WORKER = sys.argv.pop(2)
PROGRAM = sys.argv.pop(1)
HEALTHY, FINDINGS, HANG, COULD_NOT_RUN = range(4)
ASSETS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../assets")


class Doctor(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)

    def path(self, name):
        return os.path.join(self._folder.name, name)

    def worker(self, mode):
        """A program that is a fake worker of this mode; its process ids are in the file `mode`.pids."""
        path = self.path(mode)
        with open(path, "w", encoding="utf-8") as script:
            script.write(f'#!/bin/sh\necho $$ >> "{path}.pids"\nexec "{FAKE_WORKER}" {mode} "$@"\n')
        os.chmod(path, stat.S_IRWXU)
        return ["--worker", path]

    def no_worker_is_left(self, mode):
        with open(self.path(mode) + ".pids", encoding="utf-8") as pids:
            for pid in pids:
                self.assertFalse(os.path.exists(f"/proc/{pid.strip()}"))

    def call(self, code, *arguments):
        done = subprocess.run([PROGRAM, "doctor", *map(str, arguments)], capture_output=True, text=True,
                              timeout=60)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def refused(self, *arguments):
        done = self.call(COULD_NOT_RUN, *arguments)
        self.assertNotEqual(done.stderr, "")
        return done.stderr


class Visits(Doctor):
    def test_without_a_device_a_case_leads_to_its_recorded_visit(self):
        message = self.refused("--worker-backend", "cpu", "--case", "shared-workspace")
        self.assertIn("expertscope doctor gallery shared-workspace", message)
        self.assertNotIn("gallery", self.refused("--worker-backend", "cpu"))

    def test_without_a_device_it_says_so(self):
        for prove in ([], ["--prove"]):
            message = self.refused("--worker-backend", "cpu", *prove)
            self.assertIn("CUDA device", message)

    def recordings_of_an_h200(self):
        """Recorded visits: exit code with what the experiments have shown, rules of the findings."""
        here = os.path.dirname(os.path.abspath(__file__))
        shipped = os.path.join(ASSETS, "sessions/workspace_bug.session")
        return [(shipped, FINDINGS, ["shared-workspace"]),
                (os.path.join(here, "sessions/flag_not_reset.session"), HANG, ["unreset-counter"]),
                (os.path.join(here, "sessions/healthy_step.session"), HEALTHY, [])]

    def findings_of(self, code, session):
        report = json.loads(self.call(code, "--snapshot", session, "--json").stdout)
        return report, [(finding["rule"], finding["confidence"]) for finding in report["findings"]]

    def test_a_file_without_an_option_is_read_as_the_snapshot(self):
        for session, code, _ in self.recordings_of_an_h200():
            named = self.call(code, "--snapshot", session)
            self.assertEqual(self.call(code, session).stdout, named.stdout)
            self.assertIn("subject ", named.stdout)

    def test_every_subject_of_a_recording_has_a_name_of_its_own(self):
        shipped = os.path.join(ASSETS, "sessions/h200_layer.session")
        subjects = [line.split(None, 1)[1] for line in self.call(FINDINGS, "--snapshot", shipped).stdout.splitlines()
                    if line.startswith("subject ")]
        self.assertEqual(len(subjects), 23)
        self.assertEqual(len(set(subjects)), 23, subjects)
        self.assertTrue(subjects[2].startswith("run 3: "), subjects[2])
        self.assertTrue(subjects[22].startswith("visit 2: "), subjects[22])

    def test_several_subjects_are_one_document_and_end_with_a_summary(self):
        shipped = os.path.join(ASSETS, "sessions/h200_layer.session")
        reports = json.loads(self.call(FINDINGS, shipped, "--json").stdout)
        self.assertEqual(len(reports), 23)
        faulty = [one["snapshot"]["subject"] for one in reports
                  if any(finding["confidence"] != "disproved" for finding in one["findings"])]
        summary = self.call(FINDINGS, shipped).stdout.rstrip().splitlines()[-1 - len(faulty):]
        self.assertEqual(summary[0], f"23 subjects: 1 examined by experiments, 21 read by the rules alone: no likely finding; "
                                     f"{len(faulty)} with findings")
        self.assertEqual([line.strip() for line in summary[1:]], faulty)
        two = json.loads(self.call(FINDINGS, "gallery", "--json", "scalar-baked", "missing-join").stdout)
        self.assertEqual(len(two), 2)
        listed = self.call(HEALTHY, "--list").stdout
        self.assertRegex(listed, r"lazy-load-in-capture +15 +slow \(or hangs, refused\) +right")
        gallery = self.call(HEALTHY, "gallery").stdout
        self.assertEqual(gallery.count("A kernel is loaded during a capture (usually slow)"), 2)

    def test_a_recorded_proof_stays_proved(self):
        for session, code, rules in self.recordings_of_an_h200():
            report, found = self.findings_of(code, session)
            self.assertEqual(found, [(rule, "proved") for rule in rules], session)
            self.assertGreater(len(report["experiments"]), 2)
            self.assertEqual(report["conclusion"].startswith("Proved: "), bool(rules))
        shown = self.call(FINDINGS, "--snapshot", self.recordings_of_an_h200()[0][0]).stdout
        self.assertRegex(shown, r"\(proved\)\n\nrule        shared-workspace, hazard \d")

    def test_rules_on_graphs_captured_on_an_h200(self):
        """The same graphs, had nothing been tried on them."""
        for session, _, rules in self.recordings_of_an_h200():
            bare = self.path(os.path.basename(session))
            shutil.copyfile(session, bare)
            with sqlite3.connect(bare) as file:
                tables = {name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
                for table in tables:
                    if table.startswith(("experiment", "finding", "proof", "smallest")):
                        file.execute(f'DELETE FROM "{table}"')
                file.execute("UPDATE visits SET conclusion = ''")
            report, found = self.findings_of(FINDINGS if rules else HEALTHY, bare)
            self.assertEqual(found, [(rule, "likely") for rule in rules], session)
            self.assertEqual(report["experiments"], [])

    def test_a_recorded_visit_is_recorded_again_with_its_proof(self):
        session, code, rules = self.recordings_of_an_h200()[0]
        again = self.path("again.session")
        self.call(code, "--snapshot", session, "--record", again)
        _, found = self.findings_of(code, again)
        self.assertEqual(found, [(rule, "proved") for rule in rules])
        with sqlite3.connect(session) as one, sqlite3.connect(again) as other:
            shapes = [json.loads(file.execute("SELECT request_json FROM visits").fetchone()[0])["shape"]
                      for file in (one, other)]
        # Earlier versions wrote numbers of 64 bits as text, and called the rows tokens.
        self.assertEqual(*({{"tokens": "rows"}.get(name, name): str(value) for name, value in shape.items()}
                           for shape in shapes))

    def test_the_gallery_is_listed(self):
        lines = self.call(HEALTHY, "--list").stdout.splitlines()
        self.assertGreaterEqual(len(lines), 13)
        self.assertTrue(any(line.startswith("flag-not-reset") for line in lines))
        # A symptom of "wrong" beside replays that are right needs a word.
        self.assertRegex("\n".join(lines), r"scalar-baked +8 +wrong +right")
        self.assertIn("plain replays: what replays give while nothing else changes.", lines[-2])

    def test_wrong_arguments_are_not_findings(self):
        for arguments in (["--bogus"], ["--case", "nope"], ["--healthy"], ["--tokens", "-1"],
                          ["--request", self.path("absent.json")], ["--deadline", "-1"],
                          ["--snapshot", self.path("absent.session")], ["matrix", "--bogus"],
                          ["--record", self.path("no/such/folder.session")],
                          ["--worker", "/no/such/program"]):
            with self.subTest(arguments):
                self.refused(*arguments)

    def test_a_case_that_is_nearly_named_is_suggested(self):
        done = self.call(COULD_NOT_RUN, "--case", "shared-workspce")
        self.assertIn("there is no case 'shared-workspce' (did you mean 'shared-workspace'?)", done.stderr)

    def test_launches_that_hang_without_a_graph_are_a_hang(self):
        report = self.path("report.md")
        done = self.call(HANG, "--case", "flag-not-reset", "--prove", "--deadline", 0.3, "--report", report,
                         *self.worker("hang-in-replay"))
        self.assertIn("not a graph bug", done.stdout)
        self.assertTrue(os.path.getsize(report) > 0)
        self.no_worker_is_left("hang-in-replay")

    def test_a_worker_that_dies_could_not_run(self):
        self.assertIn("killed by signal 11", self.refused(*self.worker("die-in-replay")))
        self.no_worker_is_left("die-in-replay")

    def test_a_cancel_leaves_no_worker(self):
        visit = subprocess.Popen([PROGRAM, "doctor", *self.worker("hang-in-setup")],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        pids = self.path("hang-in-setup.pids")
        deadline = time.monotonic() + 20
        while not os.path.exists(pids) and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.3)
        visit.send_signal(signal.SIGINT)
        _, errors = visit.communicate(timeout=20)
        self.assertEqual(visit.returncode, COULD_NOT_RUN)
        self.assertIn(b"cancelled", errors)
        self.no_worker_is_left("hang-in-setup")


class Gallery(Doctor):
    """Recorded visits to the gallery: shown without a device, recorded with one."""

    def cases(self):
        table = self.call(HEALTHY, "--list").stdout.split("\n\n")[0]
        return [line.split()[0] for line in table.splitlines()[1:]]

    def listed(self, *arguments):
        """Every case with its line; a symptom's heading and the questions are not indented."""
        lines = self.call(HEALTHY, "gallery", *arguments).stdout.splitlines()[1:]
        return {line.split()[0]: line for line in lines if line.startswith("  ")}

    def test_the_cases_are_listed_by_symptom_below_the_questions_that_lead_to_them(self):
        lines = self.call(HEALTHY, "gallery").stdout.splitlines()
        symptoms = [line.split(":")[0] for before, line in zip(lines, lines[1:]) if not before]
        self.assertEqual(symptoms, ["hangs", "wrong", "refused", "slow"])
        question = lines.index("- Does the first replay end, and the second one never?")
        self.assertTrue(lines[question + 1].startswith("  flag-not-reset"))
        for at, line in enumerate(lines[1:], 1):
            if line.startswith("  "):
                self.assertRegex(lines[at - 1], r"^- .*\?$")

    def recorded(self, code, *arguments):
        """By a worker on which every replay is right: nothing can be proved."""
        path = self.path("made.session")
        done = self.call(code, "gallery", "--record", path, *self.worker("captures"), *arguments)
        self.no_worker_is_left("captures")
        return path, done

    def test_every_case_is_visited_and_recorded(self):
        shipped = os.path.join(ASSETS, "sessions", "workspace_bug.session")
        path, done = self.recorded(FINDINGS, "--take", f"shared-workspace={shipped}")
        count = len(self.cases())
        self.assertIn(f"{count} of {count} visits in {path}", done.stdout)
        lines = self.listed("--file", path)
        self.assertEqual(sorted(lines), sorted(self.cases()))
        self.assertRegex(lines["shared-workspace"], r"NVIDIA H200 +proved +Two grouped matmuls")
        self.assertRegex(lines["flag-not-reset"], r"flag-not-reset +not proved +A counter")
        # The visit that was taken has kept what it has shown.
        shown = self.call(FINDINGS, "gallery", "--file", path, "shared-workspace").stdout
        self.assertRegex(shown, r"\(proved\)\n\nrule        shared-workspace, hazard \d")
        self.assertIn("Smallest cure: separate memory for dgrad, layer 0", shown)
        report = json.loads(self.call(HEALTHY, "gallery", "--file", path, "--json", "flag-not-reset").stdout)
        self.assertEqual(report["snapshot"]["subject"], "A counter that no replay resets")
        self.assertGreater(len(report["experiments"]), 2)

    def test_what_cannot_be_recorded_is_named(self):
        path, done = self.recorded(COULD_NOT_RUN, "shared-workspace", "scalar-baked")
        self.assertIn("needs cuBLASLt 13.5.1.27 or 13.6.0.2", done.stderr)
        self.assertIn("not recorded: shared-workspace", done.stderr)
        self.assertIn("1 of 2 visits", done.stdout)
        self.assertIn("no visit to shared-workspace", self.refused("gallery", "--file", path, "shared-workspace"))
        self.assertIn("not recorded", self.call(HEALTHY, "gallery", "--file", path).stdout)

    def test_wrong_arguments_are_refused(self):
        absent = self.path("absent.session")
        self.assertIn("--record FILE", self.refused("gallery", "--file", absent))
        healthy = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sessions", "healthy_step.session")
        for arguments, why in ((["nope"], "nope"), (["--take", "a=b"], "--record"),
                               (["--record", healthy], "exists"),
                               (["--record", absent, "--take", "nope=x"], "nope=x"),
                               (["--record", absent, "--take", f"shared-workspace={healthy}"], "has proved"),
                               (["--record", absent, "--take", f"shared-workspace={absent}"], "absent.session")):
            with self.subTest(arguments):
                self.assertIn(why, self.refused("gallery", *arguments))
                self.assertFalse(os.path.exists(absent))

    def test_without_a_device_it_says_so(self):
        path = self.path("made.session")
        done = self.call(COULD_NOT_RUN, "gallery", "--record", path, "--worker-backend", "cpu", "scalar-baked")
        self.assertIn("CUDA device", done.stderr)
        self.assertFalse(os.path.exists(path))

    def test_the_shipped_visits_prove_every_case(self):
        path = os.path.join(ASSETS, "sessions", "gallery.session")
        if not os.path.exists(path):
            self.skipTest(f"there is no recording of: {', '.join(self.cases())}")
        lines = self.listed()
        self.assertEqual([case for case, line in lines.items() if " proved " not in line], [])
        self.assertEqual(sorted(lines), sorted(self.cases()))
        self.assertLessEqual(os.path.getsize(path), 3_000_000)


class Matrix(Doctor):
    AXES = ["--recipes", "fp8-block,bf16", "--strategies", "shared", "--sequences", "both",
            "--geometries", "4x512x256x256"]

    def test_needs_a_device(self):
        self.assertIn("CUDA device", self.refused("matrix", "--worker-backend", "cpu"))

    def test_every_cell_is_a_row(self):
        rows = self.path("rows.jsonl")
        done = self.call(FINDINGS, "matrix", *self.worker("libraries"), *self.AXES, "--output", rows)
        self.assertIn("wrong from 2", done.stdout)
        with open(rows, encoding="utf-8") as lines:
            read = [json.loads(line) for line in lines]
        self.assertEqual({(row["library"], row["recipe"], row["verdict"], row["replay"]) for row in read},
                         {("/lib/good", "fp8-block", "right", 0), ("/lib/good", "bf16", "right", 0),
                          ("/lib/bad", "fp8-block", "wrong", 2), ("/lib/bad", "bf16", "wrong", 2)})

    def test_resumes_where_it_stopped(self):
        rows = self.path("rows.jsonl")
        good = ["matrix", *self.worker("libraries"), *self.AXES, "--cublaslt", "/lib/good", "--resume", rows]
        self.call(HEALTHY, *good)
        with open(rows, encoding="utf-8") as lines:
            first = lines.read()
        self.assertEqual(first.count("\n"), 2)
        self.call(HEALTHY, *good)
        with open(rows, "a", encoding="utf-8") as lines:
            lines.write('{"library": "/lib/b')  # stopped while writing
        self.call(FINDINGS, *good, "--cublaslt", "/lib/bad")
        with open(rows, encoding="utf-8") as lines:
            second = lines.read()
        self.assertTrue(second.startswith(first))
        self.assertEqual([json.loads(line)["library"] for line in second.splitlines()],
                         ["/lib/good"] * 2 + ["/lib/bad"] * 2)

    def test_a_foreign_file_is_refused(self):
        rows = self.path("rows.jsonl")
        with open(rows, "w", encoding="utf-8") as lines:
            lines.write("a shopping list\n")
        self.assertIn("line 1", self.refused("matrix", *self.worker("libraries"), "--resume", rows))
        for axes in (["--recipes", "fp7"], ["--strategies", "nope"], ["--sequences", "nope"],
                     ["--geometries", "4x512"], ["--replays", "1"]):
            self.refused("matrix", *self.worker("libraries"), *axes)


if __name__ == "__main__":
    unittest.main()
