// CPU twin: the groups in order.
#include "kernels/offsets/varying_offsets.h"

#include <vector>

#include "kernels/offsets/varying_extent.h"

namespace kernels {
namespace {

void report(ExtentFault& found, std::uint32_t bit, int group, std::int64_t value) {
  if (found.bits == 0) {
    found.group = group;
    found.value = value;
  }
  found.bits |= bit;
}

}  // namespace

void varying_offsets_cpu(const VaryingOffsetsArgs& args) {
  std::vector<CheckedExtent> groups;
  ExtentFault found;
  std::int64_t end_row = 0;
  std::int64_t end_element = 0;
  for (int group = 0; group < args.num_groups; ++group) {
    CheckedExtent extent = checked_extent(args, group);
    if (extent.fault != 0) report(found, extent.fault, group, extent.value);
    end_row += extent.rows;
    end_element += extent.elements(args);
    if (extent.rows > 0 && over_capacity(args, end_row, end_element)) {
      extent = without_place(extent);
      report(found, extent.fault, group, extent.value);
    }
    groups.push_back(extent);
  }
  const auto sum = [&](std::int64_t* values, const ExtentUnits& units) {
    values[0] = 0;
    for (const CheckedExtent& extent : groups) {
      values[1] = values[0] + units.of(extent.rows, extent.columns);
      ++values;
    }
  };
  args.row_offsets[0] = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    args.row_offsets[g + 1] = args.row_offsets[g] + groups[g].rows;
    args.columns[g] = groups[g].columns;
    if (args.row_dims != nullptr) args.row_dims[g] = static_cast<std::int32_t>(groups[g].rows);
    if (args.column_dims != nullptr) {
      args.column_dims[g] = static_cast<std::int32_t>(groups[g].columns);
    }
  }
  sum(args.elements, {});
  for (int i = 0; i < args.num_arrays; ++i) sum(args.arrays[i].values, args.arrays[i].units);
  for (int i = 0; i < args.num_pointers; ++i) {
    const ExtentPointers& array = args.pointers[i];
    std::byte* pointer = array.base;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      array.pointers[g] = pointer;
      pointer += array.units.of(groups[g].rows, groups[g].columns);
    }
  }
  if (args.fault != nullptr && found.bits != 0) {
    if (args.fault->bits == 0) *args.fault = found;
    args.fault->bits |= found.bits;
  }
}

}  // namespace kernels
