// Sums over the groups of a varying case, counted here, and those of the twin.
#pragma once

#include <vector>

#include "kernels/offsets/varying_offsets.h"
#include "tests/numerics/quantize/varying_cases.h"

namespace quantize_tests::varying_groups {

inline std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

using Offsets = std::vector<std::int64_t>;

/// Running sums of size(m, n).
template <class Size>
Offsets summed(const VaryingCase& varying, Size size) {
  Offsets sums = {0};
  for (std::size_t g = 0; g < varying.rows.size(); ++g) {
    sums.push_back(sums.back() + size(varying.rows[g], varying.columns[g]));
  }
  return sums;
}

struct OffsetsRun {
  Offsets row_offsets, columns, elements;
  std::vector<Offsets> arrays;
  kernels::ExtentFault fault;
};

inline OffsetsRun run_offsets(kernels::VaryingOffsetsArgs args,
                              const std::vector<kernels::ExtentUnits>& units) {
  const auto count = at(args.num_groups + 1);
  OffsetsRun run{Offsets(count, -1),
                 Offsets(count - 1, -1),
                 Offsets(count, -1),
                 std::vector<Offsets>(units.size(), Offsets(count, -1)),
                 {}};
  args.row_offsets = run.row_offsets.data();
  args.columns = run.columns.data();
  args.elements = run.elements.data();
  for (std::size_t i = 0; i < units.size(); ++i) {
    args.arrays[i] = {run.arrays[i].data(), units[i]};
  }
  args.num_arrays = static_cast<int>(units.size());
  args.fault = &run.fault;
  kernels::varying_offsets_cpu(args);
  return run;
}

}  // namespace quantize_tests::varying_groups
