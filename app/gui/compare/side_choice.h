// The sides that can be compared: every run in the list, every side of an interleaved measurement,
// and those of a second recording. A chosen side stays, even when its run is no longer in the list.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/gui/controls/panel_context.h"
#include "profiling/compare/run_comparison.h"

namespace app {

/// One run, or the blocks of one side of an interleaved measurement.
struct CompareSide {
  std::string title;
  std::vector<std::shared_ptr<const profiling::RecordedRun>> runs;  // never empty once chosen

  bool operator==(const CompareSide& other) const { return runs == other.runs; }
  profiling::RunSide pointers() const;
};

class SideChoice {
 public:
  /// Updates the offered sides; cheap when nothing changed. What the user chose stays; until then,
  /// A and B are the first of these that there is:
  ///   - an interleaved measurement that this window has just finished
  ///   - the run on screen and a second recording
  ///   - the interleaved measurement of the recording on screen
  ///   - two runs of the same work, one of them on screen; or the last two
  /// A choice among a recording's runs ends when this window's runs are shown again.
  void follow(const SessionView& view);

  const std::vector<CompareSide>& offered() const { return offered_; }
  const std::vector<std::string>& titles() const { return titles_; }
  bool ready() const { return !a_.runs.empty() && !b_.runs.empty(); }
  const CompareSide& a() const { return a_; }
  const CompareSide& b() const { return b_; }
  /// Position among offered(), -1 = no longer there.
  int index_of(const CompareSide& side) const;
  void choose_a(CompareSide side);
  void choose_b(CompareSide side);
  void swap();
  /// A side of one run, as the frontier offers them.
  static CompareSide side_of(std::shared_ptr<const profiling::RecordedRun> run);

 private:
  void list(const SessionView& view);
  /// What is compared until the user chooses; nothing if that would not include what is on screen.
  void pick(const SessionView& view);

  std::vector<CompareSide> offered_;
  std::vector<std::string> titles_;
  CompareSide a_;
  CompareSide b_;
  bool chosen_ = false;      // by the user
  std::uint64_t named_ = 0;  // generation of the runs' names
  std::size_t first_count_ = 0;
  std::size_t second_count_ = 0;
  const void* last_run_ = nullptr;
  const void* last_second_ = nullptr;
  std::int64_t taken_batch_ = 0;
  bool from_file_ = false;  // whether a recording was on screen
};

}  // namespace app
