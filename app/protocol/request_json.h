// RunRequest, RunResult and RecipeComparison as Protobuf JSON: the form of request files, --json
// output and session headers; request logs; and a finished run as recordings store it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/protocol/orders.h"
#include "engine/model/error.h"
#include "engine/model/recipe_comparison.h"
#include "engine/model/run_request.h"
#include "engine/model/run_result.h"
#include "profiling/session/session_file.h"

namespace app {

std::string request_to_json(const engine::RunRequest& request, bool pretty = false);
/// Unknown fields, wrong types and values beyond engine::validate's limits are errors that name the
/// field. Absent fields keep RunRequest's defaults.
engine::Result<engine::RunRequest> request_from_json(const std::string& json);
/// An error names the file.
engine::Result<engine::RunRequest> read_request(const std::string& path);
std::string result_to_json(const engine::RunResult& result, bool pretty = false);

std::string comparison_to_json(const engine::RecipeComparison& comparison, bool pretty = false);

const profiling::RequestCodec& request_codec();

/// The maximum size of a request, a request log or a tour.
inline constexpr std::size_t kMaxRequestFileBytes = std::size_t{64} << 20;

/// A line of a request log: one JSON request, as `expertscope run --requests` runs it and the
/// window plays it as a tour. It may have a "caption", which is not part of the request.
struct LoggedRequest {
  engine::RunRequest request;
  std::string caption;  // empty = none
};

/// Empty lines are skipped. An error names the file and the line.
engine::Result<std::vector<LoggedRequest>> read_request_log(const std::string& path);
/// The same for text that was read from the file `path`.
engine::Result<std::vector<LoggedRequest>> parse_request_log(std::string_view text,
                                                             const std::string& path);

/// A finished run as recordings store it. Moves: a run may hold 20 million records, and the
/// window's thread has no time to copy them.
inline profiling::RecordedRun recorded_run(RunDone&& done, const engine::RunRequest& request) {
  return {.request = request,
          .result = std::move(done.result),
          .activity = std::move(done.activity),
          .wall_clock_ms = profiling::unix_time_ms(),
          .snapshot = std::move(done.snapshot),
          .power = std::move(done.power)};
}

}  // namespace app
