// Durations follow a fixed pseudo-random sequence: one replay in 997 stalls, every node drifts a
// little, so that outliers, percentiles and folds have something to show.
#include "tests/bench/window/big_recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

namespace app {
namespace {

using engine::Stage;

constexpr std::int64_t kReplayNs = 1'000'000;
constexpr std::int64_t kNodeNs = 18'000;  // there are 40 on the busiest stream
constexpr std::uint64_t kFirstNodeId = 4'294'967'296;

class Noise {
 public:
  /// Returns 0..limit - 1.
  std::int64_t below(std::int64_t limit) {
    state_ ^= state_ << 13U;
    state_ ^= state_ >> 7U;
    state_ ^= state_ << 17U;
    return static_cast<std::int64_t>(state_ % static_cast<std::uint64_t>(limit));
  }

 private:
  std::uint64_t state_ = 0x9E3779B97F4A7C15U;
};

/// Every tenth node is the product, with one record per expert.
bool is_product(std::size_t node) { return node % 10 == 7; }

Stage stage_of(std::size_t node) {
  constexpr std::array<Stage, 10> kStep = {
      Stage::Memory,   Stage::Offsets, Stage::Amax,  Stage::Quantize, Stage::Quantize,
      Stage::Quantize, Stage::Memory,  Stage::Fprop, Stage::Bias,     Stage::Other};
  return kStep[node % kStep.size()];
}

std::uint16_t stream_of(std::size_t node) {
  if (node % 10 == 2 || node % 10 == 4) return 14;
  return node % 10 == 6 ? 15 : 13;
}

void add_nodes(profiling::Activity& activity) {
  for (std::size_t node = 0; node < kBigGraphNodes; ++node) {
    const std::string stage(engine::stage_name(stage_of(node)));
    activity.names.push_back(
        fmt::format("void expertscope::made_up_{}_kernel<{}>(Args)", stage, node % 10));
    profiling::GraphNode& added = activity.nodes.emplace_back();
    added.id = kFirstNodeId + node;
    added.name = activity.names.back();
    added.stage = stage_of(node);
    added.layer = static_cast<std::uint8_t>(node / 10);
    if (node > 0) added.dependencies.push_back(kFirstNodeId + node - 1);
    if (node > 2 && node % 10 == 3) added.dependencies.push_back(kFirstNodeId + node - 3);
  }
}

void add_replay(std::int32_t replay, Noise& noise, profiling::Activity& activity) {
  const std::size_t first = activity.records.size();
  const std::int64_t stall = replay % 997 == 500 ? 2 : 1;
  const std::int64_t begin_ns = kReplayNs * replay;
  std::int64_t at_ns = begin_ns;
  for (std::size_t node = 0; node < kBigGraphNodes; ++node) {
    profiling::ActivityRecord record;
    record.node_id = kFirstNodeId + node;
    record.name = static_cast<std::uint32_t>(node);
    record.iteration = replay;
    record.layer = static_cast<std::uint8_t>(node / 10);
    record.kind = stage_of(node) == Stage::Memory ? profiling::ActivityKind::Memset
                                                  : profiling::ActivityKind::Kernel;
    record.lane = stream_of(node);
    record.stage = stage_of(node);
    const int parts = is_product(node) ? kBigExperts : 1;
    for (int part = 0; part < parts; ++part) {
      if (parts > 1) record.expert = static_cast<std::int16_t>(part);
      const std::int64_t usual = is_product(node) ? 700 + 40 * part : kNodeNs / 2;
      record.start_ns = at_ns;
      record.end_ns = at_ns + stall * (usual + noise.below(usual / 4));
      activity.records.push_back(record);
      // Side streams overlap the main one.
      at_ns = record.lane == 13 ? record.end_ns + 150 : at_ns + 400;
    }
  }
  std::sort(activity.records.begin() + static_cast<std::ptrdiff_t>(first), activity.records.end(),
            [](const profiling::ActivityRecord& a, const profiling::ActivityRecord& b) {
              return a.start_ns < b.start_ns;
            });
}

}  // namespace

profiling::RecordedRun make_big_run(std::size_t records) {
  const std::size_t replays =
      std::clamp<std::size_t>((records + kBigRecordsPerReplay - 1) / kBigRecordsPerReplay, 1,
                              static_cast<std::size_t>(engine::kMaxIterations));
  profiling::RecordedRun run;
  engine::RunRequest& request = run.request;
  request.shape.num_experts = kBigExperts;
  request.shape.rows = 1024;
  request.layers = static_cast<int>(kBigGraphNodes / 10);
  request.launch = {.kind = engine::LaunchKind::GraphReplay,
                    .iterations = static_cast<int>(replays)};
  engine::RunResult& result = run.result;
  result.id = 1;
  result.effective = request;
  result.splits.assign(kBigExperts, request.shape.rows / kBigExperts);
  result.iteration_method = "synthetic for a benchmark, not measured";
  result.activity_method = result.iteration_method;
  result.device.name = "no device";
  result.wall_ns = kReplayNs * static_cast<std::int64_t>(replays);
  add_nodes(run.activity);
  run.activity.records.reserve(replays * kBigRecordsPerReplay);
  Noise noise;
  for (std::size_t replay = 0; replay < replays; ++replay) {
    const std::size_t first = run.activity.records.size();
    add_replay(static_cast<std::int32_t>(replay), noise, run.activity);
    std::int64_t end_ns = 0;
    for (std::size_t i = first; i < run.activity.records.size(); ++i) {
      end_ns = std::max(end_ns, run.activity.records[i].end_ns);
    }
    const std::int64_t start_ns = run.activity.records[first].start_ns;
    result.iterations.push_back({.start_ns = start_ns, .duration_ns = end_ns - start_ns});
    engine::ReplayCheck& check = result.replay_checks.emplace_back();
    check.replay = static_cast<int>(replay) + 1;
    if (replay % 4001 == 4000) check.wrong_experts = {3, 7};
  }
  return run;
}

}  // namespace app
