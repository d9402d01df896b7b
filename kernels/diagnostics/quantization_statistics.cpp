// Effects of quantization on an operand, on the CPU: one pass over input and codes in chunks that
// stay in L1. Sums are merged in task order, so they do not depend on the number of threads.
#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>

#include "kernels/common/element_run.h"
#include "kernels/common/fp8_codes.h"
#include "kernels/common/input_elements.h"
#include "kernels/dequantize/group_view.h"
#include "kernels/diagnostics/code_error.h"
#include "kernels/diagnostics/magnitude_histogram.h"
#include "kernels/diagnostics/row_tasks.h"
#include "kernels/diagnostics/statistics.h"

namespace kernels {

namespace {

constexpr std::int64_t kElementsPerTask = 1 << 16;
// Two FP32 copies of a piece are 16 KiB; a multiple of every block.
constexpr std::int64_t kPiece = 2048;

struct SpanSums {
  double signal = 0.0;
  double noise = 0.0;
  std::uint32_t saturated = 0;
  std::uint32_t underflowed = 0;
  float max_ulp = 0.0F;
};

struct Span {
  const float* x = nullptr;             // widened input
  const std::uint8_t* codes = nullptr;  // null = not quantized
  float* y = nullptr;                   // dequantized, written here
  std::int64_t count = 0;
};

KERNELS_VECTOR_CLONES
void widen_bf16(const std::uint16_t* input, std::int64_t count, float* output) {
  for (std::int64_t i = 0; i < count; ++i)
    output[i] = InputElement<InputType::Bf16>::value(input[i]);
}

KERNELS_VECTOR_CLONES
void widen_fp16(const std::uint16_t* input, std::int64_t count, float* output) {
  for (std::int64_t i = 0; i < count; ++i)
    output[i] = InputElement<InputType::Fp16>::value(input[i]);
}

const float* widen(const GroupedInput& input, std::int64_t first, std::int64_t count,
                   float* buffer) {
  switch (input.type) {
    case InputType::Bf16:
      widen_bf16(static_cast<const std::uint16_t*>(input.input) + first, count, buffer);
      return buffer;
    case InputType::Fp16:
      widen_fp16(static_cast<const std::uint16_t*>(input.input) + first, count, buffer);
      return buffer;
    case InputType::Fp32:
      break;
  }
  return static_cast<const float*>(input.input) + first;
}

bool is_finite_bits(std::uint32_t bits) { return (bits & 0x7F800000U) != 0x7F800000U; }

KERNELS_VECTOR_CLONES
double sum_of_squares(const float* x, std::int64_t count) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = is_finite_bits(std::bit_cast<std::uint32_t>(x[i])) ? x[i] : 0.0F;
    sum += value * value;
  }
  return sum;
}

KERNELS_VECTOR_CLONES
SpanSums quantized_sums(const Span& span, const float* values, float scale_inv,
                        float saturation_limit, const CodeGridBits& grid) {
  const float* x = span.x;
  const std::uint8_t* codes = span.codes;
  float* y = span.y;
  // The scale may have been FLT_MAX, whose inverse does not invert back.
  const float scale = std::min(1.0F / scale_inv, std::numeric_limits<float>::max());
  for (std::int64_t i = 0; i < span.count; ++i) y[i] = values[codes[i]] * scale_inv;
  double signal = 0.0;
  double noise = 0.0;
  std::uint32_t saturated = 0;
  std::uint32_t underflowed = 0;
  float max_ulp = 0.0F;
#pragma omp simd reduction(+ : signal, noise, saturated, underflowed) reduction(max : max_ulp)
  for (std::int64_t i = 0; i < span.count; ++i) {
    const std::uint32_t x_bits = std::bit_cast<std::uint32_t>(x[i]);
    const std::uint32_t y_bits = std::bit_cast<std::uint32_t>(y[i]);
    const bool counts = is_finite_bits(x_bits) & is_finite_bits(y_bits);
    const double original = counts ? x[i] : 0.0F;
    const double error = original - static_cast<double>(counts ? y[i] : 0.0F);
    signal += original * original;
    noise += error * error;
    const float ulps = code_ulps(static_cast<float>(std::fabs(error)),
                                 std::bit_cast<std::uint32_t>(values[codes[i]]), scale_inv, grid);
    max_ulp = ulps > max_ulp ? ulps : max_ulp;
    // NaN compares false and is not counted.
    saturated += std::fabs(x[i] * scale) > saturation_limit ? 1U : 0U;
    const bool code_is_zero = (codes[i] & 0x7FU) == 0;
    const bool x_is_zero = (x_bits & 0x7FFFFFFFU) == 0;
    underflowed += code_is_zero & !x_is_zero ? 1U : 0U;
  }
  return {.signal = signal,
          .noise = noise,
          .saturated = saturated,
          .underflowed = underflowed,
          .max_ulp = max_ulp};
}

/// One thread's working memory, on the heap: OpenMP's thread stacks may be small.
struct ThreadState {
  std::array<float, kPiece> x;
  std::array<float, kPiece> y;
  MagnitudeHistogram before;
  MagnitudeHistogram after;
};

class OperandScan {
 public:
  explicit OperandScan(const QuantizationStatisticsArgs& args)
      : args_(args),
        groups_(group_views({.codes = args.codes,
                             .layout = args.layout,
                             .block = args.block,
                             .scales = args.scale_inv,
                             .row_offsets = args.input.row_offsets,
                             .num_groups = args.input.num_groups,
                             .columns = args.input.columns})),
        scale_step_(args.layout == ScaleLayout::PerTensor ? kPiece : args.block) {}

  GroupQuantizationSums run(const RowTask& task, ThreadState& state) const {
    GroupQuantizationSums sums{};
    for (std::int64_t row = task.first_row; row < task.last_row; ++row) {
      for (std::int64_t column = 0; column < args_.input.columns; column += kPiece) {
        add_piece(task.group, row, column, state, sums);
      }
    }
    return sums;
  }

 private:
  void add_piece(int group, std::int64_t row, std::int64_t column, ThreadState& state,
                 GroupQuantizationSums& sums) const {
    const std::int64_t first =
        (args_.input.row_offsets[group] + row) * args_.input.columns + column;
    const std::int64_t count = std::min(kPiece, args_.input.columns - column);
    const float* x = widen(args_.input, first, count, state.x.data());
    state.before.add(x, count);
    if (args_.codes == nullptr) {
      sums.signal += sum_of_squares(x, count);
      return;
    }
    for (std::int64_t at = 0; at < count; at += scale_step_) {
      const Span span{.x = x + at,
                      .codes = args_.codes + first + at,
                      .y = state.y.data() + at,
                      .count = std::min(scale_step_, count - at)};
      const SpanSums part =
          quantized_sums(span, fp8_values(args_.format).data(),
                         args_.scale_inv[scale_index(group, row, column + at)],
                         saturation_limit(args_.format), code_grid_bits(args_.format));
      sums.signal += part.signal;
      sums.noise += part.noise;
      sums.saturated += part.saturated;
      sums.underflowed += part.underflowed;
      sums.max_ulp = std::max(sums.max_ulp, part.max_ulp);
      if (args_.losses != nullptr && (part.saturated | part.underflowed) != 0) {
        add_losses(group, row, column + at, part);
      }
    }
    state.after.add(state.y.data(), count);
  }

  /// Tasks share the blocks that are taller than a row.
  void add_losses(int group, std::int64_t row, std::int64_t column, const SpanSums& part) const {
    BlockLosses& block = args_.losses[scale_index(group, row, column)];
    std::atomic_ref(block.saturated).fetch_add(part.saturated, std::memory_order_relaxed);
    std::atomic_ref(block.underflowed).fetch_add(part.underflowed, std::memory_order_relaxed);
  }

  std::int64_t scale_index(int group, std::int64_t row, std::int64_t column) const {
    const GroupView& view = groups_[static_cast<std::size_t>(group)];
    return static_cast<const float*>(view.scales) - args_.scale_inv + view.scale_index(row, column);
  }

  const QuantizationStatisticsArgs& args_;
  std::vector<GroupView> groups_;  // where the scales are
  std::int64_t scale_step_;        // columns that share a scale
};

}  // namespace

void quantization_statistics_cpu(const QuantizationStatisticsArgs& args) {
  const std::vector<RowTask> tasks = row_tasks(args.input.row_offsets, args.input.num_groups,
                                               args.input.columns, kElementsPerTask);
  if (tasks.empty()) return;
  const OperandScan scan(args);
  std::vector<GroupQuantizationSums> sums(tasks.size());
  const int threads = static_cast<int>(
      std::min<std::size_t>(tasks.size(), static_cast<std::size_t>(omp_get_max_threads())));
#pragma omp parallel num_threads(threads)
  {
    const auto state = std::make_unique<ThreadState>();
#pragma omp for schedule(dynamic)
    for (std::size_t t = 0; t < tasks.size(); ++t) sums[t] = scan.run(tasks[t], *state);
#pragma omp critical(quantization_statistics)
    {
      MagnitudeCounts before{};
      state->before.flush(before);
      add_counts(before, *args.before);
      if (args.codes == nullptr) {
        add_counts(before, *args.after);
      } else {
        state->after.flush(*args.after);
      }
    }
  }
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    GroupQuantizationSums& group = args.sums[tasks[t].group];
    group.signal += sums[t].signal;
    group.noise += sums[t].noise;
    group.saturated += sums[t].saturated;
    group.underflowed += sums[t].underflowed;
    group.max_ulp = std::max(group.max_ulp, sums[t].max_ulp);
  }
}

}  // namespace kernels
