// Which symbols count as kernels that wait: this project's, whatever the compiler adds around their
// names, and no others.
#include <gtest/gtest.h>

#include "kernels/common/waiting_kernels.h"

namespace kernels {
namespace {

TEST(WaitingKernels, AreKnownByTheirSymbols) {
  EXPECT_TRUE(waits_for_predecessor(
      "_ZN7kernels62_GLOBAL__N__8d2f_20_splits_to_offsets_cu_4682066c24splits_to_offsets_kernelIj"
      "EEvNS_11OffsetsPlanE"));
  EXPECT_TRUE(waits_for_predecessor("_ZN7kernels5tiles11tile_kernelINS0_11BlockWorkerEEEvv"));
  EXPECT_TRUE(waits_for_predecessor("_ZN7kernelsL17clear_amax_kernelEPfiPKf"));
}

TEST(WaitingKernels, OthersAreNot) {
  for (const char* symbol :
       {"", "_ZN7kernels12_GLOBAL__N_116dependent_kernelILb0EEEvNS_16GroupedScaleArgsE",
        "_ZN7kernels12_GLOBAL__N_120early_trigger_kernelENS_16GroupedScaleArgsE",
        "_ZN7cutlass11tile_kernelIfEEvv", "nvjet_sm90_tst_128x128_64x6_2x1_v_bz_TNN"}) {
    EXPECT_FALSE(waits_for_predecessor(symbol)) << symbol;
  }
}

}  // namespace
}  // namespace kernels
