"""`expertscope bench` as a user calls it, with the test's own peers.

Usage: bench_command_test.py EXPERTSCOPE   (the worker is next to it)
"""

import json
import os
import signal
import subprocess
import sys
import unittest

from command_line import CPU, PROGRAM, CommandLine

BENCH_ROWS = 30  # per shape
# torch on numpy, for the script that ships.
NUMPY_TORCH = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support", "numpy_torch")


class Bench(CommandLine):
    SMALL = ["bench", *CPU, "--seconds", 0.01, "--shapes", "2x64x128,3x96x256:half"]

    def test_rows_are_printed_and_kept(self):
        table = self.ok(*self.SMALL, "--out", self.path("rows.jsonl"))
        for word in ("CPU twins", "2x64x128", "3x96x256:half", "of copy", "mxfp8_both", "/core",
                     "none: clock and power"):
            self.assertIn(word, table)
        self.assertNotIn("no GPU", table)  # it was not requested
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

    def test_json_has_one_row_per_line(self):
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
        self.assertIn("seconds is -1", self.refused(1, "bench", *CPU, "--seconds", "-1"))
        self.assertIn("/nowhere", self.refused(1, *self.SMALL, "--out", "/nowhere/rows.jsonl"))
        self.refused(1, "bench", *CPU, "--suite", "attention")


# Implements the protocol of assets/bench/peer_protocol.py, whatever arguments it is started with.
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

# The part of torch that the shipped script uses: one product works, one is refused.
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


# The part of DeepGEMM that the shipped script uses: FP8, without BF16's weight gradients. It looks at what it is given.
DEEPGEMM = """
__version__ = "0.2"
def m_grouped_fp8_gemm_nt_contiguous(a, b, d, experts):
    assert len(a) == len(b) == 2
def k_grouped_fp8_gemm_nt_contiguous(a, b, d, rows, counts, c):
    assert all(count % 128 == 0 for count in rows) and c is d
def m_grouped_bf16_gemm_nt_contiguous(a, b, d, experts):
    pass
def k_grouped_bf16_gemm_tn_contiguous(*a):
    raise RuntimeError("not on this card")
"""
DEEPGEMM_UTILS = """
def per_token_cast_to_fp8(x, use_ue8m0):
    assert use_ue8m0 is False
    return x, x
per_block_cast_to_fp8 = per_token_cast_to_fp8
"""
MORE_TORCH = """
float32 = None
Tensor.repeat_interleave = Tensor.flatten = Tensor.contiguous = lambda self, *a: self
arange = zeros = stack = cat = lambda *a, **k: Tensor()
"""


class LinearBench(CommandLine):
    SMALL = ["bench", "--suite", "linear", *CPU, "--seconds", 0.01, "--presets", "laptop tiny"]

    def rows(self, *more):
        return [json.loads(line) for line in self.ok(*self.SMALL, "--json", *more).splitlines()]

    def test_every_recipe_has_its_parts(self):
        rows = self.rows("--routing", "uniform,one-hot")
        self.assertEqual([r["routing"] for r in rows], ["uniform"] * 18 + ["one-hot"] * 18)
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
        self.assertEqual({r["subject"] for r in rows if "skipped" in r},
                         {"fp8-per-tensor-fast", "fp8-block-expertscope",
                          "fp8-block-expertscope-fp32-dw"})

    def test_the_table_names_what_it_is_of(self):
        table = self.ok(*self.SMALL, "--routing", "zipf", "--out", self.path("rows.jsonl"))
        for word in ("CPU reference", "Laptop tiny: 8 experts, 512 rows", "zipf", "TFLOP/s",
                     "forward step", "no fast accumulation"):
            self.assertIn(word, table)
        with open(self.path("rows.jsonl")) as file:
            self.assertEqual(len(file.readlines()), 18)

    def test_a_peer_is_interleaved(self):
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

    def test_missing_torch_is_reported(self):
        table = self.ok(*self.SMALL, "--routing", "uniform", "--torch", "/nowhere/python")
        self.assertRegex(table, "no peer: .*/nowhere/python")
        # -I -S, for a Python without packages, whatever is installed.
        with open(self.path("bare"), "w") as file:
            file.write(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
        os.chmod(self.path("bare"), 0o755)
        table = self.ok(*self.SMALL, "--routing", "uniform", "--torch", self.path("bare"))
        self.assertRegex(table, "no peer: this Python .* has no torch")
        self.assertIn("fp8-block", table)

    def test_mistakes_are_named(self):
        self.assertIn("nonsense", self.refused(1, "bench", "--suite", "linear", *CPU,
                                               "--presets", "nonsense"))
        self.assertIn("sideways", self.refused(1, *self.SMALL, "--routing", "sideways"))
        self.assertIn("--shapes", self.refused(1, *self.SMALL, "--shapes", "8x16x16"))
        self.assertIn("linear suite", self.refused(1, "bench", *CPU, "--routing", "zipf"))
        self.assertIn("--suite layer", self.refused(1, "bench", "--suite", "linear", *CPU,
                                                    "--presets", "laptop layer"))


class DeepGemmBench(CommandLine):
    SMALL = LinearBench.SMALL

    def test_deepgemm_is_interleaved(self):
        os.makedirs(self.path("site/deep_gemm"))
        for name, text in (("torch.py", TORCH + MORE_TORCH), ("deep_gemm/__init__.py", DEEPGEMM),
                           ("deep_gemm/utils.py", DEEPGEMM_UTILS)):
            with open(self.path(f"site/{name}"), "w") as file:
                file.write(text)
        out = self.ok(*self.SMALL, "--json", "--routing", "uniform,zipf", "--deepgemm", sys.executable,
                      env={"PYTHONPATH": self.path("site")})
        rows = [json.loads(line) for line in out.splitlines()]
        self.assertEqual(rows[0]["peer"], "DeepGEMM 0.2, torch 0.1, CUDA 13.0, on no card")
        padded = ", experts padded to 128 rows"
        self.assertCountEqual(
            [(r["subject"], r.get("part"), r.get("median_us"), r.get("skipped"))
             for r in rows if "DeepGEMM" in r["subject"] and r["routing"] == "zipf"],
            [(f"DeepGEMM fp8 block{padded}", part, 500, None) for part in ("fprop", "dgrad", "wgrad")] +
            [(f"DeepGEMM bf16{padded}", part, 500, None) for part in ("fprop", "dgrad")] +
            [(f"DeepGEMM bf16{padded}", None, None, "wgrad: not on this card")])

    def test_missing_deepgemm_is_reported(self):
        with open(self.path("torch.py"), "w") as file:
            file.write(TORCH)
        table = self.ok(*self.SMALL, "--routing", "uniform", "--deepgemm", sys.executable,
                        env={"PYTHONPATH": self.path("")})
        self.assertRegex(table, "no peer: this Python has no DeepGEMM that loads: .*deep_gemm")
        self.assertIn("fp8-block", table)
        self.assertIn("--torch", self.refused(1, *self.SMALL, "--torch", "python3", "--deepgemm", "python3"))
        self.assertIn("--suite linear", self.refused(1, "bench", "--suite", "layer", *CPU, "--presets", "laptop layer",
                                                     "--deepgemm", "python3"))


# As PEER, of a whole layer.
LAYER_PEER = """#!{python}
import json, sys
print(json.dumps({{"name": "peer 1.0"}}), flush=True)
for line in sys.stdin:
    question = json.loads(line)
    if "open" in question:
        shape = question["open"]
        assert (shape["step"], shape["n"], shape["k"], sum(shape["splits"])) == ("expert-layer", 512, 256, 512)
        assert shape["activation"] == {{"name": "swiglu", "gated_silu": True, "slope": 1, "limit": None,
                                        "up_offset": 0}}, shape
        assert shape["bias"] is False and shape["top_k"] == 2
        answer = {{"cases": [{{"name": "peer layer", "parts": ["permutation", "step", "from the future",
                                                             "step, weights kept"]}}]}}
    else:
        answer = {{"us": {{"step": 90.0, "permutation": 7.0}}.get(question.get("part"), 80.0)}}
    print(json.dumps(answer), flush=True)
"""


class LayerBench(CommandLine):
    SMALL = ["bench", "--suite", "layer", *CPU, "--seconds", 0.01, "--presets", "laptop layer", "--routing", "zipf"]

    def rows(self, *more, env=None):
        rows = [json.loads(line) for line in self.ok(*self.SMALL, "--json", *more, env=env).splitlines()]
        self.assertEqual([r["subject"] for r in rows if "no fast accumulation" in r.get("skipped", "")],
                         ["fp8-per-tensor-fast"])
        return [r for r in rows if "skipped" not in r]

    def test_every_recipe_has_its_parts(self):
        rows = self.rows()
        parts = {}
        for row in rows:
            self.assertEqual((row["suite"], row["preset"]), ("layer", "Laptop layer"))
            self.assertTrue(0 < row["p5_us"] <= row["median_us"] <= row["p95_us"], row)
            parts.setdefault(row["subject"], []).append(row["part"])
            kept = row["part"].endswith("weights kept")
            from_tokens = "from tokens" in row["part"]
            self.assertEqual((row["permutation"], row["top_k"]), (from_tokens, 2 if from_tokens else None))
            self.assertEqual(row["beats_bf16_from"] is not None, kept)
            if kept:
                self.assertIn(row["beats_bf16_from"], range(1025))
        plain = ["forward step", "step", "step from tokens"]
        quantized = ["forward step", "step", "step, weights kept", "step from tokens",
                     "step from tokens, weights kept"]
        self.assertEqual(parts, {"bf16": plain, "fp8-per-tensor": quantized, "fp8-delayed": quantized,
                                 "fp8-block": quantized})
        # Gate and up, and a down product of half their columns.
        flop = {row["part"]: row["flop"] for row in rows}
        self.assertEqual(flop["forward step"], 2 * 512 * 256 * (512 + 256))
        for part in plain[1:] + quantized[1:]:
            self.assertEqual(flop[part], 3 * flop["forward step"])

    def test_the_number_of_micro_batches_follows_from_the_rows(self):
        rows = {(row["subject"], row["part"]): row for row in self.rows()}
        for (subject, part), row in rows.items():
            if not part.endswith("weights kept"):
                continue
            quantizing = part.removesuffix(", weights kept")
            plain = rows["bf16", quantizing]["median_us"]
            step = rows[subject, quantizing]["median_us"]
            kept = min(row["median_us"], step)
            from_ = next((m for m in range(1, 1025) if step + (m - 1) * kept < m * plain), None)
            self.assertEqual(row["beats_bf16_from"], from_ or 0, subject)

    def test_the_table_names_what_it_is_of(self):
        table = self.ok(*self.SMALL)
        for word in ("CPU reference", "Laptop layer: whole expert layer, 8 experts, 512 rows", "beats bf16",
                     "step, weights kept", "step from tokens", "fp8-delayed"):
            self.assertIn(word, table)

    def test_a_peer_is_interleaved(self):
        with open(self.path("peer"), "w") as file:
            file.write(LAYER_PEER.format(python=sys.executable))
        os.chmod(self.path("peer"), 0o755)
        peers = [r for r in self.rows("--torch", self.path("peer")) if r["subject"].startswith("peer")]
        self.assertEqual([(r.get("part"), r.get("median_us"), r.get("beats_bf16_from")) for r in peers],
                         [("step", 90, None), ("step, weights kept", 80, None), ("permutation", 7, None)])
        self.assertIsNone(peers[2]["tflops"])
        self.assertEqual([(r["permutation"], r["top_k"]) for r in peers], [(False, None)] * 2 + [(True, 2)])

    def test_the_script_that_ships_builds_the_layer(self):
        rows = self.rows("--torch", sys.executable, env={"PYTHONPATH": NUMPY_TORCH})
        parts = {}
        for row in rows:
            if row["subject"].startswith("torch"):
                self.assertEqual(row["median_us"], 500)
                parts.setdefault(row["subject"], []).append(row["part"])
        quantized = ["forward step", "step", "step, weights kept", "step from tokens",
                     "step from tokens, weights kept"]
        self.assertEqual(parts, {"torch bf16, eager": ["forward step", "step", "permutation", "step from tokens"],
                                 "torch fp8 split, eager": quantized, "torch fp8 fast, eager": quantized})

    def test_missing_torch_is_reported(self):
        table = self.ok(*self.SMALL, "--torch", "/nowhere/python")
        self.assertRegex(table, "no peer: .*/nowhere/python")
        self.assertIn("fp8-block", table)

    def test_mistakes_are_named(self):
        self.assertIn("--suite linear", self.refused(1, "bench", "--suite", "layer", *CPU,
                                                     "--presets", "laptop tiny"))
        self.assertIn("--shapes", self.refused(1, *self.SMALL, "--shapes", "8x16x16"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
