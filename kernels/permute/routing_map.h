// Maps the experts that a router chose to the rows of a grouped operand: where every copy of a
// token goes, and which token every row is a copy of. Graph-safe: the host never reads the routing,
// and a replay follows its current contents.
#pragma once

#include "kernels/common/types.h"

namespace kernels {

/// Rows come in the order of the experts, and an expert's rows in that of the copies: by token, and
/// a token's own by their place among its top_k. A copy whose expert is negative, or num_groups or
/// more, is dropped: it has no row.
struct RoutingMapArgs {
  const std::int32_t* experts = nullptr;  // [tokens, top_k]
  std::int64_t tokens = 0;                // tokens * top_k, padding included, fits in 31 bits
  int top_k = 1;                          // >= 1
  int num_groups = 0;                     // 1..1024
  std::int64_t* splits = nullptr;         // [num_groups] rows of every expert; optional
  std::int64_t* row_offsets = nullptr;    // [num_groups + 1]
  std::int32_t* row_tokens = nullptr;     // [tokens * top_k] token of every row; those past the
                                          // last are not written; optional
  std::int32_t* copy_rows = nullptr;      // [tokens, top_k] row of every copy; -1 = dropped
  /// Optional: the offsets of groups that are each padded to a multiple of `padding` rows. Then
  /// copy_rows counts those rows; row_offsets and row_tokens never do.
  std::int64_t* padded_row_offsets = nullptr;  // [num_groups + 1]
  std::int64_t padding = 1;                    // >= 1
  std::int32_t* counts = nullptr;              // routing_map_counts() of them; the device's memory
};

/// Copies that one thread block places. There are few blocks, because each sums the counts of all
/// earlier blocks.
constexpr std::int64_t routing_chunk(std::int64_t copies) {
  constexpr std::int64_t kPart = 256;  // the warps of a block take equal parts, 32 at a time
  const std::int64_t even = round_up(ceil_div(copies, 128), kPart);
  return even < 1024 ? 1024 : even > 32768 ? 32768 : even;
}
constexpr std::int64_t routing_map_counts(std::int64_t tokens, int top_k, int num_groups) {
  const std::int64_t blocks = ceil_div(tokens * top_k, routing_chunk(tokens * top_k));
  return (blocks < 1 ? 1 : blocks) * num_groups;
}
/// Rows that suffice for any routing, padded groups included.
constexpr std::int64_t permuted_capacity(std::int64_t tokens, int top_k, int num_groups,
                                         std::int64_t padding = 1) {
  return tokens * top_k + num_groups * (padding - 1);
}

void routing_map_cpu(const RoutingMapArgs& args);
#ifdef EXPERTSCOPE_WITH_CUDA
/// Two launches: thread blocks count their copies, then place them.
cudaError_t routing_map(const RoutingMapArgs& args, LaunchStream stream);
#endif

}  // namespace kernels
