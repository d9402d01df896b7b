// The attribution rules on hand-made records. Needs no GPU.
#include "profiling/cupti/attribution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/model/measurement.h"
#include "engine/model/run_request.h"
#include "engine/observe/stage_range.h"
#include "profiling/hazards/model/names.h"

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

TEST(WorkPlace, PackingKeepsEveryTensorAndDirectionApart) {
  for (std::size_t value = 0; value < engine::kWrittenValues; ++value) {
    const auto writes = static_cast<engine::WrittenValue>(value);
    for (const int layer : {0, 2 * engine::kMaxLayers - 1}) {
      const WorkPlace back = unpack(pack({.tag = {.stage = Stage::Unpermute,
                                                  .layer = layer,
                                                  .expert = engine::kMaxExperts - 1,
                                                  .writes = writes},
                                          .iteration = engine::kMaxIterations}));
      EXPECT_EQ(back.tag.writes, writes);
      EXPECT_EQ(back.tag.stage, Stage::Unpermute);
      EXPECT_EQ(back.tag.layer, layer);
      EXPECT_EQ(back.tag.expert, engine::kMaxExperts - 1);
      EXPECT_EQ(back.iteration, engine::kMaxIterations);
    }
  }
}

TEST(Attribute, ANodesStageComesFromItsCaptureAndItsIterationFromTheLaunch) {
  GraphKnowledge graphs;
  const engine::WrittenValue w =
      engine::written(engine::StepTensor::WUp, engine::CopyForms::Columnwise);
  graphs.tags[10] = {.stage = Stage::Quantize, .layer = 0, .expert = -1, .writes = w};
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
  EXPECT_EQ(quantize.writes, w);
  EXPECT_EQ(quantize.iteration, 4);
  EXPECT_EQ(quantize.lane, activity.records[1].lane);
  EXPECT_EQ(activity.records[1].node_id, 11U);
  EXPECT_EQ(activity.records[1].layer, 1);
  EXPECT_EQ(activity.records[1].stage, Stage::Fprop);
}

TEST(Attribute, EagerRecordsUseTheIdOfTheirLaunchAndUntaggedOnesStayOutside) {
  RawActivity raw;
  raw.names = {"kernel"};
  const engine::WrittenValue x = engine::written(engine::StepTensor::X);
  raw.places[5] =
      pack({.tag = {.stage = Stage::Amax, .layer = 2, .expert = 3, .writes = x}, .iteration = 1});
  raw.records = {{.start_ns = 900, .end_ns = 950, .correlation = 6, .stream = 7},
                 {.start_ns = 1000, .end_ns = 1100, .correlation = 5, .stream = 8}};
  const Activity activity = attribute(raw, {}, 1000);
  ASSERT_EQ(activity.records.size(), 2U);
  EXPECT_EQ(activity.records[0].start_ns, -100);
  EXPECT_EQ(activity.records[0].iteration, -1);
  EXPECT_EQ(activity.records[0].stage, Stage::Other);
  EXPECT_EQ(activity.records[0].writes, engine::WrittenValue::Unknown);
  EXPECT_EQ(activity.records[1].writes, x);
  EXPECT_EQ(activity.records[1].stage, Stage::Amax);
  EXPECT_EQ(activity.records[1].layer, 2);
  EXPECT_EQ(activity.records[1].expert, 3);
  EXPECT_EQ(activity.records[1].iteration, 1);
  EXPECT_NE(activity.records[0].lane, activity.records[1].lane);
}

TEST(Attribute, ARecordNamesTheCallThatLaunchedItAndEveryCallIsKeptOnce) {
  RawActivity raw;
  raw.names = {"kernel"};
  raw.shapes = {{.grid_x = 7}};
  raw.calls[5] = {.start_ns = 900, .end_ns = 950, .name = "cudaGraphLaunch_v10000"};
  raw.calls[6] = {.start_ns = 960, .end_ns = 970, .name = nullptr};
  raw.calls[7] = {.start_ns = 1, .end_ns = 2, .name = "cudaMalloc_v3020"};  // launched nothing
  raw.records = {{.start_ns = 1000, .end_ns = 1100, .correlation = 5, .shape = 1},
                 {.start_ns = 1100, .end_ns = 1200, .correlation = 5},
                 {.start_ns = 1200, .end_ns = 1300, .correlation = 6},
                 {.start_ns = 1300, .end_ns = 1400, .correlation = 8}};
  const Activity activity = attribute(std::move(raw), {}, 1000);
  ASSERT_EQ(activity.calls.size(), 1U);
  EXPECT_EQ(activity.calls[0].start_ns, -100);
  EXPECT_EQ(activity.calls[0].end_ns, -50);
  EXPECT_EQ(activity.names[activity.calls[0].name], "cudaGraphLaunch");
  EXPECT_EQ(activity.records[0].call, 1U);
  EXPECT_EQ(activity.records[1].call, 1U);
  EXPECT_EQ(activity.records[2].call, 0U);
  EXPECT_EQ(activity.records[3].call, 0U);
  EXPECT_EQ(activity.records[0].shape, 1U);
  EXPECT_EQ(activity.shapes[0].grid_x, 7U);
}

TEST(Attribute, ARangesPlaceIsItsNameAndItsIterationTheRangeAroundIt) {
  RawActivity raw;
  const auto range = [](std::uint64_t start, std::uint64_t end, std::uint32_t thread,
                        const char* name) {
    return RawHostEvent{.start_ns = start,
                        .end_ns = end,
                        .correlation = 0,
                        .thread = thread,
                        .kind = HostEventKind::StageRange,
                        .name = name};
  };
  // As they end: the inner ones first.
  raw.events.host = {range(1010, 1020, 7, "quantize, layer 1"), range(1000, 1050, 7, "iteration 3"),
                     range(1030, 1040, 9, "fprop, layer 0, expert 2"),
                     range(1060, 1070, 7, "fprop, layer 0")};
  const Activity activity = attribute(std::move(raw), {}, 1000);
  ASSERT_EQ(activity.host_events.size(), 4U);
  const HostEvent& iteration = activity.host_events[0];
  EXPECT_EQ(activity.names[iteration.name], "iteration");
  EXPECT_EQ(iteration.iteration, 3);
  EXPECT_EQ(iteration.start_ns, 0);
  const HostEvent& quantize = activity.host_events[1];
  EXPECT_EQ(quantize.stage, Stage::Quantize);
  EXPECT_EQ(quantize.layer, 1);
  EXPECT_EQ(quantize.iteration, 3);
  EXPECT_EQ(quantize.lane, iteration.lane);
  // Another thread's range is in no iteration of this one, and one behind it neither.
  EXPECT_EQ(activity.host_events[2].iteration, -1);
  EXPECT_NE(activity.host_events[2].lane, iteration.lane);
  EXPECT_EQ(activity.host_events[3].iteration, -1);
}

TEST(Attribute, OverheadAndMemoryBelongToTheCallThatTheyName) {
  RawActivity raw;
  raw.names = {"late_kernel", "node"};
  raw.places[5] = pack({.tag = {.stage = Stage::Amax, .layer = 2, .expert = -1}, .iteration = 1});
  raw.records = {{.start_ns = 1500, .end_ns = 1600, .name = 0, .correlation = 5},
                 // A graph launch with the same id as the second load: none of its nodes is meant.
                 {.start_ns = 1700, .end_ns = 1800, .node_id = 12, .name = 1, .correlation = 8}};
  for (const std::uint32_t correlation : {8U, 5U}) {
    raw.events.host.push_back({.start_ns = 1000 + correlation,
                               .end_ns = 1100,
                               .correlation = correlation,
                               .thread = 1,
                               .kind = HostEventKind::LazyLoading,
                               .name = ""});
  }
  raw.events.memory = {{.event = {.time_ns = 2000, .address = 64, .bytes = 32}, .correlation = 5},
                       {.event = {.time_ns = 1200, .address = 64, .bytes = 32}, .correlation = 6}};
  const Activity activity = attribute(std::move(raw), {}, 1000);
  ASSERT_EQ(activity.host_events.size(), 2U);
  EXPECT_EQ(activity.host_events[0].start_ns, 5);
  EXPECT_EQ(activity.names[activity.host_events[0].name], "late_kernel");
  EXPECT_EQ(activity.host_events[0].stage, Stage::Amax);
  EXPECT_EQ(activity.host_events[0].layer, 2);
  EXPECT_EQ(activity.host_events[0].iteration, 1);
  EXPECT_NE(activity.names[activity.host_events[1].name], "node");
  ASSERT_EQ(activity.memory_events.size(), 2U);
  EXPECT_EQ(activity.memory_events[0].time_ns, 200);
  EXPECT_EQ(activity.memory_events[0].iteration, -1);
  EXPECT_EQ(activity.memory_events[1].iteration, 1);
  EXPECT_EQ(activity.memory_events[1].stage, Stage::Amax);
}

TEST(RangeName, SaysWhereTheWorkBelongs) {
  for (const engine::WorkTag& tag :
       {engine::WorkTag{.stage = Stage::Dequantize, .layer = 63, .expert = 511},
        engine::WorkTag{.stage = Stage::Fprop, .layer = 0, .expert = -1}}) {
    const auto place = engine::range_place(engine::range_name(tag));
    ASSERT_TRUE(place.has_value()) << engine::range_name(tag);
    EXPECT_EQ(place->tag.stage, tag.stage);
    EXPECT_EQ(place->tag.layer, tag.layer);
    EXPECT_EQ(place->tag.expert, tag.expert);
    EXPECT_EQ(place->iteration, -1);
  }
  EXPECT_EQ(engine::range_place(engine::range_name(99999)).value().iteration, 99999);
  for (const char* other : {"", "fprop", "fprop, layer", "fprop, layer x", "fprop, layer 1 more",
                            "iteration", "iteration -1", "forward, layer 1"}) {
    EXPECT_FALSE(engine::range_place(other).has_value()) << other;
  }
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
