// Groups that differ in columns, on the device against the twins, bit for bit: offsets, every
// recipe in both directions, dequantize; and what the launchers refuse.
#include "kernels/offsets/varying_offsets.h"

#include <random>

#include "kernels/dequantize/dequantize_varying.h"
#include "kernels/quantize/quantize_varying.h"
#include "tests/gpu/kernels/twin_comparison.h"
#include "tests/numerics/quantize/varying_cases.h"

namespace gpu_tests::varying_groups {
namespace {

using kernels::Fp8Format;
using kernels::InputType;
using kernels::ScaleLayout;
using quantize_tests::VaryingCase;

constexpr InputType kTypes[] = {InputType::Bf16, InputType::Fp16, InputType::Fp32};

/// The offsets of an operand on both sides, made by the launch that a step would make them with.
class OffsetArrays {
 public:
  OffsetArrays(TwinArrays& arrays, const VaryingCase& varying, ScaleLayout layout)
      : arrays_(arrays), varying_(varying), layout_(layout) {
    first_ = arrays.input(varying.rows);
    last_ = arrays.input(varying.columns);
    const std::int64_t bytes = 8 * (varying.num_groups() + 1);
    for (int& number : numbers_) number = arrays.output(bytes);
    row_dims_ = arrays.output(4 * varying.num_groups());
    column_dims_ = arrays.output(4 * varying.num_groups());
    pointers_ = arrays.output(8 * varying.num_groups());
    fault_ = arrays.state(std::vector<kernels::ExtentFault>(1));
  }
  kernels::VaryingOffsetsArgs args(bool device) const {
    kernels::VaryingOffsetsArgs args{
        .first_dims = arrays_.at<void>(first_, device),
        .last_dims = arrays_.at<void>(last_, device),
        .num_groups = varying_.num_groups(),
        .capacity_rows = varying_.all_rows(),
        .capacity_elements = varying_.elements() + varying_.spare_elements,
        .row_offsets = at(0, device),
        .columns = at(1, device),
        .elements = at(2, device),
        .row_dims = arrays_.at<std::int32_t>(row_dims_, device),
        .column_dims = arrays_.at<std::int32_t>(column_dims_, device),
        .num_arrays = 3,
        .num_pointers = 1,
        .fault = arrays_.at<kernels::ExtentFault>(fault_, device)};
    args.arrays[0] = {at(3, device), quantize_tests::units_of_scales(layout_, false)};
    args.arrays[1] = {at(4, device), quantize_tests::units_of_scales(layout_, true)};
    args.arrays[2] = {at(5, device), kernels::kNvfp4ColumnwiseCodes};
    // The same base on both sides: addresses are compared, not read.
    args.pointers[0] = {reinterpret_cast<std::byte*>(std::uintptr_t{4096}),
                        {4, 128, 16},
                        arrays_.at<void*>(pointers_, device)};
    return args;
  }
  void make() const {
    kernels::varying_offsets_cpu(args(false));
    ASSERT_EQ(kernels::varying_offsets(args(true), nullptr), cudaSuccess);
  }
  const std::int64_t* row_offsets(bool device) const { return at(0, device); }
  kernels::VaryingGroups groups(bool device) const {
    return {at(1, device), at(2, device), varying_.elements() + varying_.spare_elements};
  }
  kernels::VaryingPlaces places(bool device) const {
    return {at(3, device), at(4, device), at(5, device)};
  }
  /// Bytes of codes and of scales of a direction, whatever the layout.
  std::int64_t code_bytes() const {
    std::int64_t bytes = 0;
    for (std::size_t g = 0; g < varying_.rows.size(); ++g) {
      bytes += kernels::round_up(varying_.rows[g], 16) * varying_.columns[g];
    }
    return bytes + 16;
  }
  std::int64_t scale_bytes() const {
    std::int64_t bytes = 4 * varying_.num_groups();
    for (std::size_t g = 0; g < varying_.rows.size(); ++g) {
      const auto size = [&](bool columnwise) {
        return quantize_tests::scales_of_group(layout_, columnwise, varying_.rows[g],
                                               varying_.columns[g]);
      };
      bytes += 4 * std::max(size(false), size(true));
    }
    return bytes + 16;
  }

 private:
  std::int64_t* at(std::size_t number, bool device) const {
    return arrays_.at<std::int64_t>(numbers_[number], device);
  }

  TwinArrays& arrays_;
  VaryingCase varying_;
  ScaleLayout layout_;
  int first_, last_, fault_, row_dims_, column_dims_, pointers_;
  int numbers_[6];
};

class VaryingGpu : public DeviceTest, public testing::WithParamInterface<VaryingCase> {};

TEST_P(VaryingGpu, OffsetsEqualTheirTwin) {
  for (const ScaleLayout layout : {ScaleLayout::BlockLine, ScaleLayout::BlockSquare,
                                   ScaleLayout::Mx1x32, ScaleLayout::Nv1x16}) {
    TwinArrays arrays;
    const OffsetArrays offsets(arrays, GetParam(), layout);
    offsets.make();
    arrays.expect_equal();
  }
}

struct Tried {
  InputType type = InputType::Bf16;
  Fp8Format format = Fp8Format::E4m3;
  bool rowwise = true;
  bool columnwise = true;
  int variant = 0;
  std::string name() const {
    return "type " + std::to_string(static_cast<int>(type)) + " format " +
           std::to_string(static_cast<int>(format)) + (rowwise ? " row" : "") +
           (columnwise ? " column" : "") + " variant " + std::to_string(variant);
  }
};

/// Runs quantize(device, operand, outputs) on both sides and compares everything.
template <class Quantize>
void compare(const VaryingCase& varying, ScaleLayout layout, const Tried& tried,
             Quantize quantize) {
  SCOPED_TRACE("layout " + std::to_string(static_cast<int>(layout)) + " " + tried.name());
  TwinArrays arrays;
  const OffsetArrays offsets(arrays, varying, layout);
  offsets.make();
  const quantize_tests::Operand flat({.name = "",
                                      .splits = {varying.elements() / 16},
                                      .spare_rows = varying.spare_elements / 16,
                                      .columns = 16},
                                     tried.type, quantize_tests::Fill::Wild);
  const int values = arrays.input(flat.bytes);
  int codes[2], scales[2], amax[2], block_amax[2];
  for (int direction = 0; direction < 2; ++direction) {
    codes[direction] = arrays.output(offsets.code_bytes());
    scales[direction] = arrays.output(offsets.scale_bytes());
    block_amax[direction] = arrays.output(offsets.scale_bytes());
    amax[direction] =
        arrays.state(std::vector<float>(static_cast<std::size_t>(varying.num_groups()), 0.75F));
  }
  for (const bool device : {false, true}) {
    struct Outputs {
      std::uint8_t* codes;
      void* scales;
      float* block_amax;
      float* amax;
    } outputs[2];
    for (int direction = 0; direction < 2; ++direction) {
      const bool wanted = direction == 0 ? tried.rowwise : tried.columnwise;
      outputs[direction] = {wanted ? arrays.at<std::uint8_t>(codes[direction], device) : nullptr,
                            arrays.at<void>(scales[direction], device),
                            arrays.at<float>(block_amax[direction], device),
                            arrays.at<float>(amax[direction], device)};
    }
    const kernels::GroupedInput input{.input = arrays.at<void>(values, device),
                                      .type = tried.type,
                                      .row_offsets = offsets.row_offsets(device),
                                      .num_groups = varying.num_groups(),
                                      .capacity_rows = varying.all_rows(),
                                      .columns = 0};
    const kernels::VaryingOperand operand{offsets.groups(device), offsets.places(device)};
    quantize(device, input, operand, outputs[0], outputs[1]);
  }
  arrays.expect_equal();
}

/// Every type, with formats, directions and variants in turn.
template <class Visit>
void for_each_variant(Visit visit) {
  int turn = 0;
  for (const InputType type : kTypes) {
    for (const int directions : {1, 2, 3}) {
      visit(Tried{.type = type,
                  .format = turn % 2 == 0 ? Fp8Format::E4m3 : Fp8Format::E5m2,
                  .rowwise = (directions & 1) != 0,
                  .columnwise = (directions & 2) != 0,
                  .variant = turn});
      ++turn;
    }
  }
}

TEST_P(VaryingGpu, BlocksEqualTheirTwin) {
  for (const bool square : {false, true}) {
    for_each_variant([&](const Tried& tried) {
      if (HasFailure()) return;
      compare(GetParam(), square ? ScaleLayout::BlockSquare : ScaleLayout::BlockLine, tried,
              [&](bool device, const kernels::GroupedInput& input,
                  const kernels::VaryingOperand& operand, const auto& row, const auto& column) {
                const auto output = [](const auto& from) {
                  return kernels::BlockOutput{from.codes, static_cast<float*>(from.scales),
                                              from.block_amax};
                };
                const kernels::QuantizeBlockArgs args{.input = input,
                                                      .format = tried.format,
                                                      .options = {.pow2 = tried.variant % 3 == 0},
                                                      .rowwise = output(row),
                                                      .columnwise = output(column)};
                if (!device) return kernels::quantize_block_varying_cpu(args, square, operand);
                ASSERT_EQ(kernels::quantize_block_varying(args, square, operand, nullptr),
                          cudaSuccess);
              });
    });
  }
}

TEST_P(VaryingGpu, PerTensorEqualsItsTwin) {
  for_each_variant([&](const Tried& tried) {
    if (HasFailure()) return;
    compare(GetParam(), ScaleLayout::PerTensor, tried,
            [&](bool device, const kernels::GroupedInput& input,
                const kernels::VaryingOperand& operand, const auto& row, const auto& column) {
              const bool delayed = tried.variant % 2 == 0;
              const kernels::QuantizePerTensorArgs args{
                  .input = input,
                  .format = tried.format,
                  .scale = column.amax,  // 0.75 each
                  .rowwise = row.codes,
                  .columnwise = column.codes,
                  .amax = delayed ? row.amax : nullptr,
                  .scale_inv = delayed ? static_cast<float*>(row.scales) : nullptr};
              if (!device) return kernels::quantize_per_tensor_varying_cpu(args, operand);
              ASSERT_EQ(kernels::quantize_per_tensor_varying(args, operand, nullptr), cudaSuccess);
            });
  });
}

TEST_P(VaryingGpu, Mxfp8EqualsItsTwin) {
  for_each_variant([&](const Tried& tried) {
    if (HasFailure()) return;
    compare(GetParam(), ScaleLayout::Mx1x32, tried,
            [&](bool device, const kernels::GroupedInput& input,
                const kernels::VaryingOperand& operand, const auto& row, const auto& column) {
              const kernels::QuantizeMxfp8Args args{
                  .input = input,
                  .format = tried.format,
                  .square_blocks = tried.variant % 4 == 3,
                  .layout = tried.variant % 2 == 0 ? kernels::MicroScaleLayout::Swizzled
                                                   : kernels::MicroScaleLayout::Compact,
                  .rowwise = {row.codes, static_cast<std::uint8_t*>(row.scales)},
                  .columnwise = {column.codes, static_cast<std::uint8_t*>(column.scales)}};
              if (!device) return kernels::quantize_mxfp8_varying_cpu(args, operand);
              ASSERT_EQ(kernels::quantize_mxfp8_varying(args, operand, nullptr), cudaSuccess);
            });
  });
}

TEST_P(VaryingGpu, Nvfp4EqualsItsTwin) {
  for_each_variant([&](const Tried& tried) {
    if (HasFailure()) return;
    compare(
        GetParam(), ScaleLayout::Nv1x16, tried,
        [&](bool device, const kernels::GroupedInput& input, const kernels::VaryingOperand& operand,
            const auto& row, const auto& column) {
          const bool hadamard = tried.variant % 2 == 0;
          const kernels::Nvfp4AmaxArgs largest{.input = input,
                                               .hadamard = hadamard,
                                               .rowwise_amax = row.amax,
                                               .columnwise_amax = column.amax};
          const kernels::QuantizeNvfp4Args args{
              .input = input,
              .square_blocks = !hadamard && tried.variant % 4 == 1,
              .hadamard = hadamard,
              .layout = tried.variant % 3 == 0 ? kernels::MicroScaleLayout::Swizzled
                                               : kernels::MicroScaleLayout::Compact,
              .rowwise = {row.codes, static_cast<std::uint8_t*>(row.scales), row.amax},
              .columnwise = {column.codes, static_cast<std::uint8_t*>(column.scales), column.amax}};
          if (!device) {
            kernels::nvfp4_amax_varying_cpu(largest, operand);
            return kernels::quantize_nvfp4_varying_cpu(args, operand);
          }
          ASSERT_EQ(kernels::nvfp4_amax_varying(largest, operand, nullptr), cudaSuccess);
          ASSERT_EQ(kernels::quantize_nvfp4_varying(args, operand, nullptr), cudaSuccess);
        });
  });
}

TEST_P(VaryingGpu, DequantizeEqualsItsTwin) {
  std::mt19937 random(9);
  for (const ScaleLayout layout :
       {ScaleLayout::PerTensor, ScaleLayout::BlockLine, ScaleLayout::BlockSquare,
        ScaleLayout::Mx1x32, ScaleLayout::Nv1x16}) {
    for (const bool columnwise : {false, true}) {
      for (const InputType type : kTypes) {
        SCOPED_TRACE("layout " + std::to_string(static_cast<int>(layout)) + " columnwise " +
                     std::to_string(columnwise) + " type " +
                     std::to_string(static_cast<int>(type)));
        const VaryingCase& varying = GetParam();
        TwinArrays arrays;
        const OffsetArrays offsets(arrays, varying, layout);
        offsets.make();
        std::vector<std::uint8_t> bytes(static_cast<std::size_t>(offsets.code_bytes()));
        for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
        const int codes = arrays.input(bytes);
        bytes.resize(static_cast<std::size_t>(offsets.scale_bytes()));
        for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random() % 0x7F);
        const int scales = arrays.input(bytes);
        const int amax =
            arrays.input(std::vector<float>(static_cast<std::size_t>(varying.num_groups()), 3.5F));
        const int output =
            arrays.output((varying.elements() + 5) * (type == InputType::Fp32 ? 4 : 2));
        const auto args = [&](bool device) {
          return kernels::DequantizeVaryingArgs{
              .whole = {.quantized = {.codes = arrays.at<std::uint8_t>(codes, device),
                                      .layout = layout,
                                      .direction = columnwise ? kernels::Direction::Columnwise
                                                              : kernels::Direction::Rowwise,
                                      .hadamard = layout == ScaleLayout::Nv1x16 && columnwise,
                                      .scales = arrays.at<void>(scales, device),
                                      .amax = arrays.at<float>(amax, device),
                                      .row_offsets = offsets.row_offsets(device),
                                      .num_groups = varying.num_groups(),
                                      .capacity_rows = varying.all_rows()},
                        .output = arrays.at<void>(output, device),
                        .output_type = type},
              .groups = offsets.groups(device),
              .places = offsets.places(device)};
        };
        kernels::dequantize_varying_cpu(args(false));
        ASSERT_EQ(kernels::dequantize_varying(args(true), nullptr), cudaSuccess);
        arrays.expect_equal();
        if (HasFailure()) return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, VaryingGpu, testing::ValuesIn(quantize_tests::varying_cases()),
                         [](const auto& tested) { return tested.param.name; });

class VaryingOffsetsGpu : public DeviceTest {};

TEST_F(VaryingOffsetsGpu, FaultsEqualThoseOfTheTwin) {
  for (const std::vector<std::int64_t>& rows :
       {std::vector<std::int64_t>{2, 0, -1, 3}, {2, 0, 1 << 20, 3}, {2, 7, 90, 3}, {99, 2, 1, 1}}) {
    for (const std::vector<std::int64_t>& columns : {std::vector<std::int64_t>{16, 16, 160, 32},
                                                     {16, 24, 16, -16},
                                                     {32, 0, 48, std::int64_t{1} << 40}}) {
      TwinArrays arrays;
      VaryingCase varying{.name = "", .rows = rows, .columns = columns};
      const OffsetArrays offsets(arrays, varying, ScaleLayout::Mx1x32);
      for (int launch = 0; launch < 2; ++launch) {
        kernels::VaryingOffsetsArgs host = offsets.args(false);
        kernels::VaryingOffsetsArgs device = offsets.args(true);
        host.capacity_rows = device.capacity_rows = 100;
        host.capacity_elements = device.capacity_elements = 10000;
        kernels::varying_offsets_cpu(host);
        ASSERT_EQ(kernels::varying_offsets(device, nullptr), cudaSuccess);
        arrays.expect_equal();
      }
    }
  }
}

TEST_F(VaryingOffsetsGpu, RefusesWhatTheKernelsDoNotTake) {
  std::int64_t word = 0;
  const kernels::VaryingOperand operand{.groups = {&word, &word, 160}, .places = {}};
  kernels::QuantizeBlockArgs block{.input = {.row_offsets = &word, .num_groups = 1}};
  block.block = 64;
  EXPECT_EQ(kernels::quantize_block_varying(block, false, operand, nullptr), cudaErrorNotSupported);
  block.block = 128;
  block.bias_partials = reinterpret_cast<float*>(16);
  EXPECT_EQ(kernels::quantize_block_varying(block, false, operand, nullptr), cudaErrorNotSupported);
  block.bias_partials = nullptr;
  block.input.activation = kernels::kSwiglu;
  EXPECT_EQ(kernels::quantize_block_varying(block, false, operand, nullptr), cudaErrorNotSupported);
  block.input.activation = {};
  EXPECT_EQ(kernels::quantize_block_varying(block, false, {}, nullptr), cudaErrorInvalidValue);
  block.rowwise.codes = reinterpret_cast<std::uint8_t*>(8);
  EXPECT_EQ(kernels::quantize_block_varying(block, false, operand, nullptr),
            cudaErrorMisalignedAddress);
  block.rowwise.codes = reinterpret_cast<std::uint8_t*>(16);
  EXPECT_EQ(kernels::quantize_block_varying(block, false, operand, nullptr), cudaErrorInvalidValue)
      << "no input";
  block.input.input = reinterpret_cast<const void*>(16);
  EXPECT_EQ(kernels::quantize_block_varying(block, false, operand, nullptr), cudaErrorInvalidValue)
      << "no places of scales";
  block.input.row_offsets = nullptr;
  EXPECT_EQ(kernels::quantize_block_varying(block, false, operand, nullptr), cudaErrorInvalidValue)
      << "no row offsets";
  kernels::DequantizeVaryingArgs dequantize{
      .whole = {}, .groups = {&word, &word, 160}, .places = {}};
  dequantize.whole.quantized.num_groups = 1;
  EXPECT_EQ(kernels::dequantize_varying(dequantize, nullptr), cudaErrorInvalidValue) << "no codes";
  kernels::QuantizeNvfp4Args nv{.input = {.row_offsets = &word, .num_groups = 1}};
  nv.stochastic_rounding = true;
  EXPECT_EQ(kernels::quantize_nvfp4_varying(nv, operand, nullptr), cudaErrorNotSupported);
  EXPECT_EQ(kernels::varying_offsets({.num_groups = 1025}, nullptr), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace gpu_tests::varying_groups
