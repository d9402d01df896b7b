#include "app/protocol/recorded_run.h"

#include <gtest/gtest.h>

namespace app {
namespace {

TEST(RecordedRun, HasTheRecordsOfTheWorkerWithoutACopy) {
  RunDone done;
  done.result.id = 7;
  done.activity.records.resize(1000);
  done.power.samples.resize(10);
  const profiling::ActivityRecord* const records = done.activity.records.data();
  const profiling::PowerSample* const samples = done.power.samples.data();
  engine::RunRequest request;
  request.seed = 5;
  const profiling::RecordedRun run = recorded_run(std::move(done), request);
  EXPECT_EQ(run.activity.records.data(), records);
  EXPECT_EQ(run.power.samples.data(), samples);
  EXPECT_EQ(run.result.id, 7U);
  EXPECT_EQ(run.request.seed, 5U);
  EXPECT_GT(run.wall_clock_ms, 0);
}

}  // namespace
}  // namespace app
