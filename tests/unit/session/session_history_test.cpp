// Amax histories in a recording: every field comes back, and none is trusted unchecked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/session/sample_recording.h"

namespace profiling {
namespace {

using testing::HasSubstr;

class SessionHistory : public testing::Test {
 protected:
  engine::Result<Session> open() const { return open_session(path_); }
  std::string refusal() const {
    const auto session = open();
    return session.ok() ? "opened" : session.error().message;
  }
  engine::Status append(const std::vector<RecordedHistory>& histories) const {
    auto writer = SessionWriter::create(path_);
    if (!writer.ok()) return writer.error();
    for (const RecordedHistory& history : histories) {
      if (engine::Status kept = writer.value()->append(history); !kept.ok()) return kept;
    }
    return writer.value()->append(sample_run(0));
  }

  const ScratchFolder folder_;
  const std::string path_ = folder_.file("s");
};

TEST_F(SessionHistory, KeepsEveryField) {
  const engine::Status kept = append({sample_history(0), sample_history(1)});
  ASSERT_TRUE(kept.ok()) << kept.error().message;
  const auto session = open();
  ASSERT_TRUE(session.ok()) << session.error().message;
  ASSERT_EQ(session.value().histories.size(), 2U);
  EXPECT_EQ(describe(session.value().histories[0]), describe(sample_history(0)));
  EXPECT_EQ(describe(session.value().histories[1]), describe(sample_history(1)));
  EXPECT_EQ(session.value().runs.size(), 1U);
}

TEST_F(SessionHistory, AFileThatDoesNotCountWhatAnSnrLeavesOutOpens) {
  ASSERT_TRUE(append({sample_history(0)}).ok());
  alter(path_,
        "ALTER TABLE amax_history_steps DROP COLUMN left_out; DROP TABLE tensor_operand_experts");
  const auto session = open();
  ASSERT_TRUE(session.ok()) << session.error().message;
  RecordedHistory expected = sample_history(0);
  expected.history.left_out.assign(6, 0);
  EXPECT_EQ(describe(session.value().histories.at(0)), describe(expected));
}

TEST_F(SessionHistory, RefusesIndicesThatTheWindowCannotUse) {
  RecordedHistory broken = sample_history(0);
  broken.history.amax.pop_back();
  engine::Status kept = append({broken});
  ASSERT_FALSE(kept.ok());
  EXPECT_THAT(kept.error().message,
              HasSubstr("steps is 3; there are 5 values, which is not steps times 2 experts"));
}

TEST_F(SessionHistory, RefusesARingOfAnotherLength) {
  RecordedHistory broken = sample_history(0);
  broken.history.ring.push_back(1.0F);
  const engine::Status kept = append({broken});
  ASSERT_FALSE(kept.ok());
  EXPECT_THAT(kept.error().message, HasSubstr("the ring has 13 values"));
}

struct HistoryAttack {
  const char* sql;
  const char* says;
};

class HostileHistory : public SessionHistory, public testing::WithParamInterface<HistoryAttack> {};

TEST_P(HostileHistory, IsRefused) {
  ASSERT_TRUE(append({sample_history(0)}).ok());
  alter(path_, GetParam().sql);
  EXPECT_THAT(refusal(), HasSubstr(GetParam().says)) << GetParam().sql;
}

INSTANTIATE_TEST_SUITE_P(
    SessionHistory, HostileHistory,
    testing::Values(
        HistoryAttack{"UPDATE amax_histories SET steps = 257", "steps"},
        HistoryAttack{"UPDATE amax_histories SET experts = 1",
                      "there are 6 values, which is not steps times 1 experts"},
        HistoryAttack{"UPDATE amax_histories SET ring_rows = 1000000", "ring_rows"},
        HistoryAttack{"UPDATE amax_histories SET ring_rows = 3", "ring"},
        HistoryAttack{"UPDATE amax_histories SET outlier_factor = -1.0", "outlier_factor"},
        HistoryAttack{"UPDATE amax_histories SET history_id = 2", "history_id"},
        HistoryAttack{"DELETE FROM amax_history_steps WHERE cell = 2",
                      "cell is 3 where 2 comes next"},
        HistoryAttack{"DELETE FROM amax_history_steps WHERE cell > 3", "there are 4 values"},
        HistoryAttack{
            "INSERT INTO amax_history_steps SELECT history_id, 6, tokens, amax, history_amax, "
            "scale_used, scale_wanted, saturated, underflowed, snr_db, left_out, 3, 0 FROM "
            "amax_history_steps WHERE cell = 5",
            "there are 7 values"},
        HistoryAttack{"UPDATE amax_history_steps SET saturated = -1", "saturated is -1"},
        HistoryAttack{"UPDATE amax_histories SET ring = x'00'", "blob ring is not a zstd frame"},
        HistoryAttack{"UPDATE amax_history_idle SET expert = 300", "expert"},
        HistoryAttack{"UPDATE amax_history_idle SET step = 200", "step"}));

}  // namespace
}  // namespace profiling
