// Outputs of block scaling that start as sentinels, for the CPU and the GPU tests.
#pragma once

#include <cmath>

#include "kernels/bias/bias.h"
#include "kernels/quantize/quantize_block.h"
#include "tests/numerics/quantize/grouped_cases.h"

namespace quantize_tests {

/// FP32 outputs travel as bits: sentinels are NaNs.
using Words = std::vector<std::uint32_t>;
inline float* as_floats(Words& words) { return reinterpret_cast<float*>(words.data()); }

inline bool is_nan(std::uint32_t bits) { return (bits & 0x7FFFFFFFU) > 0x7F800000U; }

/// Sums of NaNs are NaNs, of any bits; a sentinel equals itself only.
inline bool equal_but_for_nans(const Words& a, const Words& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool sentinel = a[i] == kFloatSentinel || b[i] == kFloatSentinel;
    if (a[i] != b[i] && (sentinel || !is_nan(a[i]) || !is_nan(b[i]))) return false;
  }
  return true;
}

/// Group after group, each with its rows rounded up, as a product requires its operands.
inline std::vector<std::int64_t> padded_offsets(const std::vector<std::int64_t>& row_offsets,
                                                std::int64_t multiple) {
  std::vector<std::int64_t> padded = {0};
  for (std::size_t group = 0; group + 1 < row_offsets.size(); ++group) {
    padded.push_back(padded.back() +
                     kernels::round_up(row_offsets[group + 1] - row_offsets[group], multiple));
  }
  return padded;
}

struct DirectionOutputs {
  std::vector<std::uint8_t> codes;
  Words scale_inv;
  Words amax;
  bool operator==(const DirectionOutputs&) const = default;

  DirectionOutputs(std::int64_t elements, std::int64_t scales)
      : codes(static_cast<std::size_t>(elements), kCodeSentinel),
        scale_inv(static_cast<std::size_t>(scales), kFloatSentinel),
        amax(scale_inv) {}
  kernels::BlockOutput target() {
    return {
        .codes = codes.data(), .scale_inv = as_floats(scale_inv), .block_amax = as_floats(amax)};
  }
};

struct BlockOutputs {
  DirectionOutputs rowwise;
  DirectionOutputs columnwise;
  Words bias;

  BlockOutputs(const kernels::GroupedInput& input, std::int64_t rows, bool square)
      : rowwise(rows * input.columns, (square ? kernels::block_square_scale_capacity
                                              : kernels::block_line_scale_capacity)(
                                          rows, input.num_groups, input.columns, kernels::kBlock)),
        columnwise(rows * input.columns,
                   (square ? kernels::block_square_columnwise_scale_capacity
                           : kernels::block_line_columnwise_scale_capacity)(
                       rows, input.num_groups, input.columns, kernels::kBlock)),
        bias(static_cast<std::size_t>(kernels::bias_partial_capacity(
                 input.capacity_rows, input.num_groups, input.columns)),
             kFloatSentinel) {}

  void aim(kernels::QuantizeBlockArgs& args, bool rows, bool columns, bool sums) {
    args.rowwise = rows ? rowwise.target() : kernels::BlockOutput{};
    args.columnwise = columns ? columnwise.target() : kernels::BlockOutput{};
    args.bias_partials = sums ? as_floats(bias) : nullptr;
  }
};

inline void run_twin(const kernels::QuantizeBlockArgs& args, bool square) {
  (square ? kernels::quantize_block_squares_cpu : kernels::quantize_block_lines_cpu)(args);
}

/// Where the next group's codes and scales start in the outputs of all groups.
struct Cursor {
  std::size_t code = 0;
  std::size_t scale = 0;
};

}  // namespace quantize_tests
