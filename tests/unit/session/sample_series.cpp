// A comparison over steps written by hand, field by field, like the run in sample_recording.cpp:
// delayed scaling, which remembers two steps, and a recipe that was refused.
#include <limits>

#include "tests/unit/session/sample_parts.h"
#include "tests/unit/session/sample_recording.h"

namespace profiling {
namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

engine::ExpertQuantization no_rows(float history_amax) {
  engine::ExpertQuantization one;
  one.snr_db = static_cast<double>(kNone);
  one.delayed = {.history_amax = history_amax, .scale_used = 149.5F, .scale_wanted = kNone};
  return one;
}

}  // namespace

RecordedComparison sample_series(int salt) {
  const auto base = static_cast<float>(salt);
  const auto count = static_cast<std::uint64_t>(salt);
  RecordedComparison recorded;
  recorded.wall_clock_ms = 1'700'000'000'000 + salt;
  engine::RecipeComparison& comparison = recorded.comparison;
  comparison.id = 40 + count;
  comparison.request.request.seed = 77 + count;
  comparison.request.recipes = {
      {.scaling = engine::Scaling::PerTensorDelayed, .delayed = {.history_length = 2}},
      {.scaling = engine::Scaling::None}};
  comparison.request.timed_launches = 0;
  comparison.request.series = {.steps = 3,
                               .outlier_step = 1,
                               .outlier_expert = 1,
                               .outlier_factor = 32.5 + salt,
                               .idle = {{.step = 2, .expert = 0}, {.step = 2, .expert = 1}}};
  comparison.splits = {256, 256};
  comparison.device.name = "a CPU";
  comparison.wall_ns = 123'456'789 + salt;
  const std::vector<engine::ExpertQuantization> experts[] = {
      {{.rows = 256,
        .snr_db = 31.5,
        .underflowed = 1,
        .delayed = engine::DelayedScale{base + 1.0F, 0.0F, 1.0F, 448.0F}},
       {.rows = 256,
        .snr_db = -2.0,
        .saturated = count,
        .underflowed = 2,
        .lost = count,
        .delayed = engine::DelayedScale{2.5F, 0.0F, 1.0F, 179.2F}}},
      {{.rows = 300,
        .snr_db = kInfinity,
        .saturated = std::uint64_t{1} << 40,
        .undefined = 7,
        .delayed = engine::DelayedScale{3.0F, base + 1.0F, 448.0F, 149.333F}},
       {.rows = 212 + salt,
        .snr_db = salt + 0.25,
        .delayed = engine::DelayedScale{1e30F, 2.5F, 179.2F, 4.48e-28F}}},
      {no_rows(3.0F), no_rows(1e30F)}};
  const std::vector<float> histories[] = {
      {1.0F, 2.5F, 0.0F, 0.0F}, {3.0F, 1e30F, 1.0F, 2.5F}, {0.0F, 0.0F, 3.0F, base}};
  for (int step = 0; step < 3; ++step) {
    engine::QuantizationReport report{.recipe = comparison.request.recipes[0]};
    report.step = step;
    report.experts = experts[step];
    report.history = histories[step];
    comparison.reports.push_back(report);
    engine::QuantizationReport refused{.recipe = comparison.request.recipes[1],
                                       .refused = "BF16 is not quantized"};
    refused.step = step;
    comparison.reports.push_back(refused);
  }
  return recorded;
}

}  // namespace profiling
