// The attribution rules on hand-made records. Needs no GPU.
#include "profiling/cupti/attribution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profiling/graph/kernel_name.h"

namespace profiling {
namespace {

using engine::Stage;

TEST(WorkPlace, SurvivesPacking) {
  for (const WorkPlace& place :
       {WorkPlace{.tag = {.stage = Stage::Other, .layer = 0, .expert = -1}, .iteration = -1},
        WorkPlace{.tag = {.stage = Stage::Fprop, .layer = 7, .expert = 1023}, .iteration = 99999},
        WorkPlace{.tag = {.stage = Stage::Offsets, .layer = 0, .expert = 0}, .iteration = 0}}) {
    const WorkPlace back = unpack(pack(place));
    EXPECT_EQ(back.tag.stage, place.tag.stage);
    EXPECT_EQ(back.tag.layer, place.tag.layer);
    EXPECT_EQ(back.tag.expert, place.tag.expert);
    EXPECT_EQ(back.iteration, place.iteration);
  }
}

TEST(Attribute, ANodesStageComesFromItsCaptureAndItsIterationFromTheLaunch) {
  GraphKnowledge graphs;
  graphs.tags[10] = {.stage = Stage::Quantize, .layer = 0, .expert = -1};
  graphs.tags[11] = {.stage = Stage::Fprop, .layer = 1, .expert = -1};
  graphs.clone_of[20] = 10;
  graphs.clone_of[31] = 21;  // an update cloned the clone
  graphs.clone_of[21] = 11;

  RawActivity raw;
  raw.names = {"quantize", "product"};
  const WorkPlace launch{.tag = {}, .iteration = 4};
  raw.places[77] = pack(launch);
  raw.records = {
      {.start_ns = 1500, .end_ns = 1900, .node_id = 31, .name = 1, .correlation = 77, .stream = 13},
      {.start_ns = 1200,
       .end_ns = 1400,
       .node_id = 20,
       .name = 0,
       .correlation = 77,
       .stream = 13}};

  const Activity activity = attribute(raw, graphs, 1000);
  ASSERT_EQ(activity.records.size(), 2U);
  const ActivityRecord& quantize = activity.records[0];  // sorted by start
  EXPECT_EQ(quantize.start_ns, 200);
  EXPECT_EQ(quantize.node_id, 10U);
  EXPECT_EQ(quantize.stage, Stage::Quantize);
  EXPECT_EQ(quantize.iteration, 4);
  EXPECT_EQ(quantize.lane, activity.records[1].lane);
  EXPECT_EQ(activity.records[1].node_id, 11U);
  EXPECT_EQ(activity.records[1].layer, 1);
  EXPECT_EQ(activity.records[1].stage, Stage::Fprop);
}

TEST(Attribute, EagerRecordsUseTheIdOfTheirLaunchAndUntaggedOnesStayOutside) {
  RawActivity raw;
  raw.names = {"kernel"};
  raw.places[5] = pack({.tag = {.stage = Stage::Amax, .layer = 2, .expert = 3}, .iteration = 1});
  raw.records = {{.start_ns = 900, .end_ns = 950, .correlation = 6, .stream = 7},
                 {.start_ns = 1000, .end_ns = 1100, .correlation = 5, .stream = 8}};
  const Activity activity = attribute(raw, {}, 1000);
  ASSERT_EQ(activity.records.size(), 2U);
  EXPECT_EQ(activity.records[0].start_ns, -100);
  EXPECT_EQ(activity.records[0].iteration, -1);
  EXPECT_EQ(activity.records[0].stage, Stage::Other);
  EXPECT_EQ(activity.records[1].stage, Stage::Amax);
  EXPECT_EQ(activity.records[1].layer, 2);
  EXPECT_EQ(activity.records[1].expert, 3);
  EXPECT_EQ(activity.records[1].iteration, 1);
  EXPECT_NE(activity.records[0].lane, activity.records[1].lane);
}

TEST(ReadableKernelName, DropsWhatHidesTheName) {
  EXPECT_EQ(readable_kernel_name("_ZN7kernels12_GLOBAL__N_16kernelILi3EEEvPKfi"),
            "kernels::kernel<3>");
  EXPECT_EQ(readable_kernel_name("nvjet_sm90_qqtst_128x128_ptrGroup"),
            "nvjet_sm90_qqtst_128x128_ptrGroup");
  EXPECT_EQ(readable_kernel_name(nullptr), "unnamed kernel");
}

}  // namespace
}  // namespace profiling
