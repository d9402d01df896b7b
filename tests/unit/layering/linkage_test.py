"""The window's program must start on a machine without a GPU: it may load no CUDA library.

Run: linkage_test.py PROGRAM OTHER, where OTHER links one of the forbidden kind (see CMakeLists.txt).
"""

import re
import subprocess
import sys
import unittest

PROGRAM, OTHER = sys.argv[1:]
FORBIDDEN = re.compile(r"\b(libcuda|libcudart|libcublas|libcublasLt|libcupti|libnvidia-ml)\b")


def loaded(program):
    return subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout


class Linkage(unittest.TestCase):
    def test_the_window_loads_no_cuda(self):
        listing = loaded(PROGRAM)
        self.assertIn("libc.so", listing)
        self.assertIsNone(FORBIDDEN.search(listing), listing)

    def test_a_program_that_does_is_recognised(self):
        self.assertIsNotNone(FORBIDDEN.search(loaded(OTHER)))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
