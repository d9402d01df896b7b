// CPU twin: copies are counted, then placed in order.
#include "kernels/permute/routing_map.h"

#include <vector>

namespace kernels {

void routing_map_cpu(const RoutingMapArgs& args) {
  const std::int64_t copies = args.tokens * args.top_k;
  const auto has_row = [&](std::int32_t expert) { return expert >= 0 && expert < args.num_groups; };
  std::vector<std::int64_t> rows(static_cast<std::size_t>(args.num_groups), 0);
  for (std::int64_t copy = 0; copy < copies; ++copy) {
    const std::int32_t expert = args.experts[copy];
    if (has_row(expert)) ++rows[static_cast<std::size_t>(expert)];
  }
  std::vector<std::int64_t> next;  // row, without padding
  std::vector<std::int64_t> shift;
  std::int64_t end = 0;
  std::int64_t padded_end = 0;
  args.row_offsets[0] = 0;
  if (args.padded_row_offsets != nullptr) args.padded_row_offsets[0] = 0;
  for (int group = 0; group < args.num_groups; ++group) {
    const std::int64_t own = rows[static_cast<std::size_t>(group)];
    if (args.splits != nullptr) args.splits[group] = own;
    next.push_back(end);
    shift.push_back(args.padded_row_offsets != nullptr ? padded_end - end : 0);
    end += own;
    padded_end += round_up(own, args.padding);
    args.row_offsets[group + 1] = end;
    if (args.padded_row_offsets != nullptr) args.padded_row_offsets[group + 1] = padded_end;
  }
  for (std::int64_t copy = 0; copy < copies; ++copy) {
    const std::int32_t expert = args.experts[copy];
    if (!has_row(expert)) {
      args.copy_rows[copy] = -1;
      continue;
    }
    const std::int64_t row = next[static_cast<std::size_t>(expert)]++;
    args.copy_rows[copy] = static_cast<std::int32_t>(row + shift[static_cast<std::size_t>(expert)]);
    if (args.row_tokens != nullptr) {
      args.row_tokens[row] = static_cast<std::int32_t>(copy / args.top_k);
    }
  }
}

}  // namespace kernels
