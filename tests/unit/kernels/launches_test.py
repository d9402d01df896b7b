"""Every kernel is launched through kernels/common/launch.cuh, which takes the errors of each launch.

Run: launches_test.py PROJECT_FOLDER
"""

import pathlib
import re
import sys
import unittest

PROJECT = pathlib.Path(sys.argv[1])
LAUNCHER = pathlib.Path("kernels", "common", "launch.cuh")
ATTACH = PROJECT / "profiling" / "attach" / "preload"
LAUNCH = re.compile(r"<<<|\bcu(?:da)?LaunchKernel(?!ing)\w*\s*\(|\bcu(?:da)?LaunchCooperativeKernel\w*\s*\(")


def launches(text):
    """Launches in a source, its comments and strings left out."""
    return LAUNCH.findall(re.sub(r'//[^\n]*|"(?:\\.|[^"\\\n])*"', "", text))


class Launches(unittest.TestCase):
    def test_a_launch_is_recognized(self):
        for text in ("k<<<1, 2>>>(a);", "cudaLaunchKernelEx(&c, k, a);", "cuLaunchKernel(f);", "cudaLaunchCooperativeKernel (k);"):
            self.assertEqual(len(launches(text)), 1, text)
        for text in ("// k<<<1, 2>>>", 'text = "k<<<1, 1>>>(a);";', "launch_plain(k, shape, stream, a);"):
            self.assertEqual(launches(text), [], text)

    def test_all_go_through_the_launcher(self):
        found = {}
        for folder in ("kernels", "engine", "profiling", "app"):
            for path in sorted((PROJECT / folder).rglob("*")):
                if ATTACH in path.parents:
                    continue  # passes on what other programs launch
                if path.suffix in (".cu", ".cuh", ".h", ".cpp") and (calls := launches(path.read_text())):
                    found[path.relative_to(PROJECT)] = calls
        self.assertEqual(list(found), [LAUNCHER], found)
        self.assertEqual(len(found[LAUNCHER]), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
