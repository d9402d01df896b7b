#include "app/gui/shell/run_names.h"

#include <fmt/format.h>

#include "app/gui/shell/request_choices.h"

namespace app {

const std::vector<std::string>& RunNames::of(
    const std::vector<std::shared_ptr<const profiling::RecordedRun>>& runs) {
  if (runs == runs_) return names_;
  runs_ = runs;
  names_.clear();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    names_.push_back(fmt::format("{}. {}", i + 1, choices::summary(runs[i]->request)));
  }
  return names_;
}

}  // namespace app
