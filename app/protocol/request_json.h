// RunRequest, RunResult and RecipeComparison as Protobuf JSON: the form of request files, --json
// output and session headers.
#pragma once

#include <string>

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

}  // namespace app
