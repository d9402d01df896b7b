"""The list of kernels that wait is read from their sources: what begins with the wait is on it, and nothing else.

Run: waiting_kernels_list_test.py KERNELS_FOLDER CMAKE
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

KERNELS, CMAKE = pathlib.Path(sys.argv[1]), sys.argv[2]
# Their kernels are launched on their own, or have a hazard on purpose.
NOT_OF_A_STEP = {"diagnostics", "hazards"}


def listed(sources):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "list.h")
        subprocess.run([CMAKE, f"-DSOURCES={';'.join(map(str, sources))}", f"-DOUT={out}", "-P",
                        KERNELS / "common" / "waiting_kernels.cmake"], check=True, capture_output=True, text=True)
        text = out.read_text()
        found = re.findall(r'^ +"(\d+\w+_kernel)",$', text, re.MULTILINE)
        assert f"std::string_view, {len(found)}>" in text, text
        return found


def defined(source):
    """Names of the kernels that a source defines."""
    return re.findall(r"__global__.*?(\w+)\(\s*(?:const __grid_constant__|\w+[*&]? \w+[,)]|\))",
                      re.sub(r"__launch_bounds__\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)", "", source.read_text()), re.DOTALL)


class List(unittest.TestCase):
    def of(self, text):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "planted.cu")
            source.write_text(text + "\n__global__ void last_kernel(Args args) {\n  wait_for_predecessor();\n}\n")
            return listed([source])[:-1]

    def test_a_kernel_that_waits_first_is_on_it(self):
        self.assertEqual(self.of("__global__ void a_kernel(Args args) {\n  wait_for_predecessor();\n  x[0] = 1;\n}"), ["8a_kernel"])
        self.assertEqual(self.of("template <int N>\n__global__ __launch_bounds__(kThreads) void two_kernel(\n    const Args args, float (&y)[4]) {\n"
                                 "  let_successor_start();\n  wait_for_predecessor();\n}"), ["10two_kernel"])

    def test_one_that_waits_later_or_never_is_not(self):
        for body in ("", "x[0] = 1;\n  wait_for_predecessor();", "if constexpr (kWaits) wait_for_predecessor();", "let_successor_start();\n  x[0] = 1;"):
            self.assertEqual(self.of(f"__global__ void a_kernel(Args args) {{\n  {body}\n}}"), [])

    def test_nothing_to_list_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "planted.cu")
            source.write_text("int x;\n")
            with self.assertRaises(subprocess.CalledProcessError):
                listed([source])

    def test_every_kernel_of_a_step_waits(self):
        sources = [path for path in sorted(KERNELS.rglob("*.cu*")) if path.suffix in (".cu", ".cuh")]
        wanted = sorted(f"{len(name)}{name}" for path in sources if path.parent.name not in NOT_OF_A_STEP for name in defined(path))
        self.assertGreater(len(wanted), 20)
        self.assertEqual(sorted(listed(sources)), wanted)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
