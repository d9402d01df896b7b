// Time of the kernels for groups that differ in columns, beside the plain kernels on an operand of
// as many elements, and beside a device copy that moves the same bytes, interleaved in one run.
//   gpu_varying_bench [ROUNDS]
#include <numeric>

#include "kernels/dequantize/dequantize_varying.h"
#include "kernels/offsets/varying_offsets.h"
#include "kernels/quantize/quantize_varying.h"
#include "tests/bench/race.h"

namespace {

using bench::check;
using bench::Contender;
using namespace kernels;

/// Groups of `rows` rows whose columns alternate around `columns`; or do not, which shows what the
/// other pipeline costs by itself.
struct Shape {
  int groups;
  std::int64_t rows, columns;
  bool uneven;
};

void run(const Shape& shape, int rounds) {
  bench::DeviceMemory memory;
  std::vector<std::int64_t> rows(static_cast<std::size_t>(shape.groups), shape.rows);
  std::vector<std::int64_t> columns;
  for (int g = 0; g < shape.groups; ++g) {
    const std::int64_t change = shape.uneven ? shape.columns / 64 * 16 : 0;
    columns.push_back(shape.columns + (g % 2 == 0 ? change : -change));
  }
  const std::int64_t all_rows = shape.rows * shape.groups;
  const std::int64_t elements = shape.rows * std::reduce(columns.begin(), columns.end());
  std::printf("%d groups of %lld rows and %lld%s columns\n", shape.groups,
              static_cast<long long>(shape.rows), static_cast<long long>(shape.columns),
              shape.uneven ? " times 0.75 or 1.25" : "");
  const auto offsets = [&] { return memory.zeros<std::int64_t>(shape.groups + 1); };
  VaryingOffsetsArgs args{.first_dims = memory.copy_of(rows),
                          .last_dims = memory.copy_of(columns),
                          .num_groups = shape.groups,
                          .capacity_rows = all_rows,
                          .capacity_elements = elements,
                          .row_offsets = offsets(),
                          .columns = offsets(),
                          .elements = offsets(),
                          .num_arrays = 4,
                          .fault = memory.zeros<ExtentFault>(1)};
  args.arrays[0] = {offsets(), kLineRowwiseScales};
  args.arrays[1] = {offsets(), kLineColumnwiseScales};
  args.arrays[2] = {offsets(), kMxfp8Scales};
  args.arrays[3] = {offsets(), kNvfp4RowwiseScales};
  check(varying_offsets(args, nullptr));
  const VaryingGroups groups{args.columns, args.elements, elements};
  const VaryingOperand lines{groups, {args.arrays[0].values, args.arrays[1].values}};
  const VaryingOperand micro{groups, {args.arrays[2].values, args.arrays[2].values}};
  const VaryingOperand nano{groups, {args.arrays[3].values}};

  auto* const values = memory.zeros<std::uint16_t>(elements);
  auto* const decoded = memory.zeros<std::uint16_t>(elements);
  auto* const codes = memory.zeros<std::uint8_t>(elements);
  auto* const transposed = memory.zeros<std::uint8_t>(elements);
  auto* const scales = memory.zeros<float>(elements / 64 + 1024 * shape.groups);
  auto* const column_scales = memory.zeros<float>(elements / 64 + 1024 * shape.groups);
  auto* const bytes = reinterpret_cast<std::uint8_t*>(scales);
  auto* const column_bytes = reinterpret_cast<std::uint8_t*>(column_scales);
  auto* const amax = memory.zeros<float>(shape.groups);
  auto* const spare = memory.zeros<std::uint8_t>(2 * elements + 4096);
  auto* const copied = memory.zeros<std::uint8_t>(2 * elements + 4096);
  GroupedInput input{.input = values,
                     .row_offsets = args.row_offsets,
                     .num_groups = shape.groups,
                     .capacity_rows = all_rows,
                     .columns = shape.columns};
  const QuantizeBlockArgs block{.input = input,
                                .options = {.pow2 = true},
                                .rowwise = {.codes = codes, .scale_inv = scales},
                                .columnwise = {.codes = transposed, .scale_inv = column_scales}};
  const QuantizeMxfp8Args mx{
      .input = input, .rowwise = {codes, bytes}, .columnwise = {transposed, column_bytes}};
  const QuantizeNvfp4Args nv{.input = input, .rowwise = {codes, bytes, amax}};
  const DequantizeArgs decode{.quantized = {.codes = codes,
                                            .layout = ScaleLayout::BlockLine,
                                            .scales = scales,
                                            .row_offsets = args.row_offsets,
                                            .num_groups = shape.groups,
                                            .capacity_rows = all_rows,
                                            .columns = shape.columns},
                              .output = decoded,
                              .output_type = InputType::Bf16};
  const auto count = static_cast<double>(elements);
  bench::race(
      {{"offsets, four arrays", 0, [&] { check(varying_offsets(args, nullptr)); }},
       {"1x128 both", 4 * count,
        [&] { check(quantize_block_varying(block, false, lines, nullptr)); }},
       {"1x128 both, plain kernel", 4 * count,
        [&] { check(quantize_block_lines(block, nullptr)); }},
       {"MXFP8 both", 4 * count, [&] { check(quantize_mxfp8_varying(mx, micro, nullptr)); }},
       {"MXFP8 both, plain kernel", 4 * count, [&] { check(quantize_mxfp8(mx, nullptr)); }},
       {"NVFP4 row", 2.5 * count, [&] { check(quantize_nvfp4_varying(nv, nano, nullptr)); }},
       {"NVFP4 row, plain kernel", 2.5 * count, [&] { check(quantize_nvfp4(nv, nullptr)); }},
       {"dequantize 1x128 to BF16", 3 * count,
        [&] { check(dequantize_varying({decode, groups, lines.places}, nullptr)); }},
       {"dequantize 1x128 to BF16, plain kernel", 3 * count,
        [&] { check(dequantize(decode, nullptr)); }}},
      spare, copied, rounds);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 25;
  for (const bool uneven : {false, true}) {
    for (const Shape& shape : {Shape{32, 1024, 7168, uneven}, Shape{8, 2048, 4096, uneven},
                               Shape{128, 512, 2048, uneven}}) {
      run(shape, rounds);
    }
  }
  return 0;
}
