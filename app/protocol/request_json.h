// RunRequest, RunResult and RecipeComparison as Protobuf JSON: the form of request files, --json
// output and session headers. And a finished run as recordings store it.
#pragma once

#include <string>
#include <utility>

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
std::string result_to_json(const engine::RunResult& result, bool pretty = false);

std::string comparison_to_json(const engine::RecipeComparison& comparison, bool pretty = false);

const profiling::RequestCodec& request_codec();

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
