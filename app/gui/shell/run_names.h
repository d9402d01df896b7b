// What the top bar calls the runs: made when a run comes or goes, not in every frame.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "profiling/session/session_file.h"

namespace app {

class RunNames {
 public:
  /// One name a run, numbered from 1.
  const std::vector<std::string>& of(
      const std::vector<std::shared_ptr<const profiling::RecordedRun>>& runs);

 private:
  std::vector<std::shared_ptr<const profiling::RecordedRun>> runs_;
  std::vector<std::string> names_;
};

}  // namespace app
