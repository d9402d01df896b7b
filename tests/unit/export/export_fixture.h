// A folder of its own, and a session of two runs with records that a reader may get wrong.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

#include "profiling/export/chrome_trace.h"

namespace export_tests {

namespace fs = std::filesystem;
using engine::Stage;
using profiling::ActivityKind;
using profiling::ActivityRecord;
using profiling::RecordedRun;
using profiling::Session;
using testing::HasSubstr;

class Export : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::temp_directory_path() / ("export_test_" + std::to_string(getpid()) + "_" +
                                     testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::size_t files_in_folder() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder_)) ++count;
    return count;
  }

  fs::path folder_;
};

inline std::string read_all(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline Session two_runs() {
  RecordedRun cpu;
  cpu.result.effective.shape.preset = "mixtral \"small\"";
  cpu.result.device.name = "a CPU";
  cpu.result.iteration_method = "steady clock around each step";
  cpu.result.iterations = {{.start_ns = 0, .duration_ns = 4000},
                           {.start_ns = 5000, .duration_ns = 6000}};
  cpu.result.experts = {
      {.rows = 3, .fprop = {.snr_db = 31.25, .max_abs_error = 0.5}, .saturated = 7},
      {.rows = 0,
       .fprop = {.snr_db = std::nan("")},
       .x_snr_db = std::numeric_limits<double>::infinity()}};
  cpu.activity.names = {"offsets, all", "gemm \"fp8\"\n", "broken \xFF utf-8"};
  cpu.activity.records = {{.start_ns = -1500, .end_ns = -1000, .name = 0, .stage = Stage::Offsets},
                          {.start_ns = 1234,
                           .end_ns = 3235,
                           .name = 1,
                           .iteration = 0,
                           .expert = 5,
                           .layer = 1,
                           .lane = 2,
                           .stage = Stage::Fprop,
                           .shape = 1,
                           .call = 1}};
  cpu.activity.shapes = {{.grid_x = 132,
                          .grid_y = 4,
                          .grid_z = 1,
                          .block_x = 384,
                          .block_y = 1,
                          .block_z = 1,
                          .registers_per_thread = 168,
                          .static_shared_bytes = 1024,
                          .dynamic_shared_bytes = 200'000}};
  cpu.activity.calls = {{.start_ns = -7, .end_ns = 3, .name = 0}};
  RecordedRun gpu;
  gpu.result.effective.recipe.scaling = engine::Scaling::None;
  gpu.activity.names = {"memset", "broken \xFF utf-8"};
  gpu.activity.shapes = {{.bytes = 4096}};
  gpu.activity.records = {{.start_ns = 0,
                           .end_ns = 9'007'199'254'740'993,
                           .node_id = 18'446'744'073'709'551'615ULL,
                           .name = 0,
                           .iteration = 3,
                           .kind = ActivityKind::Memset,
                           .lane = 2,
                           .stage = Stage::Memory,
                           .shape = 1},
                          {.start_ns = 10,
                           .end_ns = 20,
                           .name = 1,
                           .kind = ActivityKind::Kernel,
                           .lane = 2,
                           .stage = Stage::Other}};
  Session session;
  session.runs = {cpu, gpu};
  return session;
}

}  // namespace export_tests
