"""Exported files as other programs read them: the Chrome trace against a strict schema and the session's
own counts, the CSV statistics against numpy.

Usage: export_command_test.py EXPERTSCOPE ASSETS   (the worker is next to it)
"""
import collections
import csv
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import numpy as np

PROGRAM, ASSETS = sys.argv.pop(1), sys.argv.pop(1)
REQUIRED = {
    "M": {"ph", "pid", "tid", "name", "args"},
    "X": {"ph", "pid", "tid", "name", "cat", "ts", "dur", "args"},
    "C": {"ph", "pid", "tid", "name", "ts", "args"},
    "i": {"ph", "s", "pid", "tid", "name", "cat", "ts", "args"},
}
SPANS = {"iteration", "replay"}  # slices that aggregate records
EXPERTS = 1_000_000  # process ids from here on belong to experts


def call(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return done.stdout


def nanoseconds(text):
    """Exact: the format's microseconds are decimals, which a float would round."""
    whole, _, part = text.partition(".")
    assert len(part) == 3 or part == "", text
    return int(whole) * 1000 + (-1 if text.startswith("-") else 1) * int(part or 0)


def check_schema(test, trace):
    """Every event complete and of the right types, every track named, in order and without overlap."""
    test.assertEqual(set(trace), {"displayTimeUnit", "otherData", "traceEvents"})
    processes, threads, used = {}, {}, set()
    last = collections.defaultdict(lambda: (-1, -1))
    for event in trace["traceEvents"]:
        kind = event["ph"]
        test.assertIn(kind, REQUIRED)
        test.assertEqual(set(event), REQUIRED[kind], event)
        test.assertIs(type(event["pid"]), int)
        test.assertIs(type(event["tid"]), int)
        test.assertIs(type(event["name"]), str)
        if kind == "M":
            if event["name"] == "process_name":
                test.assertNotIn(event["pid"], processes)
                processes[event["pid"]] = event["args"]["name"]
            elif event["name"] == "thread_name":
                test.assertNotIn((event["pid"], event["tid"]), threads)
                threads[event["pid"], event["tid"]] = event["args"]["name"]
            else:
                test.assertIn(event["name"], {"process_sort_index", "thread_sort_index"})
                test.assertIs(type(event["args"]["sort_index"]), int)
            continue
        at = nanoseconds(event["ts"])
        test.assertGreaterEqual(at, 0)
        if kind == "X":
            track = event["pid"], event["tid"]
            used.add(track)
            duration = nanoseconds(event["dur"])
            test.assertGreaterEqual(duration, 0)
            start, end = last[track]
            test.assertGreaterEqual(at, start, f"{track} goes back in time")
            if event["cat"] != "iteration":
                test.assertGreaterEqual(at, end, f"{track}: slices overlap")
            last[track] = at, max(end, at + duration)
    for process, thread in used:
        test.assertIn(process, processes)
        test.assertIn((process, thread), threads)
    return processes, threads


def is_non_kernel_event(event):
    """Whether a slice is a non-kernel event: a stage range or an overhead of a host thread."""
    return "kind" in event["args"]


class Exported(unittest.TestCase):
    """A former recording of an H200 (a linear step), and a run on this machine's CPU whose spans name experts."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cpu = os.path.join(cls.folder.name, "cpu.session")
        call("run", "--worker-backend", "cpu", "--num_experts", 4, "--tokens", 64, "--n", 64, "--k", 256,
             "--iterations", 5, "--record", cpu, "--with_history", 3)
        cls.sessions = [os.path.join(os.path.dirname(__file__), "../unit/session/former/h200_linear.session"), cpu]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def trace(self, session, *options):
        path = os.path.join(tempfile.mkdtemp(dir=self.folder.name), "trace.json")
        call("export", session, "--chrome", path, *options)
        with open(path) as file:
            return json.load(file, parse_float=str, parse_int=lambda text: int(text))

    def query(self, session, sql):
        with sqlite3.connect(f"file:{session}?mode=ro", uri=True) as database:
            return database.execute(sql).fetchall()

    def tables(self, session):
        folder = os.path.join(tempfile.mkdtemp(dir=self.folder.name), "csv")
        call("export", session, "--csv", folder)
        tables = {}
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), newline="") as file:
                tables[name.removesuffix(".csv")] = list(csv.DictReader(file))
        return tables

    def test_several_recordings_become_one(self):
        both = os.path.join(self.folder.name, "both.session")
        bug = os.path.join(ASSETS, "sessions", "workspace_bug.session")
        call("export", self.sessions[1], "--session", both, "--add", self.sessions[1], "--add", bug)
        counts = {}
        for path in (self.sessions[1], bug, both):
            with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
                counts[path] = [db.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]
                                for table in ("runs", "comparisons", "visits", "records")]
        cpu, visits, joined = counts.values()
        self.assertEqual(joined, [2 * a + b for a, b in zip(cpu, visits)])
        self.assertGreater(joined[1] * joined[2] * joined[3], 0)
        # Chosen runs alone, in the order that was asked for.
        part = os.path.join(self.folder.name, "part.session")
        layer = os.path.join(ASSETS, "sessions", "h200_layer.session")
        call("export", layer, "--session", part, "--runs", "3,1")
        ids = {}
        for path in (layer, part):
            with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
                ids[path] = [row[0] for row in db.execute("SELECT wall_clock_ms FROM runs ORDER BY run_id")]
        whole, chosen = ids.values()
        self.assertEqual(chosen, [whole[2], whole[0]])
        refused = subprocess.run([PROGRAM, "export", self.sessions[1], "--session", part + "x", "--runs", "9"],
                                 capture_output=True, text=True)
        self.assertIn("--runs has 9;", refused.stderr)
        self.assertFalse(os.path.exists(part + "x"))

    def test_a_recording_that_may_be_incomplete_says_so(self):
        session = os.path.join(tempfile.mkdtemp(dir=self.folder.name), "unclosed.session")
        shutil.copyfile(os.path.join(ASSETS, "sessions", "h200_layer.session"), session)
        with open(session, "r+b") as file:
            file.seek(18)
            file.write(b"\2\2")  # as SQLite marks a file that has a log
        for words, links in (("its log unclosed.session-wal is missing", 1), ("it has 2 names (hard links)", 2)):
            if links == 2:
                os.link(session, session + ".backup")
            folder = os.path.join(tempfile.mkdtemp(dir=self.folder.name), "csv")
            done = subprocess.run([PROGRAM, "export", session, "--csv", folder], capture_output=True, text=True,
                                  timeout=200)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("may be incomplete", done.stderr)
            self.assertIn(words, done.stderr)

    def test_trace_keeps_the_schema_and_the_sessions_counts(self):
        for session in self.sessions:
            with self.subTest(session):
                trace = self.trace(session)
                processes, threads = check_schema(self, trace)
                slices = [e for e in trace["traceEvents"] if e["ph"] == "X"]
                for run, count, named, first in self.query(
                        session, "SELECT run_id, count(*), sum(expert >= 0), min(start_ns) FROM records "
                                 "GROUP BY run_id"):
                    of_run = [e for e in slices if e["pid"] == run and e["cat"] not in SPANS]
                    records = [e for e in of_run if not is_non_kernel_event(e)]
                    self.assertEqual(len(records), count)
                    self.assertEqual(len(of_run) - len(records), self.query(
                        session, f"SELECT count(*) FROM host_events WHERE run_id = {run}")[0][0])
                    self.assertEqual(
                        sum(e["pid"] == run and e["ph"] == "i" and e["cat"] == "memory"
                            for e in trace["traceEvents"]),
                        self.query(session, f"SELECT count(*) FROM memory_events "
                                            f"WHERE run_id = {run}")[0][0])
                    self.assertEqual(sum(e["pid"] == EXPERTS + run for e in slices), named)
                    self.assertEqual(min(nanoseconds(e["ts"]) for e in records),
                                     first + trace["otherData"]["shift_ns"])
                iterations = self.query(session, "SELECT count(*) FROM iterations")[0][0]
                self.assertEqual(sum(e["cat"] == "iteration" for e in slices), iterations)

    def test_streams_replays_experts_and_nodes_are_distinguished(self):
        h200, cpu = map(self.trace, self.sessions)
        _, threads = check_schema(self, h200)
        self.assertTrue(any(name.startswith("stream ") for name in threads.values()))
        replays = [e for e in h200["traceEvents"] if e.get("cat") == "replay" and e["pid"] == 1]
        timed = self.query(self.sessions[0],
                           "SELECT count(DISTINCT iteration) FROM records WHERE run_id = 1 AND iteration >= 0")
        self.assertEqual(len(replays), timed[0][0])
        self.assertEqual(replays[0]["name"], "replay 0")
        nodes = {e["args"]["node"] for e in h200["traceEvents"] if e["ph"] == "X" and "node" in e["args"]
                 and e["pid"] == 1}
        wanted = self.query(self.sessions[0],
                            "SELECT DISTINCT node_id FROM records WHERE run_id = 1 AND node_id != 0")
        self.assertEqual(nodes, {str(node % 2**64) for (node,) in wanted})
        _, threads = check_schema(self, cpu)
        experts = [name for (process, _), name in threads.items() if process > EXPERTS]
        self.assertEqual(sorted(set(experts)), [f"expert {i}" for i in range(4)])

    def test_a_range_of_one_run(self):
        session = self.sessions[0]
        trace = self.trace(session, "--run", 1, "--from", 10, "--to", 50.5)
        check_schema(self, trace)
        slices = [e for e in trace["traceEvents"] if e["ph"] == "X"]
        inside = self.query(session, "SELECT count(*) FROM records WHERE run_id = 1 "
                                     "AND start_ns >= 10000000 AND start_ns < 50500000")[0][0]
        self.assertGreater(inside, 0)
        self.assertEqual(sum(e["cat"] not in SPANS and not is_non_kernel_event(e) for e in slices),
                         inside)
        events = self.query(session, "SELECT count(*) FROM host_events WHERE run_id = 1 "
                                     "AND start_ns >= 10000000 AND start_ns < 50500000")[0][0]
        self.assertEqual(sum(map(is_non_kernel_event, slices)), events)
        self.assertEqual({e["pid"] for e in slices}, {1})

    def check_time(self, row, samples):
        self.assertEqual(int(row["n"]), len(samples))
        for column, value in [("median_ns", np.median(samples)), ("p5_ns", np.percentile(samples, 5)),
                              ("p95_ns", np.percentile(samples, 95)), ("minimum_ns", np.min(samples)),
                              ("maximum_ns", np.max(samples)), ("sum_ns", np.sum(samples))]:
            self.assertAlmostEqual(float(row[column]), float(value), delta=1e-6 * max(1.0, float(value)),
                                   msg=column)

    def test_statistics_equal_numpys(self):
        for session in self.sessions:
            with self.subTest(session):
                tables = self.tables(session)
                kernels, experts = collections.defaultdict(list), collections.defaultdict(float)
                for row in tables["records"]:
                    if row["iteration"] == "":
                        continue
                    duration = int(row["end_ns"]) - int(row["start_ns"])
                    kernels[row["run"], row["name"], row["stage"]].append(duration)
                    if row["expert"] != "":
                        experts[row["run"], row["stage"], row["expert"], row["iteration"]] += duration
                self.assertEqual(len(tables["kernels"]), len(kernels))
                for row in tables["kernels"]:
                    self.check_time(row, kernels[row["run"], row["name"], row["stage"]])
                totals = collections.Counter()
                for (run, _, _), samples in kernels.items():
                    totals[run] += sum(samples)
                for row in tables["kernels"]:
                    self.assertAlmostEqual(float(row["share"]), float(row["sum_ns"]) / totals[row["run"]])
                by_expert = collections.defaultdict(list)
                for (run, stage, expert, _), duration in experts.items():
                    by_expert[run, stage, expert].append(duration)
                by_records = [row for row in tables["expert_times"] if row["method"] == "trace"]
                self.assertEqual(len(by_records), len(by_expert))
                for row in by_records:
                    self.check_time(row, by_expert[row["run"], row["stage"], row["expert"]])
                for row in tables["runs"]:
                    durations = [int(i["duration_ns"]) for i in tables["iterations"] if i["run"] == row["run"]]
                    self.assertAlmostEqual(float(row["iteration_median_ns"]), float(np.median(durations)))

    def test_every_table_has_the_sessions_rows(self):
        tables = self.tables(self.sessions[0])
        for name, sql in [("records", "SELECT count(*) FROM records"), ("runs", "SELECT count(*) FROM runs"),
                          ("splits", "SELECT count(*) FROM splits"),
                          ("iterations", "SELECT count(*) FROM iterations"),
                          ("graph_nodes", "SELECT count(*) FROM graph_nodes"),
                          ("replay_checks", "SELECT count(*) FROM replay_checks"),
                          ("histograms", "SELECT count(*) FROM histogram_bins")]:
            self.assertEqual(len(tables[name]), self.query(self.sessions[0], sql)[0][0], name)
        self.assertEqual([float(row["power_w"]) for row in tables["power"]],
                         [w for w, in self.query(self.sessions[0], "SELECT power_w FROM power_samples "
                                                                   "ORDER BY run_id, position")])

    def test_recipes_over_steps_have_one_row_per_step_recipe_and_expert(self):
        rows = self.tables(self.sessions[1])["recipe_steps"]
        self.assertEqual([(int(r["step"]), r["recipe"], int(r["expert"])) for r in rows],
                         [(step, recipe, expert) for step in range(3)
                          for recipe in ("FP8 delayed, power-of-two scales",
                                                                "FP8 tensor, power-of-two scales")
                          for expert in range(4)])
        delayed = [row for row in rows if row["recipe"].startswith("FP8 delayed")]
        kept = self.query(self.sessions[1], "SELECT amax, scale_used, saturated FROM "
                                            "comparison_delayed_scales JOIN comparison_experts "
                                            "USING (comparison_id, report, expert) "
                                            "ORDER BY report, expert")
        self.assertEqual(len(kept), 12)
        for row, (amax, scale, saturated) in zip(delayed, kept):
            self.assertAlmostEqual(float(row["amax"]), amax, delta=1e-6 * amax)
            self.assertAlmostEqual(float(row["scale_used"]), scale, delta=1e-6 * scale)
            self.assertEqual(int(row["saturated"]), saturated)


if __name__ == "__main__":
    unittest.main()
