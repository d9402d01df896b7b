"""The command line as a person calls it: real programs, real worker, files checked with numpy alone.

Usage: command_line_test.py EXPERTSCOPE   (the worker lies beside it)
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest

import ml_dtypes
import numpy as np

PROGRAM = sys.argv.pop(1)
CPU = ["--worker-backend", "cpu"]
BENCH_ROWS = 23  # of a shape


def call(*arguments, env=None):
    return subprocess.run(
        [PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=100,
        env={**os.environ, **(env or {})})


class CommandLine(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)

    def path(self, name):
        return os.path.join(self._folder.name, name)

    def ok(self, *arguments, env=None):
        done = call(*arguments, env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def refused(self, code, *arguments):
        done = call(*arguments)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertNotEqual(done.stderr, "")
        return done.stderr


SMALL = ["--num_experts", 4, "--tokens", 64, "--n", 64, "--k", 256, "--iterations", 2]


class Run(CommandLine):
    def test_json_states_request_and_result(self):
        out = json.loads(self.ok("run", *CPU, *SMALL, "--recipe.scaling", "per-tensor-current",
                                 "--pow2_scales", "false", "--routing.distribution", "zipf", "--json"))
        self.assertEqual(out["request"]["routing"]["distribution"], "ROUTING_ZIPF")
        self.assertEqual(out["request"]["recipe"]["scaling"], "PER_TENSOR_CURRENT")
        self.assertIs(out["request"]["recipe"]["pow2_scales"], False)
        splits = [int(rows) for rows in out["result"]["splits"]]
        self.assertEqual(sum(splits), 64)
        self.assertGreater(splits[0], splits[3])
        self.assertEqual(len(out["result"]["iterations"]), 2)
        self.assertEqual(len(out["result"]["experts"]), 4)
        self.assertGreater(out["result"]["activations"]["snr_db"], 20)
        self.assertGreater(out["records"], 0)

    def test_people_get_a_summary(self):
        out = self.ok("run", *CPU, *SMALL)
        for word in ("device", "median", "SNR", "expert"):
            self.assertIn(word, out)

    def test_a_request_file_is_overridden_by_single_fields(self):
        with open(self.path("r.json"), "w") as file:
            json.dump({"shape": {"num_experts": 2, "tokens": 32, "n": 32, "k": 128},
                       "launch": {"iterations": 1}, "seed": 5}, file)
        out = json.loads(self.ok("run", *CPU, "--request", self.path("r.json"), "--seed", 9, "--json"))
        self.assertEqual(out["request"]["seed"], "9")
        self.assertEqual(out["request"]["shape"]["num_experts"], 2)

    def test_a_preset_is_found_by_its_name(self):
        presets = json.loads(self.ok("list", "presets", "--json"))["presets"]
        laptop = next(p for p in presets if p["laptop"])
        done = call("run", *CPU, "--preset", laptop["name"].upper(), "--tokens", 32,
                    "--iterations", 1, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["request"]["shape"]["preset"], laptop["name"])

    def test_a_recording_is_kept_and_exported(self):
        session = self.path("one.session")
        self.ok("run", *CPU, *SMALL, "--record", session)
        self.assertIn("one.session", self.refused(1, "run", *CPU, *SMALL, "--record", session))
        self.ok("export", session, "--chrome", self.path("t.json"), "--csv", self.path("csv"))
        with open(self.path("t.json")) as file:
            self.assertGreater(len(json.load(file)["traceEvents"]), 4)
        # export_command_test holds every table against the session.
        self.assertLessEqual({"experts.csv", "iterations.csv", "records.csv", "runs.csv"},
                             set(os.listdir(self.path("csv"))))

    def test_recipes_have_short_names(self):
        out = json.loads(self.ok("run", *CPU, *SMALL, "--recipe", "fp8-per-tensor", "--history_length",
                                 7, "--margin", -1, "--algorithm", "most-recent", "--hadamard", "off",
                                 "--json"))
        recipe = out["request"]["recipe"]
        self.assertEqual(recipe["scaling"], "PER_TENSOR_CURRENT")
        self.assertEqual(recipe["delayed"], {"history_length": 7, "margin": -1,
                                             "algorithm": "AMAX_MOST_RECENT"})
        self.assertIs(recipe["hadamard"], False)
        self.assertIs(recipe["square_weight_blocks"], True)
        self.assertIn("fp3", self.refused(1, "run", *CPU, "--recipe", "fp3"))

    def test_a_recording_of_the_first_schema_still_opens(self):
        shipped = os.path.join(os.path.dirname(__file__), "../../assets/sessions/h200.session")
        self.ok("export", shipped, "--csv", self.path("csv"))
        self.assertNotIn("comparisons.csv", os.listdir(self.path("csv")))

    def test_mistakes_are_named(self):
        self.assertIn("multiple of 16", self.refused(1, "run", *CPU, "--k", 100))
        self.assertIn("MXFP99", self.refused(1, "run", *CPU, "--recipe.scaling", "MXFP99"))
        self.assertIn("--shape.tokens", self.refused(1, "run", *CPU, "--tokens", "many"))
        self.assertIn("no preset", self.refused(1, "run", *CPU, "--preset", "nothing"))
        self.assertIn("r.json", self.refused(1, "run", *CPU, "--request", self.path("r.json")))
        self.assertIn("/nowhere/x.npy",
                      self.refused(1, "run", *CPU, *SMALL, "--activations.file.path", "/nowhere/x.npy"))

    def test_a_worker_that_cannot_start_is_another_exit_code(self):
        self.assertIn("/nowhere/worker", self.refused(2, "run", "--worker", "/nowhere/worker"))

    def test_a_remote_worker_is_reached_through_ssh_alone(self):
        # Stands in for ssh: notes its arguments, then is the worker of the other machine.
        stand_in = self.path("ssh")
        with open(stand_in, "w") as file:
            file.write('#!/bin/sh\nprintf "%s\\n" "$@" > "$0.arguments"\n'
                       f'exec "{os.path.dirname(PROGRAM)}/expertscope-worker" --backend cpu\n')
        os.chmod(stand_in, 0o755)
        out = json.loads(self.ok("run", "--remote", "user@host", *SMALL, "--json", env={
            "PATH": self._folder.name + os.pathsep + os.environ["PATH"]}))
        self.assertEqual(len(out["result"]["iterations"]), 2)
        with open(stand_in + ".arguments") as file:
            self.assertEqual(file.read().split("\n")[:-1],
                             ["-T", "-o", "BatchMode=yes", "user@host", "expertscope-worker"])

    def test_a_request_log_runs_line_by_line_on_one_worker(self):
        shape = {"num_experts": 4, "tokens": 64, "n": 64, "k": 256}
        with open(self.path("log.jsonl"), "w") as file:
            for scaling in ("SCALING_NONE", "BLOCK"):
                file.write(json.dumps({"shape": shape, "recipe": {"scaling": scaling}}) + "\n\n")
        lines = self.ok("run", *CPU, "--requests", self.path("log.jsonl"), "--json", "--record",
                        self.path("log.session")).splitlines()
        self.assertEqual([json.loads(line)["request"]["recipe"]["scaling"] for line in lines],
                         ["SCALING_NONE", "BLOCK"])
        self.ok("export", self.path("log.session"), "--csv", self.path("csv"))
        with open(self.path("csv/runs.csv")) as file:
            self.assertEqual(len(file.readlines()), 3)
        with open(self.path("log.jsonl"), "a") as file:
            file.write('{"shape": {"tokens": -1}}\n')
        refused = self.refused(1, "run", *CPU, "--requests", self.path("log.jsonl"))
        self.assertIn("line 5", refused)
        self.assertIn("tokens is -1", refused)

    def test_a_remote_name_cannot_be_an_option(self):
        self.assertIn("no name of a machine",
                      self.refused(1, "run", "--remote=-oProxyCommand=true"))


class Quantize(CommandLine):
    splits = [3, 0, 129, 60]

    def dump(self, x, *arguments):
        np.save(self.path("x.npy"), x)
        self.ok("quantize", *CPU, "--input", self.path("x.npy"), "--dump", self.path("out"), *arguments)
        names = ("codes", "scale_inv", "amax", "splits")
        with open(self.path("out/manifest.json")) as file:
            manifest = json.load(file)
        files = {name: np.load(self.path(f"out/{name}.npy")) for name in names}
        for name, array in files.items():
            self.assertEqual(manifest["files"][f"{name}.npy"]["shape"], list(array.shape))
            self.assertEqual(manifest["files"][f"{name}.npy"]["dtype"], str(array.dtype))
        return files

    def x(self, columns=320):
        generator = np.random.default_rng(7)
        x = generator.standard_normal((sum(self.splits), columns)).astype(np.float32)
        x[:, 5] *= 100
        x[1, :128] = 0
        return x

    def write_splits(self):
        with open(self.path("s.json"), "w") as file:
            json.dump(self.splits, file)
        return ["--splits", self.path("s.json")]

    @staticmethod
    def scale(amax, largest, pow2, epsilon):
        amax = np.maximum(amax, np.float32(epsilon)).astype(np.float32)
        with np.errstate(divide="ignore"):
            scale = np.where(amax > 0, np.float32(largest) / amax, np.float32(1)).astype(np.float32)
        return (scale.view(np.uint32) & np.uint32(0xFF800000)).view(np.float32) if pow2 else scale

    @staticmethod
    def cast(x, kind, largest):
        return np.clip(x, -largest, largest).astype(kind).view(np.uint8)

    def test_blocks_of_activations(self):
        x = self.x()
        for name, kind, largest, pow2, epsilon in (
                ("e4m3", ml_dtypes.float8_e4m3fn, 448.0, False, 0.0),
                ("e5m2", ml_dtypes.float8_e5m2, 57344.0, True, 0.5)):
            got = self.dump(x, *self.write_splits(), "--format", name, "--epsilon", epsilon,
                            "--pow2" if pow2 else "--no-pow2")
            blocks = -(-x.shape[1] // 128)
            padded = np.zeros((x.shape[0], blocks * 128), np.float32)
            padded[:, :x.shape[1]] = x
            amax = np.abs(padded).reshape(x.shape[0], blocks, 128).max(axis=2)
            scale = self.scale(amax, largest, pow2, epsilon)
            np.testing.assert_array_equal(got["splits"], self.splits)
            np.testing.assert_array_equal(got["amax"], amax)
            np.testing.assert_array_equal(got["scale_inv"], np.float32(1) / scale)
            expected = self.cast(x * np.repeat(scale, 128, axis=1)[:, :x.shape[1]], kind, largest)
            np.testing.assert_array_equal(got["codes"], expected)

    def test_per_tensor(self):
        x = self.x()
        got = self.dump(x, *self.write_splits(), "--recipe", "fp8-per-tensor", "--no-pow2")
        offsets = np.concatenate([[0], np.cumsum(self.splits)])
        for e, rows in enumerate(self.splits):
            part = x[offsets[e]:offsets[e + 1]]
            amax = np.abs(part).max() if rows else np.float32(0)
            scale = self.scale(np.array([amax]), 448.0, False, 0.0)[0]
            self.assertEqual(got["amax"][e], amax)
            self.assertEqual(got["scale_inv"][e], np.float32(1) / scale)
            np.testing.assert_array_equal(got["codes"][offsets[e]:offsets[e + 1]],
                                          self.cast(part * scale, ml_dtypes.float8_e4m3fn, 448.0))

    def test_blocks_of_weights(self):
        generator = np.random.default_rng(3)
        w = generator.standard_normal((2, 144, 272)).astype(np.float32)
        got = self.dump(w, "--operand", "weights", "--no-pow2")
        self.assertEqual(got["scale_inv"].shape, (2 * 2, 3))
        np.testing.assert_array_equal(got["splits"], [144, 144])
        for e in range(2):
            for by in range(2):
                for bx in range(3):
                    block = w[e, by * 128:(by + 1) * 128, bx * 128:(bx + 1) * 128]
                    amax = np.abs(block).max()
                    scale = self.scale(np.array([amax]), 448.0, False, 0.0)[0]
                    self.assertEqual(got["amax"][e * 2 + by, bx], amax)
                    codes = got["codes"].reshape(2, 144, 272)[e, by * 128:(by + 1) * 128,
                                                             bx * 128:(bx + 1) * 128]
                    np.testing.assert_array_equal(
                        codes, self.cast(block * scale, ml_dtypes.float8_e4m3fn, 448.0))

    def test_mxfp8_and_nvfp4_decode_as_the_manifest_says(self):
        x = self.x()
        np.save(self.path("x.npy"), x)
        offsets = np.concatenate([[0], np.cumsum(self.splits)])
        for recipe in ("mxfp8", "nvfp4"):
            folder = self.path(recipe)
            self.ok("quantize", *CPU, "--input", self.path("x.npy"), *self.write_splits(), "--recipe",
                    recipe, "--direction", "both", "--dump", folder)
            codes = np.load(f"{folder}/codes.npy")
            scales = np.load(f"{folder}/scales.npy")
            if recipe == "mxfp8":
                value = codes.view(ml_dtypes.float8_e4m3fn).astype(np.float64)
                factor = np.repeat(np.exp2(scales.astype(np.float64) - 127), 32, axis=1)
            else:
                grid = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
                grid = np.concatenate([grid, -grid])
                value = np.stack([grid[codes & 15], grid[codes >> 4]], axis=2).reshape(x.shape)
                amax = np.load(f"{folder}/amax.npy").astype(np.float64)
                rows = np.repeat(amax, np.diff(offsets))[:, None]
                factor = np.repeat(scales.view(ml_dtypes.float8_e4m3fn).astype(np.float64) * rows / 2688,
                                   16, axis=1)
            decoded = value * factor[:, :x.shape[1]]
            snr = 10 * np.log10((x ** 2).sum() / ((x - decoded) ** 2).sum())
            self.assertGreater(snr, 25 if recipe == "mxfp8" else 15)
            self.assertTrue(os.path.exists(f"{folder}/codes_columnwise.npy"))

    def test_mistakes_are_named(self):
        np.save(self.path("x.npy"), self.x())
        base = ["quantize", *CPU, "--input", self.path("x.npy"), "--dump", self.path("out")]
        with open(self.path("s.json"), "w") as file:
            json.dump([1, 2], file)
        said = self.refused(1, *base, "--splits", self.path("s.json"))
        self.assertIn("3", said)
        self.assertIn("192", said)
        with open(self.path("s.json"), "w") as file:
            file.write("{")
        self.assertIn("s.json", self.refused(1, *base, "--splits", self.path("s.json")))
        self.assertIn("/nowhere", self.refused(1, *base[:2], *CPU, "--input", "/nowhere",
                                               "--dump", self.path("out")))
        self.refused(1, *base, "--format", "fp4")
        np.save(self.path("x.npy"), np.zeros((4, 20), np.float32))
        self.assertIn("multiple of 16", self.refused(1, *base))


class Compare(CommandLine):
    def test_a_comparison_is_printed_recorded_and_exported(self):
        arguments = ["compare", *CPU, "--tokens", 64, "--k", 256, "--timed_launches", 2]
        table = self.ok(*arguments, "--output", self.path("c.session"))
        for word in ("SNR dB", "of copy", "fp8-block e4m3 pow2", "rowwise", "columnwise", "nvfp4"):
            self.assertIn(word, table)
        self.ok("export", self.path("c.session"), "--csv", self.path("csv"))
        with open(self.path("csv/comparisons.csv")) as file:
            self.assertEqual(len(file.readlines()), 1 + 2 * 6)
        self.assertIn("c.session", self.refused(1, *arguments, "--output", self.path("c.session")))

    def test_chosen_recipes_as_json(self):
        out = json.loads(self.ok("compare", *CPU, "--operand", "weights", "--recipes",
                                 "fp8-block,fp8-per-tensor", "--pow2_scales", "false",
                                 "--k", 256, "--timed_launches", 0, "--json"))
        self.assertEqual(out["request"]["operand"], "OPERAND_WEIGHTS")
        self.assertEqual([r["recipe"]["scaling"] for r in out["reports"]],
                         ["BLOCK"] * 2 + ["PER_TENSOR_CURRENT"] * 2)
        report = out["reports"][0]
        self.assertIs(report["recipe"]["pow2_scales"], False)
        self.assertEqual(report["times_ns"], [])
        self.assertEqual(len(report["sample"]["decoded"]), 32 * 32)

    def test_mistakes_are_named(self):
        self.assertIn("timed_launches is 5000",
                      self.refused(1, "compare", *CPU, "--timed_launches", 5000))
        self.assertIn("fp3", self.refused(1, "compare", *CPU, "--recipes", "fp3"))


class Bench(CommandLine):
    SMALL = ["bench", *CPU, "--seconds", 0.01, "--shapes", "2x64x128,3x96x256:half"]

    def test_rows_are_printed_and_kept(self):
        table = self.ok(*self.SMALL, "--out", self.path("rows.jsonl"))
        for word in ("CPU twins", "2x64x128", "3x96x256:half", "of copy", "mxfp8_both", "a core",
                     "none: clock and power"):
            self.assertIn(word, table)
        self.assertNotIn("no GPU", table)  # it was not asked for
        with open(self.path("rows.jsonl")) as file:
            rows = [json.loads(line) for line in file]
        self.assertEqual(len(rows), 2 * BENCH_ROWS)
        self.assertEqual([r["kernel"] for r in rows[:BENCH_ROWS]], [r["kernel"] for r in rows[BENCH_ROWS:]])
        self.assertEqual({r["routing"] for r in rows}, {"uniform", "half"})
        self.assertEqual({r["elements"] for r in rows}, {64 * 128, 48 * 256})
        for row in rows:
            self.assertTrue(0 < row["p5_us"] <= row["median_us"] <= row["p95_us"], row)
            self.assertGreaterEqual(row["n"], 5)
            self.assertRegex(row["date"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
            self.assertNotEqual(row["device"], "")
            self.assertEqual(list(row["power"]), ["missing"])
            self.assertEqual(row["of_copy"] is None, row["kernel"] == "offsets")

    def test_json_is_a_row_a_line(self):
        rows = [json.loads(line) for line in self.ok(*self.SMALL, "--json").splitlines()]
        self.assertEqual(len(rows), 2 * BENCH_ROWS)
        self.assertEqual(rows[0]["kernel"], "copy")
        self.assertEqual(rows[0]["of_copy"], 1.0)

    def test_an_interrupt_keeps_the_rows_so_far(self):
        bench = subprocess.Popen(
            [PROGRAM, "bench", *CPU, "--seconds", "1", "--json", "--out", self.path("rows.jsonl"),
             "--shapes", ",".join(["2x64x128"] * 60)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        bench.stdout.readline()
        bench.send_signal(signal.SIGINT)
        _, errors = bench.communicate(timeout=60)
        self.assertEqual(bench.returncode, 1, errors)
        self.assertIn("cancelled", errors)
        with open(self.path("rows.jsonl")) as file:
            rows = [json.loads(line) for line in file]
        self.assertIn(len(rows), range(BENCH_ROWS, 60 * BENCH_ROWS, BENCH_ROWS))  # whole shapes, not all

    def test_mistakes_are_named(self):
        self.assertIn("8x16", self.refused(1, "bench", *CPU, "--shapes", "8x16"))
        self.assertIn("-1 seconds", self.refused(1, "bench", *CPU, "--seconds", "-1"))
        self.assertIn("/nowhere", self.refused(1, *self.SMALL, "--out", "/nowhere/rows.jsonl"))
        self.refused(1, "bench", *CPU, "--suite", "attention")


# Speaks the language of assets/bench/torch_products.py, whatever arguments it is started with.
PEER = """#!{python}
import json, sys
print(json.dumps({{"name": "peer 1.0"}}), flush=True)
for line in sys.stdin:
    question = json.loads(line)
    if "open" in question:
        assert sum(question["open"]["splits"]) == 512
        answer = {{"cases": [{{"name": "peer product", "parts": ["fprop", "wgrad"]}},
                           {{"name": "peer product", "missing": "dgrad: not in this build"}},
                           {{"name": "peer that breaks", "parts": ["fprop"]}}]}}
    elif question.get("time") == "peer that breaks":
        answer = {{"error": "broke"}}
    else:
        answer = {{"us": 100.0}}
    print(json.dumps(answer), flush=True)
"""

# As much of torch as the shipped script touches: one product works, one is refused.
TORCH = """
import types
__version__ = "0.1"
bfloat16 = float8_e4m3fn = int32 = None
class Tensor:
    to = transpose = cumsum = lambda self, *a: self
ones = tensor = randn = lambda *a, **k: Tensor()
def _grouped_mm(a, b, offs):
    return Tensor()
def _scaled_grouped_mm(*a, offs, out_dtype, use_fast_accum):
    if not use_fast_accum:
        raise RuntimeError("no split here")
class Event:
    def __init__(self, enable_timing): pass
    record = synchronize = lambda self: None
    elapsed_time = lambda self, other: 0.5
cuda = types.SimpleNamespace(init=lambda: None, get_device_name=lambda i: "no card", Event=Event,
                             synchronize=lambda: None, empty_cache=lambda: None)
version = types.SimpleNamespace(cuda="13.0")
"""


class LinearBench(CommandLine):
    SMALL = ["bench", "--suite", "linear", *CPU, "--seconds", 0.01, "--presets", "laptop tiny"]

    def rows(self, *more):
        return [json.loads(line) for line in self.ok(*self.SMALL, "--json", *more).splitlines()]

    def test_every_recipe_has_its_parts(self):
        rows = self.rows("--routing", "uniform,one-hot")
        self.assertEqual([r["routing"] for r in rows], ["uniform"] * 16 + ["one-hot"] * 16)
        timed = [r for r in rows if "skipped" not in r]
        self.assertEqual({r["subject"] for r in timed}, {"bf16", "fp8-per-tensor", "fp8-block"})
        self.assertEqual([r["part"] for r in timed[:5]],
                         ["fprop", "dgrad", "wgrad", "forward step", "step"])
        for row in timed:
            self.assertEqual((row["suite"], row["preset"]), ("linear", "Laptop tiny"))
            self.assertTrue(0 < row["p5_us"] <= row["median_us"] <= row["p95_us"], row)
            self.assertGreaterEqual(row["samples"], 5)
            self.assertAlmostEqual(row["tflops"], row["flop"] / row["median_us"] / 1e6)
            self.assertEqual(row["kernels_us"] is not None, "step" in row["part"])
        self.assertEqual({r["subject"] for r in rows if "skipped" in r}, {"fp8-per-tensor-fast"})

    def test_the_table_names_what_it_is_of(self):
        table = self.ok(*self.SMALL, "--routing", "zipf", "--out", self.path("rows.jsonl"))
        for word in ("CPU reference", "Laptop tiny: 8 experts, 512 tokens", "zipf", "TFLOP/s",
                     "forward step", "no fast accumulation"):
            self.assertIn(word, table)
        with open(self.path("rows.jsonl")) as file:
            self.assertEqual(len(file.readlines()), 16)

    def test_a_peer_takes_turns(self):
        with open(self.path("peer"), "w") as file:
            file.write(PEER.format(python=sys.executable))
        os.chmod(self.path("peer"), 0o755)
        rows = self.rows("--routing", "uniform", "--torch", self.path("peer"))
        self.assertEqual({r["peer"] for r in rows}, {"peer 1.0"})
        peers = [r for r in rows if r["subject"].startswith("peer")]
        self.assertEqual([(r["subject"], r.get("part"), r.get("skipped")) for r in peers],
                         [("peer product", "fprop", None), ("peer product", "wgrad", None),
                          ("peer product", None, "dgrad: not in this build"),
                          ("peer that breaks", None, "broke")])
        self.assertEqual(peers[0]["median_us"], 100)
        self.assertGreaterEqual(peers[0]["samples"], 5)

    def test_the_script_that_ships_times_what_torch_has(self):
        with open(self.path("torch.py"), "w") as file:
            file.write(TORCH)
        out = self.ok(*self.SMALL, "--json", "--routing", "uniform", "--torch", sys.executable,
                      env={"PYTHONPATH": self.path("")})
        rows = [json.loads(line) for line in out.splitlines()]
        self.assertEqual(rows[0]["peer"], "torch 0.1, CUDA 13.0, on no card")
        self.assertEqual(
            [(r["subject"], r.get("part"), r.get("median_us"), r.get("skipped"))
             for r in rows if "torch" in r["subject"]],
            [("torch _grouped_mm", part, 500, None) for part in ("fprop", "dgrad", "wgrad")] +
            [("torch _scaled_grouped_mm split", None, None, "fprop: no split here"),
             ("torch _scaled_grouped_mm fast", "fprop", 500, None)])

    def test_no_torch_is_said_in_a_sentence(self):
        table = self.ok(*self.SMALL, "--routing", "uniform", "--torch", "/nowhere/python")
        self.assertRegex(table, "no torch: .*/nowhere/python")
        # -I -S, so that it is a Python without packages whatever is installed.
        with open(self.path("bare"), "w") as file:
            file.write(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
        os.chmod(self.path("bare"), 0o755)
        table = self.ok(*self.SMALL, "--routing", "uniform", "--torch", self.path("bare"))
        self.assertRegex(table, "no torch: this Python .* has no torch")
        self.assertIn("fp8-block", table)

    def test_mistakes_are_named(self):
        self.assertIn("nonsense", self.refused(1, "bench", "--suite", "linear", *CPU,
                                               "--presets", "nonsense"))
        self.assertIn("sideways", self.refused(1, *self.SMALL, "--routing", "sideways"))
        self.assertIn("--shapes", self.refused(1, *self.SMALL, "--shapes", "8x16x16"))
        self.assertIn("linear suite", self.refused(1, "bench", *CPU, "--routing", "zipf"))


class ListAndHelp(CommandLine):
    def test_list_has_every_topic(self):
        out = json.loads(self.ok("list", *CPU, "--json"))
        self.assertEqual(set(out), {"presets", "recipes", "backends", "gates", "libraries"})
        self.assertEqual([r["name"] for r in out["recipes"]],
                         ["SCALING_NONE", "PER_TENSOR_CURRENT", "BLOCK", "PER_TENSOR_DELAYED", "MXFP8", "NVFP4"])
        for backend in out["backends"]:
            self.assertEqual(backend["available"], backend["name"] == "CPU_REFERENCE")
            self.assertEqual(backend["reason"] == "", backend["available"])
        self.assertTrue(any(g["support"] == "refused" and g["reason"] for g in out["gates"]))
        self.assertIn("CPU_REFERENCE", self.ok("list", *CPU))

    def test_list_of_presets_needs_no_worker(self):
        self.assertIn("presets", json.loads(
            self.ok("list", "presets", "--worker", "/nowhere/worker", "--json")))

    def test_every_command_has_help(self):
        for command in ("open", "run", "quantize", "compare", "bench", "list", "export"):
            self.assertIn("--help", self.ok(command, "--help"))
            self.assertIn(command, self.ok("--help"))
        self.assertIn("--recipe.amax_epsilon", self.ok("run", "--help"))
        self.assertRegex(self.ok("--version"), r"expertscope \d")

    def test_what_is_no_command_is_named(self):
        self.assertIn("paint", self.refused(1, "paint"))
        self.assertIn("--nonsense", self.refused(1, "run", "--nonsense", "1"))

    def test_export_refuses_what_is_no_recording(self):
        with open(self.path("x.session"), "wb") as file:
            file.write(b"SQLite format 3\0" + b"\xff" * 4096)
        self.assertIn("x.session", self.refused(1, "export", self.path("x.session"),
                                                "--chrome", self.path("o.json")))
        self.assertFalse(os.path.exists(self.path("o.json")))
        self.refused(1, "export", self.path("x.session"))
        self.assertIn("/nowhere", self.refused(1, "export", "/nowhere", "--csv", self.path("c")))


if __name__ == "__main__":
    unittest.main(verbosity=2)
