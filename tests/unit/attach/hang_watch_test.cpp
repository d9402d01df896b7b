#include "app/attach/hang_watch.h"

#include <gmock/gmock.h>

namespace app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::uint64_t kSecond = 1'000'000'000;

profiling::SpoolState waiting(std::uint64_t since_seconds, std::uint64_t stream = 7) {
  profiling::SpoolState state;
  state.waits.push_back({.thread = 12,
                         .call = profiling::spool::WaitCall::StreamSynchronize,
                         .since = since_seconds * kSecond,
                         .stream = stream});
  return state;
}

TEST(HangWatch, TheDeadlineFollowsTheWaitsSoFar) {
  profiling::SpoolState state;
  EXPECT_DOUBLE_EQ(hang_deadline(state, {}), 10);
  state.longest_wait = 2 * kSecond;
  EXPECT_DOUBLE_EQ(hang_deadline(state, {}), 40);
  state.longest_wait = 100 * kSecond;
  EXPECT_DOUBLE_EQ(hang_deadline(state, {}), 60);
  EXPECT_DOUBLE_EQ(hang_deadline(state, {.after_seconds = 3}), 3);
}

TEST(HangWatch, ADeadlineIsTypedInSeconds) {
  EXPECT_EQ(usual_hang_deadline(), "20 times the longest wait so far, 10 s to 60 s");
  EXPECT_DOUBLE_EQ(typed_hang_deadline("0.1").value(), 0.1);
  EXPECT_DOUBLE_EQ(typed_hang_deadline("0").value(), 0);  // the usual one
  EXPECT_DOUBLE_EQ(hang_deadline({}, {.after_seconds = typed_hang_deadline("0").value()}), 10);
  for (const char* wrong : {"", "-1", "0.05", "86401", "nan", "1s"})
    EXPECT_FALSE(typed_hang_deadline(wrong).ok()) << wrong;
}

TEST(HangWatch, WhatWouldShowMoreIsSaid) {
  using enum profiling::HangDetail;
  profiling::SpoolState state = waiting(100);
  const auto stall = [&](const HangingDevice& device) {
    return hang_record({}, state, {}, state.waits[0], 130 * kSecond, 10, device)
        .outcome.stall.at(0);
  };
  EXPECT_THAT(stall({}).not_asked_for, IsEmpty());  // no graph hangs
  EXPECT_THAT(stall({}).evidence, Not(HasSubstr("--")));
  state.graphs = {{.exec = 1, .graph = 1, .launches = 5, .last_launch = 50, .last_stream = 7}};
  EXPECT_THAT(stall({}).not_asked_for, ElementsAre(Markers));
  EXPECT_THAT(stall({}).evidence,
              HasSubstr(". --markers (Mark nodes) shows which graph hangs, and in which node. "));
  EXPECT_THAT(stall({.may_be_dumped = true}).not_asked_for, ElementsAre(Markers, CoreDump));
  EXPECT_THAT(stall({.may_be_dumped = true}).evidence,
              HasSubstr("--core-dump (Core dump when it hangs) shows where its kernels stand. "));
}

TEST(HangWatch, TheThreadsThatWaitComeBeforeWhatWasDoneLast) {
  const profiling::SpoolState state = waiting(100);
  const std::string evidence = hang_record({}, state, {}, state.waits[0], 130 * kSecond, 10, {})
                                   .outcome.stall.at(0)
                                   .evidence;
  EXPECT_LT(evidence.find("has been in cudaStreamSynchronize"), evidence.find("No releases"));
}

TEST(HangWatch, TheOldestWaitCounts) {
  profiling::SpoolState state = waiting(100);
  state.waits.push_back(state.waits.front());
  state.waits.back().since = 95 * kSecond;
  EXPECT_FALSE(hanging_wait(state, 104 * kSecond, {}).has_value());
  const auto wait = hanging_wait(state, 106 * kSecond, {});
  ASSERT_TRUE(wait.has_value());
  EXPECT_EQ(wait->since, 95 * kSecond);
  EXPECT_FALSE(
      hanging_wait(state, 50 * kSecond, {}).has_value());  // a clock that another machine wrote
}

TEST(HangWatch, TheGraphIsTheLastOneOnTheStream) {
  profiling::SpoolState state = waiting(100);
  state.graphs = {{.exec = 1, .graph = 1, .launches = 5, .last_launch = 50, .last_stream = 7},
                  {.exec = 2, .graph = 2, .launches = 9, .last_launch = 90, .last_stream = 8},
                  {.exec = 3, .graph = 3, .launches = 4, .last_launch = 40, .last_stream = 7}};
  profiling::Snapshot snapshot;
  snapshot.graphs.resize(3);
  for (std::size_t g = 0; g < 3; ++g) snapshot.graphs[g].name = profiling::graph_name(3 - g);
  const profiling::ObservedProcess process;
  profiling::ExperimentRecord record = hang_record(process, state, snapshot, state.waits[0],
                                                   130 * kSecond, 10, {.words = "NVML: busy."});
  ASSERT_EQ(record.outcome.stall.size(), 1U);
  EXPECT_EQ(record.outcome.stall[0].graph, 2);   // "graph 1"
  EXPECT_EQ(record.outcome.stall[0].replay, 0);  // which launch it is, only markers show
  EXPECT_THAT(record.outcome.stall[0].evidence, HasSubstr("is launch 5 of graph 1. "));
  EXPECT_DOUBLE_EQ(record.outcome.stall[0].waited_seconds, 30);
  EXPECT_THAT(record.outcome.stall[0].evidence, HasSubstr("NVML: busy."));
  // A wait for the whole device may be for any stream.
  state.waits[0].call = profiling::spool::WaitCall::ContextSynchronize;
  record = hang_record(process, state, snapshot, state.waits[0], 130 * kSecond, 10, {});
  EXPECT_EQ(record.outcome.stall[0].graph, 1);  // "graph 2"
  // So may the end of a communicator, which waits for graphs.
  state.waits[0].call = profiling::spool::WaitCall::CommunicatorEnd;
  record = hang_record(process, state, snapshot, state.waits[0], 130 * kSecond, 10, {});
  EXPECT_EQ(record.outcome.stall[0].graph, 1);
  EXPECT_THAT(record.outcome.stall[0].evidence, HasSubstr("call of NCCL that ends a communicator"));
}

TEST(HangWatch, ALaunchThatWaitsToCompareMemoryIsSaidToDoSo) {
  using Call = profiling::spool::WaitCall;
  profiling::SpoolState state = waiting(100);
  state.graphs = {{.exec = 1, .graph = 1, .launches = 5, .last_launch = 50, .last_stream = 7},
                  {.exec = 2, .graph = 2, .launches = 9, .last_launch = 90, .last_stream = 8}};
  const auto stall = [&](Call call) {
    state.waits[0].call = call;
    return hang_record({}, state, {}, state.waits[0], 130 * kSecond, 10, {}).outcome.stall.at(0);
  };
  profiling::Stall found = stall(Call::GraphLaunch);
  EXPECT_EQ(found.kind, profiling::StallKind::HostBlocked);
  EXPECT_THAT(found.evidence, HasSubstr("has been in cudaGraphLaunch for 30.0 s. "));
  found = stall(Call::BeforeComparedLaunch);
  // The host is not blocked by the driver: it waits for the device.
  EXPECT_EQ(found.kind, profiling::StallKind::Unknown);
  EXPECT_THAT(found.evidence,
              HasSubstr("is launch 5 of graph 1; the launch that waits has not begun. "));
  EXPECT_THAT(found.evidence, HasSubstr("in cudaGraphLaunch, which waits for earlier work on its "
                                        "stream to compare memory, for 30.0 s. "));
  found = stall(Call::AfterComparedLaunch);
  EXPECT_THAT(found.evidence, HasSubstr("is launch 5 of graph 1. "));
  EXPECT_THAT(found.evidence, HasSubstr("waits for the end of its replay to compare memory, for"));
}

TEST(HangWatch, WithoutAGraphItIsALaunchThatHangs) {
  const profiling::SpoolState state = waiting(1);
  const profiling::ExperimentRecord record =
      hang_record({}, state, {}, state.waits[0], 20 * kSecond, 10, {});
  EXPECT_FALSE(record.experiment.graph);
  EXPECT_EQ(record.outcome.stall[0].replay, 0);
  EXPECT_THAT(record.outcome.stall[0].evidence, HasSubstr("No graph was launched on the stream"));
}

}  // namespace
}  // namespace app
