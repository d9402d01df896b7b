#include "kernels/amax/delayed_scaling.h"

namespace kernels {
namespace {

/// Rolls the group's column of the history; returns the amax for the next scale.
float roll_history(const DelayedScalingUpdateArgs& args, int group) {
  const std::int64_t stride = args.num_groups;
  float* const column = args.history + group;
  const float current = newest_amax(args, group);
  float amax = current;
  if (current != 0.0F) {
    for (std::int64_t row = 1; row < args.length; ++row) {
      const float old = column[row * stride];
      if (args.algorithm == AmaxAlgorithm::Max && old > amax) amax = old;
      // old[1] is read and dropped: row r takes the value of row r + 1.
      if (row >= 2) column[(row - 1) * stride] = old;
    }
    if (args.length > 1) column[(args.length - 1) * stride] = current;
  }
  column[0] = 0.0F;
  return amax;
}

}  // namespace

void delayed_scaling_update_cpu(const DelayedScalingUpdateArgs& args) {
  if (is_noop(args.noop)) return;
  for (int group = 0; group < args.num_groups; ++group) {
    make_delayed_scale(args, group, roll_history(args, group));
  }
}

}  // namespace kernels
