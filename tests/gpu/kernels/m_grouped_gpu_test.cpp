// The M-grouped kernel against its twin: the same bits where sums are exact, the tensor core's
// rounding elsewhere; no row of another group is read into a sum or written.
#include <cmath>
#include <cstring>
#include <tuple>

#include "kernels/common/element_run.h"
#include "kernels/product/m_grouped_tile.h"
#include "tests/gpu/kernels/captured_launch.h"
#include "tests/gpu/kernels/device_array.h"
#include "tests/numerics/product/m_grouped_operands.h"

namespace gpu_tests {
namespace {

using kernels::Fp8Format;
using kernels::InputType;
using MGroupedOperands = m_grouped_tests::Operands;
using MGroupedProblem = m_grouped_tests::Problem;
using MGroupedValues = m_grouped_tests::Values;

constexpr InputType kOutputTypes[] = {InputType::Bf16, InputType::Fp16, InputType::Fp32};

/// What is in the output before a launch, and stays behind the last group.
std::vector<std::uint8_t> untouched(const MGroupedOperands& operands,
                                    const MGroupedProblem& problem, InputType type) {
  const std::size_t bytes = type == InputType::Fp32 ? 4 : 2;
  return std::vector<std::uint8_t>(m_grouped_tests::output_elements(operands, problem) * bytes,
                                   0xA5);
}

/// Everything of one launch, on the device.
class MGroupedOnDevice {
 public:
  MGroupedOnDevice(const MGroupedProblem& problem, const MGroupedOperands& operands,
                   Fp8Format format, int tile_rows = 0)
      : x_codes_(operands.x.codes),
        x_scales_(operands.x.scales),
        w_codes_(operands.w.codes),
        w_scales_(operands.w.scales),
        row_offsets_(operands.row_offsets),
        tickets_({0, 0}),
        args_(operands.args(problem, format)) {
    args_.x.codes = x_codes_.get();
    args_.x.scale_inv = x_scales_.get();
    args_.w.codes = w_codes_.get();
    args_.w.scale_inv = w_scales_.get();
    args_.row_offsets = row_offsets_.get();
    args_.tile_rows = tile_rows;
  }

  std::vector<std::uint8_t> run(const std::vector<std::uint8_t>& start, InputType type,
                                kernels::StampBuffer stamps = {}) {
    const DeviceArray<std::uint8_t> output(start);
    args_.output = output.get();
    args_.type = type;
    args_.stamps = stamps;
    EXPECT_EQ(kernels::m_grouped_block(args_, nullptr), cudaSuccess);
    return output.values();
  }

  const kernels::MGroupedBlockArgs& args() const { return args_; }
  /// Later launches take their tiles dynamically.
  void deal_tiles() { args_.tickets = tickets_.get(); }
  std::vector<std::uint32_t> tickets() const { return tickets_.values(); }

 private:
  DeviceArray<std::uint8_t> x_codes_;
  DeviceArray<float> x_scales_;
  DeviceArray<std::uint8_t> w_codes_;
  DeviceArray<float> w_scales_;
  DeviceArray<std::int64_t> row_offsets_;
  DeviceArray<std::uint32_t> tickets_;
  kernels::MGroupedBlockArgs args_;
};

std::vector<std::uint8_t> m_grouped_twin(const MGroupedProblem& problem,
                                         const MGroupedOperands& operands, Fp8Format format,
                                         std::vector<std::uint8_t> output, InputType type) {
  kernels::MGroupedBlockArgs args = operands.args(problem, format);
  args.output = output.data();
  args.type = type;
  kernels::m_grouped_block_cpu(args);
  return output;
}

std::vector<float> floats(const std::vector<std::uint8_t>& bytes, std::size_t count) {
  std::vector<float> values(count);
  std::memcpy(values.data(), bytes.data(), count * sizeof(float));
  return values;
}

using TiledProblem = std::tuple<MGroupedProblem, int>;

class MGroupedGpu : public DeviceTest, public testing::WithParamInterface<TiledProblem> {
 protected:
  static const MGroupedProblem& problem() { return std::get<0>(GetParam()); }
  static int tile_rows() { return std::get<1>(GetParam()); }
};

TEST_P(MGroupedGpu, EqualsTheTwinWhereSumsAreExact) {
  const MGroupedProblem& problem = MGroupedGpu::problem();
  for (const Fp8Format format : {Fp8Format::E4m3, Fp8Format::E5m2}) {
    const MGroupedOperands operands(problem, MGroupedValues::Exact, format);
    MGroupedOnDevice device(problem, operands, format, tile_rows());
    for (const InputType type : kOutputTypes) {
      SCOPED_TRACE(static_cast<int>(type));
      const std::vector<std::uint8_t> start = untouched(operands, problem, type);
      ASSERT_EQ(device.run(start, type), m_grouped_twin(problem, operands, format, start, type));
    }
  }
}

TEST_P(MGroupedGpu, DealingTilesDynamicallyChangesNoBit) {
  const MGroupedProblem& problem = MGroupedGpu::problem();
  const MGroupedOperands operands(problem, MGroupedValues::Random, Fp8Format::E4m3);
  MGroupedOnDevice device(problem, operands, Fp8Format::E4m3, tile_rows());
  const std::vector<std::uint8_t> start = untouched(operands, problem, InputType::Bf16);
  const std::vector<std::uint8_t> expected = device.run(start, InputType::Bf16);
  device.deal_tiles();
  for (int launch = 0; launch < 3; ++launch) {
    ASSERT_EQ(device.run(start, InputType::Bf16), expected) << "launch " << launch;
    ASSERT_EQ(device.tickets(), (std::vector<std::uint32_t>{0, 0})) << "launch " << launch;
  }
}

TEST_P(MGroupedGpu, RandomValuesDifferByTheTensorCoresRoundingAlone) {
  const MGroupedProblem& problem = MGroupedGpu::problem();
  const MGroupedOperands operands(problem, MGroupedValues::Random, Fp8Format::E5m2);
  MGroupedOnDevice device(problem, operands, Fp8Format::E5m2, tile_rows());
  const std::vector<std::uint8_t> start = untouched(operands, problem, InputType::Fp32);
  const std::vector<std::uint8_t> found = device.run(start, InputType::Fp32);
  EXPECT_EQ(found, device.run(start, InputType::Fp32)) << "two launches differ";
  const auto written = static_cast<std::size_t>(operands.row_offsets.back() * problem.columns);
  const std::vector<float> values = floats(found, written);
  const std::vector<float> expected =
      floats(m_grouped_twin(problem, operands, Fp8Format::E5m2, start, InputType::Fp32), written);
  double error = 0.0;
  double energy = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    error += std::pow(double{values[i]} - double{expected[i]}, 2);
    energy += std::pow(double{expected[i]}, 2);
  }
  // The tensor core aligns products before it adds them.
  EXPECT_LE(std::sqrt(error), std::sqrt(energy) * 0x1p-11);
}

TEST_P(MGroupedGpu, NansStayInTheirElements) {
  const MGroupedProblem& problem = MGroupedGpu::problem();
  const MGroupedOperands operands(problem, MGroupedValues::Wild, Fp8Format::E4m3);
  MGroupedOnDevice device(problem, operands, Fp8Format::E4m3, tile_rows());
  const std::vector<std::uint8_t> start = untouched(operands, problem, InputType::Fp32);
  const auto written = static_cast<std::size_t>(operands.row_offsets.back() * problem.columns);
  const std::vector<float> values = floats(device.run(start, InputType::Fp32), written);
  const std::vector<float> expected =
      floats(m_grouped_twin(problem, operands, Fp8Format::E4m3, start, InputType::Fp32), written);
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(std::isnan(values[i]), std::isnan(expected[i])) << "element " << i;
    ASSERT_EQ(std::isinf(values[i]), std::isinf(expected[i])) << "element " << i;
  }
}

TEST_P(MGroupedGpu, StampsCoverEveryTileWithRows) {
  const MGroupedProblem& problem = MGroupedGpu::problem();
  const MGroupedOperands operands(problem, MGroupedValues::Exact, Fp8Format::E4m3);
  MGroupedOnDevice device(problem, operands, Fp8Format::E4m3, tile_rows());
  const std::int64_t tiles = kernels::m_grouped_block_tiles(device.args());
  const DeviceArray<std::uint8_t> buffer(std::vector<std::uint8_t>(
      static_cast<std::size_t>(tiles + 1) * sizeof(kernels::TileStamp), 0));
  const std::vector<std::uint8_t> start = untouched(operands, problem, InputType::Bf16);
  EXPECT_EQ(device.run(start, InputType::Bf16),
            device.run(start, InputType::Bf16,
                       {reinterpret_cast<kernels::TileStamp*>(buffer.get()), tiles}));
  const std::vector<std::uint8_t> bytes = buffer.values();
  std::vector<kernels::TileStamp> stamps(static_cast<std::size_t>(tiles + 1));
  std::memcpy(stamps.data(), bytes.data(), bytes.size());
  std::vector<std::int64_t> of_group(problem.splits.size());
  for (const kernels::TileStamp& stamp : stamps) {
    if (stamp.begin_ns == 0) continue;
    ASSERT_GE(stamp.end_ns, stamp.begin_ns);
    ++of_group.at(static_cast<std::size_t>(stamp.group));
  }
  const std::int64_t across = kernels::round_up(kernels::ceil_div(problem.columns, 128), 2);
  for (std::size_t group = 0; group < of_group.size(); ++group) {
    const std::int64_t whole = kernels::ceil_div(problem.splits[group], tile_rows()) * across;
    const std::int64_t halved = kernels::ceil_div(problem.splits[group], 128) * across;
    EXPECT_GE(of_group[group], whole);
    EXPECT_LE(of_group[group], halved);
  }
}

INSTANTIATE_TEST_SUITE_P(Problems, MGroupedGpu,
                         testing::Combine(testing::ValuesIn(m_grouped_tests::problems()),
                                          testing::ValuesIn(kernels::kMGroupedTileRows)),
                         [](const auto& param) {
                           return std::get<0>(param.param).name +
                                  std::to_string(std::get<1>(param.param));
                         });

class MGroupedGraph : public DeviceTest {};

/// 10,000 replays, each with splits of its own, against eager launches of the same splits.
TEST_F(MGroupedGraph, ReplaysFollowNewSplits) {
  constexpr int kGroups = 8;
  const MGroupedProblem problem{.name = "",
                                .splits = std::vector<std::int64_t>(kGroups, 64),
                                .columns = 208,
                                .reduction = 272};
  const MGroupedOperands all(problem, MGroupedValues::Random, Fp8Format::E5m2);
  MGroupedOnDevice device(problem, all, Fp8Format::E5m2);
  device.deal_tiles();
  kernels::MGroupedBlockArgs args = device.args();
  const DeviceArray<std::int64_t> row_offsets(all.row_offsets);
  const std::vector<std::uint8_t> start = untouched(all, problem, InputType::Fp32);
  const DeviceArray<std::uint8_t> replayed(start);
  const DeviceArray<std::uint8_t> eager(start);
  args.row_offsets = row_offsets.get();
  args.type = InputType::Fp32;
  args.output = replayed.get();
  const auto launch = [&](cudaStream_t stream) { return kernels::m_grouped_block(args, stream); };
  const CapturedLaunch captured(launch);
  std::mt19937 random(3);
  for (int replay = 0; replay < 10000; ++replay) {
    std::vector<std::int64_t> rows = {0};
    for (int group = 0; group < kGroups; ++group) {
      rows.push_back(rows.back() + static_cast<std::int64_t>(random() % 65));
    }
    captured.write(row_offsets.get(), rows);
    const bool compares = replay % 50 == 0;
    if (compares) {  // rows that neither writes must be equal too
      for (std::uint8_t* output : {replayed.get(), eager.get()}) {
        ASSERT_EQ(cudaMemsetAsync(output, 0xA5, start.size(), captured.stream()), cudaSuccess);
      }
    }
    captured.replay();
    if (!compares) continue;
    args.output = eager.get();
    ASSERT_EQ(launch(captured.stream()), cudaSuccess);
    captured.wait();
    ASSERT_EQ(replayed.values(), eager.values()) << "replay " << replay;
  }
}

TEST_F(MGroupedGraph, RefusesWhatTheCopyEngineCannotAddress) {
  const MGroupedProblem problem{.name = "", .splits = {64}, .columns = 64, .reduction = 64};
  const MGroupedOperands operands(problem, MGroupedValues::Exact, Fp8Format::E4m3);
  const MGroupedOnDevice device(problem, operands, Fp8Format::E4m3);
  const DeviceArray<std::uint8_t> output(untouched(operands, problem, InputType::Bf16));
  kernels::MGroupedBlockArgs args = device.args();
  args.output = output.get();
  const auto refused = [](const kernels::MGroupedBlockArgs& wrong) {
    return kernels::m_grouped_block(wrong, nullptr) == cudaErrorInvalidValue;
  };
  kernels::MGroupedBlockArgs wrong = args;
  wrong.columns = 40;
  EXPECT_TRUE(refused(wrong));
  wrong = args;
  wrong.reduction = 72;
  EXPECT_TRUE(refused(wrong));
  wrong = args;
  wrong.output = output.get() + 4;
  EXPECT_TRUE(refused(wrong));
  wrong = args;
  wrong.num_groups = 1025;
  EXPECT_TRUE(refused(wrong));
  wrong = args;
  wrong.w.format = Fp8Format::E5m2;
  EXPECT_TRUE(refused(wrong));
  EXPECT_FALSE(refused(args));
}

}  // namespace
}  // namespace gpu_tests
