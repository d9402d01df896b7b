#include "app/gui/compare/side_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>
#include <optional>
#include <ranges>
#include <span>
#include <utility>

#include "app/controllers/request_actions.h"
#include "app/controllers/run_names.h"
#include "profiling/compare/same_work.h"
#include "profiling/compare/sweep_points.h"

namespace app {
namespace {

/// The run on screen and its nearest neighbour of the same work, of this window or of the recording
/// as the run itself, in the order of the list; else the last two of these. A run that is alone
/// there stands beside one of the others if it is next to the end of the list.
std::optional<std::pair<std::size_t, std::size_t>> telling_pair(const SessionView& view) {
  const std::size_t count = view.runs.size();
  const std::size_t begin = view.from_file ? view.live_runs : 0;
  const std::size_t end = view.from_file ? count : view.live_runs;
  const std::pair last_two(end - 2, end - 1);
  if (view.run == nullptr || view.run_index < begin || view.run_index >= end) {
    return end >= begin + 2 ? std::optional(last_two) : std::nullopt;
  }
  if (end < begin + 2) {
    if (count < 2 || view.run_index + 2 < count) return std::nullopt;
    return std::pair(count - 2, count - 1);
  }
  const std::string work = profiling::work_text(*view.run);
  constexpr std::size_t kReach = 200;  // further away are many others
  const auto same = [&](std::size_t index) {
    return profiling::work_text(*view.runs[index]) == work;
  };
  for (std::size_t away = 1; away < kReach; ++away) {
    const bool before = view.run_index >= begin + away;
    const bool after = view.run_index + away < end;
    if (before && same(view.run_index - away))
      return std::pair(view.run_index - away, view.run_index);
    if (after && same(view.run_index + away))
      return std::pair(view.run_index, view.run_index + away);
    if (!before && !after) break;
  }
  return last_two;
}

const void* last_of(const profiling::RunList& runs) {
  return runs.empty() ? nullptr : runs.back().get();
}

bool has_any(std::span<const std::shared_ptr<const profiling::RecordedRun>> runs,
             const CompareSide& side) {
  return std::ranges::any_of(
      side.runs, [&](const auto& run) { return std::ranges::find(runs, run) != runs.end(); });
}
bool is_live(const SessionView& view, const CompareSide& side) {
  return has_any(std::span(view.runs).first(view.live_runs), side);
}
bool is_second(const SessionView& view, const CompareSide& side) {
  return has_any(view.second_runs, side);
}

/// Title of a run that need not be in a list.
std::string title_of(const profiling::RecordedRun& run) {
  const ListedRun alone{&run, run.name};
  const std::string name = run_names(std::span(&alone, 1)).front();
  return name.substr(name.find(' ') + 1);
}

/// The blocks of one side of an interleaved measurement, without a title.
CompareSide blocks_of(std::int64_t group, const char* label,
                      std::span<const std::shared_ptr<const profiling::RecordedRun>> runs) {
  CompareSide side;
  for (const auto& run : runs) {
    const profiling::RunGroup& its = run->group;
    if (its.kind == profiling::GroupKind::Interleaved && its.id == group && its.label == label) {
      side.runs.push_back(run);
    }
  }
  return side;
}

/// A and B of the interleaved measurement; empty unless it has blocks of both.
std::array<CompareSide, 2> sides_of(
    std::int64_t group, std::span<const std::shared_ptr<const profiling::RecordedRun>> runs) {
  std::array<CompareSide, 2> sides{blocks_of(group, "A", runs), blocks_of(group, "B", runs)};
  if (sides[0].runs.empty() || sides[1].runs.empty()) return {};
  for (CompareSide& side : sides) side.title = title_of(*side.runs.front());
  return sides;
}

/// The interleaved measurement that the recording on screen is best compared by: the one that the
/// run on screen is a block of, else its last. Interleaved blocks alone can say which side is
/// faster.
std::array<CompareSide, 2> recorded_measurement(const SessionView& view) {
  if (!view.from_file) return {};
  const auto runs = std::span(view.runs).subspan(view.live_runs);
  if (view.run != nullptr && view.run->group.kind == profiling::GroupKind::Interleaved) {
    return sides_of(view.run->group.id, runs);
  }
  const auto last = std::ranges::find_if(runs | std::views::reverse, [](const auto& run) {
    return run->group.kind == profiling::GroupKind::Interleaved;
  });
  return last == runs.rend() ? std::array<CompareSide, 2>{} : sides_of((*last)->group.id, runs);
}

void add_sides(const SessionView& view, const profiling::RunList& runs, const std::string& prefix,
               std::vector<CompareSide>& sides) {
  std::vector<const engine::RunRequest*> requests;
  std::vector<ListedRun> listed;
  for (const auto& run : runs) {
    requests.push_back(&run->request);
    listed.push_back({run.get(), view.name_of(run)});
  }
  const std::vector<std::string> names = run_names(listed);
  const std::vector<std::string> summaries = summaries_of(requests);
  // Blocks are compared together; each can also be chosen alone, below.
  for (const profiling::RunGroupMembers& group : profiling::groups_of(runs)) {
    if (group.kind != profiling::GroupKind::Interleaved) continue;
    for (const char* label : {"A", "B"}) {
      CompareSide side = blocks_of(group.id, label, runs);
      if (side.runs.empty()) continue;
      const auto first = std::ranges::find(runs, side.runs.front()) - runs.begin();
      side.title = fmt::format("{}{} of {}, {} blocks: {}", prefix, label, group_time(group.id),
                               side.runs.size(), summaries[static_cast<std::size_t>(first)]);
      sides.push_back(std::move(side));
    }
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    sides.push_back({.title = prefix + names[i], .runs = {runs[i]}});
  }
}

}  // namespace

profiling::RunSide CompareSide::pointers() const {
  profiling::RunSide side;
  for (const auto& run : runs) side.push_back(run.get());
  return side;
}

CompareSide SideChoice::side_of(std::shared_ptr<const profiling::RecordedRun> run) {
  CompareSide side;
  side.title = title_of(*run);
  side.runs.push_back(std::move(run));
  return side;
}

void SideChoice::list(const SessionView& view) {
  offered_.clear();
  const auto recorded = view.runs.begin() + static_cast<std::ptrdiff_t>(view.live_runs);
  const std::string file = std::filesystem::path(view.session_path).stem().string();
  add_sides(view, {view.runs.begin(), recorded}, "", offered_);
  add_sides(view, {recorded, view.runs.end()}, view.live_runs == 0 ? "" : file + ": ", offered_);
  // Two files may have one name.
  const std::string second = std::filesystem::path(view.second_path).stem().string();
  add_sides(view, view.second_runs, second == file ? second + " (second): " : second + ": ",
            offered_);
  titles_.clear();
  for (const CompareSide& side : offered_) titles_.push_back(side.title);
}

void SideChoice::follow(const SessionView& view) {
  const std::uint64_t named = view.names == nullptr ? 0 : view.names->generation();
  const bool same = named_ == named && first_count_ == view.runs.size() &&
                    last_run_ == last_of(view.runs) && second_count_ == view.second_runs.size() &&
                    last_second_ == last_of(view.second_runs);
  if (!same) {
    const bool second_opened = last_second_ != last_of(view.second_runs);
    named_ = named;
    first_count_ = view.runs.size();
    second_count_ = view.second_runs.size();
    last_run_ = last_of(view.runs);
    last_second_ = last_of(view.second_runs);
    list(view);
    if (second_opened && !view.second_runs.empty()) {
      // A recording that is opened for comparison should be shown at once, beside what is on
      // screen.
      if (!chosen_ && view.run != nullptr) a_ = side_of(view.run);
      if (a_.runs.empty() && !view.runs.empty()) a_ = side_of(view.runs.back());
      b_ = side_of(view.second_runs.front());
      chosen_ = true;
    } else if (!chosen_) {
      pick(view);
    }
  }
  const bool back = from_file_ && !view.from_file;
  from_file_ = view.from_file;
  if (back && !is_live(view, a_) && !is_live(view, b_) && !is_second(view, a_) &&
      !is_second(view, b_)) {
    chosen_ = false;
    pick(view);
  }
  const BatchStatus& batch = view.batch;
  if (batch.kind != profiling::GroupKind::Interleaved || batch.state == BatchState::Running ||
      batch.id == 0 || batch.id == taken_batch_) {
    return;
  }
  taken_batch_ = batch.id;
  std::array<CompareSide, 2> sides = sides_of(batch.id, view.runs);
  if (sides[0].runs.empty()) return;
  a_ = std::move(sides[0]);
  b_ = std::move(sides[1]);
  chosen_ = true;
}

void SideChoice::pick(const SessionView& view) {
  std::array<CompareSide, 2> measured = recorded_measurement(view);
  if (!measured[0].runs.empty()) {
    a_ = std::move(measured[0]);
    b_ = std::move(measured[1]);
    return;
  }
  const auto pair = telling_pair(view);
  a_ = pair ? side_of(view.runs[pair->first]) : CompareSide{};
  b_ = pair ? side_of(view.runs[pair->second]) : CompareSide{};
}

int SideChoice::index_of(const CompareSide& side) const {
  const auto found = std::ranges::find(offered_, side);
  return found == offered_.end() ? -1 : static_cast<int>(found - offered_.begin());
}

void SideChoice::choose_a(CompareSide side) {
  a_ = std::move(side);
  chosen_ = true;
}

void SideChoice::choose_b(CompareSide side) {
  b_ = std::move(side);
  chosen_ = true;
}

void SideChoice::swap() {
  std::swap(a_, b_);
  chosen_ = true;
}

}  // namespace app
