// CPU twins: one token at a time.
#include "kernels/permute/permute.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "kernels/common/element_run.h"

namespace kernels {
namespace {

std::int64_t row_bytes(InputType type, std::int64_t columns) {
  return columns * element_bytes(type);
}

void clear_padding(const PermutedRows& rows, std::int64_t bytes, void* output) {
  if (rows.padded_row_offsets == nullptr) return;
  for (int group = 0; group < rows.num_groups; ++group) {
    const std::int64_t first =
        rows.padded_row_offsets[group] + rows.row_offsets[group + 1] - rows.row_offsets[group];
    const std::int64_t count = rows.padded_row_offsets[group + 1] - first;
    std::memset(static_cast<std::byte*>(output) + first * bytes, 0,
                static_cast<std::size_t>(count * bytes));
  }
}

void widen_row(const void* operand, InputType type, std::int64_t row, std::vector<float>& values) {
  const auto columns = static_cast<std::int64_t>(values.size());
  widen_run({.input = operand, .type = type, .first = row * columns, .count = columns},
            values.data());
}

float ordered_dot(const std::vector<float>& a, const std::vector<float>& b) {
  constexpr std::size_t kPartials = 32;
  std::array<float, kPartials> sums = {};
  for (std::size_t c = 0; c < a.size(); ++c) sums[c / 8 % kPartials] += a[c] * b[c];
  for (std::size_t half = kPartials / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
  }
  return sums[0];
}

}  // namespace

void permute_cpu(const PermuteArgs& args) {
  const PermutedRows& rows = args.rows;
  const std::int64_t bytes = row_bytes(args.type, args.columns);
  const auto* const input = static_cast<const std::byte*>(args.input);
  auto* const output = static_cast<std::byte*>(args.output);
#pragma omp parallel for schedule(static) if (rows.tokens * args.columns > kThreadedElements)
  for (std::int64_t copy = 0; copy < rows.tokens * rows.top_k; ++copy) {
    const std::int64_t row = rows.copy_rows[copy];
    if (row < 0) continue;
    std::memcpy(output + row * bytes, input + copy / rows.top_k * bytes,
                static_cast<std::size_t>(bytes));
  }
  clear_padding(rows, bytes, args.output);
}

void unpermute_cpu(const UnpermuteArgs& args) {
  const PermutedRows& rows = args.rows;
  const auto columns = static_cast<std::size_t>(args.columns);
#pragma omp parallel if (rows.tokens * args.columns > kThreadedElements)
  {
    std::vector<float> sum(columns);
    std::vector<float> values(columns);
#pragma omp for schedule(static)
    for (std::int64_t token = 0; token < rows.tokens; ++token) {
      std::fill(sum.begin(), sum.end(), 0.0F);
      for (std::int64_t copy = token * rows.top_k; copy < (token + 1) * rows.top_k; ++copy) {
        const std::int64_t row = rows.copy_rows[copy];
        if (row < 0) continue;
        widen_row(args.input, args.type, row, values);
        const float weight = args.probabilities != nullptr ? args.probabilities[copy] : 1.0F;
        for (std::size_t c = 0; c < columns; ++c) sum[c] += weight * values[c];
      }
      round_run(sum.data(), args.columns, args.type, args.output, token * args.columns);
    }
  }
}

void unpermute_gradient_cpu(const UnpermuteGradientArgs& args) {
  const PermutedRows& rows = args.rows;
  const auto columns = static_cast<std::size_t>(args.columns);
#pragma omp parallel if (rows.tokens * args.columns > kThreadedElements)
  {
    std::vector<float> gradient(columns);
    std::vector<float> values(columns);
#pragma omp for schedule(static)
    for (std::int64_t token = 0; token < rows.tokens; ++token) {
      widen_row(args.gradient, args.type, token, gradient);
      for (std::int64_t copy = token * rows.top_k; copy < (token + 1) * rows.top_k; ++copy) {
        const std::int64_t row = rows.copy_rows[copy];
        if (args.probability_gradient != nullptr) {
          if (row >= 0) widen_row(args.permuted, args.type, row, values);
          args.probability_gradient[copy] = row < 0 ? 0.0F : ordered_dot(gradient, values);
        }
        if (row < 0) continue;
        for (std::size_t c = 0; c < columns; ++c) {
          values[c] = args.probabilities[copy] * gradient[c];
        }
        round_run(values.data(), args.columns, args.type, args.permuted_gradient,
                  row * args.columns);
      }
    }
  }
  clear_padding(rows, row_bytes(args.type, args.columns), args.permuted_gradient);
}

}  // namespace kernels
