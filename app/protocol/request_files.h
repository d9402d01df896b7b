// Files of requests: one as JSON (engine/input/value_json.h), or a log with one per line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/error.h"
#include "engine/model/run_request.h"
#include "profiling/session/session_file.h"

namespace app {

/// The maximum size of a request, a request log or a tour.
inline constexpr std::size_t kMaxRequestFileBytes = std::size_t{64} << 20;
/// Limit of requests in a log: as many as a recording may have runs.
inline constexpr std::size_t kMaxLoggedRequests = profiling::kMaxRecordedRuns;
inline constexpr std::size_t kMaxLoggedRequestBytes = std::size_t{1} << 20;

/// What is in a file of requests. A file that cannot be one is an error that says what it is.
engine::Result<std::string> read_request_text(const std::string& path);
/// An error names the file.
engine::Result<engine::RunRequest> read_request(const std::string& path);

/// A line of a request log: one JSON request, as `expertscope run --requests` runs it and the
/// window plays it as a tour. It may have a "caption", which is not part of the request.
struct LoggedRequest {
  engine::RunRequest request;
  std::string caption;  // empty = none
  int line = 0;         // of the file, counted from 1
};

/// Read line by line: it takes the memory of its requests, whatever the size of the file. Empty
/// lines are skipped. An error names the file and the line.
engine::Result<std::vector<LoggedRequest>> read_request_log(const std::string& path);
/// "FILE line N", where a message is about one of its requests.
std::string line_of_log(const std::string& path, int line);
/// The same for text that was read from the file `path`.
engine::Result<std::vector<LoggedRequest>> parse_request_log(std::string_view text,
                                                             const std::string& path);

}  // namespace app
