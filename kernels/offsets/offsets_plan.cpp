#include "kernels/offsets/offsets_plan.h"

#include <algorithm>
#include <bit>

namespace kernels {
namespace {

PlannedUnit planned_unit(std::int64_t unit) {
  const auto bits = static_cast<std::uint64_t>(unit);
  return {.unit = unit, .shift = std::has_single_bit(bits) ? std::countr_zero(bits) : -1};
}

struct Request {
  std::int64_t unit = 1;
  PlannedOutput output;
};

Request requested(const OffsetArray& array) {
  return {.unit = array.unit,
          .output = {.values = array.values,
                     .per_unit = array.stride,
                     .type = array.type,
                     .place = array.leading_zero ? Place::EndsAfterZero : Place::Ends}};
}

Request requested(const PointerArray& array) {
  return {.unit = array.unit,
          .output = {.values = static_cast<void*>(array.pointers),
                     .base = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(array.base)),
                     .per_group = array.bytes_per_group,
                     .per_unit = array.bytes_per_unit}};
}

}  // namespace

bool make_offsets_plan(const SplitsToOffsetsArgs& args, OffsetsPlan& plan) {
  if (args.num_offset_arrays < 0 || args.num_offset_arrays > kMaxOffsetArrays ||
      args.num_pointer_arrays < 0 || args.num_pointer_arrays > kMaxPointerArrays ||
      args.padded_rows_unit < 1) {
    return false;
  }
  Request requests[kMaxOutputs] = {};
  Request* const first = requests;
  Request* last = first;
  for (int i = 0; i < args.num_offset_arrays; ++i) *last++ = requested(args.offset_arrays[i]);
  for (int i = 0; i < args.num_pointer_arrays; ++i) *last++ = requested(args.pointer_arrays[i]);
  std::sort(first, last, [](const Request& a, const Request& b) { return a.unit < b.unit; });
  if (first != last && first->unit < 1) return false;

  plan = OffsetsPlan{.splits = args.splits,
                     .split_type = args.split_type,
                     .num_groups = args.num_groups,
                     .capacity_rows = args.capacity_rows,
                     .row_offsets = args.row_offsets,
                     .rows = args.rows,
                     .padded_rows = args.padded_rows,
                     .padded_rows_unit = planned_unit(args.padded_rows_unit),
                     .error_word = args.error_word};
  plan.num_shares = 1;
  for (const Request* request = first; request != last; ++request) {
    const PlannedShare& latest = plan.shares[plan.num_shares - 1];
    const bool joins = plan.num_shares > 1 && latest.unit.unit == request->unit &&
                       latest.num_outputs < kOutputsPerShare;
    if (!joins) ++plan.num_shares;
    PlannedShare& share = plan.shares[plan.num_shares - 1];
    share.unit = planned_unit(request->unit);
    share.outputs[share.num_outputs++] = request->output;
  }
  return true;
}

}  // namespace kernels
