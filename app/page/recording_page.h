// A recording as one page: its runs, comparisons and visits to the doctor, with figures, charts,
// tables and the requests.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "profiling/compare/sweep_points.h"
#include "profiling/document/run_tables.h"
#include "profiling/session/session_file.h"

namespace app {

/// Two single runs, or the blocks of both sides of an interleaved measurement.
struct PageComparison {
  std::string a;  // what the sides are called
  std::string b;
  profiling::RunList runs_a;  // neither is empty
  profiling::RunList runs_b;
};

/// Only referred to, since a run may hold millions of records.
struct PageContent {
  std::vector<profiling::NamedRun> runs{};
  std::vector<const profiling::RecordedComparison*> comparisons{};
  std::vector<const profiling::RecordedVisit*> visits{};
  /// What was on screen; the interleaved measurements among the runs are on the page anyway.
  std::optional<PageComparison> compared{};
  std::string doubt{};  // profiling::Session::doubt
};

/// `with_paths`: also folders, this machine's name and its user's. Otherwise every path that a
/// field of the recording holds is shown without its folders, wherever it occurs; code is as
/// recorded.
std::string recording_page(const PageContent& content, const std::string& title, bool with_paths);

}  // namespace app
