// The weight-gradient kernel against its twin: the same bits where sums are exact, the tensor
// core's rounding elsewhere; what belongs to no group is never read into a sum.
#include <cmath>
#include <cstring>

#include "kernels/common/element_run.h"
#include "tests/gpu/kernels/captured_launch.h"
#include "tests/gpu/kernels/device_array.h"
#include "tests/numerics/product/wgrad_operands.h"

namespace gpu_tests {
namespace {

using kernels::Fp8Format;
using kernels::InputType;
using WgradValues = wgrad_tests::Values;
using wgrad_tests::Operands;
using wgrad_tests::Problem;

std::size_t gradient_bytes(InputType type) { return type == InputType::Fp32 ? 4 : 2; }

/// The gradient as bytes, with what was there before.
std::vector<std::uint8_t> gradient_before(const Problem& problem, InputType type) {
  const std::size_t elements = wgrad_tests::gradient_elements(problem);
  std::vector<float> values(elements);
  for (std::size_t i = 0; i < elements; ++i) values[i] = static_cast<float>(i % 61) / 4.0F - 7.0F;
  std::vector<std::uint8_t> bytes(elements * gradient_bytes(type));
  kernels::round_run(values.data(), static_cast<std::int64_t>(elements), type, bytes.data(), 0);
  return bytes;
}

std::vector<float> gradient_values(const std::vector<std::uint8_t>& bytes, InputType type) {
  std::vector<float> values(bytes.size() / gradient_bytes(type));
  kernels::widen_run(
      {.input = bytes.data(), .type = type, .count = static_cast<std::int64_t>(values.size())},
      values.data());
  return values;
}

struct Formats {
  Fp8Format y = Fp8Format::E4m3;
  Fp8Format x = Fp8Format::E4m3;
};

/// Everything of one launch, on the device.
class WgradOnDevice {
 public:
  WgradOnDevice(const Problem& problem, const Operands& operands, const Formats& formats)
      : y_codes_(operands.y.codes),
        y_scales_(operands.y.scales),
        x_codes_(operands.x.codes),
        x_scales_(operands.x.scales),
        row_offsets_(operands.row_offsets),
        first_columns_(operands.first_columns),
        args_(operands.args(problem, formats.y, formats.x)) {
    args_.y.codes = y_codes_.get();
    args_.y.scale_inv = y_scales_.get();
    args_.x.codes = x_codes_.get();
    args_.x.scale_inv = x_scales_.get();
    args_.row_offsets = row_offsets_.get();
    args_.first_columns = first_columns_.get();
  }

  std::vector<std::uint8_t> run(const std::vector<std::uint8_t>& start, InputType type,
                                bool accumulate, kernels::StampBuffer stamps = {}) {
    const DeviceArray<std::uint8_t> gradient(start);
    args_.gradient = gradient.get();
    args_.type = type;
    args_.accumulate = accumulate;
    args_.stamps = stamps;
    EXPECT_EQ(kernels::wgrad_block(args_, nullptr), cudaSuccess);
    return gradient.values();
  }

  const kernels::WgradBlockArgs& args() const { return args_; }

 private:
  DeviceArray<std::uint8_t> y_codes_;
  DeviceArray<float> y_scales_;
  DeviceArray<std::uint8_t> x_codes_;
  DeviceArray<float> x_scales_;
  DeviceArray<std::int64_t> row_offsets_;
  DeviceArray<std::int64_t> first_columns_;
  kernels::WgradBlockArgs args_;
};

std::vector<std::uint8_t> wgrad_twin(const Problem& problem, const Operands& operands,
                                     const Formats& formats, std::vector<std::uint8_t> gradient,
                                     InputType type, bool accumulate) {
  kernels::WgradBlockArgs args = operands.args(problem, formats.y, formats.x);
  args.gradient = gradient.data();
  args.type = type;
  args.accumulate = accumulate;
  kernels::wgrad_block_cpu(args);
  return gradient;
}

class WgradGpu : public DeviceTest, public testing::WithParamInterface<Problem> {};

TEST_P(WgradGpu, EqualsTheTwinWhereSumsAreExact) {
  const Problem& problem = GetParam();
  for (const Formats& formats :
       {Formats{}, Formats{.y = Fp8Format::E5m2}, Formats{.x = Fp8Format::E5m2},
        Formats{.y = Fp8Format::E5m2, .x = Fp8Format::E5m2}}) {
    const Operands operands(problem, WgradValues::Exact, formats.y, formats.x);
    WgradOnDevice device(problem, operands, formats);
    for (const InputType type : {InputType::Bf16, InputType::Fp16, InputType::Fp32}) {
      for (const bool accumulate : {false, true}) {
        SCOPED_TRACE(std::to_string(static_cast<int>(type)) + " += " + std::to_string(accumulate));
        const std::vector<std::uint8_t> start = gradient_before(problem, type);
        ASSERT_EQ(device.run(start, type, accumulate),
                  wgrad_twin(problem, operands, formats, start, type, accumulate));
      }
    }
  }
}

TEST_P(WgradGpu, RandomValuesDifferByTheTensorCoresRoundingAlone) {
  const Problem& problem = GetParam();
  const Formats formats{.y = Fp8Format::E5m2};
  const Operands operands(problem, WgradValues::Random, formats.y, formats.x);
  WgradOnDevice device(problem, operands, formats);
  const std::vector<std::uint8_t> start = gradient_before(problem, InputType::Fp32);
  const std::vector<std::uint8_t> found = device.run(start, InputType::Fp32, false);
  EXPECT_EQ(found, device.run(start, InputType::Fp32, false)) << "two launches differ";
  const std::vector<float> values = gradient_values(found, InputType::Fp32);
  const std::vector<float> expected = gradient_values(
      wgrad_twin(problem, operands, formats, start, InputType::Fp32, false), InputType::Fp32);
  double error = 0.0;
  double energy = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    error += std::pow(double{values[i]} - double{expected[i]}, 2);
    energy += std::pow(double{expected[i]}, 2);
  }
  // The tensor core aligns products before it adds them.
  EXPECT_LE(std::sqrt(error), std::sqrt(energy) * 0x1p-11);
}

TEST_P(WgradGpu, NansStayInTheirElements) {
  const Problem& problem = GetParam();
  const Operands operands(problem, WgradValues::Wild, Fp8Format::E4m3, Fp8Format::E4m3);
  WgradOnDevice device(problem, operands, {});
  const std::vector<std::uint8_t> start = gradient_before(problem, InputType::Fp32);
  const std::vector<float> values =
      gradient_values(device.run(start, InputType::Fp32, false), InputType::Fp32);
  const std::vector<float> expected = gradient_values(
      wgrad_twin(problem, operands, {}, start, InputType::Fp32, false), InputType::Fp32);
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(std::isnan(values[i]), std::isnan(expected[i])) << "element " << i;
    ASSERT_EQ(std::isinf(values[i]), std::isinf(expected[i])) << "element " << i;
  }
}

TEST_P(WgradGpu, StampsCoverEveryTile) {
  const Problem& problem = GetParam();
  const Operands operands(problem, WgradValues::Exact, Fp8Format::E4m3, Fp8Format::E4m3);
  WgradOnDevice device(problem, operands, {});
  const std::int64_t tiles = kernels::wgrad_block_tiles(device.args());
  const DeviceArray<std::uint8_t> buffer(std::vector<std::uint8_t>(
      static_cast<std::size_t>(tiles + 1) * sizeof(kernels::TileStamp), 0));
  const std::vector<std::uint8_t> start = gradient_before(problem, InputType::Bf16);
  const std::vector<std::uint8_t> plain = device.run(start, InputType::Bf16, false);
  EXPECT_EQ(plain, device.run(start, InputType::Bf16, false,
                              {reinterpret_cast<kernels::TileStamp*>(buffer.get()), tiles}));
  const std::vector<std::uint8_t> bytes = buffer.values();
  std::vector<kernels::TileStamp> stamps(static_cast<std::size_t>(tiles + 1));
  std::memcpy(stamps.data(), bytes.data(), bytes.size());
  EXPECT_EQ(stamps.back().begin_ns, 0U) << "a stamp beyond the capacity";
  stamps.pop_back();
  for (const kernels::TileStamp& stamp : stamps) {
    ASSERT_GT(stamp.begin_ns, 0U);
    ASSERT_GE(stamp.end_ns, stamp.begin_ns);
    ASSERT_LT(stamp.group, static_cast<int>(problem.splits.size()));
  }
}

INSTANTIATE_TEST_SUITE_P(Problems, WgradGpu, testing::ValuesIn(wgrad_tests::problems()),
                         [](const auto& param) { return param.param.name; });

class WgradGraph : public DeviceTest {};

/// 10,000 replays, each with splits of its own, against eager launches of the same splits.
TEST_F(WgradGraph, ReplaysFollowNewSplits) {
  constexpr int kGroups = 8;
  Problem problem{.name = "", .splits = std::vector<std::int64_t>(kGroups, 64), .n = 208, .k = 144};
  const Operands all(problem, WgradValues::Random, Fp8Format::E5m2, Fp8Format::E4m3);
  WgradOnDevice device(problem, all, {.y = Fp8Format::E5m2});
  kernels::WgradBlockArgs args = device.args();
  DeviceArray<std::int64_t> row_offsets(all.row_offsets);
  DeviceArray<std::int64_t> first_columns(all.first_columns);
  const std::vector<std::uint8_t> start(wgrad_tests::gradient_elements(problem) * 4, 0xFF);
  DeviceArray<std::uint8_t> replayed(start);
  DeviceArray<std::uint8_t> eager(start);
  args.row_offsets = row_offsets.get();
  args.first_columns = first_columns.get();
  args.type = InputType::Fp32;
  args.gradient = replayed.get();
  const auto launch = [&](cudaStream_t stream) { return kernels::wgrad_block(args, stream); };
  const CapturedLaunch captured(launch);
  std::mt19937 random(3);
  for (int replay = 0; replay < 10000; ++replay) {
    std::vector<std::int64_t> rows = {0};
    std::vector<std::int64_t> first = {0};
    for (int group = 0; group < kGroups; ++group) {
      const auto count = static_cast<std::int64_t>(random() % 65);
      rows.push_back(rows.back() + count);
      first.push_back(first.back() + kernels::round_up(count, kernels::kJoinedUnit));
    }
    captured.write(row_offsets.get(), rows);
    captured.write(first_columns.get(), first);
    captured.replay();
    if (replay % 50 != 0) continue;
    args.gradient = eager.get();
    ASSERT_EQ(launch(captured.stream()), cudaSuccess);
    captured.wait();
    ASSERT_EQ(replayed.values(), eager.values()) << "replay " << replay;
  }
}

TEST_F(WgradGraph, AddingKeepsSubnormalSums) {
  const Problem problem{.name = "", .splits = {32}, .n = 16, .k = 16};
  Operands operands(problem, WgradValues::Exact, Fp8Format::E4m3, Fp8Format::E4m3);
  std::fill(operands.y.codes.begin(), operands.y.codes.end(), std::uint8_t{0});
  const std::vector<float> tiny(wgrad_tests::gradient_elements(problem), 1e-40F);
  std::vector<std::uint8_t> start(tiny.size() * sizeof(float));
  std::memcpy(start.data(), tiny.data(), start.size());
  WgradOnDevice device(problem, operands, {});
  EXPECT_EQ(device.run(start, InputType::Fp32, true), start);
}

TEST_F(WgradGraph, RefusesWhatTheCopyEngineCannotAddress) {
  const Problem problem{.name = "", .splits = {64}, .n = 64, .k = 64};
  const Operands operands(problem, WgradValues::Exact, Fp8Format::E4m3, Fp8Format::E4m3);
  WgradOnDevice device(problem, operands, {});
  const DeviceArray<std::uint8_t> gradient(gradient_before(problem, InputType::Bf16));
  kernels::WgradBlockArgs args = device.args();
  args.gradient = gradient.get();
  const auto refused = [](const kernels::WgradBlockArgs& wrong) {
    return kernels::wgrad_block(wrong, nullptr) == cudaErrorInvalidValue;
  };
  kernels::WgradBlockArgs wrong = args;
  wrong.n = 40;
  EXPECT_TRUE(refused(wrong));
  wrong = args;
  wrong.capacity_rows = 72;
  EXPECT_TRUE(refused(wrong));
  wrong = args;
  wrong.gradient = gradient.get() + 4;
  EXPECT_TRUE(refused(wrong));
  wrong = args;
  wrong.num_groups = 1025;
  EXPECT_TRUE(refused(wrong));
  EXPECT_FALSE(refused(args));
}

}  // namespace
}  // namespace gpu_tests
