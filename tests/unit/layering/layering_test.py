"""Holds the real tree to layering.py, and layering.py to trees with one planted violation each.

Run: layering_test.py ROOT
"""

import pathlib
import sys
import tempfile
import unittest

import layering

ROOT = pathlib.Path(sys.argv.pop())

CLEAN = {
    "kernels/common/formats.h": "#pragma once\n",
    "kernels/common/types.h": '#pragma once\n#include "kernels/common/formats.h"\n#include <cuda_runtime_api.h>\n',
    "kernels/amax/amax.cu": '#include "kernels/common/types.h"\n',
    "engine/model/shape.h": '#pragma once\n#include "kernels/common/formats.h"\n',
    "engine/device/stream.h": '#pragma once\n#include "kernels/common/types.h"\n',
    "profiling/trace/trace.h": '#pragma once\n#include "engine/model/shape.h"\n',
    "app/worker/main.cpp": '#include "engine/device/stream.h"\n',
    "app/gui/window.cpp": '#include <vector>\n#include "profiling/trace/trace.h"\n',
    "tests/unit/a_test.cpp": '#include "app/gui/window.h"\n',
    "CMakeLists.txt": "",
}


class PlantedViolation(unittest.TestCase):
    def violations(self, planted):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {**CLEAN, **planted}.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return layering.check(folder)

    def assert_found(self, planted, *parts):
        violations = self.violations(planted)
        self.assertEqual(len(violations), 1, violations)
        for part in parts:
            self.assertIn(part, violations[0])

    def test_clean_tree_passes(self):
        self.assertEqual(self.violations({}), [])

    def test_kernel_includes_engine(self):
        self.assert_found({"kernels/amax/amax.cpp": '#include "engine/model/shape.h"\n'}, "amax.cpp", "points right")

    def test_engine_includes_profiling(self):
        self.assert_found({"engine/run.cpp": '  #  include "profiling/trace/trace.h"\n'}, "points right")

    def test_profiling_includes_app(self):
        self.assert_found({"profiling/a.cpp": '#include "app/gui/window.h"\n'}, "points right")

    def test_product_includes_tests(self):
        self.assert_found({"engine/a.cpp": '#include "tests/support/a.h"\n'}, "points right")

    def test_include_relative_to_the_file(self):
        self.assert_found({"engine/model/a.cpp": '#include "shape.h"\n'}, "from the root")

    def test_window_includes_device(self):
        self.assert_found({"app/cli/a.cpp": '#include "kernels/common/types.h"\n'}, "may not use kernels/common/types.h")

    def test_window_reaches_device_over_an_allowed_header(self):
        planted = {
            "engine/model/deep.h": '#pragma once\n#include "engine/device/stream.h"\n',
            "app/gui/a.cpp": '#include "engine/model/deep.h"\n',
        }
        self.assert_found(planted, "app/gui/a.cpp > engine/model/deep.h > engine/device/stream.h")

    def test_window_includes_cuda(self):
        for header in ("cuda_runtime.h", "cupti.h", "cublasLt.h"):
            self.assert_found({"app/gui/a.cpp": f"#include <{header}>\n"}, "CUDA header", header)

    def test_controller_includes_what_draws(self):
        for line in ('#include "app/gui/view.h"', "#include <imgui.h>", "#include <GLFW/glfw3.h>"):
            self.assertIn("draws nothing", self.violations({"app/controllers/a.cpp": line + "\n", "app/gui/view.h": "#pragma once\n"})[0])
        self.assertEqual(self.violations({"app/controllers/a.cpp": "#include <vector>\n"}), [])

    def test_header_without_pragma_once(self):
        self.assert_found({"engine/a.h": "// #pragma once, some day\n"}, "engine/a.h has no #pragma once")

    def test_empty_words_in_names(self):
        for name in ("engine/fast_path.cpp", "kernels/amax_v2.cu", "app/worker/info.cpp", "tests/utils.py"):
            self.assert_found({name: ""}, name)
        self.assertEqual(self.violations({"engine/database_renewal.cpp": ""}), [])

    def test_what_is_done_in_one_place(self):
        self.assert_found({"app/doctor/a.cpp": "  ::posix_spawn(&pid, name);\n"}, "a.cpp:1", "child_process.h")
        self.assert_found({"engine/a.cpp": "\nstd::system(line);\n"}, "engine/a.cpp:2", "child_process.h")
        self.assert_found({"app/gui/a.cpp": 'words = {"ssh", host};\n'}, "worker_command.h")
        self.assert_found({"app/worker/a.cpp": "::dlopen(path.c_str(), RTLD_NOW);\n"}, "library_file.h")
        self.assert_found({"app/cli/a.cpp": 'fmt::print(stderr, "{}", said);\n'}, "app/cli/terminal.h")
        self.assertEqual(self.violations({"app/protocol/child_process.cpp": "::posix_spawn(&pid);",
                                          "app/cli/a.cpp": 'print("{}", said);'}), [])

    def test_default_stream_without_a_wait(self):
        use = "void f() {\n  cudaMemset(p, 0, 4);\n"
        wait = "  cudaStreamSynchronize(cudaStreamLegacy);\n"
        self.assert_found({"engine/a.cpp": use}, "engine/a.cpp:2", "is not waited for")
        self.assert_found({"engine/a.cpp": wait + use}, "engine/a.cpp:3")
        self.assertEqual(self.violations({"engine/a.cpp": use + wait, "engine/b.cpp": "cudaMemsetAsync(p, 0, 4, s);"}), [])

    def test_calls_that_one_place_makes(self):
        for call, where in (
            ("auto x = nlohmann::json::parse(text);", "json_text.h"),
            ("if (Json::accept(text)) return;", "json_text.h"),
            ("util::JsonStringToMessage(text, &message);", "json_text.h"),
            ("std::ifstream file(path);", "regular_file.h"),
            ("ImGui::TextUnformatted(text.c_str());", "theme/text.h"),
            ("draw->AddText(at, color, text.c_str());", "theme/text.h"),
            ("thread_ = std::thread([this] { work(); });", "guarded_thread.h"),
            ("auto sums = std::async(std::launch::async, sum);", "guarded_thread.h"),
        ):
            self.assert_found({"app/gui/a.cpp": f"void f() {{\n  {call}\n}}\n"}, "app/gui/a.cpp:2", where)
            self.assertEqual(self.violations({"tests/unit/a.cpp": call, "app/gui/a.cpp": f"// {call}\n"}), [])
        self.assertEqual(self.violations({"engine/input/json_text.cpp": "Json::parse(text);\n"}), [])

    def test_stray_file_on_the_top_level(self):
        self.assert_found({"notes.txt": ""}, "notes.txt does not belong")
        self.assertEqual(self.violations({"build-asan/x": "", ".ci/run": ""}), [])


class RealTree(unittest.TestCase):
    def test_every_rule_holds(self):
        self.assertGreater(len(list(layering.sources(ROOT))), 40, f"{ROOT} is not the tree")
        self.assertEqual(layering.check(ROOT), [])


if __name__ == "__main__":
    unittest.main()
