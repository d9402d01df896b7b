"""`expertscope sweep` and `expertscope ab` as a user calls them; statistics checked against numpy and
plain enumeration.

Usage: compare_command_test.py EXPERTSCOPE   (the worker is next to it)
"""

import csv
import io
import itertools
import json
import math
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from recordings import query  # noqa: E402

PROGRAM = sys.argv.pop(1)
CPU = ["--worker-backend", "cpu"]
SMALL = ["--num_experts", 4, "--tokens", 64, "--n", 64, "--k", 256, "--iterations", 12]


def call(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=100)


def median_interval(samples, confidence):
    """Order statistics by exact binomial counts: the widest rank that still keeps the confidence."""
    n = len(samples)
    rank = 0
    while rank < n // 2 and 2 * sum(math.comb(n, i) for i in range(rank + 1)) <= (1 - confidence) * 2**n:
        rank += 1
    ordered = np.sort(samples)
    return (ordered[rank - 1], ordered[n - rank]) if rank > 0 else (math.nan, math.nan)


def rank_sum_p(a, b):
    """Two-sided, by counting every assignment of the ranks; equal values share theirs."""
    values = sorted([*a, *b])
    ranks = {value: values.index(value) + (values.count(value) + 1) / 2 for value in values}
    seen = sum(ranks[value] for value in a)
    sums = [sum(deal) for deal in itertools.combinations([ranks[value] for value in values], len(a))]
    low = sum(s <= seen for s in sums) / len(sums)
    high = sum(s >= seen for s in sums) / len(sums)
    return min(1.0, 2 * min(low, high))


class Commands(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)

    def path(self, name):
        return os.path.join(self._folder.name, name)

    def ok(self, *arguments):
        done = call(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def refused(self, code, *arguments):
        done = call(*arguments)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stderr

    def request(self, name, **settings):
        path = self.path(name)
        with open(path, "w") as file:
            json.dump({"shape": {"num_experts": 4, "rows": 64, "n": 64, "k": 256}, **settings}, file)
        return path

    def rows(self, session, text):
        return query(session, text)


class Sweep(Commands):
    def test_every_combination_is_measured_kept_and_compared(self):
        session = self.path("s.session")
        out = json.loads(self.ok("sweep", *CPU, *SMALL, "--axes", "recipe,pow2,backend", "--json",
                                 "--record", session))
        self.assertEqual(out["state"], "done")
        labels = [run["label"] for run in out["runs"]]
        self.assertEqual(len(labels), 9)  # six recipes, three of them with both kinds of scale
        self.assertIn("fp8-block, power-of-two scales", labels)
        measured = [run for run in out["runs"] if "median_ns" in run]
        self.assertEqual(len(measured), 9)
        kept = self.rows(session, "SELECT group_kind, group_id, group_position, group_label FROM runs ORDER BY run_id")
        self.assertEqual(kept, [("sweep", out["group"], i, run["label"]) for i, run in enumerate(measured)])
        for i, run in enumerate(measured):
            times = [t for (t,) in self.rows(
                session, f"SELECT duration_ns FROM iterations WHERE run_id = {i + 1}")]
            self.assertEqual(run["n"], len(times))
            # Nanoseconds of a busy machine are many: the two round otherwise in their last digits.
            self.assertAlmostEqual(run["median_ns"], np.median(times), places=3)
            self.assertAlmostEqual(run["p95_ns"], np.quantile(times, 0.95), places=3)
        for run in measured:
            beaten = any(other["worst_snr_db"] >= run["worst_snr_db"]
                         and other["median_ns"] <= run["median_ns"]
                         and (other["worst_snr_db"], -other["median_ns"])
                         != (run["worst_snr_db"], -run["median_ns"]) for other in measured)
            # Differences that may be noise put no point on the frontier, and push none off it.
            self.assertNotEqual(run["frontier"], "yes" if beaten else "no", run["label"])
            self.assertEqual("frontier_doubt" in run, run["frontier"] == "undecided", run["label"])
        # The recording that is passed on says the same.
        self.ok("export", session, "--csv", self.path("csv"), "--html", self.path("s.html"))
        with open(self.path("csv/sweeps.csv"), newline="") as file:
            exported = [(row["label"], row["run"], row["frontier"]) for row in csv.DictReader(file)]
        self.assertEqual(exported, [(run["label"], str(i + 1), run["frontier"]) for i, run in enumerate(measured)])
        with open(self.path("s.html"), encoding="utf-8") as file:
            page = file.read()
        self.assertIn("Sweep of 9 runs</h2>", page)
        self.assertIn("Accuracy against time", page)

    def test_what_the_worker_refuses_is_said_and_left_out(self):
        out = json.loads(self.ok("sweep", *CPU, *SMALL, "--axes", "workspace", "--json"))
        self.assertEqual(len(out["runs"]), 4)
        self.assertEqual(sum("median_ns" in run for run in out["runs"]), 1)
        self.assertIn("workspace", out["runs"][1]["refused"])
        text = self.ok("sweep", *CPU, *SMALL, "--axes", "workspace")
        self.assertIn("\nrefused     ", text)

    def test_what_was_measured_and_where_comes_first(self):
        arguments = ["sweep", *CPU, *SMALL, "--axes", "recipe"]
        lines = self.ok(*arguments).splitlines()
        run = self.ok("run", *CPU, *SMALL, "--recipe", "bf16").splitlines()
        self.assertRegex(lines[0], r"^request +E4 R64 N64 K256 · .*×12")
        self.assertNotIn("BF16", lines[0])  # the recipe varies
        self.assertEqual(lines[1], run[1])
        self.assertRegex(lines[2], r"^varied +recipe$")
        out = json.loads(self.ok(*arguments, "--json"))
        self.assertIn("E4 R64", out["request"])
        self.assertIn(out["device"], lines[1])
        for row in csv.DictReader(io.StringIO(self.ok(*arguments, "--csv"))):
            self.assertIn("E4 R64", row["request"])
            self.assertEqual(row["device"], out["device"])

    def test_a_sweep_takes_what_its_own_verdict_needs(self):
        small = [*CPU, "--experts", 4, "--rows", 64, "--n", 64, "--k", 256]
        ended = call("sweep", *small, "--record", self.path("enough.session"))
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertIn("samples     20 iterations of each run are enough for a verdict among 9 points, which needs 12", ended.stdout)
        self.assertNotIn("too few", ended.stdout)
        ended = call("sweep", *small, "--iterations", 10)
        words = "10 iterations of each run are too few for a verdict among 9 points, which needs 12"
        self.assertIn(words, ended.stderr)
        table, after = ended.stdout.split("samples     ")
        self.assertTrue(after.startswith(words), after)
        self.assertIn("frontier", table)
        self.assertIn("too few", after[len(words):])
        self.assertNotIn("as fast", ended.stdout)
        self.assertRegex(after, r"is at least as accurate as \S.* and took [0-9.]+ of its time")

    def test_what_an_option_fixes_is_not_varied(self):
        out = json.loads(self.ok("sweep", *CPU, *SMALL, "--recipe", "fp8-block", "--json"))
        self.assertEqual(out["varied"], ["pow2"])
        self.assertEqual({run["request"]["recipe"]["scaling"] for run in out["runs"]}, {"fp8-block"})
        self.assertEqual(len(out["runs"]), 2)
        text = self.ok("sweep", *CPU, *SMALL, "--recipe", "fp8-block")
        self.assertRegex(text, "(?m)^varied +pow2$")
        for arguments, words in (
                (["--recipe", "fp8-block", "--axes", "recipe"],
                 "--axes recipe varies what --recipe fixes: leave out one of them"),
                (["--routing", "zipf", "--axes", "pow2,routing"],
                 "--axes routing varies what --routing fixes"),
                (["--recipe", "fp8-block", "--pow2_scales", "true"],
                 "nothing is left to vary, since --recipe and --pow2_scales fix it")):
            self.assertIn(words, self.refused(1, "sweep", *CPU, *SMALL, *arguments))

    def test_numbers_that_list_values_are_varied(self):
        few = [*CPU, "--experts", 4, "--n", 64, "--k", 256, "--iterations", 3]
        out = json.loads(self.ok("sweep", *few, "--rows", "64,128", "--seed", "1,2,3", "--json"))
        self.assertEqual(out["varied"], ["rows", "seed"])  # recipes only if --axes names them, too
        self.assertEqual([(run["request"]["shape"]["rows"], run["request"]["seed"]) for run in out["runs"]],
                         list(itertools.product([64, 128], [1, 2, 3])))
        self.assertTrue(all("median_ns" in run for run in out["runs"]))
        # Six points of six kinds of work: none is compared, which table and CSV say.
        table = call("sweep", *few, "--rows", "64,128", "--seed", "1,2")
        self.assertIn("are not compared", " ".join(table.stdout.split()))
        ended = call("sweep", *few, "--rows", "64,128", "--seed", "1,2", "--csv")
        self.assertIn("are not compared", ended.stderr)
        self.assertNotIn("not compared", ended.stdout)
        self.assertTrue(out["runs"][5]["label"].endswith(", rows 128, seed 3"), out["runs"][5]["label"])
        both = json.loads(self.ok("sweep", *few, "--rows", "64,128", "--axes", "recipe", "--json"))
        self.assertEqual(both["varied"], ["recipe", "rows"])
        self.assertEqual(len(both["runs"]), 12)
        words = json.loads(self.ok("sweep", *few, "--rows", 64, "--recipe", "mxfp8,bf16", "--passes", "fwd,both", "--json"))
        self.assertEqual(words["varied"], ["recipe", "passes"])
        self.assertEqual([(run["request"]["recipe"]["scaling"], run["request"]["products"]["passes"])
                          for run in words["runs"]],
                         list(itertools.product(["mxfp8", "bf16"], ["forward", "forward-backward"])))

    def test_csv_has_a_column_for_what_varies_and_a_row_for_what_is_refused(self):
        out = self.ok("sweep", *CPU, "--step", "layer", "--experts", 4, "--n", 64, "--k", 64, "--iterations", 3,
                      "--rows", "63,64", "--top_k", "0,2,8", "--csv")
        rows = list(csv.DictReader(io.StringIO(out)))
        self.assertEqual([(row["shape.rows"], row["expert_layer.top_k"]) for row in rows],
                         list(itertools.product(["63", "64"], ["0", "2", "8"])))
        self.assertEqual([bool(row["median_ns"]) for row in rows], [True, False, False, True, True, False])
        self.assertIn("refused: shape.rows is 63; with expert_layer.top_k 2", rows[1]["unmeasured"])
        self.assertIn("the shape has 4 experts", rows[5]["unmeasured"])
        self.assertNotIn("seed", rows[0])

    def test_lists_that_cannot_be_swept_are_refused(self):
        few = [*CPU, "--experts", 4, "--k", 256, "--iterations", 3]
        for arguments, words in (
                (["--rows", "64,x"], "--rows lists 'x'; every value must be an integer, between 0 and"),
                (["--seed", "1,1"], "--seed lists 1 twice"),
                (["--rows", ",".join(str(16 * i) for i in range(1, 1002))],
                 "1001 combinations are more than the 1000 runs"),
                (["--recipe", "bf16,mxpf8"], "--recipe lists 'mxpf8' (did you mean 'mxfp8'?)"),
                (["--n", "100,40"], "no run of this sweep can be measured")):
            self.assertIn(words, self.refused(1, "sweep", *few, *arguments))
        # Other commands have one request.
        self.assertIn("expertscope sweep takes a list", self.refused(1, "run", *CPU, "--recipe", "bf16,mxfp8"))
        self.assertIn("--rows is '64,128'; it must be", self.refused(1, "run", *CPU, "--rows", "64,128"))

    def test_an_axis_without_a_name_is_refused(self):
        self.assertIn("axes", self.refused(1, "sweep", *CPU, *SMALL, "--axes", "colour"))

    def test_ctrl_c_keeps_what_is_measured(self):
        session = self.path("s.session")
        process = subprocess.Popen(
            [PROGRAM, "sweep", *CPU, "--num_experts", "8", "--tokens", "2048", "--n", "512", "--k", "512",
             "--iterations", "20", "--json", "--record", session],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + 60
        while time.monotonic() < end and process.poll() is None:
            try:
                if self.rows(session, "SELECT count(*) FROM runs")[0][0] > 0:
                    break
            except (FileNotFoundError, sqlite3.OperationalError):
                pass
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, errors)
        result = json.loads(out)
        measured = [run for run in result["runs"] if "median_ns" in run]
        self.assertEqual(result["state"], "cancelled")
        self.assertGreater(len(measured), 0)
        self.assertEqual(self.rows(session, "SELECT count(*) FROM runs")[0][0], len(measured))


def verdict_of(numbers):
    """What the numbers allow to be claimed. The machine decides the numbers: no test may demand a verdict."""
    low, high = numbers["ratio_low"], numbers["ratio_high"]
    drift, effect = (abs(math.log(numbers[name])) for name in ("control_ratio", "ratio"))
    if low <= 1 <= high or numbers["block_p"] > 0.01 or drift >= effect:
        return "ambiguous"
    return "slower" if low > 1 else "faster"


class AgainstEachOther(Commands):
    def test_identical_settings_differ_in_nothing(self):
        a = self.request("a.json")
        out = json.loads(self.ok("ab", *CPU, "--a", a, "--b", a, "--iterations", 10, "--json"))
        self.assertEqual(out["verdict"], verdict_of(out), out)
        self.assertEqual(out["settings"], [])
        self.assertEqual((out["n_a"], out["n_b"]), (80, 80))

    def test_the_numbers_are_numpys_and_the_verdict_follows_from_them(self):
        a = self.request("a.json", recipe={"scaling": "bf16"})
        b = self.request("b.json", recipe={"scaling": "nvfp4"})
        session = self.path("s.session")
        out = json.loads(self.ok("ab", *CPU, "--a", a, "--b", b, "--iterations", 9, "--record", session,
                                 "--json"))
        labels = [l for (l,) in self.rows(session, "SELECT group_label FROM runs ORDER BY group_position")]
        self.assertEqual(sorted(labels), ["A"] * 8 + ["B"] * 8)
        blocks = {"A": [], "B": []}
        for run, label in enumerate(labels, 1):
            blocks[label].append([t for (t,) in self.rows(
                session, f"SELECT duration_ns FROM iterations WHERE run_id = {run}")])
        times = {side: np.concatenate(blocks[side]) for side in "AB"}
        low_a, high_a = median_interval(times["A"], 0.975)
        low_b, high_b = median_interval(times["B"], 0.975)
        odd = np.concatenate(blocks["A"][0::2])
        even = np.concatenate(blocks["A"][1::2])
        expected = {
            "ratio": np.median(times["B"]) / np.median(times["A"]),
            "ratio_low": low_b / high_a,
            "ratio_high": high_b / low_a,
            "control_ratio": np.median(even) / np.median(odd),
            "block_p": rank_sum_p(*([np.median(t) for t in blocks[s]] for s in "AB")),
        }
        for name, value in expected.items():
            self.assertAlmostEqual(out[name], value, msg=name)
        self.assertEqual(out["verdict"], verdict_of(expected), out)
        self.assertIn("recipe.scaling", [row["field"] for row in out["settings"]])

    def test_different_work_has_no_verdict(self):
        a = self.request("a.json")
        b = self.request("b.json", shape={"num_experts": 4, "rows": 1024, "n": 256, "k": 256})
        both = ("ab", *CPU, "--a", a, "--b", b, "--iterations", 3)
        text = self.ok(*both)
        self.assertIn("A and B do different work: shape.rows 64 and 1024, shape.n 64 and 256. ", text)
        for word in ("slower", "faster", "ambiguous"):
            self.assertNotIn(word, text)
        out = json.loads(self.ok(*both, "--json"))
        self.assertEqual({time["verdict"] for time in (out, *out["stages"])}, {"different work"})

    def test_settings_that_neither_side_ran_with_get_no_verdict(self):
        both = ("ab", *CPU, *SMALL, "--a", "workspace=shared", "--b", "workspace=per-layout")
        text = self.ok(*both)
        for side, asked in (("A", "shared"), ("B", "per-layout")):
            self.assertIn(f"deviation   {side}: workspace: per-matmul instead of {asked}: ", text)
        self.assertIn("verdict     A and B ran the same step: workspace: A requested shared, B per-layout, "
                      "both ran per-matmul (", text)
        for word in ("slower", "faster", "ambiguous"):
            self.assertNotIn(word, text)
        out = json.loads(self.ok(*both, "--json"))
        self.assertEqual({time["verdict"] for time in (out, *out["stages"])}, {"same step"})
        self.assertEqual([(one["side"], one["field"], one["requested"], one["effective"])
                          for one in out["deviations"]],
                         [("A", "workspace", "shared", "per-matmul"), ("B", "workspace", "per-layout", "per-matmul")])
        self.assertEqual([(row["group"], row["a"], row["b"]) for row in out["settings"]],
                         [("requested", "shared", "per-layout"), ("effective", "per-matmul", "per-matmul")])

    def test_two_sides_can_be_typed(self):
        few = ("ab", *CPU, *SMALL[:-2], "--blocks", 2, "--iterations", 3)
        session = self.path("s.session")
        text = self.ok(*few, "--a", "recipe=bf16", "--b", "recipe=fp8-block", "--b", "Pow2-Scales=false", "--record", session)
        lines = text.splitlines()
        self.assertRegex(lines[0], r"^request +E4 R64 N64 K256 · .*×3")
        self.assertNotIn("BF16", lines[0])  # it differs
        self.assertRegex(lines[1], "^device +")
        self.assertRegex(lines[2], r"^A +.*Recipe BF16")
        self.assertRegex(lines[3], r"^B +.*Recipe FP8 block")
        self.assertRegex(text, r"(?m)^recipe\.scaling +bf16 +fp8-block +requested$")
        recipes = self.rows(session, "SELECT group_label, request_json FROM runs ORDER BY group_label")
        self.assertEqual([(label, json.loads(request)["recipe"]["scaling"], json.loads(request)["recipe"]["pow2_scales"])
                          for label, request in recipes], [("A", "bf16", True), ("B", "fp8-block", False)])

    def test_one_side_alone_differs_from_what_both_share(self):
        shared = self.request("shared.json", seed=7)
        out = json.loads(self.ok("ab", *CPU, "--request", shared, "--recipe", "bf16", "--blocks", 2, "--iterations", 3,
                                 "--b", "rows=32", "--json"))
        self.assertEqual([(row["field"], row["a"], row["b"]) for row in out["settings"] if row["group"] == "requested"],
                         [("shape.rows", "64", "32")])
        self.assertEqual((out["a"], out["b"]), ("Rows 64", "Rows 32"))
        for words in ("BF16", "×3", "Seed 7"):
            self.assertIn(words, out["request"])
        self.assertEqual((out["n_a"], out["n_b"]), (3, 3))

    def test_a_side_that_names_nothing_is_said_to_be_the_default(self):
        few = ("ab", *CPU, *SMALL[:-2], "--blocks", 2, "--iterations", 1)
        for given, missing in (("--a", "--b"), ("--b", "--a")):
            lines = self.ok(*few, given, "recipe=bf16").splitlines()
            side = {line[0]: line for line in lines if line[:2] in ("A ", "B ")}
            self.assertNotIn("is not given", side[given[-1].upper()])
            self.assertRegex(side[missing[-1].upper()], rf"Recipe FP8 block \(as set for both sides or by default: {missing} is not given\)")
        both = self.ok(*few, "--a", "recipe=bf16", "--b", "recipe=mxfp8")
        self.assertNotIn("is not given", both)

    def test_pow2_is_set_as_an_axis_of_a_sweep_is_called(self):
        for off, on in (("off", "on"), ("false", "true")):
            out = json.loads(self.ok("ab", *CPU, *SMALL[:-2], "--blocks", 2, "--iterations", 1, "--a", f"pow2={off}",
                                     "--b", f"pow2={on}", "--json"))
            self.assertEqual([(row["field"], row["a"], row["b"]) for row in out["settings"] if row["group"] == "requested"],
                             [("recipe.pow2_scales", "false", "true")])
        run = json.loads(self.ok("run", *CPU, *SMALL, "--recipe", "fp8-block", "--pow2", "off", "--json"))
        self.assertIs(run["request"]["recipe"]["pow2_scales"], False)
        self.assertIn("--b pow2 is 'maybe'; it must be true or false",
                      self.refused(1, "ab", *CPU, *SMALL[:-2], "--b", "pow2=maybe"))

    def test_a_side_may_have_a_preset(self):
        out = json.loads(self.ok("ab", *CPU, *SMALL[:-2], "--blocks", 2, "--iterations", 1, "--b", "preset=laptop small",
                                 "--json"))
        self.assertEqual(out["verdict"], "different work")
        self.assertIn("Laptop small", [row["b"] for row in out["settings"]])

    def test_files_take_options_that_both_share(self):
        a = self.request("a.json")
        out = json.loads(self.ok("ab", *CPU, "--a", a, "--b", a, "--b", "seed=3", "--recipe", "mxfp8", "--blocks", 2,
                                 "--iterations", 2, "--json"))
        self.assertEqual([(row["field"], row["b"]) for row in out["settings"]], [("seed", "3")])
        self.assertIn("MXFP8", out["request"])
        text = self.ok("ab", *CPU, "--a", a, "--b", a, "--blocks", 2, "--iterations", 2)
        self.assertRegex(text, "(?m)^A and B +the same request$")

    def test_csv_has_every_stage_kernel_and_expert(self):
        a = self.request("a.json")
        b = self.request("b.json", seed=2)
        out = self.ok("ab", *CPU, "--a", a, "--b", b, "--iterations", 2, "--csv")
        rows = list(csv.DictReader(io.StringIO(out)))
        whats = [row["what"] for row in rows]
        self.assertEqual(whats.count("step"), 1)
        self.assertEqual(whats.count("expert"), 4)
        self.assertGreater(whats.count("kernel"), 1)
        self.assertEqual([row["setting_b"] for row in rows if row["name"] == "requested.seed"], ["2"])

    def test_few_blocks_give_no_verdict(self):
        a = self.request("a.json", recipe={"scaling": "bf16"})
        b = self.request("b.json", recipe={"scaling": "nvfp4"})
        text = self.ok("ab", *CPU, "--a", a, "--b", b, "--blocks", 4, "--iterations", 10)
        self.assertIn("B is ambiguous", text)
        # The tables that the window and the CSV have, too.
        self.assertRegex(text, r"(?m)^recipe\.scaling +bf16 +nvfp4 +requested$")
        self.assertRegex(text, r"(?m)^what +A +B +B / A +B is +interval +n A / B$")
        self.assertRegex(text, r"(?m)^step +[0-9.]+ .?s +[0-9.]+ .?s +[0-9.]+  too few blocks")
        self.assertRegex(text, r"(?m)^all of fprop ")
        self.assertRegex(text, r"(?m)^A / A +[0-9.]+: odd blocks of A")
        self.assertRegex(text, r"experts +0 of 4 experts differ by the rank-sum test "
                               r"\(p of at most 0.01 for all 4\): (too few blocks \(4 blocks are too few|\d ambiguous, )")

    def test_a_refused_side_is_named(self):
        a = self.request("a.json")
        b = self.request("b.json", backend="cublaslt-grouped")
        error = self.refused(1, "ab", *CPU, "--a", a, "--b", b)
        self.assertIn("B cannot be measured", error)
        self.assertIn("even number", self.refused(1, "ab", *CPU, "--a", a, "--b", a, "--blocks", 5))
        self.assertIn("cannot be opened", self.refused(1, "ab", *CPU, "--a", a, "--b", self.path("none.json")))


if __name__ == "__main__":
    unittest.main()
