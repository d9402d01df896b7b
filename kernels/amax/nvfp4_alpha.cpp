#include "kernels/amax/nvfp4_alpha.h"

namespace kernels {

void nvfp4_alpha_cpu(const Nvfp4AlphaArgs& args) {
  for (int group = 0; group < args.num_groups; ++group) {
    args.alpha[group] = nvfp4_alpha_of(args, group);
  }
}

}  // namespace kernels
