// Rows of tokens to rows of experts and back, each with its gradient. The map is routing_map.h's.
// Every sum has a fixed order, so that results do not depend on the launch and the twins have the
// same bits.
#pragma once

#include "kernels/common/types.h"

namespace kernels {

/// Which row of the permuted operand each copy of a token has, and which rows are padding.
struct PermutedRows {
  const std::int32_t* copy_rows = nullptr;  // [tokens, top_k]; negative = no row
  std::int64_t tokens = 0;
  int top_k = 1;
  /// Set for padded groups, else null: rows [padded[g] + m, padded[g + 1]) of the permuted operand
  /// are zeroed where it is written, m = row_offsets[g + 1] - row_offsets[g].
  const std::int64_t* row_offsets = nullptr;         // [num_groups + 1]
  const std::int64_t* padded_row_offsets = nullptr;  // [num_groups + 1]
  int num_groups = 0;
};

/// Every copy's row is its token's. The gradient: unpermute() without probabilities.
struct PermuteArgs {
  PermutedRows rows;
  InputType type = InputType::Bf16;
  std::int32_t reserved = 0;    // a hole would hold stale bytes, which a captured graph keeps
  std::int64_t columns = 0;     // multiple of 8
  const void* input = nullptr;  // [tokens, columns]
  void* output = nullptr;       // [permuted rows, columns]; rows that are neither a copy's nor
                                // padding are not written
};

/// A token is the sum of its copies, each times its probability: starting from +0, in the order of
/// its experts' list, product and sum rounded to FP32 apart, the sum rounded once to the type. A
/// copy without a row adds nothing.
struct UnpermuteArgs {
  PermutedRows rows;
  InputType type = InputType::Bf16;
  std::int32_t reserved = 0;    // a hole would hold stale bytes, which a captured graph keeps
  std::int64_t columns = 0;     // multiple of 8
  const void* input = nullptr;  // [permuted rows, columns]
  const float* probabilities = nullptr;  // [tokens, top_k]; null = 1 each
  void* output = nullptr;                // [tokens, columns]
};

/// The gradient of unpermute() with probabilities: that of a copy's row is its probability times
/// the token's, rounded once; that of its probability the dot product of the token's gradient and
/// the copy's row, in FP32. Its order: 32 partial sums from +0, partial i of the elements c with
/// c / 8 % 32 == i in ascending order, product and sum rounded apart; then halves are added, i and
/// i + 16, i and i + 8, ..., i and i + 1. A copy without a row has the gradient 0.
struct UnpermuteGradientArgs {
  PermutedRows rows;
  InputType type = InputType::Bf16;
  std::int32_t reserved = 0;       // a hole would hold stale bytes, which a captured graph keeps
  std::int64_t columns = 0;        // multiple of 8
  const void* gradient = nullptr;  // [tokens, columns]
  const float* probabilities = nullptr;  // [tokens, top_k]
  void* permuted_gradient = nullptr;     // [permuted rows, columns]
  /// Both or neither: what unpermute() read, and [tokens, top_k].
  const void* permuted = nullptr;
  float* probability_gradient = nullptr;
};

void permute_cpu(const PermuteArgs& args);
void unpermute_cpu(const UnpermuteArgs& args);
void unpermute_gradient_cpu(const UnpermuteGradientArgs& args);
#ifdef EXPERTSCOPE_WITH_CUDA
/// Operands aligned to 16 bytes.
cudaError_t permute(const PermuteArgs& args, LaunchStream stream);
cudaError_t unpermute(const UnpermuteArgs& args, LaunchStream stream);
cudaError_t unpermute_gradient(const UnpermuteGradientArgs& args, LaunchStream stream);
#endif

}  // namespace kernels
