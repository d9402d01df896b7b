// Live runs are kept up to a number and a sum of records, oldest removed first: hours of Live mode
// must not exhaust memory.
#include "app/controllers/session_state.h"

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <utility>

#include "app/doctor/opened_report.h"
#include "engine/gemm/same_step.h"

namespace app {
namespace {

// A comparison may hold a dozen scale maps of a megabyte, or 16 MB of amax histories.
constexpr profiling::Records<profiling::CountOf> kMaxLive = {
    .runs = 64, .comparisons = 16, .visits = 32};
constexpr std::size_t kMaxLiveRecords = 4'000'000;

std::size_t record_count(const std::vector<SessionState::Run>& runs) {
  return std::accumulate(runs.begin(), runs.end(), std::size_t{0},
                         [](std::size_t sum, const SessionState::Run& run) {
                           return sum + run->activity.records.size();
                         });
}

SessionState::Records shared(profiling::Session session) {
  SessionState::Records all;
  profiling::for_each_kind(session, [&]<class Recorded>(std::vector<Recorded>& list) {
    for (Recorded& one : list) {
      profiling::of_kind<Recorded>(all).push_back(std::make_shared<const Recorded>(std::move(one)));
    }
  });
  return all;
}

}  // namespace

template <class Recorded>
std::shared_ptr<const Recorded> SessionState::add_live(Recorded recorded) {
  auto added = std::make_shared<const Recorded>(std::move(recorded));
  auto& list = profiling::of_kind<Recorded>(live_);
  list.push_back(added);
  if constexpr (std::is_same_v<Recorded, profiling::RecordedRun>) {
    forget_oldest_runs();
    list_runs();
    if (!from_file()) show_newest_run();
  } else if (list.size() > profiling::of_kind<Recorded>(kMaxLive)) {
    list.erase(list.begin());
  }
  return added;
}
template SessionState::Run SessionState::add_live(profiling::RecordedRun);
template std::shared_ptr<const profiling::RecordedComparison> SessionState::add_live(
    profiling::RecordedComparison);
template std::shared_ptr<const profiling::RecordedVisit> SessionState::add_live(
    profiling::RecordedVisit);

std::shared_ptr<const profiling::RecordedVisit> SessionState::replace_live(
    const std::shared_ptr<const profiling::RecordedVisit>& former, profiling::RecordedVisit newer) {
  const auto at = std::ranges::find(live_.visits, former);
  if (at == live_.visits.end()) return nullptr;
  *at = std::make_shared<const profiling::RecordedVisit>(std::move(newer));
  return *at;
}

void SessionState::show_newest_run() {
  const std::vector<Run>& runs = live_.runs;
  const bool of_batch = runs.back()->group.kind != profiling::GroupKind::None;
  if (of_batch && std::ranges::find(runs, shown_) != runs.end()) return;
  index_ = runs.size() - 1;
  show(runs.back());
}

void SessionState::show_preview(profiling::RecordedRun part) {
  preview_ = std::make_shared<const profiling::RecordedRun>(std::move(part));
  list_runs();
  if (from_file()) return;
  index_ = live_.runs.size();
  show(preview_);
}

void SessionState::drop_preview() {
  if (preview_ == nullptr) return;
  const bool shown = shows_preview();
  names.forget(preview_);
  changed_notes_.erase(preview_);
  preview_ = nullptr;
  list_runs();
  if (!shown) return;
  if (!live_.runs.empty()) return show_newest_run();
  index_ = 0;
  show(nullptr);
}

void SessionState::list_runs() {
  runs_ = live_.runs;
  if (preview_ != nullptr) runs_.push_back(preview_);
  runs_.insert(runs_.end(), file_.runs.begin(), file_.runs.end());
  const auto at = std::ranges::find(runs_, shown_);
  if (at != runs_.end()) index_ = static_cast<std::size_t>(at - runs_.begin());
}

std::size_t SessionState::live_count() const {
  std::size_t count = 0;
  profiling::for_each_kind(live_, [&]<class Recorded>(const auto& list) { count += list.size(); });
  return count;
}

void SessionState::open_recording(profiling::Session session, std::size_t run) {
  forget_recorded();
  session_path_ = session.path;
  doubt_ = session.doubt;
  file_ = shared(std::move(session));
  from_file_ = true;
  list_runs();
  index_ = runs_here() + std::min(run, file_.runs.empty() ? 0 : file_.runs.size() - 1);
  show(file_.runs.empty() ? nullptr : runs_[index_]);
}

void SessionState::select_recorded(std::size_t run) {
  if (!file_.runs.empty()) return select_run(runs_here() + run);
  from_file_ = true;
  show(nullptr);
}

SessionState::Origin SessionState::origin() const {
  if (!from_file()) return {};
  using Request = std::shared_ptr<const engine::RunRequest>;
  using Device = std::shared_ptr<const engine::DeviceFacts>;
  if (shown_ != nullptr) {
    return {Request(shown_, &shown_->request), Device(shown_, &shown_->result.device),
            shown_->wall_clock_ms};
  }
  if (!file_.visits.empty()) {
    const auto& visit = file_.visits[most_certain(file_.visits)];
    return {Request(visit, examined_request(*visit)),
            std::make_shared<const engine::DeviceFacts>(examined_device(*visit)),
            visit->wall_clock_ms};
  }
  if (file_.comparisons.empty()) return {};
  // Older recordings do not know the device of a comparison over steps.
  const auto known =
      std::ranges::find_if(file_.comparisons.rbegin(), file_.comparisons.rend(),
                           [](const auto& one) { return !one->comparison.device.name.empty(); });
  const auto& one = known == file_.comparisons.rend() ? file_.comparisons.back() : *known;
  return {Request(one, &one->comparison.request.request), Device(one, &one->comparison.device),
          one->wall_clock_ms};
}

void SessionState::forget_recorded() {
  for (const Run& run : file_.runs) {
    changed_notes_.erase(run);
    names.forget(run);
  }
  file_ = {};
  session_path_.clear();
}

void SessionState::open_second(profiling::Session session) {
  second_path_ = session.path;
  second_runs_ = shared(std::move(session)).runs;
}

void SessionState::back_to_live() {
  if (!from_file()) return;
  from_file_ = false;
  index_ = runs_here() == 0 ? 0 : runs_here() - 1;
  show(runs_here() == 0 ? nullptr : runs_[index_]);
}

void SessionState::close_recording() {
  back_to_live();
  forget_recorded();
  list_runs();
}

void SessionState::select_run(std::size_t index) {
  if (index >= runs_.size() || runs_[index] == shown_) return;
  index_ = index;
  from_file_ = index >= runs_here();
  show(runs_[index]);
}

bool SessionState::answers() const {
  if (shown_ == nullptr) return false;
  if (from_file() || shown_->request == requested) return true;
  if (compared_.generation != generation_ || compared_.request != requested) {
    compared_ = {generation_, requested, engine::same_step(shown_->request, requested)};
  }
  return compared_.answers;
}

bool SessionState::stale() const {
  const bool newest = !from_file() && shown_ != nullptr && index_ + 1 == runs_here();
  return newest && !answers();
}

bool SessionState::has_expert() const {
  return shown_ != nullptr && expert >= 0 && std::cmp_less(expert, shown_->result.splits.size());
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
  return {.requested = shown_request(),
          .run = shown_,
          .run_generation = generation_,
          .expert = has_expert() ? expert : -1,
          .absent_expert = has_expert() || shown_ == nullptr ? -1 : expert,
          .skip_throttled = skip_throttled,
          .answers = answers(),
          .stale = stale(),
          .arriving = shows_preview(),
          .from_file = from_file(),
          .recorded_request = shows_recorded_request(),
          .recorded_device = recorded_.device,
          .recorded_at_ms = recorded_.at_ms,
          .runs = runs(),
          .live_runs = runs_here(),
          .run_index = index_,
          .names = &names,
          .session_path = session_path_,
          .comparisons = results().comparisons,
          .live_comparisons = live_.comparisons,
          .comparison_error = comparison_error,
          .visits = results().visits,
          .notes = shown_ == nullptr ? nullptr : &notes_of(shown_),
          .frames_while_timing = frames_while_timing(),
          .second_runs = second_runs_,
          .second_path = second_path_};
}

void SessionState::show(Run run) {
  shown_ = std::move(run);
  recorded_ = origin();
  ++generation_;
}

void SessionState::forget_oldest_runs() {
  std::vector<Run>& runs = live_.runs;
  while (runs.size() > 1 && (runs.size() > kMaxLive.runs || record_count(runs) > kMaxLiveRecords)) {
    changed_notes_.erase(runs.front());
    names.forget(runs.front());
    frames_while_timing_.erase(runs.front());
    runs.erase(runs.begin());
  }
}

}  // namespace app
