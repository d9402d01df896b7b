// Amax histories in a recording: field for field, beside the runs, and never believed unchecked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/session/sample_recording.h"

namespace profiling {
namespace {

using testing::HasSubstr;

class SessionHistory : public testing::Test {
 protected:
  engine::Result<Session> open() const { return open_session(path_, codec_); }
  std::string refusal() const {
    const auto session = open();
    return session.ok() ? "opened" : session.error().message;
  }
  engine::Status append(const std::vector<RecordedHistory>& histories) const {
    auto writer = SessionWriter::create(path_, codec_);
    if (!writer.ok()) return writer.error();
    for (const RecordedHistory& history : histories) {
      if (engine::Status kept = writer.value()->append(history); !kept.ok()) return kept;
    }
    return writer.value()->append(sample_run(0));
  }

  const ScratchFolder folder_;
  const SampleCodec codec_;
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

TEST_F(SessionHistory, RefusesIndicesThatTheWindowCannotUse) {
  RecordedHistory broken = sample_history(0);
  broken.history.amax.pop_back();
  engine::Status kept = append({broken});
  ASSERT_FALSE(kept.ok());
  EXPECT_THAT(kept.error().message, HasSubstr("3 steps of 2 experts have 5 rows"));
}

TEST_F(SessionHistory, RefusesARingOfAnotherLength) {
  RecordedHistory broken = sample_history(0);
  broken.history.ring.push_back(1.0F);
  const engine::Status kept = append({broken});
  ASSERT_FALSE(kept.ok());
  EXPECT_THAT(kept.error().message, HasSubstr("13 numbers where 12 belong"));
}

struct Attack {
  const char* sql;
  const char* says;
};

class HostileHistory : public SessionHistory, public testing::WithParamInterface<Attack> {};

TEST_P(HostileHistory, IsRefused) {
  ASSERT_TRUE(append({sample_history(0)}).ok());
  alter(path_, GetParam().sql);
  EXPECT_THAT(refusal(), HasSubstr(GetParam().says)) << GetParam().sql;
}

INSTANTIATE_TEST_SUITE_P(
    SessionHistory, HostileHistory,
    testing::Values(
        Attack{"UPDATE amax_histories SET steps = 257", "steps"},
        Attack{"UPDATE amax_histories SET experts = 1", "step is 0; it must be between 1 and 1"},
        Attack{"UPDATE amax_histories SET ring_rows = 1000000", "ring_rows"},
        Attack{"UPDATE amax_histories SET ring_rows = 3", "ring"},
        Attack{"UPDATE amax_histories SET outlier_factor = -1.0", "outlier_factor"},
        Attack{"UPDATE amax_histories SET history_id = 2", "history_id"},
        Attack{"DELETE FROM amax_history_steps WHERE step = 1 AND expert = 0", "step"},
        Attack{"DELETE FROM amax_history_steps WHERE step = 2", "3 steps of 2 experts have 4 rows"},
        Attack{"INSERT INTO amax_history_steps VALUES(1,3,0,0,0,0,0,0,0,0,0)", "more rows"},
        Attack{"UPDATE amax_history_steps SET saturated = -1", "saturated"},
        Attack{"DELETE FROM amax_history_rings WHERE step = 0", "step"},
        Attack{"UPDATE amax_history_rings SET ring = x'00' WHERE step = 2", "blob ring"},
        Attack{"UPDATE amax_history_idle SET expert = 300", "expert"},
        Attack{"UPDATE amax_history_idle SET step = 200", "step"}));

}  // namespace
}  // namespace profiling
