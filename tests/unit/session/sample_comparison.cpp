// A comparison written by hand, field by field, like the run in sample_recording.cpp.
#include <limits>

#include "tests/unit/session/sample_parts.h"
#include "tests/unit/session/sample_recording.h"

namespace profiling {

RecordedComparison sample_comparison(int salt) {
  RecordedComparison recorded;
  recorded.wall_clock_ms = 1'700'000'000'500 + salt;
  engine::RecipeComparison& comparison = recorded.comparison;
  comparison.id = std::numeric_limits<std::uint64_t>::max() - static_cast<std::uint64_t>(salt);
  comparison.request.request = sample_run(salt).request;
  comparison.request.weights = salt % 2 == 1;
  comparison.request.gradients = salt % 3 == 0 && salt % 2 == 0;
  comparison.request.recipes = {{.scaling = engine::Scaling::PerTensorDelayed,
                                 .high_precision = engine::ElementType::Fp16,
                                 .activation_format = engine::Fp8Format::E5m2,
                                 .gradient_format = engine::Fp8Format::E5m2,
                                 .pow2_scales = false,
                                 .amax_epsilon = 0.125F,
                                 .split_accumulator = false,
                                 .delayed = {.history_length = 7,
                                             .algorithm = kernels::AmaxAlgorithm::MostRecent,
                                             .margin = -3},
                                 .square_weight_blocks = false,
                                 .square_activation_blocks = true,
                                 .square_gradient_blocks = true,
                                 .hadamard = false,
                                 .stochastic_rounding = true},
                                {.scaling = engine::Scaling::Nvfp4}};
  comparison.request.sample_row = 11 + salt;
  comparison.request.sample_column = 12;
  comparison.request.timed_launches = 3;
  comparison.splits = {100, 0, 200 + salt};
  comparison.device = sample_run(salt).result.device;
  comparison.copy_times_ns = {5, 6 + salt, 7};
  comparison.copy_bytes = 4096 + salt;
  comparison.wall_ns = 99 + salt;
  engine::QuantizationReport report;
  report.recipe = comparison.request.recipes[0];
  report.columnwise = true;
  report.statistics = sample_operand(salt + 3);
  report.max_relative_error = 0.0625;
  report.max_ulp = 17 + salt;
  report.code_counts.assign(16, 0);
  report.code_counts[3] = 8;
  report.code_counts[15] = std::uint64_t{1} << 41;
  report.sample = {.row = 11 + salt,
                   .column = 12,
                   .rows = 1,
                   .columns = 2,
                   .original = {1.0F, std::numeric_limits<float>::quiet_NaN()},
                   .codes = {0x7F, static_cast<std::uint8_t>(salt)},
                   .scale_inv = {0.5F, 1e-40F},
                   .decoded = {-0.0F, 2.0F}};
  report.code_bytes = 1000 + salt;
  report.scale_bytes = 50;
  report.moved_bytes = 3050;
  report.times_ns = {30, 31, 32 + salt};
  report.time_method = "steady clock around each call";
  report.waste = {.scales = 700, .mean = 0.375, .max = 0.875};
  for (const std::int64_t rows : comparison.splits) {
    report.experts.push_back(
        {.rows = rows,
         .snr_db = rows == 0 ? std::numeric_limits<double>::quiet_NaN() : 30.5 + salt,
         .saturated = 3,
         .underflowed = static_cast<std::uint64_t>(rows),
         .waste = {.scales = 2, .mean = 0.25, .max = 0.5 + salt}});
  }
  comparison.reports = {report, {.recipe = comparison.request.recipes[1], .refused = "“not here”"}};
  return recorded;
}

}  // namespace profiling
