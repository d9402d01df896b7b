"""The help of `expertscope`, and what it says about mistakes on the command line.

Usage: command_help_test.py EXPERTSCOPE   (the worker is next to it)
"""

import json
import re
import unittest

import numpy as np

from command_line import CPU, SMALL, CommandLine

GROUPS = ["Request", "Shape", "Routing", "Inputs", "Recipe", "Step", "Launch", "Measurement", "Backend", "Worker",
          "Output"]


def options_of(text):
    """The options of a help: {first name: (group, names, lines of its description)}."""
    found = {}
    group = None
    for line in text.splitlines():
        if re.fullmatch(r"\S.*:", line):
            group = line[:-1]
        elif line.startswith("  -"):
            names, _, says = line.strip().partition("  ")
            names = names.split(" ")[0].split(",")
            found[names[-1] if names[0] == "-h" else names[0]] = group, names, [says.strip()] if says.strip() else []
            last = found[names[-1] if names[0] == "-h" else names[0]][2]
        elif line.strip() and group not in (None, "Positionals"):
            last.append(line.strip())
    return found


class Help(CommandLine):
    def test_every_option_of_run_has_a_meaning_and_its_default_in_a_group(self):
        text = self.ok("run", "--help")
        options = options_of(text)
        groups = list(dict.fromkeys(group for group, _, _ in options.values() if group != "Options"))
        self.assertEqual(groups, GROUPS)
        self.assertEqual(options["--shape.n"],
                         ("Shape", ["--shape.n", "--n"],
                          ["Output features of one expert. In an expert layer: columns of H; with", "a gated activation, "
                           "gate and up together", "an integer, between 1 and 16777216; default 512"]))
        self.assertEqual(" ".join(options["--recipe.scaling"][2][1:]),
                         "bf16, fp8-per-tensor, fp8-block, fp8-delayed, mxfp8, nvfp4; default fp8-block")
        self.assertEqual(options["--record"][0], "Output")
        self.assertEqual(options["--recorded-routing"][0], "Routing")
        usual = json.loads(self.ok("run", *CPU, "--iterations", 1, "--trace", "off", "--json"))["request"]
        named = {"launch": {"iterations": "10"}, "measure": {"trace": "nodes"}}
        fields = 0
        for name, (group, _, says) in options.items():
            if group not in GROUPS[1:9] or name == "--recorded-routing":
                self.assertGreater(len(" ".join(says)), 15, name)
                continue
            fields += 1
            with self.subTest(name):
                self.assertGreaterEqual(len(says), 2, "a meaning and its values")
                self.assertGreater(len(" ".join(says[:-1])), 8)
                # The default is the one that a run without the option has.
                path = name[2:].replace("-", "_").split(".")
                value = usual
                for part in path:
                    value = value.get(part) if isinstance(value, dict) else None
                if len(path) == 2:
                    value = named.get(path[0], {}).get(path[1], value)
                if value in (None, ""):
                    self.assertNotIn("; default", " ".join(says))
                else:
                    text_of = str(value).lower().removesuffix(".0")
                    self.assertTrue(" ".join(says).endswith(f"; default {text_of}"), (says, value))
        self.assertGreater(fields, 70)
        for line in self.ok("run", "--help").splitlines():
            self.assertLessEqual(len(line), 102)

    def test_other_commands_group_the_fields_as_well(self):
        for command in ("quantize", "compare", "sweep", "ab", "doctor"):
            options = options_of(self.ok(command, "--help"))
            self.assertEqual(options["--recipe.scaling"][0], "Recipe")
            self.assertIn("Output features", options["--shape.n"][2][0])
        self.assertIn("(default: activations)", self.ok("quantize", "--help"))
        of_ab = options_of(self.ok("ab", "--help"))
        self.assertEqual([of_ab[name][0] for name in ("--a", "--b", "--blocks", "--record", "--csv")],
                         ["Sides", "Sides", "Measurement", "Output", "Output"])
        self.assertIn("default 20", of_ab["--launch.iterations"][2][-1])
        self.assertNotIn("--launch.median-within", of_ab)


class Mistakes(CommandLine):
    def test_a_mistyped_command_is_suggested(self):
        for typed, meant in (("rnu", "run"), ("rum", "run"), ("lsit", "list"), ("comapre", "compare"), ("qantize", "quantize")):
            self.assertIn(f"(did you mean '{meant}'?)", self.refused(1, typed))
        self.assertNotIn("did you mean", self.refused(1, "paint"))

    def test_a_message_names_the_option_as_it_was_typed(self):
        for typed, wrong in ((["--n", 20], "--n is 20;"), (["--shape.n", 20], "--shape.n is 20;"),
                             (["--experts", 0], "--experts is 0;"), (["--num_experts=5000"], "--num_experts is 5000;"),
                             (["--tokens", "many"], "--tokens is 'many';"), (["--recipe", "fp3"], "--recipe is 'fp3'"),
                             (["--median-within", 60], "--median-within is 60;"), (["--layers", 99], "--layers is 99;")):
            with self.subTest(typed):
                self.assertTrue(self.refused(1, "run", *CPU, *typed).startswith("expertscope: " + wrong),
                                self.refused(1, "run", *CPU, *typed))
        # In the middle of a sentence too, also of a worker's.
        ids = np.array([[[0, 1]], [[1, 2]], [[2, 3]]], np.int16)
        np.save(self.path("routed_experts.npy"), ids)
        run = ["run", *CPU, "--recorded-routing", self.path("routed_experts.npy"), "--n", 32, "--k", 64]
        said = self.refused(1, *run, "--experts", 2)
        self.assertNotIn("shape.num_experts", said)
        # A field of a file has the name that it has there.
        with open(self.path("r.json"), "w") as file:
            json.dump({"shape": {"n": 20}}, file)
        self.assertIn("shape.n is 20", self.refused(1, "run", *CPU, "--request", self.path("r.json")))
        with open(self.path("log.jsonl"), "w") as file:
            file.write("{}\n")
        self.assertIn("leave out --experts or write it",
                      self.refused(1, "run", *CPU, "--requests", self.path("log.jsonl"), "--experts", 3))

    def test_a_window_that_is_too_small_is_refused_with_the_limit_and_the_way_out(self):
        for size, way_out in (((20, 20), "--size 800 560"), ((0, 0), "--size 800 560"), ((-1, 900), "--size 800 900"),
                              ((99999, 900), "--size 16384 900")):
            said = self.refused(1, "--size", *size)
            self.assertIn(f"--size is {size[0]} {size[1]}; the window is at least 800 wide and 560 high", said)
            self.assertIn("give " + way_out, said)


class FileOperands(CommandLine):
    def test_quantize_prints_files_and_losses_as_json(self):
        np.save(self.path("x.npy"), np.random.default_rng(1).standard_normal((32, 128)).astype(np.float32))
        out = json.loads(self.ok("quantize", *CPU, "--input", self.path("x.npy"), "--dump", self.path("out"),
                                 "--recipe", "mxfp8", "--direction", "both", "--json"))
        self.assertEqual(out["operand"], "activations")
        self.assertEqual(int(out["request"]["shape"]["k"]), 128)
        self.assertEqual([loss["direction"] for loss in out["losses"]], ["rowwise", "columnwise"])
        for loss in out["losses"]:
            self.assertEqual(int(loss["elements"]), 32 * 128)
            self.assertGreater(loss["snr_db"], 20)
        shapes = [np.load(file).shape for file in out["files"] if file.endswith(".npy")]
        self.assertIn((32, 128), shapes)

    def test_compare_takes_its_operand_from_a_file(self):
        random = np.random.default_rng(2)
        x = random.standard_normal((32, 128)).astype(np.float32)
        x[:, 5] *= 100
        np.save(self.path("x.npy"), x)
        out = json.loads(self.ok("compare", *CPU, "--input", self.path("x.npy"), "--recipes", "fp8-per-tensor,mxfp8",
                                 "--timed-launches", 0, "--json"))
        shape = out["request"]["request"]["shape"]
        self.assertEqual((int(shape["rows"]), int(shape["k"]), shape["num_experts"]), (32, 128, 1))
        self.assertTrue(out["request"]["request"]["activations"]["file"]["path"].endswith("x.npy"))
        self.assertEqual({report["recipe"]["scaling"] for report in out["reports"]}, {"fp8-per-tensor", "mxfp8"})
        sample = out["reports"][0]["sample"]
        original = np.reshape(sample["original"], (sample["rows"], sample["columns"]))
        np.testing.assert_array_equal(original.astype(np.float32), x[:32, :32])
        # Weights and gradients of a file, as quantize reads them.
        np.save(self.path("w.npy"), random.standard_normal((2, 48, 64)).astype(np.float32))
        out = json.loads(self.ok("compare", *CPU, "--input", self.path("w.npy"), "--operand", "weights",
                                 "--timed-launches", 0, "--json"))
        shape = out["request"]["request"]["shape"]
        self.assertEqual((int(shape["n"]), int(shape["k"]), shape["num_experts"]), (48, 64, 2))
        out = json.loads(self.ok("compare", *CPU, "--input", self.path("x.npy"), "--operand", "gradients",
                                 "--timed-launches", 0, "--json"))
        self.assertEqual(int(out["request"]["request"]["shape"]["n"]), 128)
        self.assertIn("--input", self.refused(1, "compare", *CPU, "--tensor", "x"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
