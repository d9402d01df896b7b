#include "kernels/amax/delayed_scaling.h"

#include "kernels/amax/delayed_scaling_rule.h"

namespace kernels {

void delayed_scaling_update_cpu(const DelayedScalingUpdateArgs& args) {
  if (args.noop != nullptr && *args.noop == 1.0F) return;
  for (int group = 0; group < args.num_groups; ++group) update_delayed_scale(args, group);
}

}  // namespace kernels
