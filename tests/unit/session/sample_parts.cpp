#include "tests/unit/session/sample_parts.h"

#include "engine/model/projections.h"

namespace profiling {
namespace {

engine::MagnitudeHistogram sample_histogram(int salt) {
  engine::MagnitudeHistogram histogram;
  histogram.first_bin = 400 + salt;
  const auto base = static_cast<std::uint64_t>(salt);
  histogram.counts = {base + 1, 0, base + 3, std::uint64_t{1} << 40, 0};
  histogram.zeros = base + 5;
  histogram.infinities = base + 6;
  histogram.nans = base + 7;
  return histogram;
}

}  // namespace

engine::OperandStatistics sample_operand(int salt) {
  engine::OperandStatistics operand;
  operand.before = sample_histogram(salt + 10);
  operand.after = sample_histogram(salt + 20);
  operand.amax = sample_histogram(salt + 30);
  operand.scale = sample_histogram(salt + 40);
  operand.elements = static_cast<std::uint64_t>(salt) + 1000;
  operand.saturated = static_cast<std::uint64_t>(salt) + 2;
  operand.underflowed = static_cast<std::uint64_t>(salt) + 3;
  operand.snr_db = salt + 0.125;
  engine::ScaleMap& map = operand.scale_map;
  map.block_rows = 128;
  map.block_columns = 127;
  map.source_rows = 300;
  map.source_columns = 5;
  map.rows = 2;
  map.columns = 3;
  const auto base = static_cast<float>(salt);
  map.mean = {base, -1.5F, std::numeric_limits<float>::quiet_NaN(), 3.0F, 4.0F, 5.0F};
  map.maximum = {base + 1.0F, 0.5F, 2.5F, -0.0F, 4.5F, 1e-40F};
  map.expert_first_row = {0, 100, 100, 300};
  map.minimum = {base - 2.0F, -3.5F, std::numeric_limits<float>::quiet_NaN(), 1.0F, 2.0F, 3.0F};
  map.deviation = {0.25F, 0.5F, std::numeric_limits<float>::quiet_NaN(), 0.0F, base, 1.0F};
  // Odd ones have no counted losses.
  if (salt % 2 == 0) {
    map.saturated_share = {0.0F, 0.5F, 1.0F, 0.125F, 0.0F, 0.25F};
    map.underflowed_share = {0.25F, 0.0F, 0.0F, 0.0F, 0.75F, 1.0F};
  }
  map.summary = {.scales = 1500,
                 .distinct = static_cast<std::uint64_t>(salt) + 7,
                 .mean = -3.25,
                 .deviation = 0.5 + salt,
                 .saturated = 17,
                 .underflowed = 19};
  return operand;
}

engine::ChannelStatistics sample_channels(int salt, const engine::TensorResult& tensor) {
  const auto profile = [salt](std::int64_t channels, std::int64_t length, int expert) {
    const auto base = static_cast<float>(salt);
    const engine::Channel worst{.index = channels - 1,
                                .expert = expert,
                                .amax = salt + 60.5,
                                .place = length - 1,
                                .snr_db = -0.5 - salt,
                                .saturated = 5,
                                .underflowed = 6,
                                .lost = 7,
                                .undefined = static_cast<std::uint64_t>(salt) + 8,
                                .signal_share = 0.75,
                                .noise_share = 0.125};
    engine::ChannelProfile one{
        .channels = channels,
        .median_amax = salt + 1.5,
        .outliers = 2,
        .amax = {base, 60.5F, std::numeric_limits<float>::quiet_NaN()},
        .snr_db = {base - 0.5F, std::numeric_limits<float>::infinity(), 3.0F},
        .saturated_share = {0.0F, 0.5F, 1.0F},
        .underflowed_share = {0.25F, 0.0F, 0.0F},
        .lost_share = {0.0F, 0.0F, 0.125F},
        .largest = {worst, worst},
        .noisiest = {worst},
        .lowest_snr = {}};
    one.largest[1].index = 0;
    one.largest[1].expert = -1;
    one.largest[1].place = -1;
    return one;
  };
  return {.signal = salt + 1e6,
          .noise = salt + 1e-6,
          .columns = profile(tensor.columns, tensor.rows, 0),
          .rows = profile(tensor.rows, tensor.columns, 2)};
}

engine::TensorResult& sample_tensor(engine::RunResult& result, engine::StepTensor tensor) {
  engine::TensorResult& row = engine::tensor_row(result, tensor);
  row.rows = engine::total_rows(result.effective, tensor, result.splits);
  row.columns = engine::extent_of(result.effective, tensor).columns;
  return row;
}

}  // namespace profiling
