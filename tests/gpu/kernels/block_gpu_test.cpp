// Block scaling against its CPU twins, bit for bit, in every combination of directions, padding,
// sums and activation. Outputs start as sentinels and are compared whole.
#include "kernels/quantize/quantize_block.h"
#include "tests/gpu/kernels/device_operand.h"
#include "tests/numerics/quantize/block_outputs.h"

namespace gpu_tests {
namespace {

using kernels::InputType;
using quantize_tests::BlockOutputs;
using quantize_tests::DirectionOutputs;
using quantize_tests::GroupedCase;
using quantize_tests::Operand;
using quantize_tests::Variant;
using quantize_tests::Words;

struct DirectionOnDevice {
  explicit DirectionOnDevice(const DirectionOutputs& host)
      : codes(host.codes), scale_inv(host.scale_inv), amax(host.amax) {}
  kernels::BlockOutput target() const {
    return {.codes = codes.get(),
            .scale_inv = reinterpret_cast<float*>(scale_inv.get()),
            .block_amax = reinterpret_cast<float*>(amax.get())};
  }
  void expect(const DirectionOutputs& twin) const {
    ASSERT_EQ(codes.values(), twin.codes);
    ASSERT_EQ(amax.values(), twin.amax);
    ASSERT_EQ(scale_inv.values(), twin.scale_inv);
  }
  DeviceArray<std::uint8_t> codes;
  DeviceArray<std::uint32_t> scale_inv;
  DeviceArray<std::uint32_t> amax;
};

struct Wanted {
  bool square = false;
  bool rows = true;
  bool columns = false;
  bool sums = false;
  std::int64_t padding = 0;  // 0 = no padding
  bool pad_rows = true;      // else only the columnwise copy is padded
  bool joined = false;       // the columnwise lines, with a padding of kJoinedUnit
  bool swiglu = false;
  float noop = 0.0F;
  std::int64_t stamps = 0;
};

cudaError_t launch(const kernels::QuantizeBlockArgs& args, bool square) {
  return (square ? kernels::quantize_block_squares : kernels::quantize_block_lines)(args, nullptr);
}

void expect_equality(const Operand& operand, const Variant& variant, const Wanted& wanted) {
  SCOPED_TRACE(variant.name() + " square " + std::to_string(wanted.square) + " rows " +
               std::to_string(wanted.rows) + " columns " + std::to_string(wanted.columns) +
               " sums " + std::to_string(wanted.sums) + " padding " +
               std::to_string(wanted.padding) + " swiglu " + std::to_string(wanted.swiglu));
  const OperandOnDevice device(operand);
  kernels::GroupedInput input = wanted.swiglu ? as_swiglu(operand.input) : operand.input;
  const std::vector<std::int64_t> padded = quantize_tests::padded_offsets(
      operand.row_offsets, std::max<std::int64_t>(wanted.padding, 1));
  // Joined lines begin at whole units.
  const std::int64_t spare = wanted.joined ? kernels::kJoinedUnit : 3;
  const std::int64_t rows = wanted.padding > 0 ? padded.back() + spare : input.capacity_rows;
  BlockOutputs twin(input, rows, wanted.square);
  const DirectionOnDevice rowwise(twin.rowwise);
  const DirectionOnDevice columnwise(twin.columnwise);
  const DeviceArray<std::uint32_t> bias(twin.bias);
  const DeviceArray<std::int64_t> device_padded(padded);
  const DeviceArray<float> noop({wanted.noop});
  const DeviceArray<std::uint8_t> stamps(std::vector<std::uint8_t>(
      static_cast<std::size_t>(wanted.stamps + 1) * sizeof(kernels::TileStamp), 0));

  kernels::QuantizeBlockArgs args{.input = input,
                                  .format = variant.format,
                                  .options = variant.options,
                                  .controls = {.noop = &wanted.noop}};
  if (wanted.padding > 0) {
    args.output_rows = {padded.data(), rows, !wanted.pad_rows, wanted.joined};
  }
  twin.aim(args, wanted.rows, wanted.columns, wanted.sums);
  quantize_tests::run_twin(args, wanted.square);

  args.input = wanted.swiglu ? as_swiglu(device.input) : device.input;
  if (wanted.padding > 0) args.output_rows.row_offsets = device_padded.get();
  args.controls.noop = noop.get();
  if (wanted.stamps > 0) {
    args.controls.stamps = {reinterpret_cast<kernels::TileStamp*>(stamps.get()), wanted.stamps};
  }
  args.rowwise = wanted.rows ? rowwise.target() : kernels::BlockOutput{};
  args.columnwise = wanted.columns ? columnwise.target() : kernels::BlockOutput{};
  args.bias_partials = wanted.sums ? reinterpret_cast<float*>(bias.get()) : nullptr;
  ASSERT_EQ(launch(args, wanted.square), cudaSuccess);
  rowwise.expect(twin.rowwise);
  if (testing::Test::HasFatalFailure()) return;
  columnwise.expect(twin.columnwise);
  ASSERT_TRUE(quantize_tests::equal_but_for_nans(bias.values(), twin.bias));
  if (wanted.stamps > 0) {
    const std::vector<std::uint8_t> bytes = stamps.values();
    kernels::TileStamp first;
    kernels::TileStamp past;
    std::memcpy(&first, bytes.data(), sizeof(first));
    std::memcpy(&past, bytes.data() + bytes.size() - sizeof(past), sizeof(past));
    EXPECT_EQ(past.begin_ns, 0U) << "a stamp beyond the capacity";
    if (operand.row_offsets.back() > 0) {
      EXPECT_GT(first.begin_ns, 0U);
      EXPECT_GE(first.end_ns, first.begin_ns);
    }
  }
}

std::vector<GroupedCase> device_cases() {
  std::vector<GroupedCase> cases = quantize_tests::grouped_cases();
  for (const int groups : {2, 8, 63, 64}) {
    cases.push_back({.name = "Count" + std::to_string(groups),
                     .splits = quantize_tests::repeating_splits(groups, 150),
                     .spare_rows = 3,
                     .columns = 272});
  }
  // Short groups of whole and of partial 32-row strips.
  cases.push_back({.name = "Short", .splits = {32, 64, 31, 33, 0, 96, 97, 1}, .columns = 784});
  cases.push_back({.name = "Loop", .splits = {3000, 0, 3001}, .spare_rows = 9, .columns = 2064});
  return cases;
}

class BlockGpu : public DeviceTest, public testing::WithParamInterface<GroupedCase> {
 protected:
  /// All types and fills for `every` variant; formats and options rotate.
  void expect(const Wanted& wanted, std::size_t every) {
    GroupedCase grouped = GetParam();
    if (wanted.swiglu) grouped.columns *= 2;
    const std::vector<Variant> variants = quantize_tests::variants();
    for (std::size_t i = 0; i < variants.size(); i += every) {
      const Operand operand(grouped, variants[i].type, variants[i].fill);
      expect_equality(operand, variants[i], wanted);
      if (HasFailure()) return;
    }
  }
};

TEST_P(BlockGpu, DirectionsAndSums) {
  for (const bool square : {false, true}) {
    for (const bool rows : {false, true}) {
      expect({.square = square, .rows = rows, .columns = true}, 1);
      expect({.square = square, .rows = rows, .columns = true, .sums = true}, 5);
      expect({.square = square, .rows = rows, .sums = true}, 7);
    }
  }
}

TEST_P(BlockGpu, Padding) {
  for (const bool square : {false, true}) {
    for (const std::int64_t padding : {16, 32, 128}) {
      expect({.square = square, .columns = true, .sums = true, .padding = padding}, 7);
      expect({.square = square, .padding = padding}, 7);
      expect({.square = square, .columns = true, .padding = padding, .pad_rows = false}, 7);
    }
  }
}

TEST_P(BlockGpu, JoinedLines) {
  for (const bool swiglu : {false, true}) {
    expect({.columns = true,
            .padding = kernels::kJoinedUnit,
            .pad_rows = false,
            .joined = true,
            .swiglu = swiglu},
           5);
  }
}

TEST_P(BlockGpu, Swiglu) {
  for (const bool square : {false, true}) {
    expect({.square = square, .swiglu = true}, 1);
    expect({.square = square, .columns = true, .sums = true, .swiglu = true}, 5);
    expect({.square = square, .columns = true, .padding = 32, .swiglu = true}, 7);
  }
}

TEST_P(BlockGpu, Noop) {
  for (const bool square : {false, true}) {
    expect({.square = square, .noop = 1.0F}, 7);
    expect({.square = square, .swiglu = true, .noop = 1.0F}, 7);
    expect({.square = square, .columns = true, .sums = true, .noop = 1.0F}, 7);
  }
}

TEST_P(BlockGpu, Stamps) {
  for (const bool square : {false, true}) {
    const Operand operand(GetParam(), InputType::Bf16, quantize_tests::Fill::Wild);
    const Variant variant{
        InputType::Bf16, kernels::Fp8Format::E4m3, {}, quantize_tests::Fill::Wild};
    expect_equality(operand, variant, {.square = square, .stamps = 2});
    expect_equality(operand, variant, {.square = square, .columns = true, .stamps = 2});
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, BlockGpu, testing::ValuesIn(device_cases()),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace gpu_tests
