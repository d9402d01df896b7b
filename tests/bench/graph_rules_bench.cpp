// How long every rule of the doctor takes on a large captured graph: quantizations and products on
// several streams that are joined at every 16th node, all products with one workspace.
// Usage: graph_rules_bench [nodes]. One JSON line a size.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "profiling/hazards/rules/diagnosis.h"
#include "tests/unit/graph/hand_made_snapshot.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kStreams = 4;
constexpr int kJoinEvery = 16;
constexpr int kBuffers = 512;
constexpr int kTries = 5;

profiling::Snapshot large_step(int nodes) {
  profiling::HandMade made;
  const std::uint64_t workspace =
      made.allocate("workspace", engine::AllocationRole::Workspace, 1 << 20);
  std::vector<std::uint64_t> buffers;
  for (int i = 0; i < kBuffers; ++i) {
    buffers.push_back(
        made.allocate(fmt::format("quantized {}", i), engine::AllocationRole::Quantized, 1 << 16));
  }
  for (int i = 0; i < nodes; ++i) {
    std::vector<int> after;
    if (i >= kStreams) after.push_back(i - kStreams);
    for (int k = 1; i % kJoinEvery == 0 && k < kStreams && k <= i; ++k) after.push_back(i - k);
    const std::uint64_t buffer = buffers[static_cast<std::size_t>(i / 2 % kBuffers)];
    if (i % 2 == 0) {
      made.kernel("quantize_rows", {buffer, buffer + 4096}, after);
    } else {
      made.kernel("nvjet_sm90_qqtst_ptrGroup", {workspace, workspace + 64, buffer}, after);
    }
  }
  return made.snapshot;
}

}  // namespace

int main(int argc, char** argv) {
  const int nodes = argc > 1 ? std::atoi(argv[1]) : 10'000;
  const profiling::Snapshot snapshot = large_step(nodes);
  std::vector<double> seconds;
  std::size_t findings = 0;
  for (int i = 0; i < kTries; ++i) {
    const Clock::time_point start = Clock::now();
    findings = profiling::diagnose(snapshot, {}).size();
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  std::ranges::sort(seconds);
  fmt::print(
      "{{\"bench\":\"graph rules\",\"nodes\":{},\"findings\":{},\"tries\":{},"
      "\"median_s\":{:.4f},\"worst_s\":{:.4f}}}\n",
      nodes, findings, kTries, seconds[seconds.size() / 2], seconds.back());
  return 0;
}
