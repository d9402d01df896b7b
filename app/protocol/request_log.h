// A request log: one JSON request a line, as `expertscope run --requests` runs it and the window
// plays it as a tour. A line may carry a "caption", which is no part of the request.
#pragma once

#include <string>
#include <vector>

#include "engine/model/error.h"
#include "engine/model/run_request.h"

namespace app {

struct LoggedRequest {
  engine::RunRequest request;
  std::string caption;  // empty = none
};

/// Empty lines are skipped. NotFound, or an error that names the file and the line.
engine::Result<std::vector<LoggedRequest>> read_request_log(const std::string& path);

}  // namespace app
