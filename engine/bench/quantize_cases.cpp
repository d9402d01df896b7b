#include "engine/bench/quantize_cases.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "kernels/activation/activate.h"
#include "kernels/bias/bias.h"

namespace engine {

namespace {

// Values repeat after this many: the host generates them, the target copies them.
constexpr std::int64_t kPatternElements = std::int64_t{1} << 20;

/// BF16 values of about unit variance: sums of four uniform numbers, seeded by position.
std::vector<std::uint16_t> pattern(std::int64_t count) {
  std::vector<std::uint16_t> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint64_t x = (i + 1) * 0x9E3779B97F4A7C15ULL;
    x = (x ^ (x >> 31)) * 0xBF58476D1CE4E5B9ULL;
    x ^= x >> 29;
    const auto sum =
        static_cast<int>((x & 0xFFFF) + ((x >> 16) & 0xFFFF) + ((x >> 32) & 0xFFFF) + (x >> 48));
    const float value = static_cast<float>(sum - 131070) / 37837.0F;
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    values[i] = static_cast<std::uint16_t>(bits >> 16);
  }
  return values;
}

Status fill(BenchTarget& target, std::byte* input, std::int64_t elements) {
  const std::int64_t first = std::min(elements, kPatternElements);
  const std::vector<std::uint16_t> values = pattern(first);
  ENGINE_TRY(target.upload(input, values.data(), first * 2));
  for (std::int64_t filled = first; filled < elements; filled *= 2) {
    const std::int64_t count = std::min(filled, elements - filled);
    ENGINE_TRY(target.run(CopyCall{input + filled * 2, input, count * 2}));
  }
  return {};
}

std::vector<std::int64_t> splits_of(const BenchShape& shape) {
  std::vector<std::int64_t> splits(static_cast<std::size_t>(shape.experts), 0);
  if (shape.routing == BenchRouting::OneHot) {
    splits[0] = shape.rows;
    return splits;
  }
  const std::int64_t rows = shape.routing == BenchRouting::HalfFull ? shape.rows / 2 : shape.rows;
  for (std::int64_t g = 0; g < shape.experts; ++g) {
    splits[static_cast<std::size_t>(g)] = rows / shape.experts + (g < rows % shape.experts ? 1 : 0);
  }
  return splits;
}

/// Keeps the first error, so that a list of allocations needs one check.
class Allocations {
 public:
  explicit Allocations(BenchTarget& target) : target_(target) {}
  template <class T>
  void take(T*& pointer, std::int64_t count) {
    if (!status_.ok()) return;
    Result<std::byte*> memory = target_.allocate(count * static_cast<std::int64_t>(sizeof(T)));
    if (memory.ok()) {
      pointer = reinterpret_cast<T*>(memory.value());
    } else {
      status_ = memory.error();
    }
  }
  const Status& status() const { return status_; }

 private:
  BenchTarget& target_;
  Status status_;
};

/// The buffers that all cases of one shape share: input, codes and scales both ways, offsets.
struct BenchOperand {
  kernels::GroupedInput input;           // BF16, bell-shaped
  kernels::SplitsToOffsetsArgs offsets;  // made the input's row offsets
  std::int64_t active_rows = 0;          // rows that belong to an expert
  std::byte* copied = nullptr;           // 2 bytes per element
  std::uint8_t* codes = nullptr;
  std::uint8_t* transposed = nullptr;
  float* scales = nullptr;
  float* column_scales = nullptr;
  std::uint8_t* scale_bytes = nullptr;
  std::uint8_t* column_scale_bytes = nullptr;
  float* bias_partials = nullptr;
  float* amax = nullptr;  // [experts], as are the next two
  float* scale = nullptr;
  float* scale_inv = nullptr;
  std::uint32_t* tickets = nullptr;
};

Result<BenchOperand> make_bench_operand(BenchTarget& target, const BenchShape& shape) {
  using namespace kernels;
  const std::int64_t rows = shape.rows;
  const std::int64_t columns = shape.columns;
  const int experts = shape.experts;
  const std::int64_t elements = rows * columns;
  BenchOperand operand;
  std::byte* input = nullptr;
  std::int64_t* row_offsets = nullptr;
  std::byte* splits_memory = nullptr;
  Allocations memory(target);
  memory.take(input, elements * 2);
  memory.take(operand.copied, elements * 2);
  memory.take(operand.codes, elements);
  memory.take(operand.transposed,
              std::max(elements, nvfp4_columnwise_code_capacity(rows, experts, columns)));
  memory.take(operand.scales, std::max(block_line_scale_capacity(rows, experts, columns),
                                       block_square_scale_capacity(rows, experts, columns)));
  memory.take(operand.column_scales,
              std::max(block_line_columnwise_scale_capacity(rows, experts, columns),
                       block_square_columnwise_scale_capacity(rows, experts, columns)));
  memory.take(operand.scale_bytes, micro_rowwise_scale_capacity(rows, experts, columns, 16));
  memory.take(operand.column_scale_bytes,
              micro_columnwise_scale_capacity(rows, experts, columns, 16));
  memory.take(operand.bias_partials, bias_partial_capacity(rows, experts, columns));
  memory.take(operand.amax, experts);
  memory.take(operand.scale, experts);
  memory.take(operand.scale_inv, experts);
  memory.take(operand.tickets, 2);
  memory.take(row_offsets, std::int64_t{experts} + 1);
  memory.take(splits_memory, std::int64_t{experts} * 8);
  if (!memory.status().ok()) return memory.status().error();

  const std::vector<std::int64_t> splits = splits_of(shape);
  operand.active_rows = std::accumulate(splits.begin(), splits.end(), std::int64_t{0});
  ENGINE_TRY(fill(target, input, elements));
  ENGINE_TRY(target.upload(splits_memory, splits.data(), std::int64_t{experts} * 8));
  operand.offsets = SplitsToOffsetsArgs{.splits = splits_memory,
                                        .num_groups = experts,
                                        .capacity_rows = rows,
                                        .row_offsets = row_offsets};
  ENGINE_TRY(target.run(operand.offsets));
  operand.input = {.input = input,
                   .type = InputType::Bf16,
                   .row_offsets = row_offsets,
                   .num_groups = experts,
                   .capacity_rows = rows,
                   .columns = columns};
  return operand;
}

using namespace kernels;

constexpr double kFloat = 4;  // bytes

/// The copies that a launch makes, and what else.
struct Writes {
  bool row = false;
  bool column = false;
  bool square = false;  // one scale for a square block
  bool bias = false;    // the sums of columns too
};
constexpr Writes kRow{.row = true};
constexpr Writes kColumn{.column = true};
constexpr Writes kBoth{.row = true, .column = true};

/// Adds cases with the names and bytes of one operand.
class CaseList {
 public:
  explicit CaseList(const BenchOperand& operand)
      : operand_(operand),
        count_(static_cast<double>(operand.active_rows * operand.input.columns)) {}

  void add(std::string kernel, double bytes_per_element, Launch launch) {
    cases_.push_back({std::move(kernel), bytes_per_element * count_, std::move(launch)});
  }
  std::vector<BenchCase> take() { return std::move(cases_); }

  void add_copy() {
    const std::int64_t bytes = operand_.active_rows * operand_.input.columns * 3 / 2;
    const auto* from = static_cast<const std::byte*>(operand_.input.input);
    add("copy", 3, {CopyCall{operand_.copied, from, bytes}});
    add("offsets", 0, {operand_.offsets});
  }

  void add_block(const char* kernel, double bytes, const Writes& writes) {
    add(kernel, bytes, {block(operand_.input, writes)});
  }

  void add_per_tensor() {
    const GroupAmaxArgs amax{.input = operand_.input, .amax = operand_.amax};
    const PerTensorScaleArgs scale{.amax = operand_.amax,
                                   .num_groups = operand_.input.num_groups,
                                   .scale = operand_.scale,
                                   .scale_inv = operand_.scale_inv};
    QuantizePerTensorArgs cast{
        .input = operand_.input, .scale = operand_.scale, .rowwise = operand_.codes};
    add("per_tensor_current", 5, {amax, scale, cast});
    cast.columnwise = operand_.transposed;
    cast.controls.tickets = operand_.tickets;
    add("per_tensor_current_both", 6, {amax, scale, cast});
    add("per_tensor_delayed_both", 4, {delayed(operand_.input)});
  }

  void add_mxfp8(const char* kernel, const Writes& writes) {
    const bool both = writes.row && writes.column;
    add(kernel, both ? 4 + 2.0 / kMxBlock : 3 + 1.0 / kMxBlock, {mxfp8(operand_.input, writes)});
  }

  /// The operand's columns as gate and up: y has half as many, its gradient as many as both.
  void add_swiglu() {
    if (operand_.input.columns % 32 != 0) return;
    const double scales = kFloat / static_cast<double>(kBlock);
    GroupedInput forward = operand_.input;
    forward.columns /= 2;
    forward.activation = kSwiglu;
    add("swiglu_block_1x128", 2.5 + scales / 2, {block(forward, kRow)});
    add("swiglu_block_1x128_both", 3 + scales, {block(forward, kBoth)});
    add("swiglu_block_1x128_both_unfused", 3 + scales, after_activation(forward));
    add("swiglu_mxfp8", 2.5 + 0.5 / kMxBlock, {mxfp8(forward, kRow)});
    add("swiglu_mxfp8_both", 3 + 1.0 / kMxBlock, {mxfp8(forward, kBoth)});
    add("swiglu_per_tensor_delayed_both", 3, {delayed(forward)});
    GroupedInput backward = operand_.input;
    backward.activation = kSwiglu;
    backward.output_gradient = operand_.copied;
    add("swiglu_gradient_block_1x128_both", 5 + 2 * scales, {block(backward, kBoth)});
    add("swiglu_gradient_block_1x128_both_bias", 5 + 2 * scales,
        {block(backward, {.row = true, .column = true, .bias = true})});
    add("swiglu_gradient_mxfp8_both", 5 + 2.0 / kMxBlock, {mxfp8(backward, kBoth)});
    add("swiglu_gradient_per_tensor_delayed_both", 5, {delayed(backward)});
  }

  void add_nvfp4_amax() {
    const Nvfp4AmaxArgs args{.input = operand_.input,
                             .hadamard = true,
                             .rowwise_amax = operand_.amax,
                             .columnwise_amax = operand_.amax};
    add("nvfp4_amax", 2, {args});
  }

  void add_nvfp4(const char* kernel, const Writes& writes, bool hadamard = false) {
    QuantizeNvfp4Args args{.input = operand_.input, .hadamard = hadamard};
    args.rowwise = {operand_.codes, operand_.scale_bytes, operand_.amax};
    if (writes.column) {
      args.columnwise = {operand_.transposed, operand_.column_scale_bytes, operand_.amax};
    }
    args.controls.tickets = operand_.tickets;
    const double bytes = writes.column ? 3 + 2.0 / kNvBlock : 2.5 + 1.0 / kNvBlock;
    add(kernel, bytes, {args});
  }

 private:
  BlockCall block(const GroupedInput& input, const Writes& writes) const {
    QuantizeBlockArgs args{.input = input, .options = {.pow2 = true}};
    if (writes.row) args.rowwise = {.codes = operand_.codes, .scale_inv = operand_.scales};
    if (writes.column) {
      args.columnwise = {.codes = operand_.transposed, .scale_inv = operand_.column_scales};
      args.controls.tickets = operand_.tickets;
    }
    if (writes.bias) args.bias_partials = operand_.bias_partials;
    return {args, writes.square};
  }
  /// The activation alone, then a plain quantize pass of what it wrote.
  Launch after_activation(const GroupedInput& input) const {
    const ActivateArgs activate{.input = input, .output = operand_.copied};
    GroupedInput plain = input;
    plain.activation = {};
    plain.input = operand_.copied;
    return {activate, block(plain, kBoth)};
  }
  QuantizeMxfp8Args mxfp8(const GroupedInput& input, const Writes& writes) const {
    QuantizeMxfp8Args args{.input = input, .square_blocks = writes.square};
    if (writes.row) args.rowwise = {operand_.codes, operand_.scale_bytes};
    if (writes.column) args.columnwise = {operand_.transposed, operand_.column_scale_bytes};
    args.controls.tickets = operand_.tickets;
    return args;
  }
  QuantizePerTensorArgs delayed(const GroupedInput& input) const {
    QuantizePerTensorArgs args{.input = input, .scale = operand_.scale, .rowwise = operand_.codes};
    args.columnwise = operand_.transposed;
    args.controls.tickets = operand_.tickets;
    args.amax = operand_.amax;
    args.scale_inv = operand_.scale_inv;
    return args;
  }

  const BenchOperand operand_;
  const double count_;
  std::vector<BenchCase> cases_;
};

}  // namespace

Result<QuantizeCases> make_quantize_cases(BenchTarget& target, const BenchShape& shape) {
  ENGINE_ASSIGN(const BenchOperand operand, make_bench_operand(target, shape));
  CaseList list(operand);
  const double scale = kFloat / static_cast<double>(kBlock);
  list.add_copy();
  list.add_block("block_1x128", 3 + scale, kRow);
  list.add_block("block_128x128", 3, {.row = true, .square = true});
  list.add_block("block_1x128_columnwise", 3 + scale, kColumn);
  list.add_block("block_1x128_both", 4 + 2 * scale, kBoth);
  list.add_block("block_1x128_both_bias", 4 + 2 * scale,
                 {.row = true, .column = true, .bias = true});
  list.add_block("block_128x128_columnwise", 3, {.column = true, .square = true});
  list.add_block("block_128x128_both", 4, {.row = true, .column = true, .square = true});
  list.add_per_tensor();
  list.add_mxfp8("mxfp8_row", kRow);
  list.add_mxfp8("mxfp8_columnwise", kColumn);
  list.add_mxfp8("mxfp8_both", kBoth);
  list.add_mxfp8("mxfp8_square_both", {.row = true, .column = true, .square = true});
  list.add_swiglu();
  list.add_nvfp4_amax();
  list.add_nvfp4("nvfp4_row", kRow);
  list.add_nvfp4("nvfp4_both", kBoth);
  list.add_nvfp4("nvfp4_both_hadamard", kBoth, true);
  return QuantizeCases{.cases = list.take(), .elements = operand.active_rows * shape.columns};
}

}  // namespace engine
