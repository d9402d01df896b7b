// What cuda-gdb prints about a core dump, line by line, and the place read from it.
#include "app/doctor/core_dump.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace app {
namespace {

profiling::CorePlace read(const std::vector<std::string>& lines) {
  profiling::CorePlace place;
  for (const std::string& line : lines) take_debugger_line(line, place);
  return place;
}

TEST(CoreDump, ArgumentsOfATemplateAreOfItsName) {
  const profiling::CorePlace place =
      read({"#0  0x00007f in quantize_kernel<(Format)0, (Kind)1><<<(1,1,1),(32,1,1)>>> (x=0x0)"});
  EXPECT_EQ(place.kernel, "quantize_kernel<(Format)0, (Kind)1>");
  // As cuda-gdb 13.0 prints it of a core of an H200.
  EXPECT_EQ(
      read({"#0  kernels::(anonymous namespace)::scale_by_amax_kernel<<<(16,1,1),(128,1,1)>>> "
            "() at kernels/hazards/grouped_scale.cu:125"})
          .kernel,
      "kernels::(anonymous namespace)::scale_by_amax_kernel");
}

TEST(CoreDump, FocusFrameAndInstructionAreRead) {
  const profiling::CorePlace place = read(
      {"Opening GPU coredump: run.core",
       "[Current focus set to CUDA kernel 0, grid 9, cluster (0,0,0), block (5,0,0), thread "
       "(96,0,0), device 0, sm 14, warp 3, lane 0]",
       "#0  0x00007fffd5257000 in spin_kernel<<<(132,1,1),(384,1,1)>>> (flag=0x0) at spin.cu:12",
       "12\t  while (*flag == 0) {", "=> 0x7fffd5257030 <spin_kernel+48>:\tBAR.SYNC 0x1 ;"});
  const profiling::CorePlace expected = {.kernel = "spin_kernel",
                                         .launch = "<<<(132,1,1),(384,1,1)>>>",
                                         .block = "(5,0,0)",
                                         .thread = "(96,0,0)",
                                         .sm = 14,
                                         .warp = 3,
                                         .lane = 0,
                                         .pc = 0x7fffd5257030,
                                         .instruction = "BAR.SYNC 0x1",
                                         .source = "spin.cu:12"};
  EXPECT_EQ(place, expected);
  EXPECT_EQ(profiling::core_place_text(place),
            "spin_kernel<<<(132,1,1),(384,1,1)>>>, block (5,0,0), warp 3 on SM 14, at BAR.SYNC 0x1 "
            "(waits for a barrier of its thread block), spin.cu:12");
}

TEST(CoreDump, AFrameAloneIsAPlace) {
  const profiling::CorePlace place = read({"#0  spin<<<(1,1,1),(32,1,1)>>> ()"});
  EXPECT_EQ(place.kernel, "spin");
  EXPECT_EQ(place.pc, 0U);
  EXPECT_EQ(profiling::core_place_text(place), "spin<<<(1,1,1),(32,1,1)>>>");
}

TEST(CoreDump, OtherLinesAndBrokenOnesSayNothing) {
  const profiling::CorePlace nothing;
  for (const char* line :
       {"", "#0", "#0  ", "=> 0x", "=> 0x7f:", "=> 0x7f:\t", "[Current focus set to CUDA kernel",
        "[Current focus set to CUDA kernel 0, block (, sm -3, warp 99999999999, lane x]",
        "warning: no symbols", "12\t  x = 1;"}) {
    profiling::CorePlace place = read({line});
    place.pc = 0;
    EXPECT_EQ(place, nothing) << line;
  }
}

TEST(CoreDump, OnlyInstructionsThatWaitAreSaidToWait) {
  EXPECT_EQ(profiling::wait_words("BAR.SYNC.DEFER_BLOCKING 0x0"), "a barrier of its thread block");
  EXPECT_EQ(profiling::wait_words("@!P0 BAR.SYNC 0x0"), "a barrier of its thread block");
  EXPECT_EQ(profiling::wait_words("SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4], R3"),
            "an mbarrier in shared memory");
  for (const char* other : {"", "BAR.ARV 0x0, 0x20", "LDG.E R2, [R2.64]", "BRA 0x30", "@P0"}) {
    EXPECT_EQ(profiling::wait_words(other), "") << other;
  }
}

}  // namespace
}  // namespace app
