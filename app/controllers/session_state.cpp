// Live runs are kept up to a number and a sum of records, oldest removed first: hours of Live mode
// must not exhaust memory.
#include "app/controllers/session_state.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace app {
namespace {

constexpr std::size_t kMaxLiveRuns = 64;
// Each may hold a dozen scale maps of a megabyte.
constexpr std::size_t kMaxLiveComparisons = 16;
// Each may hold a ring of 16 MB.
constexpr std::size_t kMaxLiveHistories = 16;
constexpr std::size_t kMaxLiveVisits = 32;
constexpr std::size_t kMaxLiveRecords = 4'000'000;

std::size_t record_count(const std::vector<SessionState::Run>& runs) {
  return std::accumulate(runs.begin(), runs.end(), std::size_t{0},
                         [](std::size_t sum, const SessionState::Run& run) {
                           return sum + run->activity.records.size();
                         });
}

}  // namespace

void SessionState::add_live_run(profiling::RecordedRun run) {
  live_runs_.push_back(std::make_shared<const profiling::RecordedRun>(std::move(run)));
  forget_oldest();
  if (from_file()) return;
  if (live_runs_.back()->group.kind != profiling::GroupKind::None && shown_ != nullptr) {
    // Forgetting the oldest may have moved the shown one.
    const auto at = std::find(live_runs_.begin(), live_runs_.end(), shown_);
    if (at != live_runs_.end()) {
      index_ = static_cast<std::size_t>(at - live_runs_.begin());
      return;
    }
  }
  index_ = live_runs_.size() - 1;
  show(live_runs_.back());
}

void SessionState::add_live_comparison(profiling::RecordedComparison comparison) {
  live_comparisons_.push_back(
      std::make_shared<const profiling::RecordedComparison>(std::move(comparison)));
  if (live_comparisons_.size() > kMaxLiveComparisons) {
    live_comparisons_.erase(live_comparisons_.begin());
  }
}

void SessionState::add_live_history(profiling::RecordedHistory history) {
  live_histories_.push_back(std::make_shared<const profiling::RecordedHistory>(std::move(history)));
  if (live_histories_.size() > kMaxLiveHistories) live_histories_.erase(live_histories_.begin());
}

void SessionState::add_live_visit(profiling::RecordedVisit visit) {
  live_visits_.push_back(std::make_shared<const profiling::RecordedVisit>(std::move(visit)));
  if (live_visits_.size() > kMaxLiveVisits) live_visits_.erase(live_visits_.begin());
}

void SessionState::open_recording(profiling::Session session) {
  session_path_ = session.path;
  for (const Run& run : file_runs_) changed_notes_.erase(run);
  file_runs_.clear();
  for (profiling::RecordedRun& run : session.runs) {
    file_runs_.push_back(std::make_shared<const profiling::RecordedRun>(std::move(run)));
  }
  file_comparisons_.clear();
  for (profiling::RecordedComparison& comparison : session.comparisons) {
    file_comparisons_.push_back(
        std::make_shared<const profiling::RecordedComparison>(std::move(comparison)));
  }
  file_histories_.clear();
  for (profiling::RecordedHistory& history : session.histories) {
    file_histories_.push_back(
        std::make_shared<const profiling::RecordedHistory>(std::move(history)));
  }
  file_visits_.clear();
  for (profiling::RecordedVisit& visit : session.visits) {
    file_visits_.push_back(std::make_shared<const profiling::RecordedVisit>(std::move(visit)));
  }
  index_ = 0;
  show(file_runs_.empty() ? nullptr : file_runs_.front());
}

void SessionState::open_second(profiling::Session session) {
  second_path_ = session.path;
  second_runs_.clear();
  for (profiling::RecordedRun& run : session.runs) {
    second_runs_.push_back(std::make_shared<const profiling::RecordedRun>(std::move(run)));
  }
}

void SessionState::back_to_live() {
  if (!from_file()) return;
  session_path_.clear();
  file_runs_.clear();
  file_comparisons_.clear();
  file_histories_.clear();
  file_visits_.clear();
  index_ = live_runs_.empty() ? 0 : live_runs_.size() - 1;
  show(live_runs_.empty() ? nullptr : live_runs_.back());
}

void SessionState::select_run(std::size_t index) {
  if (index >= runs().size() || index == index_) return;
  index_ = index;
  show(runs()[index]);
}

const std::vector<profiling::TimeNote>& SessionState::notes_of(const Run& run) const {
  const auto changed = changed_notes_.find(run);
  return changed == changed_notes_.end() ? run->notes : changed->second;
}

void SessionState::set_notes(const Run& run, std::vector<profiling::TimeNote> notes) {
  changed_notes_[run] = std::move(notes);
}

int SessionState::frames_while_timing() const {
  const auto found = frames_while_timing_.find(shown_);
  return found == frames_while_timing_.end() ? -1 : found->second;
}

SessionView SessionState::view() const {
  return {.requested = requested,
          .run = shown_,
          .run_generation = generation_,
          .expert = expert,
          .stale = stale(),
          .from_file = from_file(),
          .runs = runs(),
          .run_index = index_,
          .session_path = session_path_,
          .comparisons = comparisons(),
          .comparison_error = comparison_error,
          .histories = histories(),
          .history_error = history_error,
          .visits = visits(),
          .notes = shown_ == nullptr ? nullptr : &notes_of(shown_),
          .frames_while_timing = frames_while_timing(),
          .second_runs = second_runs_,
          .second_path = second_path_};
}

void SessionState::show(Run run) {
  // With another number of experts the index would select an unrelated one.
  if (run == nullptr || std::ssize(run->result.splits) <= expert) expert = -1;
  shown_ = std::move(run);
  ++generation_;
}

void SessionState::forget_oldest() {
  while (live_runs_.size() > 1 &&
         (live_runs_.size() > kMaxLiveRuns || record_count(live_runs_) > kMaxLiveRecords)) {
    changed_notes_.erase(live_runs_.front());
    frames_while_timing_.erase(live_runs_.front());
    live_runs_.erase(live_runs_.begin());
  }
}

}  // namespace app
