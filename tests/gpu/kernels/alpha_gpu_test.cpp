// The alpha kernel against its twin, bit for bit: boundary group counts, arrays and lists.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/amax/nvfp4_alpha.h"
#include "tests/gpu/kernels/device_array.h"

namespace gpu_tests {
namespace {

std::vector<float> amax_of(int groups, int salt) {
  std::vector<float> amax;
  for (int group = 0; group < groups; ++group) {
    amax.push_back(std::ldexp(1.0F + static_cast<float>((group * 37 + salt) % 101) / 101.0F,
                              (group * 7 + salt) % 60 - 30));
  }
  amax.front() = 0.0F;
  if (groups > 2) amax[1] = std::numeric_limits<float>::quiet_NaN();
  if (groups > 3) amax[2] = std::numeric_limits<float>::infinity();
  return amax;
}

class Nvfp4AlphaOnTheDevice : public DeviceTest {};

TEST_F(Nvfp4AlphaOnTheDevice, HasTheTwinsBits) {
  for (const int groups : {1, 31, 32, 33, 256, 1024}) {
    const std::vector<float> a = amax_of(groups, 3);
    const std::vector<float> b = amax_of(groups, 58);
    std::vector<float> wanted(a.size());
    kernels::nvfp4_alpha_cpu({.amax_a = {.values = a.data()},
                              .amax_b = {.values = b.data()},
                              .num_groups = groups,
                              .alpha = wanted.data()});
    const DeviceArray<float> device_a(a);
    const DeviceArray<float> device_b(b);
    std::vector<const float*> each;
    for (int group = 0; group < groups; ++group) each.push_back(device_a.get() + group);
    const DeviceArray<const float*> listed(each);
    for (const bool list : {false, true}) {
      for (const bool programmatic : {false, true}) {
        DeviceArray<float> alpha(std::vector<float>(a.size(), -1.0F));
        kernels::GroupScalars amax_a{.values = device_a.get()};
        if (list) amax_a = {.each = listed.get()};
        ASSERT_EQ(kernels::nvfp4_alpha({.amax_a = amax_a,
                                        .amax_b = {.values = device_b.get()},
                                        .num_groups = groups,
                                        .alpha = alpha.get()},
                                       {nullptr, programmatic}),
                  cudaSuccess);
        EXPECT_EQ(alpha.values(), wanted) << groups << " groups";
      }
    }
  }
}

}  // namespace
}  // namespace gpu_tests
