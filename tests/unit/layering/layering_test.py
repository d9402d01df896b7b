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
    "app/gui/shell/window.cpp": '#include <vector>\n#include "profiling/trace/trace.h"\n',
    "tests/unit/a_test.cpp": '#include "app/gui/shell/window.h"\n',
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
        self.assert_found({"engine/model/run.cpp": '  #  include "profiling/trace/trace.h"\n'}, "points right")

    def test_arrows_inside_a_layer(self):
        up = {"engine/model/up.cpp": '#include "engine/gemm/support.h"\n'}
        self.assert_found(up, "engine/model/up.cpp", "engine/gemm does not stand below engine/model")
        beside = {"engine/device/beside.cpp": '#include "engine/observe/scopes.h"\n'}
        self.assert_found(beside, "engine/observe does not stand below engine/device")
        self.assertEqual(self.violations({"engine/gemm/down.cpp": '#include "engine/model/shape.h"\n'}), [])

    def test_arrows_inside_the_window(self):
        for own, other in (
            ("theme", "controls"),
            ("controls", "plot"),
            ("plot", "cards"),
            ("cards", "panels"),
            ("panels", "compare"),
            ("panels", "graph"),
            ("compare", "panels"),
            ("graph", "doctor"),
            ("doctor", "shell"),
        ):
            planted = {f"app/gui/{own}/a.cpp": f'#include "app/gui/{other}/b.h"\n'}
            self.assert_found(planted, f"app/gui/{other} does not stand below app/gui/{own}")
        down = "".join(f'#include "app/gui/{folder}/b.h"\n' for folder in ("theme", "controls", "plot", "cards"))
        self.assertEqual(self.violations({"app/gui/panels/a.cpp": down}), [])

    def test_the_longest_folder_counts(self):
        self.assert_found(
            {"profiling/hazards/model/up.cpp": '#include "profiling/hazards/rules/rules.h"\n'},
            "profiling/hazards/rules does not stand below profiling/hazards/model",
        )

    def test_folder_without_a_place(self):
        self.assert_found({"engine/elsewhere/a.cpp": "\n"}, "ORDER does not name its folder")

    def test_profiling_includes_app(self):
        self.assert_found({"profiling/trace/a.cpp": '#include "app/gui/shell/window.h"\n'}, "points right")

    def test_product_includes_tests(self):
        self.assert_found({"engine/model/a.cpp": '#include "tests/support/a.h"\n'}, "points right")

    def test_include_relative_to_the_file(self):
        self.assert_found({"engine/model/a.cpp": '#include "shape.h"\n'}, "from the root")

    def test_window_includes_device(self):
        self.assert_found({"app/cli/a.cpp": '#include "kernels/common/types.h"\n'}, "may not use kernels/common/types.h")

    def test_window_reaches_device_over_an_allowed_header(self):
        planted = {
            "engine/input/deep.h": '#pragma once\n#include "engine/device/stream.h"\n',
            "app/gui/shell/a.cpp": '#include "engine/input/deep.h"\n',
        }
        self.assert_found(planted, "app/gui/shell/a.cpp > engine/input/deep.h > engine/device/stream.h")

    def test_window_includes_cuda(self):
        for header in ("cuda_runtime.h", "cupti.h", "cublasLt.h"):
            self.assert_found({"app/gui/shell/a.cpp": f"#include <{header}>\n"}, "CUDA header", header)

    def test_controller_includes_what_draws(self):
        self.assert_found({"app/controllers/a.cpp": '#include "app/gui/cards/page.h"\n'}, "app/gui/cards does not stand below app/controllers")
        for line in ("#include <imgui.h>", "#include <GLFW/glfw3.h>"):
            self.assert_found({"app/controllers/a.cpp": line + "\n"}, "draws nothing")
        self.assertEqual(self.violations({"app/controllers/a.cpp": "#include <vector>\n"}), [])

    def test_header_without_pragma_once(self):
        self.assert_found({"engine/model/a.h": "// #pragma once, some day\n"}, "engine/model/a.h has no #pragma once")

    def test_empty_words_in_names(self):
        for name in ("engine/model/fast_path.cpp", "kernels/amax/amax_v2.cu", "app/worker/info.cpp", "tests/utils.py"):
            self.assert_found({name: ""}, name)
        self.assertEqual(self.violations({"engine/model/database_renewal.cpp": ""}), [])

    def test_what_is_done_in_one_place(self):
        self.assert_found({"app/doctor/a.cpp": "  ::posix_spawn(&pid, name);\n"}, "a.cpp:1", "child_process.h")
        self.assert_found({"engine/model/a.cpp": "\nstd::system(line);\n"}, "engine/model/a.cpp:2", "child_process.h")
        self.assert_found({"app/gui/shell/a.cpp": 'words = {"ssh", host};\n'}, "worker_command.h")
        self.assert_found({"app/worker/a.cpp": "::dlopen(path.c_str(), RTLD_NOW);\n"}, "library_file.h")
        self.assert_found({"app/cli/a.cpp": 'fmt::print(stderr, "{}", said);\n'}, "app/cli/terminal.h")
        self.assertEqual(self.violations({"app/protocol/child_process.cpp": "::posix_spawn(&pid);",
                                          "app/cli/a.cpp": 'print("{}", said);'}), [])

    def test_default_stream_without_a_wait(self):
        use = "void f() {\n  cudaMemset(p, 0, 4);\n"
        wait = "  cudaStreamSynchronize(cudaStreamLegacy);\n"
        self.assert_found({"engine/model/a.cpp": use}, "engine/model/a.cpp:2", "is not waited for")
        self.assert_found({"engine/model/a.cpp": wait + use}, "engine/model/a.cpp:3")
        self.assertEqual(self.violations({"engine/model/a.cpp": use + wait, "engine/model/b.cpp": "cudaMemsetAsync(p, 0, 4, s);"}), [])

    def test_calls_that_one_place_makes(self):
        for call, where in (
            ("auto x = nlohmann::json::parse(text);", "json_text.h"),
            ("if (Json::accept(text)) return;", "json_text.h"),
            ("util::JsonStringToMessage(text, &message);", "json_text.h"),
            ("std::ifstream file(path);", "regular_file.h"),
            ("ImGui::TextUnformatted(text.c_str());", "theme/text.h"),
            ("draw->AddText(at, color, text.c_str());", "theme/text.h"),
            ("if (recipe.scaling == engine::Scaling::Block) {", "recipe_traits.h"),
            ("case engine::Scaling::Nvfp4:", "recipe_traits.h"),
            ("return backend != GemmBackend::CpuReference;", "backend_traits.h"),
            ("if (WorkspaceStrategy::Shared == strategy) {", "backend_traits.h"),
            ("if (one.kind == engine::OperationKind::Round) {", "kOperations"),
            ("using enum engine::OperationKind;", "kOperations"),
            ("thread_ = std::thread([this] { work(); });", "guarded_thread.h"),
            ("auto sums = std::async(std::launch::async, sum);", "guarded_thread.h"),
        ):
            self.assert_found({"app/gui/shell/a.cpp": f"void f() {{\n  {call}\n}}\n"}, "app/gui/shell/a.cpp:2", where)
            self.assertEqual(self.violations({"tests/unit/a.cpp": call, "app/gui/shell/a.cpp": f"// {call}\n"}), [])
        self.assertEqual(self.violations({"engine/input/json_text.cpp": "Json::parse(text);\n"}), [])
        for allowed in ("request.recipe.scaling = Scaling::Block;", "if (scaling == MatrixScaling::None) {"):
            self.assertEqual(self.violations({"engine/gemm/a.cpp": allowed}), [])

    def test_stray_file_on_the_top_level(self):
        self.assert_found({"notes.txt": ""}, "notes.txt does not belong")
        self.assertEqual(self.violations({"build-asan/x": "", ".ci/run": ""}), [])


class RealTree(unittest.TestCase):
    def test_every_rule_holds(self):
        self.assertGreater(len(list(layering.sources(ROOT))), 40, f"{ROOT} is not the tree")
        self.assertEqual(layering.check(ROOT), [])


if __name__ == "__main__":
    unittest.main()
