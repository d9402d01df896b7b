// Host spans become records of the right iteration on one axis, from any number of threads.
#include "profiling/trace/host_spans.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace {

using engine::Stage;

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

TEST(HostSpans, RecordsCarryTagIterationAndTimesSinceTheFirstIteration) {
  const auto collector = profiling::make_host_span_collector();
  collector->begin_run();
  const std::int64_t before = now_ns();
  collector->span({.stage = Stage::Offsets}, "offsets", 0, before, before + 1000);
  collector->begin_iteration(0);
  const std::int64_t begin = now_ns();
  // Handed in out of order: a long product ends after a later short one.
  collector->span({.stage = Stage::Fprop, .layer = 1, .expert = 3}, "gemm", 2, begin + 500,
                  begin + 900);
  const engine::WrittenValue w =
      engine::written(engine::StepTensor::WUp, engine::CopyForms::Columnwise);
  collector->span({.stage = Stage::Quantize, .writes = w}, "cast", 1, begin + 100, begin + 200);
  collector->end_iteration();
  collector->begin_iteration(1);
  collector->span({.stage = Stage::Fprop, .expert = 3}, "gemm", 2, begin + 2000, begin + 2300);
  collector->end_iteration();
  collector->span({.stage = Stage::Check}, "check", 0, begin + 5000, begin + 4000);
  collector->end_run();

  const profiling::Activity activity = collector->take();
  ASSERT_EQ(activity.records.size(), 5U);
  const auto& records = activity.records;
  EXPECT_TRUE(std::is_sorted(records.begin(), records.end(),
                             [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; }));
  EXPECT_LT(records[0].start_ns, 0);  // before the first iteration
  EXPECT_EQ(records[0].iteration, -1);
  EXPECT_EQ(activity.names[records[1].name], "cast");
  EXPECT_GE(records[1].start_ns, 100);
  EXPECT_LT(records[1].start_ns, 1'000'000'000);
  EXPECT_EQ(records[1].iteration, 0);
  EXPECT_EQ(records[1].expert, -1);
  EXPECT_EQ(records[1].writes, w);
  EXPECT_EQ(records[2].writes, engine::WrittenValue::Unknown);
  EXPECT_EQ(records[2].stage, Stage::Fprop);
  EXPECT_EQ(records[2].layer, 1);
  EXPECT_EQ(records[2].expert, 3);
  EXPECT_EQ(records[2].lane, 2);
  EXPECT_EQ(records[2].duration_ns(), 400);
  EXPECT_EQ(records[2].start_ns - records[1].start_ns, 400);
  EXPECT_EQ(records[3].iteration, 1);
  EXPECT_EQ(records[3].name, records[2].name);  // one entry a name
  EXPECT_EQ(activity.names.size(), 4U);
  EXPECT_EQ(records[4].iteration, -1);
  EXPECT_EQ(records[4].duration_ns(), 0);  // an end before its start is not believed
  EXPECT_TRUE(collector->take().records.empty());
  EXPECT_EQ(collector->dropped(), 0U);
  EXPECT_FALSE(collector->method().empty());
}

TEST(HostSpans, AnUnfinishedRunDoesNotAffectTheNext) {
  const auto collector = profiling::make_host_span_collector();
  collector->begin_run();
  collector->begin_iteration(4);
  collector->span({}, "cancelled", 0, now_ns(), now_ns());
  EXPECT_TRUE(collector->take().records.empty());
  collector->begin_run();
  collector->span({}, "setup", 0, now_ns(), now_ns());
  collector->end_run();
  const profiling::Activity activity = collector->take();
  ASSERT_EQ(activity.records.size(), 1U);
  EXPECT_EQ(activity.names, std::vector<std::string>{"setup"});
  EXPECT_EQ(activity.records[0].iteration, -1);
  EXPECT_GE(activity.records[0].start_ns, 0);  // without an iteration the run's begin is zero
}

TEST(HostSpans, ThreadsMayAddSpansConcurrently) {
  constexpr int kThreads = 4;
  constexpr int kSpans = 5000;
  const auto collector = profiling::make_host_span_collector();
  collector->begin_run();
  collector->begin_iteration(0);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&collector, t] {
      const std::string name = "lane " + std::to_string(t);
      for (int i = 0; i < kSpans; ++i) {
        const std::int64_t start = now_ns();
        collector->span({.stage = Stage::Fprop, .expert = i % 8}, name.c_str(), t, start,
                        start + i);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  collector->end_iteration();
  collector->end_run();
  const profiling::Activity activity = collector->take();
  ASSERT_EQ(activity.records.size(), static_cast<std::size_t>(kThreads * kSpans));
  EXPECT_EQ(activity.names.size(), static_cast<std::size_t>(kThreads));
  std::vector<int> per_lane(kThreads, 0);
  for (const profiling::ActivityRecord& record : activity.records) {
    ++per_lane[record.lane];
    EXPECT_EQ(activity.names[record.name], "lane " + std::to_string(record.lane));
  }
  EXPECT_EQ(per_lane, std::vector<int>(kThreads, kSpans));
}

}  // namespace
