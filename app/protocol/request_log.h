// A request log: one JSON request per line, as `expertscope run --requests` runs it and the window
// plays it as a tour. A line may carry a "caption", which is not part of the request.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/error.h"
#include "engine/model/run_request.h"

namespace app {

struct LoggedRequest {
  engine::RunRequest request;
  std::string caption;  // empty = none
};

/// The maximum size of a request, a request log or a tour.
inline constexpr std::size_t kMaxRequestFileBytes = std::size_t{64} << 20;

/// Empty lines are skipped. An error names the file and the line.
engine::Result<std::vector<LoggedRequest>> read_request_log(const std::string& path);
/// The same for text that was read from the file `path`.
engine::Result<std::vector<LoggedRequest>> parse_request_log(std::string_view text,
                                                             const std::string& path);

}  // namespace app
