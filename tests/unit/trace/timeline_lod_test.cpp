// The timeline's level of detail: bounded results, no record lost, no long record hidden.
#include "profiling/trace/timeline_lod.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace {

using profiling::ActivityKind;
using profiling::ActivityRecord;
using profiling::TimelineLod;
using profiling::TimelineSegment;

TimelineLod row_of_all(const std::vector<ActivityRecord>& records) {
  std::vector<std::uint32_t> members(records.size());
  std::iota(members.begin(), members.end(), 0U);
  return {records, std::move(members)};
}

std::uint64_t count_of(const std::vector<TimelineSegment>& segments) {
  std::uint64_t count = 0;
  for (const TimelineSegment& segment : segments) count += segment.count;
  return count;
}

/// A lane without overlap: short kernels, occasionally a long one or a gap.
std::vector<ActivityRecord> random_lane(std::size_t count) {
  std::mt19937_64 random(11);
  std::vector<ActivityRecord> records(count);
  std::int64_t time = -1000;
  for (ActivityRecord& record : records) {
    const std::uint64_t draw = random();
    record.start_ns = time;
    record.end_ns = time + static_cast<std::int64_t>(500 + draw % 3000);
    if (draw % 100'003 == 0) record.end_ns += 40'000'000;
    time = record.end_ns + static_cast<std::int64_t>(draw >> 32) % 400;
    if (draw % 50'021 == 0) time += 30'000'000;
  }
  return records;
}

TEST(TimelineLod, MillionsOfRecordsStayBoundedAndComplete) {
  const std::vector<ActivityRecord> records = random_lane(3'000'000);
  const TimelineLod row = row_of_all(records);
  EXPECT_EQ(row.begin_ns(), records.front().start_ns);
  EXPECT_EQ(row.end_ns(), records.back().end_ns);
  std::int64_t busy = 0;
  std::size_t longest = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    busy += records[i].duration_ns();
    if (records[i].duration_ns() > records[longest].duration_ns()) longest = i;
  }
  for (const int pixels : {1, 100, 1920, 4000}) {
    SCOPED_TRACE(pixels);
    const auto segments = row.query(row.begin_ns(), row.end_ns() + 1, pixels);
    EXPECT_LE(segments.size(), static_cast<std::size_t>(2 * pixels + 2));
    EXPECT_EQ(count_of(segments), records.size());
    std::int64_t segment_busy = 0;
    bool longest_kept = false;
    for (const TimelineSegment& segment : segments) {
      segment_busy += segment.busy_ns;
      longest_kept = longest_kept || segment.longest == longest;
    }
    EXPECT_EQ(segment_busy, busy);
    EXPECT_TRUE(longest_kept);
  }
}

TEST(TimelineLod, EverySegmentIsTrueToItsRecords) {
  const std::vector<ActivityRecord> records = random_lane(20'000);
  const TimelineLod row = row_of_all(records);
  constexpr int kPixels = 800;
  std::mt19937_64 random(3);
  const auto length = static_cast<std::uint64_t>(row.end_ns() - row.begin_ns());
  for (int trial = 0; trial < 200; ++trial) {
    const std::int64_t begin = row.begin_ns() + static_cast<std::int64_t>(random() % length);
    const std::int64_t end =
        begin + 1 + static_cast<std::int64_t>(random() % (length >> trial % 16));
    const double fold_ns = 3.0 * static_cast<double>(end - begin) / kPixels;
    const auto segments = row.query(begin, end, kPixels);
    ASSERT_LE(segments.size(), 2U * kPixels + 2);
    EXPECT_TRUE(std::is_sorted(segments.begin(), segments.end(), [](const auto& a, const auto& b) {
      return a.begin_ns < b.begin_ns;
    }));
    std::size_t at = 0;  // records are taken in order, none twice, none left out in the middle
    if (!segments.empty()) {
      while (records[at].start_ns < segments.front().begin_ns) ++at;
    }
    for (const TimelineSegment& segment : segments) {
      ASSERT_EQ(records[at].start_ns, segment.begin_ns);
      std::int64_t busy = 0;
      std::int64_t longest = 0;
      for (std::uint32_t i = 0; i < segment.count; ++i, ++at) {
        busy += records[at].duration_ns();
        longest = std::max(longest, records[at].duration_ns());
        if (segment.count > 1) {
          EXPECT_LT(static_cast<double>(records[at].duration_ns()), fold_ns);
        }
      }
      EXPECT_EQ(segment.busy_ns, busy);
      EXPECT_EQ(segment.end_ns, records[at - 1].end_ns);
      EXPECT_EQ(records[segment.longest].duration_ns(), longest);
    }
    // Nothing that touches the view is missing at either edge.
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (records[i].end_ns <= begin || records[i].start_ns >= end) continue;
      ASSERT_FALSE(segments.empty());
      EXPECT_GE(records[i].start_ns, segments.front().begin_ns);
      EXPECT_LT(i, at);
    }
  }
}

TEST(TimelineLod, ZoomedInEveryRecordIsSeparate) {
  const std::vector<ActivityRecord> records = random_lane(100'000);
  const TimelineLod row = row_of_all(records);
  const auto segments = row.query(records[5000].start_ns, records[5099].end_ns, 4000);
  for (const TimelineSegment& segment : segments) {
    EXPECT_EQ(segment.count, 1U);
    EXPECT_EQ(records[segment.longest].start_ns, segment.begin_ns);
  }
  EXPECT_GE(segments.size(), 100U);
  EXPECT_LE(segments.size(), 102U);
}

TEST(TimelineLod, ACrowdKeepsItsDensityAndItsPlaceWhenPanned) {
  const std::vector<ActivityRecord> records = random_lane(200'000);
  const TimelineLod row = row_of_all(records);
  constexpr std::int64_t kView = 100'000'000;
  const auto segments = row.query(0, kView, 1000);
  EXPECT_GT(segments.size(), 40U);  // not one block between two pauses
  const auto panned = row.query(7'000'000, 7'000'000 + kView, 1000);
  // Away from the edges the same folds appear in both views.
  std::size_t inside = 0;
  for (const TimelineSegment& segment : panned) {
    if (segment.begin_ns < 10'000'000 || segment.end_ns > 90'000'000) continue;
    ++inside;
    EXPECT_TRUE(std::any_of(segments.begin(), segments.end(), [&](const auto& other) {
      return other.begin_ns == segment.begin_ns && other.count == segment.count;
    }));
  }
  EXPECT_GT(inside, 20U);
}

TEST(TimelineLod, OverlapInOneRowStaysBounded) {
  // Records that all end together: nothing a pyramid could skip by extent.
  std::vector<ActivityRecord> records(200'000);
  for (std::size_t i = 0; i < records.size(); ++i) {
    records[i].start_ns = static_cast<std::int64_t>(i);
    records[i].end_ns = 10'000'000 + static_cast<std::int64_t>(i % 7);
  }
  const TimelineLod row = row_of_all(records);
  const auto segments = row.query(0, 20'000'000, 500);
  EXPECT_LE(segments.size(), 1002U);
  EXPECT_EQ(count_of(segments), records.size());
}

TEST(TimelineLod, NothingToShow) {
  const std::vector<ActivityRecord> none;
  const TimelineLod empty = row_of_all(none);
  EXPECT_TRUE(empty.query(0, 100, 10).empty());
  EXPECT_EQ(empty.end_ns(), 0);
  const std::vector<ActivityRecord> records = random_lane(10);
  const TimelineLod row = row_of_all(records);
  EXPECT_TRUE(row.query(0, 0, 10).empty());
  EXPECT_TRUE(row.query(0, 100, 0).empty());
  EXPECT_TRUE(row.query(row.end_ns() + 1, row.end_ns() + 100, 10).empty());
}

/// Overlapping short and long records in one row, like the last row of a busy lane.
std::vector<ActivityRecord> random_overlap(std::mt19937_64& random) {
  std::vector<ActivityRecord> records(1 + random() % 3000);
  std::int64_t time = 0;
  for (ActivityRecord& record : records) {
    const int magnitude = static_cast<int>(random() % 20);
    time += static_cast<std::int64_t>(random() % 700);
    record.start_ns = time;
    record.end_ns = time + static_cast<std::int64_t>(random() % (std::uint64_t{1} << magnitude));
  }
  return records;
}

TEST(TimelineLod, TheLongestVisibleRecordIsNeverHidden) {
  std::mt19937_64 random(29);
  for (int trial = 0; trial < 400; ++trial) {
    SCOPED_TRACE(trial);
    const std::vector<ActivityRecord> records = random_overlap(random);
    const TimelineLod row = row_of_all(records);
    const auto length = static_cast<std::uint64_t>(row.end_ns() - row.begin_ns()) + 1;
    const std::int64_t begin = row.begin_ns() + static_cast<std::int64_t>(random() % length);
    const std::int64_t end = begin + 1 + static_cast<std::int64_t>(random() % length);
    const auto pixels = static_cast<int>(1 + random() % 2000);
    std::int64_t longest = -1;
    for (const ActivityRecord& record : records) {
      if (record.end_ns < begin || record.start_ns >= end) continue;
      longest = std::max(longest, record.duration_ns());
    }
    std::int64_t shown = -1;
    for (const TimelineSegment& segment : row.query(begin, end, pixels)) {
      shown = std::max(shown, records[segment.longest].duration_ns());
      // A block reaches as far as anything in it.
      EXPECT_GE(segment.end_ns, records[segment.longest].end_ns);
      EXPECT_LE(segment.begin_ns, records[segment.longest].start_ns);
    }
    EXPECT_GE(shown, longest);
  }
}

TEST(TimelineLod, ANanosecondIsFoundInAHundredSeconds) {
  std::vector<ActivityRecord> records;
  constexpr std::int64_t kSecond = 1'000'000'000;
  for (std::int64_t i = 0; i < 1000; ++i) {
    records.push_back({.start_ns = i * kSecond / 10, .end_ns = i * kSecond / 10 + 1});
  }
  const TimelineLod row = row_of_all(records);
  EXPECT_EQ(count_of(row.query(0, 100 * kSecond, 1920)), records.size());
  // Twenty nanoseconds wide, at the far end.
  const std::int64_t at = records.back().start_ns;
  const auto segments = row.query(at - 10, at + 10, 1920);
  ASSERT_EQ(segments.size(), 1U);
  EXPECT_EQ(segments[0].begin_ns, at);
  EXPECT_EQ(segments[0].end_ns, at + 1);
  EXPECT_EQ(row.started_by(at), records.size());
  EXPECT_EQ(row.started_by(at - 1), records.size() - 1);
}

TEST(TimelineLod, TheIndexIsSmall) {
  const std::vector<ActivityRecord> records = random_lane(1'000'000);
  EXPECT_LE(row_of_all(records).memory_bytes(), 7 * records.size());
}

}  // namespace
