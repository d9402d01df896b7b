// A comparison of delayed scaling over steps as recordings kept it before it was a comparison of
// recipes, under the names of its columns. It is described like every recorded value, so that the
// reader of today's tables reads it too. Nothing writes it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/model/step_series.h"
#include "profiling/session/session_file.h"

namespace profiling {

struct FormerHistoryRequest {
  engine::RunRequest request = {};
  std::int64_t asked_tokens = 0;  // per step; 0 = the request's
  int asked_steps = 32;
  int outlier_step = -1;
  int outlier_expert = 0;
  double outlier_factor = 64.0;
  std::vector<engine::IdleExpert> idle = {};
  template <int = 0>
  static constexpr auto fields() {
    using R = FormerHistoryRequest;
    return std::array{
        engine::field<&R::request>(),
        engine::field<&R::asked_tokens>({.low = 0, .high = engine::kMaxDimension}),
        engine::field<&R::asked_steps>({.low = 1, .high = engine::kMaxSeriesSteps}),
        engine::field<&R::outlier_step>({.low = -1, .high = engine::kMaxSeriesSteps - 1}),
        engine::field<&R::outlier_expert>({.low = 0, .high = engine::kMaxExperts - 1}),
        engine::field<&R::outlier_factor>(),
        engine::field<&R::idle>({.most = engine::kMaxSeriesRows})};
  }
};

/// Lists are [steps, experts].
struct FormerHistory {
  static constexpr RecordedKind kKind = {
      .name = "history", .table = "amax_histories", .prefix = "amax_history_"};
  FormerHistoryRequest request = {};
  int steps = 0;
  int experts = 0;
  std::vector<std::int64_t> tokens = {};
  std::vector<float> amax = {};
  std::vector<float> history_amax = {};
  std::vector<float> scale_used = {};
  std::vector<float> scale_wanted = {};
  std::vector<std::uint64_t> saturated = {};
  std::vector<std::uint64_t> underflowed = {};
  std::vector<double> snr_db = {};
  std::vector<std::uint64_t> left_out = {};
  int ring_rows = 0;
  std::vector<float> ring = {};  // [steps, ring_rows, experts]
  std::int64_t wall_ns = 0;
  std::int64_t wall_clock_ms = 0;
  template <int = 0>
  static constexpr auto fields() {
    using H = FormerHistory;
    constexpr engine::FieldRules kCells = {.most = engine::kMaxSeriesRows};
    constexpr engine::FieldRules kCounts = {
        .low = 0, .high = engine::kMaxCount, .most = engine::kMaxSeriesRows};
    return std::array{
        engine::field<&H::request>(),
        engine::field<&H::steps>({.low = 0, .high = engine::kMaxSeriesSteps}),
        engine::field<&H::experts>({.low = 0, .high = engine::kMaxExperts}),
        engine::field<&H::tokens>(
            {.low = 0, .high = engine::kMaxDimension, .most = engine::kMaxSeriesRows}),
        engine::field<&H::amax>(kCells),
        engine::field<&H::history_amax>(kCells),
        engine::field<&H::scale_used>(kCells),
        engine::field<&H::scale_wanted>(kCells),
        engine::field<&H::saturated>(kCounts),
        engine::field<&H::underflowed>(kCounts),
        engine::field<&H::snr_db>(kCells),
        engine::field<&H::left_out>(kCounts),
        engine::field<&H::ring_rows>({.low = 0, .high = engine::kMaxSeriesSteps}),
        engine::field<&H::ring>({.most = engine::kMaxHistoryFloats}),
        engine::field<&H::wall_ns>(engine::kDuration_ns),
        engine::field<&H::wall_clock_ms>(engine::kDuration_ns)};
  }
};

}  // namespace profiling
