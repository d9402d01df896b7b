// What is derived from a recorded routing: imbalance, times by step, the slowest, the mean rows.
#include "engine/model/recorded_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "engine/model/run_result.h"
#include "engine/model/snr_words.h"
#include "engine/model/weight_reuse.h"

namespace engine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<RecordedStep> three_steps() {
  return {{.step = 4, .rows = 8, .splits = {8, 0}},
          {.step = 5, .rows = 4, .splits = {2, 2}},
          {.step = 6, .rows = 0, .splits = {0, 0}}};
}

TEST(RecordedSteps, ImbalanceIsTheLargestOverTheMean) {
  EXPECT_DOUBLE_EQ(imbalance_of(std::vector<std::int64_t>{3, 3, 3}), 1.0);
  EXPECT_DOUBLE_EQ(imbalance_of(std::vector<std::int64_t>{0, 12, 0, 0}), 4.0);
  EXPECT_TRUE(std::isnan(imbalance_of(std::vector<std::int64_t>{0, 0})));
  EXPECT_TRUE(std::isnan(imbalance_of({})));
}

TEST(RecordedSteps, EveryStepHasTheTimesOfItsIterations) {
  const std::vector<Iteration> iterations = {{0, 100}, {100, 10}, {200, 50}, {300, 300}};
  std::vector<RecordedStep> steps = three_steps();
  add_times(iterations, steps);
  EXPECT_EQ(steps[0].visits, 2);
  EXPECT_DOUBLE_EQ(steps[0].median_ns, 200.0);
  EXPECT_DOUBLE_EQ(steps[0].p5_ns, 110.0);
  EXPECT_DOUBLE_EQ(steps[1].median_ns, 10.0);
  add_times(std::span(iterations).first(2), steps);
  EXPECT_EQ(steps[2].visits, 0) << "not reached";
}

TEST(RecordedSteps, AWholePassQuantizesWeightsOrKeepsThem) {
  for (const std::size_t steps : {3U, 4U, 64U}) {
    for (const int micro_batches : {1, 2, 3}) {
      for (int pass = 0; pass < 6; ++pass) {
        for (int step = 0; step < static_cast<int>(steps); ++step) {
          EXPECT_EQ(quantizes_weights(pass * static_cast<int>(steps) + step, micro_batches, steps),
                    pass % micro_batches == 0);
        }
      }
    }
  }
  EXPECT_TRUE(quantizes_weights(4, 2, 0)) << "no routing file: every second iteration";
  EXPECT_FALSE(quantizes_weights(5, 2, 1));
}

TEST(SnrWords, SayWhatTheNumberLeavesOut) {
  EXPECT_EQ(snr_text(20.94, 0), "20.94 dB");
  EXPECT_EQ(snr_text(20.94, 12, 1), "20.9 dB (12 left out)");
  EXPECT_EQ(snr_text(INFINITY, 0), "exact");
  EXPECT_EQ(snr_text(INFINITY, 3), "exact (3 left out)");
  EXPECT_EQ(snr_text(NAN, 1024), "n/a (1 024 left out)");
  EXPECT_EQ(snr_text(ProductAccuracy{.snr_db = 3.5, .lost = 2, .undefined = 1}),
            "3.50 dB (3 left out)");
}

TEST(RecordedSteps, MicroBatchesVisitStepsThatHaveNoTimeOfTheirOwn) {
  const std::vector<Iteration> iterations = {{0, 100}, {100, 10}};
  std::vector<RecordedStep> steps = three_steps();
  for (int again = 0; again < 2; ++again) add_times(iterations, steps, 2);
  EXPECT_EQ(steps[0].visits, 2) << "of the first iteration and of the second";
  EXPECT_EQ(steps[1].visits, 1);
  EXPECT_EQ(steps[2].visits, 1);
  EXPECT_TRUE(std::isnan(steps[0].median_ns));
}

TEST(RecordedSteps, TheSlowestComeFirstAndOnlyTimesCount) {
  RecordedRouting recorded{.source = {}, .numerics = {}, .steps = three_steps()};
  EXPECT_THAT(slowest_steps(recorded, 5), IsEmpty());
  recorded.steps[0].visits = recorded.steps[1].visits = recorded.steps[2].visits = 1;
  recorded.steps[0].median_ns = 10.0;
  recorded.steps[2].median_ns = 30.0;  // of the second there is no time
  EXPECT_THAT(slowest_steps(recorded, 5), ElementsAre(2, 0));
  EXPECT_THAT(slowest_steps(recorded, 1), ElementsAre(2));
}

TEST(RecordedSteps, MeanRowsAreThoseOfTheIterations) {
  RunResult result;
  result.splits = {8, 0};
  EXPECT_THAT(mean_splits(result), ElementsAre(8, 0)) << "no routing file";
  result.recorded_routing = {.source = {}, .numerics = {}, .steps = three_steps()};
  EXPECT_THAT(mean_splits(result), ElementsAre(8, 0)) << "nothing ran";
  result.recorded_routing->steps[0].visits = 1;
  result.recorded_routing->steps[1].visits = 3;
  EXPECT_THAT(mean_splits(result), ElementsAre(4, 2)) << "(8 + 3 * 2) / 4 and 3 * 2 / 4, rounded";
  result.recorded_routing->steps[1].splits.clear();  // as a wire may bring it
  EXPECT_THAT(mean_splits(result), ElementsAre(2, 0));
}

}  // namespace
}  // namespace engine
