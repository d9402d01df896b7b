"""What every command says to wrong input: one line that begins with the program's name and says what is wrong, an exit
status of failure, no file left, no wait.

Usage: wrong_input_test.py EXPERTSCOPE ASSETS   (the worker is next to it)
"""

import json
import os
import shutil
import sys
import unittest

import numpy as np

ASSETS = sys.argv.pop(2)

from command_line import CPU, SMALL, CommandLine, call  # noqa: E402  (takes its argument when imported)

RUN = ["run", *CPU, *SMALL]
BENCH = ["bench", *CPU, "--shapes", "2x64x64", "--seconds", 0.01]
SESSION, DUMP, FIFO, FOLDER, REQUEST = "@s.session", "@dump.npy", "@fifo", "@folder", "@r.json"

# Command, and what it must say.
CASES = [
    # Files of another kind.
    ([*RUN, "--request", DUMP],
     "dump.npy is not a request but a NumPy tensor (.npy); a request names it as activations.file.path"),
    (["run", *CPU, "--requests", SESSION], "s.session is not a request but an SQLite database"),
    (["open", "--request", DUMP], "dump.npy is not a request but a NumPy tensor"),
    (["ab", *CPU, "--a", DUMP, "--b", REQUEST], "dump.npy is not a request but"),
    (["ab", *CPU, "--a", REQUEST, "--b", "@empty"], "empty is empty; a request is JSON"),
    (["export", DUMP, "--csv", "@csv"], "dump.npy: is not a session file but a NumPy tensor"),
    (["doctor", "--snapshot", DUMP], "'digraph') but a NumPy tensor"),
    (["doctor", "gallery", "--file", DUMP], "is not a session file but a NumPy tensor"),
    (["quantize", *CPU, "--input", DUMP, "--dump", "@out", "--tensor", "a"], "holds one tensor, which has no name"),
    # Files where none is taken, or that are not there.
    # The option that reads it, and never one that writes.
    (["doctor", "nosuch.session"], "nosuch.session cannot be opened: No such file or directory"),
    (["doctor", "graph.dot"], "graph.dot cannot be opened: No such file or directory"),
    (["doctor", REQUEST], "(which begins with 'digraph'); such a file is read with --request FILE"),
    (["doctor", SESSION, SESSION], "s.session' was not expected; such a file is read with --snapshot FILE; see"),
    (["doctor", SESSION, "--snapshot", SESSION], "--snapshot was given 2 times"),
    (["doctor", SESSION, "--prove"], "--snapshot excludes --prove: leave out one of them"),
    (["quantize"], "a file is required, as in expertscope quantize FILE; see expertscope quantize --help"),
    (["connect"], "a host is required, as in expertscope connect HOST; see expertscope connect --help"),
    (["quantize", "@none.npy"], "none.npy cannot be opened: No such file or directory"),
    (["run", REQUEST], "such a file is read with --request FILE; see"),
    ([*RUN, SESSION], "s.session' was not expected; see"),
    ([*RUN, DUMP], "such a file is read with --activations.file.path FILE; see"),
    (["quantize", "--input", DUMP, DUMP], "such a file is read with --input FILE; see"),
    (["export", "@none", "--csv", "@csv"], "none cannot be opened: No such file or directory"),
    (["open", FIFO], "fifo is not a regular file but a FIFO"),
    (["open", "@none.npy"], "none.npy cannot be opened"),
    (["doctor", "--core-dump", DUMP], "dump.npy is not an existing folder"),
    ([*RUN, "--request", ""], "--request is empty; give it a value or leave it out"),
    (["export", SESSION, "--chrome", ""], "--chrome is empty"),
    # Where output goes.
    ([*BENCH, "--out", FIFO], "fifo is not a regular file but a FIFO; choose another file"),
    (["bench", "--out", "@rows", "--worker", "/nowhere"], "/nowhere"),
    ([*BENCH, "--out", DUMP], "dump.npy exists already; choose another name"),
    (["doctor", SESSION, "--report", DUMP], "dump-2.npy"),
    (["doctor", "--snapshot", SESSION, "--report", DUMP], "dump.npy exists already; choose another name, such as"),
    (["doctor", "--snapshot", SESSION, "--record", DUMP], "dump.npy exists already; choose another name"),
    (["doctor", "matrix", *CPU, "--output", "@rows"], "CUDA device"),
    (["doctor", "--snapshot", SESSION, "--report", FIFO], "fifo is not a regular file but a FIFO; choose another file"),
    # Numbers.
    ([*RUN, "--seed", -1], "--seed is '-1'; it must be an integer, between 0 and 18446744073709551615"),
    ([*RUN, "--seed", "1e99"], "--seed is '1e99'; it must be"),
    ([*RUN, "--pow2_scales", -1], "--pow2_scales is '-1'; it must be true or false"),
    ([*RUN, "--median_within", "nan"], "median_within is nan; it must be between"),
    (["ab", *CPU, "--a", REQUEST, "--b", REQUEST, "--blocks", "many"], "--blocks is 'many'; it must be a whole number"),
    (["ab", *CPU, "--a", REQUEST, "--b", REQUEST, "--blocks", "99999999999"],
     "'99999999999'; it must be a whole number"),
    (["export", SESSION, "--chrome", "@t", "--run", "1.5"], "--run is '1.5'; it must be a whole number"),
    ([*BENCH[:-1], "soon"], "--seconds is 'soon'; it must be a number"),
    # Options.
    ([*RUN, "--seed"], "--seed needs a value; see expertscope run --help"),
    ([*RUN, "--seed", 1, "--seed", 2], "--seed was given 2 times (1, 2); give it once"),
    ([*RUN, "--json=maybe"], "--json is only given or left out; it takes no value"),
    (["quantize", *CPU, "--input", DUMP, "--dmp", "q"], "quantize has no option --dmp (did you mean '--dump'?)"),
    (["run", "--blocks", 5], "run has no option --blocks; it is an option of ab; see expertscope run --help"),
    (["run", "--num_blocks", 5], "run has no option --num_blocks; see expertscope run --help"),
    (["run", "--replays", 3], "run has no option --replays; it is an option of doctor matrix; see"),
    (["export", SESSION, "--num-experts=4"],
     "export has no option --num-experts; it is an option of run, quantize, compare and other commands; see"),
    (["doctor", "gallery", "--fil", "x"], "doctor gallery has no option --fil (did you mean '--file'?)"),
    (["ab", "--a", REQUEST], "r.json: give --b a file as well, or share this one with --request"),
    (["ab", "--a", REQUEST, "--b", "recipe=bf16"], "--a is the whole request"),
    (["ab", "--a", REQUEST, "--b", REQUEST, "--request", REQUEST], "leave it out"),
    (["ab", "--a", REQUEST, "--a", REQUEST, "--b", REQUEST], "--a names two requests"),
    (["ab", *CPU, *SMALL], "A and B are the same request; name what differs with --a NAME=VALUE or --b NAME=VALUE"),
    (["ab", *SMALL, "--a", "recipe=bf16", "--b", "recipe=bf16"],
     "A and B are the same request, also with --a recipe=bf16, --b recipe=bf16; name what differs"),
    (["ab", *SMALL, "--b", "recpe=bf16"], "--b sets 'recpe', which a request does not have (did you mean 'recipe'?)"),
    (["ab", *SMALL, "--b", "recipe=bf61"], "--b recipe is 'bf61' (did you mean 'bf16'?); it must be bf16, fp8-per-tensor"),
    (["ab", *SMALL, "--b", "n=0"], "--b n is 0; it must be"),
    (["ab", *SMALL, "--b", "shape.n=0"], "expertscope: --b n is 0; it must be"),
    (["ab", *SMALL, "--b", "recipe"], "--b is 'recipe'; it must be NAME=VALUE, such as recipe=..., or a request's"),
    (["ab", *SMALL, "--b", "recipe="], "--b recipe is ''"),
    (["ab", *SMALL, "--b", "seed=2", "--b", "seed=3"], "--b seed is given twice; give it once"),
    (["ab", *SMALL, "--b", "iterations=5"], "--b iterations is for one side, but blocks of both have as many iterations"),
    (["ab", *SMALL, "--b", "preset=mixtrl"], "mixtrl"),
    (["ab", *SMALL, "--b", "seed=2", "--median-within", 1], "--median-within has no effect"),
    (["ab", *SMALL, "--b"], "--b needs a value; see expertscope ab --help"),
    (["export", SESSION], "one of --chrome, --csv, --html, --session is required"),
    (["--verison"], "(did you mean '--version'?)"),
    # Words.
    (["doctor", "galery"], "(did you mean 'gallery'?)"),
    (["runn"], "'runn' is neither a command nor a file (did you mean 'run'?)"),
    (["gallery"], "(did you mean 'doctor gallery'?)"),
    (["list", "backnds"], "(did you mean 'backends'?)"),
    (["bench", "--suite", "linear", "--routing", "zpf", *CPU], "--routing is 'zpf' (did you mean 'zipf'?); it must be one of"),
    (["sweep", *CPU, "--axes", "recipe,pow2,recipe"], "--axes names 'recipe' twice; name it once"),
]


class WrongInput(CommandLine):
    def setUp(self):
        super().setUp()
        np.save(self.path("dump.npy"), np.random.default_rng(0).standard_normal((300, 300)).astype(np.float32))
        with open(self.path("r.json"), "w") as file:
            json.dump({"shape": {"num_experts": 2, "rows": 32, "n": 32, "k": 32}}, file)
        open(self.path("empty"), "w").close()
        os.mkfifo(self.path("fifo"))
        os.mkdir(self.path("folder"))
        shutil.copy(os.path.join(ASSETS, "sessions/workspace_bug.session"), self.path("s.session"))

    def files(self):
        return sorted(os.listdir(self._folder.name))

    def test_every_command_says_what_is_wrong_and_leaves_nothing(self):
        before = self.files()
        for arguments, words in CASES:
            with self.subTest(arguments=arguments):
                done = call(*[self.path(one[1:]) if str(one).startswith("@") else one for one in arguments])
                self.assertIn(done.returncode, (1, 2, 3), done.stdout)
                last = done.stderr.strip().split("\n")[-1]
                self.assertTrue(last.startswith("expertscope: "), done.stderr)
                self.assertIn(words, last)
                self.assertLess(len(last), 1000)
                self.assertTrue(last.isprintable(), last)
                self.assertEqual(self.files(), before)

    def test_without_a_display_that_is_said_too(self):
        done = call("open", "--no-worker", env={"DISPLAY": "", "WAYLAND_DISPLAY": ""})
        self.assertEqual(done.returncode, 1)
        self.assertIn("expertscope: no window: there is no display", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
