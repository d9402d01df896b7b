// Programs of the gallery: all are correct without a graph, faulty and healthy ones do the same
// work; plain replays match the catalogue.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/gpu/doctor/gallery_run.h"

namespace profiling {
namespace {

/// All but the step, which needs a cuBLASLt of a certain version.
std::vector<HazardCase> programs() {
  std::vector<HazardCase> cases = hazard_cases();
  std::erase_if(cases, [](const HazardCase& hazard) { return !hazard.library.empty(); });
  return cases;
}

class GalleryTest : public GalleryRun, public testing::WithParamInterface<HazardCase> {};

TEST_P(GalleryTest, EagerLaunchesAreCorrect) {
  const std::vector<std::uint64_t> healthy = eager_checksums(GetParam().id, true);
  EXPECT_FALSE(healthy.empty());
  EXPECT_EQ(eager_checksums(GetParam().id, false), healthy);
  // A checksum of 0 is an expert without rows: none of the first inputs has one.
  EXPECT_THAT(healthy, testing::Not(testing::Contains(0U)));
}

TEST_P(GalleryTest, TheHealthyTwinReplays) {
  EXPECT_EQ(verdict(GetParam().id, true, {}), Verdict::Right);
  EXPECT_EQ(verdict(GetParam().id, true, {.scribbled_host = true}), Verdict::Right);
  EXPECT_EQ(verdict(GetParam().id, true, {.moved_inputs = true}), Verdict::Right);
}

TEST_P(GalleryTest, PlainReplaysOfTheFaultyProgramMatchTheCatalogue) {
  if (GetParam().plain == Verdict::Hung) {
    GTEST_SKIP() << "hangs intentionally: only in a separate process";
  }
  EXPECT_EQ(verdict(GetParam().id, false, {}), GetParam().plain);
}

INSTANTIATE_TEST_SUITE_P(Programs, GalleryTest, testing::ValuesIn(programs()),
                         [](const testing::TestParamInfo<HazardCase>& program) {
                           std::string name = program.param.id;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_F(GalleryRun, AnUnknownProgramIsRefused) {
  EXPECT_FALSE(make_gallery_subject("no-such-case", false, stream()).ok());
  EXPECT_FALSE(make_gallery_subject("shared-workspace", false, stream()).ok());
}

}  // namespace
}  // namespace profiling
