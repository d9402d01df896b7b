// Histograms of a kernel and of its twin, bin by bin.
#pragma once

#include <gtest/gtest.h>

#include "kernels/diagnostics/statistics.h"

namespace gpu_tests {

inline void expect_equal(const kernels::MagnitudeCounts& gpu, const kernels::MagnitudeCounts& cpu) {
  for (int bin = 0; bin < kernels::kMagnitudeBins; ++bin) {
    ASSERT_EQ(gpu.bins[bin], cpu.bins[bin]) << "bin " << bin;
  }
  EXPECT_EQ(gpu.zeros, cpu.zeros);
  EXPECT_EQ(gpu.infinities, cpu.infinities);
  EXPECT_EQ(gpu.nans, cpu.nans);
}

}  // namespace gpu_tests
