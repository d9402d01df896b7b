// Effects of quantization on an operand, on the CPU: one pass over input and codes in chunks that
// stay in the caches. Sums are merged in task order, so they do not depend on the number of
// threads.
#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <memory>

#include "kernels/common/element_run.h"
#include "kernels/dequantize/decode_patch.h"
#include "kernels/diagnostics/code_error.h"
#include "kernels/diagnostics/magnitude_histogram.h"
#include "kernels/diagnostics/row_tasks.h"
#include "kernels/diagnostics/statistics.h"

namespace kernels {

namespace {

constexpr std::int64_t kElementsPerTask = 1 << 16;
// Columns of a row at once; a multiple of every block.
constexpr std::int64_t kPiece = 2048;

struct SpanSums {
  double signal = 0.0;
  double noise = 0.0;
  std::uint32_t saturated = 0;
  std::uint32_t underflowed = 0;
  std::uint32_t elements = 0;
  std::uint32_t finite = 0;  // x
  std::uint32_t all = 0;
  float max_ulp = 0.0F;
};

/// Adjacent elements that share a scale.
struct Span {
  const float* x = nullptr;  // widened input
  const std::uint8_t* codes = nullptr;
  const float* decoded = nullptr;
  std::int64_t count = 0;
  float factor = 0.0F;
};

bool is_finite_bits(std::uint32_t bits) { return (bits & 0x7F800000U) != 0x7F800000U; }

/// Statistics of elements that are not quantized.
KERNELS_VECTOR_CLONES
SpanSums plain_sums(const float* x, std::int64_t count) {
  double signal = 0.0;
  std::uint32_t finite = 0;
#pragma omp simd reduction(+ : signal, finite)
  for (std::int64_t i = 0; i < count; ++i) {
    const bool counts = is_finite_bits(std::bit_cast<std::uint32_t>(x[i]));
    const double value = counts ? x[i] : 0.0F;
    signal += value * value;
    finite += counts ? 1U : 0U;
  }
  return {.signal = signal,
          .elements = finite,
          .finite = finite,
          .all = static_cast<std::uint32_t>(count)};
}

/// `values`: of every code.
KERNELS_VECTOR_CLONES
SpanSums quantized_sums(const Span& span, const float* values, const SaturationRule& saturation,
                        const CodeGridBits& grid) {
  const float* x = span.x;
  const float* y = span.decoded;
  const std::uint8_t* codes = span.codes;
  const float factor = span.factor;
  double signal = 0.0;
  double noise = 0.0;
  std::uint32_t saturated = 0;
  std::uint32_t underflowed = 0;
  std::uint32_t elements = 0;
  std::uint32_t finite = 0;
  float max_ulp = 0.0F;
#pragma omp simd reduction(+ : signal, noise, saturated, underflowed, elements, finite) \
    reduction(max : max_ulp)
  for (std::int64_t i = 0; i < span.count; ++i) {
    const std::uint32_t x_bits = std::bit_cast<std::uint32_t>(x[i]);
    const std::uint32_t y_bits = std::bit_cast<std::uint32_t>(y[i]);
    const bool counts = is_finite_bits(x_bits) & is_finite_bits(y_bits);
    const double original = counts ? x[i] : 0.0F;
    const double error = original - static_cast<double>(counts ? y[i] : 0.0F);
    signal += original * original;
    noise += error * error;
    const float ulps = code_ulps(static_cast<float>(std::fabs(error)),
                                 std::bit_cast<std::uint32_t>(values[codes[i]]), factor, grid);
    max_ulp = ulps > max_ulp ? ulps : max_ulp;
    saturated += is_saturated(x[i], saturation) ? 1U : 0U;
    const bool became_zero = ((y_bits & 0x7FFFFFFFU) == 0) & ((x_bits & 0x7FFFFFFFU) != 0);
    underflowed += became_zero & counts ? 1U : 0U;
    elements += counts ? 1U : 0U;
    finite += is_finite_bits(x_bits) ? 1U : 0U;
  }
  return {.signal = signal,
          .noise = noise,
          .saturated = saturated,
          .underflowed = underflowed,
          .elements = elements,
          .finite = finite,
          .all = static_cast<std::uint32_t>(span.count),
          .max_ulp = max_ulp};
}

/// One thread's working memory, on the heap: OpenMP's thread stacks may be small.
struct ThreadState {
  std::array<float, kPiece> x;
  DecodedPatch patch;
  MagnitudeHistogram before;
  MagnitudeHistogram after;
};

class OperandScan {
 public:
  explicit OperandScan(const QuantizationStatisticsArgs& args) : args_(args) {
    if (quantized()) groups_ = group_views(args.quantized);
  }

  bool quantized() const { return args_.quantized.codes != nullptr; }

  GroupQuantizationSums run(const RowTask& task, ThreadState& state) const {
    GroupQuantizationSums sums{};
    for (std::int64_t row = task.first_row; row < task.last_row; ++row) {
      for (std::int64_t column = 0; column < args_.input.columns; column += kPiece) {
        add_piece({.group = task.group,
                   .row = row,
                   .column = column,
                   .rows = 1,
                   .columns = static_cast<int>(std::min(kPiece, args_.input.columns - column))},
                  state, sums);
      }
    }
    return sums;
  }

 private:
  void add_piece(const PatchPlace& place, ThreadState& state, GroupQuantizationSums& sums) const {
    const std::int64_t first =
        (args_.input.row_offsets[place.group] + place.row) * args_.input.columns + place.column;
    const float* x = state.x.data();
    widen_run({.input = args_.input.input,
               .type = args_.input.type,
               .first = first,
               .count = place.columns},
              state.x.data());
    state.before.add(x, place.columns);
    if (!quantized()) {
      add(plain_sums(x, place.columns), sums);
      return;
    }
    const GroupView& group = groups_[static_cast<std::size_t>(place.group)];
    const DecodedPatch& patch = state.patch;
    decode_patch(args_.quantized, group, place, state.patch);
    state.after.add(patch.values.data(), place.columns);
    const std::int64_t step = std::min(kPiece, std::int64_t{1} << group.column_shift);
    for (std::int64_t at = 0; at < place.columns; at += step) {
      const Span span{.x = x + at,
                      .codes = patch.codes.data() + at,
                      .decoded = patch.values.data() + at,
                      .count = std::min(step, place.columns - at),
                      .factor = patch.factors[static_cast<std::size_t>(at)]};
      const SpanSums part = quantized_sums(span, code_values(args_.quantized).data(),
                                           saturation_rule(args_.quantized, span.factor),
                                           code_grid_bits(args_.quantized));
      add(part, sums);
      add_losses(scale_index(args_.quantized, group, place.row, place.column + at), part);
      if (part.saturated > 0 && args_.columns != nullptr) {
        add_saturated(span, args_.input.row_offsets[place.group] + place.row, place.column + at);
      }
    }
  }

  /// Of a span that has some.
  void add_saturated(const Span& span, std::int64_t row, std::int64_t column) const {
    const SaturationRule rule = saturation_rule(args_.quantized, span.factor);
    for (std::int64_t i = 0; i < span.count; ++i) {
      if (!is_saturated(span.x[i], rule)) continue;
      ++args_.rows[row].saturated;  // a row is part of one task
      std::atomic_ref(args_.columns[column + i].saturated).fetch_add(1, std::memory_order_relaxed);
    }
  }

  static void add(const SpanSums& part, GroupQuantizationSums& sums) {
    sums.signal += part.signal;
    sums.noise += part.noise;
    sums.saturated += part.saturated;
    sums.underflowed += part.underflowed;
    sums.elements += part.elements;
    sums.lost += part.finite - part.elements;
    sums.undefined += part.all - part.finite;
    sums.max_ulp = std::max(sums.max_ulp, part.max_ulp);
  }

  void add_losses(std::int64_t scale, const SpanSums& part) const {
    if (args_.micro_losses != nullptr) {
      args_.micro_losses[scale] = {static_cast<std::uint8_t>(part.saturated),
                                   static_cast<std::uint8_t>(part.underflowed)};
    }
    if (args_.losses == nullptr || (part.saturated | part.underflowed) == 0) return;
    // Tasks share the blocks that are taller than a row.
    BlockLosses& block = args_.losses[scale];
    std::atomic_ref(block.saturated).fetch_add(part.saturated, std::memory_order_relaxed);
    std::atomic_ref(block.underflowed).fetch_add(part.underflowed, std::memory_order_relaxed);
  }

  const QuantizationStatisticsArgs& args_;
  std::vector<GroupView> groups_;
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
      if (scan.quantized()) {
        state->after.flush(*args.after);
      } else {
        add_counts(before, *args.after);
      }
    }
  }
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    add_sums(sums[t], args.sums[tasks[t].group]);
  }
}

}  // namespace kernels
