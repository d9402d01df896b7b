// What a run is called wherever several are listed: the window's list, the comparison's sides, a
// page. By what a person named it, else by its data and settings, without what all of the list
// share; a page also leaves out what does not tell its runs apart. A list is the runs of one window
// or of one recording: what else is open changes no name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/page/recording_page.h"
#include "profiling/session/session_file.h"

namespace app {

struct ListedRun {
  const profiling::RecordedRun* run = nullptr;
  std::string_view given;  // by a person; empty = none
};

/// One for each of a list, in its order: "3. as shipped". A run of an interleaved measurement that
/// has no name says which side it is.
std::vector<std::string> run_names(std::span<const ListedRun> runs);
/// The same as titles of a page, whose sections list the settings.
std::vector<std::string> run_titles(std::span<const ListedRun> runs);
/// All settings of a run, as its section on a page begins.
std::string run_settings(const profiling::RecordedRun& run);

/// When a sweep or an interleaved measurement was started, by its group's id: "14:05:31".
std::string group_time(std::int64_t id);

/// `records`: profiling::Records of values or of shared ones. `given(run)`: the name that a person
/// gave it. What is returned refers to the records.
template <class AnyRecords, class Given>
PageContent page_content(const AnyRecords& records, const Given& given) {
  const auto value_of = []<class Kept>(const Kept& one) -> const auto& {
    if constexpr (requires { *one; }) {
      return *one;
    } else {
      return one;
    }
  };
  std::vector<ListedRun> listed;
  for (const auto& run : records.runs) listed.push_back({&value_of(run), given(run)});
  std::vector<std::string> titles = run_titles(listed);
  PageContent content;
  for (std::size_t i = 0; i < titles.size(); ++i) {
    const profiling::RecordedRun& run = value_of(records.runs[i]);
    content.runs.push_back({&run, std::move(titles[i]), run_settings(run)});
  }
  for (const auto& one : records.comparisons) content.comparisons.push_back(&value_of(one));
  for (const auto& one : records.visits) content.visits.push_back(&value_of(one));
  return content;
}

}  // namespace app
