// Comparisons over steps in a recording: every field comes back, none is trusted unchecked, and
// what recordings kept as amax histories opens as such a comparison.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/session/sample_recording.h"

namespace profiling {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class SessionSeries : public testing::Test {
 protected:
  engine::Result<Session> open() const { return open_session(path_); }
  std::string refusal() const {
    const auto session = open();
    return session.ok() ? "opened" : session.error().message;
  }
  engine::Status append(const std::vector<RecordedComparison>& comparisons) const {
    auto writer = SessionWriter::create(path_);
    if (!writer.ok()) return writer.error();
    for (const RecordedComparison& one : comparisons) {
      if (engine::Status kept = writer.value()->append(one); !kept.ok()) return kept;
    }
    return writer.value()->append(sample_run(0));
  }

  const ScratchFolder folder_;
  const std::string path_ = folder_.file("s");
};

TEST_F(SessionSeries, KeepsEveryField) {
  const engine::Status kept = append({sample_series(0), sample_series(1)});
  ASSERT_TRUE(kept.ok()) << kept.error().message;
  const auto session = open();
  ASSERT_TRUE(session.ok()) << session.error().message;
  ASSERT_EQ(session.value().comparisons.size(), 2U);
  EXPECT_EQ(describe(session.value().comparisons[0]), describe(sample_series(0)));
  EXPECT_EQ(describe(session.value().comparisons[1]), describe(sample_series(1)));
  EXPECT_EQ(session.value().runs.size(), 1U);
}

TEST_F(SessionSeries, RefusesWhatTheWindowCannotUse) {
  const auto refused = [this](const char* says, auto&& breaks) {
    RecordedComparison broken = sample_series(0);
    breaks(broken.comparison);
    const engine::Status kept = append({broken});
    std::remove(path_.c_str());
    ASSERT_FALSE(kept.ok()) << says;
    EXPECT_THAT(kept.error().message, HasSubstr(says));
  };
  refused("the series has 5 reports; 3 steps of 2 recipes have 6",
          [](auto& comparison) { comparison.reports.pop_back(); });
  refused("report 2 is of another step or recipe",
          [](auto& comparison) { comparison.reports[2].step = 2; });
  refused("the history of report 0 has 5 amaxes; 2 rows of 2 experts have 4",
          [](auto& comparison) { comparison.reports[0].history.push_back(1.0F); });
  refused("report 4 has delayed scales of some experts",
          [](auto& comparison) { comparison.reports[4].experts[1].delayed.reset(); });
  refused("report 4 has rows of 0 experts, but that of step 0 has 2", [](auto& comparison) {
    comparison.reports[4].experts.clear();
    comparison.reports[4].history.clear();
  });
  refused("outlier_factor",
          [](auto& comparison) { comparison.request.series->outlier_factor = -1.0; });
}

struct SeriesAttack {
  const char* sql;
  const char* says;
};

class HostileSeries : public SessionSeries, public testing::WithParamInterface<SeriesAttack> {};

TEST_P(HostileSeries, IsRefused) {
  ASSERT_TRUE(append({sample_series(0)}).ok());
  alter(path_, GetParam().sql);
  EXPECT_THAT(refusal(), HasSubstr(GetParam().says)) << GetParam().sql;
}

INSTANTIATE_TEST_SUITE_P(
    SessionSeries, HostileSeries,
    testing::Values(
        SeriesAttack{"UPDATE comparison_series SET steps = 257", "it must be between 1 and 256"},
        SeriesAttack{"UPDATE comparison_series SET steps = 4", "4 steps of 2 recipes have 8"},
        SeriesAttack{"UPDATE comparison_series SET outlier_factor = -1.0", "outlier_factor"},
        SeriesAttack{"UPDATE comparison_series SET outlier_step = 3", "outlier_step is 3"},
        SeriesAttack{"UPDATE comparison_reports SET step = 5 WHERE report = 1", "report 1"},
        SeriesAttack{"UPDATE comparison_reports SET history = x'00' WHERE report = 0",
                     "blob history is not a zstd frame"},
        SeriesAttack{"DELETE FROM comparison_delayed_scales WHERE report = 2 AND expert = 1",
                     "delayed scales of some experts"},
        SeriesAttack{"DELETE FROM comparison_experts WHERE report = 4 AND expert = 1",
                     "expert is 1; it must be between 0 and 0"},
        SeriesAttack{"UPDATE comparison_series_idle SET expert = 300",
                     "series.idle[0].expert is 300"},
        SeriesAttack{"UPDATE comparison_series_idle SET step = 3", "idle[0].step is 3"}));

/// As the program wrote it when a history was a kind of its own: two experts over three steps, the
/// second step with a history of one earlier amax, the third with an outlier.
constexpr const char* kFormerHistory = R"sql(
CREATE TABLE amax_histories(history_id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL,
  request_json TEXT NOT NULL, asked_tokens INTEGER NOT NULL, asked_steps INTEGER NOT NULL,
  outlier_step INTEGER NOT NULL, outlier_expert INTEGER NOT NULL, outlier_factor REAL,
  steps INTEGER NOT NULL, experts INTEGER NOT NULL, ring_rows INTEGER NOT NULL, ring BLOB NOT NULL,
  wall_ns INTEGER NOT NULL, wall_clock_ms INTEGER NOT NULL) STRICT;
INSERT INTO amax_histories VALUES(1, 2, '{"shape":{"num_experts":2,"rows":32,"n":32,"k":32},
  "recipe":{"scaling":"fp8-delayed","pow2_scales":true,"delayed":{"history_length":4}}}',
  24, 3, 2, 0, 64.0, 3, 2, 3,
  X'28b52ffd20483d0100d000003d400000334000394000004e424300003e40394000004e40040033772d45c04e43cfe008',
  363262, 1795679873502);
CREATE TABLE amax_history_idle(history_id INTEGER NOT NULL, position INTEGER NOT NULL,
  step INTEGER NOT NULL, expert INTEGER NOT NULL, PRIMARY KEY(history_id, position))
  STRICT, WITHOUT ROWID;
CREATE TABLE amax_history_steps(history_id INTEGER NOT NULL, cell INTEGER NOT NULL,
  tokens INTEGER NOT NULL, amax REAL, history_amax REAL, scale_used REAL, scale_wanted REAL,
  saturated INTEGER NOT NULL, underflowed INTEGER NOT NULL, snr_db REAL, left_out INTEGER NOT NULL,
  step INTEGER NOT NULL, expert INTEGER NOT NULL, PRIMARY KEY(history_id, cell))
  STRICT, WITHOUT ROWID;
INSERT INTO amax_history_steps VALUES
  (1,0,12,2.953125,0.0,1.0,128.0,0,2,31.010334233030857121,0,0,0),
  (1,1,12,2.796875,0.0,1.0,128.0,0,0,31.357200944288656785,0,0,1),
  (1,2,12,2.890625,2.953125,128.0,128.0,0,0,31.557063790110966294,0,1,0),
  (1,3,12,3.21875,2.796875,128.0,128.0,0,0,31.468068192782734371,0,1,1),
  (1,4,12,194.0,2.953125,128.0,2.0,1,0,0.20022557673508442621,0,2,0),
  (1,5,12,2.96875,3.21875,128.0,128.0,0,0,31.342467093644643227,0,2,1);
)sql";

class FormerHistories : public SessionSeries {
 protected:
  void SetUp() override {
    ASSERT_TRUE(append({sample_comparison(0)}).ok());
    alter(path_, kFormerHistory);
  }
};

TEST_F(FormerHistories, OpenAsComparisonsOverSteps) {
  const auto session = open();
  ASSERT_TRUE(session.ok()) << session.error().message;
  ASSERT_EQ(session.value().comparisons.size(), 2U);
  const RecordedComparison& recorded = session.value().comparisons.back();
  EXPECT_EQ(recorded.wall_clock_ms, 1795679873502);
  const engine::RecipeComparison& comparison = recorded.comparison;
  EXPECT_EQ(comparison.request.request.shape.rows, 24);
  EXPECT_EQ(comparison.request.series->outlier_step, 2);
  ASSERT_EQ(comparison.reports.size(), 3U);
  const engine::QuantizationReport& last = comparison.reports[2];
  EXPECT_EQ(last.recipe.scaling, engine::Scaling::PerTensorDelayed);
  EXPECT_EQ(last.step, 2);
  EXPECT_EQ(last.experts[0].saturated, 1U);
  EXPECT_DOUBLE_EQ(last.experts[1].snr_db, 31.342467093644643227);
  EXPECT_EQ(last.experts[0].delayed->amax, 194.0F);
  EXPECT_EQ(last.experts[0].delayed->history_amax, 2.953125F);
  EXPECT_EQ(last.experts[0].delayed->scale_wanted, 2.0F);
  EXPECT_THAT(last.history,
              ElementsAre(194.0F, 2.96875F, 2.953125F, 2.796875F, 2.890625F, 3.21875F));
}

TEST_F(FormerHistories, OpenWithoutTheCountOfWhatAnSnrLeavesOut) {
  alter(path_, "ALTER TABLE amax_history_steps DROP COLUMN left_out");
  EXPECT_EQ(refusal(), "opened");
}

TEST_F(FormerHistories, AreRefusedIfTheirListsHaveAnotherLength) {
  alter(path_, "DELETE FROM amax_history_steps WHERE cell > 3");
  EXPECT_THAT(refusal(), HasSubstr("3 steps and 2 experts has lists of another length"));
}

TEST_F(FormerHistories, AreCheckedLikeComparisons) {
  alter(path_, "UPDATE amax_histories SET outlier_expert = 7");
  EXPECT_THAT(refusal(), HasSubstr("outlier_expert is 7"));
}

}  // namespace
}  // namespace profiling
