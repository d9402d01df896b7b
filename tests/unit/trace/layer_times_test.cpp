// Time of a stage in a layer, from records whose sums are known.
#include "profiling/trace/layer_times.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

using engine::Stage;
using profiling::ActivityRecord;

ActivityRecord record(int iteration, int layer, Stage stage, std::int64_t start, std::int64_t end) {
  ActivityRecord one{.start_ns = start, .end_ns = end, .iteration = iteration};
  one.layer = static_cast<std::uint8_t>(layer);
  one.stage = stage;
  return one;
}

TEST(LayerTimes, OneSamplePerTracedIterationOfEachStageAndLayer) {
  profiling::Activity activity{.names = {"work"}, .records = {}, .nodes = {}};
  activity.records = {record(-1, 0, Stage::Fprop, 0, 1000),  // set-up
                      record(0, 0, Stage::Fprop, 1000, 1010),
                      record(0, 0, Stage::Fprop, 1005, 1030),  // overlaps the one before
                      record(0, 1, Stage::Fprop, 1040, 1050),
                      record(0, 1, Stage::Activation, 1050, 1057),
                      record(0, 2, Stage::Fprop, 1060, 1090),  // of the next layer
                      record(2, 0, Stage::Fprop, 1100, 1150)};
  activity.records.push_back(record(2, 0, Stage::Fprop, 1160, 1999));
  activity.records.back().kind = profiling::ActivityKind::Graph;
  const std::vector<profiling::LayerTime> times = profiling::layer_times(activity, 2);
  ASSERT_EQ(times.size(), 3U);
  EXPECT_EQ(times[0].layer, 0);
  EXPECT_EQ(times[0].stage, Stage::Fprop);
  EXPECT_EQ(times[0].time.n, 2U);
  EXPECT_DOUBLE_EQ(times[0].time.minimum, 30.0);
  EXPECT_DOUBLE_EQ(times[0].time.maximum, 50.0);
  EXPECT_EQ(times[1].layer, 1);
  EXPECT_EQ(times[1].stage, Stage::Fprop);
  EXPECT_DOUBLE_EQ(times[1].time.median, 10.0);
  EXPECT_EQ(times[2].stage, Stage::Activation);
  EXPECT_DOUBLE_EQ(times[2].time.median, 7.0);
  EXPECT_TRUE(profiling::layer_times({}, 2).empty());
}

/// "1 bwd quantize 5": layer, pass, stage and median.
std::vector<std::string> lines_of(const profiling::Activity& activity) {
  std::vector<std::string> lines;
  for (const profiling::LayerTime& one : profiling::layer_times(activity, 2)) {
    lines.push_back(std::to_string(one.layer) + (one.backward ? " bwd " : " fwd ") +
                    std::string(engine::stage_name(one.stage)) + " " +
                    std::to_string(static_cast<int>(one.time.median)));
  }
  return lines;
}

/// Records one after the other, as long as they say.
class Records {
 public:
  Records& add(int iteration, int layer, Stage stage, std::int64_t duration) {
    activity_.records.push_back(record(iteration, layer, stage, at_, at_ + duration));
    at_ += duration;
    return *this;
  }
  const profiling::Activity& activity() const { return activity_; }

 private:
  profiling::Activity activity_{.names = {"work"}, .records = {}, .nodes = {}};
  std::int64_t at_ = 0;
};

TEST(LayerTimes, APermutationsPassIsKnownByItsProjection) {
  Records records;
  for (int iteration = 0; iteration < 2; ++iteration) {
    records.add(iteration, 0, Stage::Permute, 1)
        .add(iteration, 0, Stage::Fprop, 2)
        .add(iteration, 1, Stage::Fprop, 3)
        .add(iteration, 1, Stage::Unpermute, 4)
        .add(iteration, 1, Stage::Permute, 5)
        .add(iteration, 1, Stage::Dgrad, 6)
        .add(iteration, 0, Stage::Wgrad, 7)
        .add(iteration, 0, Stage::Unpermute, 8);
  }
  std::vector<std::string> lines = lines_of(records.activity());
  std::erase_if(lines,
                [](const std::string& line) { return line.find("permute") == std::string::npos; });
  EXPECT_EQ(lines, (std::vector<std::string>{"0 fwd permute 1", "0 bwd unpermute 8",
                                             "1 bwd permute 5", "1 fwd unpermute 4"}));
}

TEST(LayerTimes, WhatPreparesAProductIsOfItsPass) {
  Records records;
  for (int iteration = 0; iteration < 3; ++iteration) {
    records.add(iteration, 0, Stage::Quantize, 1)
        .add(iteration, 0, Stage::Fprop, 2)
        .add(iteration, 0, Stage::Bias, 3)
        .add(iteration, 1, Stage::Activation, 4)
        .add(iteration, 1, Stage::Quantize, 5)
        .add(iteration, 1, Stage::Fprop, 6)
        .add(iteration, 1, Stage::Bias, 7)  // added to Y: right after fprop
        .add(iteration, 1, Stage::Quantize, 8)
        .add(iteration, 1, Stage::Bias, 9)  // db
        .add(iteration, 1, Stage::Dgrad, 10)
        .add(iteration, 0, Stage::Activation, 11)
        .add(iteration, 0, Stage::Quantize, 12)
        .add(iteration, 0, Stage::Dgrad, 13)
        .add(iteration, 1, Stage::Activation, 14)  // recomputed for a late wgrad
        .add(iteration, 1, Stage::Wgrad, 15)
        .add(iteration, 0, Stage::Wgrad, 16)
        .add(iteration, 0, Stage::Other, 17);  // after the last product
  }
  EXPECT_EQ(lines_of(records.activity()),
            (std::vector<std::string>{"0 fwd quantize 1", "0 bwd quantize 12", "0 fwd fprop 2",
                                      "0 bwd other 17", "0 bwd dgrad 13", "0 bwd wgrad 16",
                                      "0 fwd bias 3", "0 bwd activation 11", "1 fwd quantize 5",
                                      "1 bwd quantize 8", "1 fwd fprop 6", "1 bwd dgrad 10",
                                      "1 bwd wgrad 15", "1 fwd bias 7", "1 bwd bias 9",
                                      "1 fwd activation 4", "1 bwd activation 14"}));
}

TEST(LayerTimes, MicroBatchesGoBackAndForth) {
  Records records;
  for (int batch = 0; batch < 2; ++batch) {
    records.add(0, 0, Stage::Quantize, 1)
        .add(0, 0, Stage::Fprop, 2)
        .add(0, 0, Stage::Quantize, 4)
        .add(0, 0, Stage::Dgrad, 8);
  }
  EXPECT_EQ(lines_of(records.activity()),
            (std::vector<std::string>{"0 fwd quantize 2", "0 bwd quantize 8", "0 fwd fprop 4",
                                      "0 bwd dgrad 16"}));
}

}  // namespace
