#include "app/controllers/run_names.h"

#include <fmt/format.h>

#include "app/controllers/request_actions.h"
#include "engine/model/moment.h"

namespace app {

namespace {

std::vector<const engine::RunRequest*> requests_of(std::span<const ListedRun> runs) {
  std::vector<const engine::RunRequest*> requests;
  for (const ListedRun& one : runs) requests.push_back(&one.run->request);
  return requests;
}

std::vector<std::string> numbered(std::span<const ListedRun> runs, std::vector<std::string> names) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto& [run, given] = runs[i];
    // A sweep's settings are in the summary; A or B of a pair are not.
    const bool paired = run->group.kind == profiling::GroupKind::Interleaved;
    std::string name = given.empty() ? std::move(names[i]) : std::string(given);
    if (given.empty() && paired) name = run->group.label + ": " + name;
    names[i] = fmt::format("{}. {}", i + 1, name);
  }
  return names;
}

}  // namespace

std::vector<std::string> run_names(std::span<const ListedRun> runs) {
  return numbered(runs, summaries_of(requests_of(runs)));
}

std::vector<std::string> run_titles(std::span<const ListedRun> runs) {
  return numbered(runs, titles_of(requests_of(runs)));
}

std::string run_settings(const profiling::RecordedRun& run) { return summary_of(run.request); }

std::string group_time(std::int64_t id) {
  return engine::local_time(static_cast<std::time_t>(id / 1000), "%H:%M:%S");
}

}  // namespace app
