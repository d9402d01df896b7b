"""What a command says of the requests that it was given: names, lines of a log, values that are lost, what a step will do.

Usage: requests_command_test.py EXPERTSCOPE   (the worker is next to it)
"""

import json
import re
import subprocess
import unittest

import numpy as np

from command_line import CPU, PROGRAM, CommandLine, call


class Requests(CommandLine):
    def test_a_presets_name_stands_only_beside_its_own_sizes(self):
        run = ["run", *CPU, "--iterations", 1]
        tiny = next(p for p in json.loads(self.ok("list", "presets", "--json"))["presets"]
                    if p["name"] == "Laptop tiny")
        text = self.ok(*run, "--preset", "Laptop tiny")
        self.assertIn(f"shape       Laptop tiny: {tiny['num_experts']} experts, {tiny['rows']} rows", text)
        self.assertNotIn("Laptop tiny", self.ok(*run, "--preset", "Laptop tiny", "--tokens", 64))
        self.assertIn("take it with --preset", self.refused(1, *run, "--shape.preset", "Laptop tiny"))
        self.assertIn("there is no preset 'foo'", self.refused(1, *run, "--shape.preset", "foo"))
        shape = {"preset": "Laptop tiny", "num_experts": 2, "rows": 32, "n": 32, "k": 128}
        with open(self.path("log.jsonl"), "w") as file:
            file.write(json.dumps({"shape": shape, "launch": {"iterations": 1}}) + "\n")
        out = json.loads(self.ok("run", *CPU, "--requests", self.path("log.jsonl"), "--json"))
        for part in (out["request"], out["result"]["effective"]):
            self.assertEqual(part["shape"].get("preset", ""), "")
        shape["preset"] = "foo"
        with open(self.path("log.jsonl"), "a") as file:
            file.write(json.dumps({"shape": shape}) + "\n")
        self.assertIn("log.jsonl line 2: shape.preset: there is no preset 'foo'",
                      self.refused(1, "run", *CPU, "--requests", self.path("log.jsonl")))

    def test_a_long_run_says_how_long_and_how_it_becomes_shorter(self):
        run = subprocess.Popen([PROGRAM, "run", *CPU, "--rows", "1024", "--n", "512", "--k", "512", "--experts", "8",
                                "--iterations", "100000", "--trace", "off"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                               text=True)
        self.addCleanup(run.stderr.close)
        self.addCleanup(run.wait)
        self.addCleanup(run.terminate)
        line = run.stderr.readline()
        self.assertRegex(line, r"expertscope: this run takes about [0-9]+ min here \(nothing was measured here yet\); "
                               r"with --iterations [0-9]+ it takes about [0-9]+ s\. Ctrl\+C ends it")
        done = call("run", *CPU, "--rows", 64, "--n", 64, "--k", 64, "--iterations", 2)
        self.assertNotIn("this run takes", done.stderr)

    def test_every_word_that_list_prints_has_a_meaning(self):
        fields = [name.removeprefix("--") for name in re.findall(r"--[a-z_.-]+", self.ok("run", "--help")) if "." in name]
        listed = {}
        for field in dict.fromkeys(fields):
            done = call("list", field, "--json")
            if done.returncode == 0:
                listed.update(json.loads(done.stdout))
        words = {field: values for field, values in listed.items() if isinstance(values[0], dict)}
        self.assertGreater(len(words), 20)
        for field, values in words.items():
            for one in values:
                self.assertGreater(len(one["meaning"]), 3, (field, one["name"]))

    def test_a_step_is_explained_without_running_it(self):
        layer = ["run", "--step", "expert-layer", "--passes", "forward-backward", "--num_experts", 4, "--tokens", 64,
                 "--n", 64, "--k", 32, "--recipe", "fp8-block", "--explain", "--worker", "/nonexistent"]
        text = self.ok(*layer)
        lines = [line for line in text.splitlines() if " fprop " in line]
        self.assertIn("H = X Wup^T", text)
        self.assertEqual(len(lines), 2)
        self.assertRegex(text, r"computes \d[\d.]* [kMGT]?FLOP\n")
        self.assertLess(text.index("quantize A from H"), text.index("Y = A Wdown^T"))
        out = json.loads(self.ok(*layer, "--json"))
        by_name = {one["operation"]: one for one in out["operations"]}
        product = by_name["dWup = dH^T X"]
        self.assertEqual(product["flop"], 2 * 64 * 64 * 32)
        self.assertEqual(product["written_bytes"], 2 * 4 * 64 * 32)
        self.assertEqual(product["part"], "backward")
        self.assertIn("nonexistent.json", self.refused(1, *layer, "--routing", "file", "--routing.path",
                                                       "/nonexistent.json"))

    def test_a_line_of_a_log_whose_file_does_not_fit_is_named(self):
        np.save(self.path("x.npy"), np.zeros((8, 64), dtype=np.float32))
        shape = {"num_experts": 4, "rows": 64, "n": 64, "k": 64}
        with open(self.path("log.jsonl"), "w") as file:
            for x in ({}, {"activations": {"file": {"path": self.path("x.npy")}}}):
                file.write(json.dumps({"shape": shape, "launch": {"iterations": 1}, **x}) + "\n")
        done = call("run", *CPU, "--requests", self.path("log.jsonl"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("log.jsonl line 2: ", done.stderr)
        self.assertIn("[8, 64]", done.stderr)

    def test_where_all_is_lost_no_table_says_that_nothing_is(self):
        x = np.random.default_rng(5).standard_normal((8, 128)).astype(np.float32)
        x[3, 7] = np.inf
        np.save(self.path("x.npy"), x)
        request = [*CPU, "--num_experts", 1, "--tokens", 8, "--n", 32, "--k", 128, "--activations.file.path",
                   self.path("x.npy"), "--recipe", "nvfp4"]
        text = self.ok("compare", *request, "--recipes", "nvfp4", "--timed_launches", 0, "--output",
                       self.path("compared.session"))
        self.assertIn("n/a (1 024 left out)", text)
        row = next(line for line in text.splitlines() if "rowwise" in line)
        self.assertIn(" 99.9 %", row)
        self.ok("export", self.path("compared.session"), "--html", self.path("page.html"))
        with open(self.path("page.html")) as file:
            self.assertRegex(file.read(), "<th[^>]*>lost</th>")
        layer = self.ok("run", *request, "--step", "expert-layer", "--iterations", 1)
        self.assertRegex(layer, r"With one of them unquantized:\nunquantized +SNR of Y( +gain)?\nX ")
        self.assertNotIn("nan dB", layer)


if __name__ == "__main__":
    unittest.main()
