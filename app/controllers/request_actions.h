// Every choice of the rail as an action by name, for the command palette: from the same table,
// gates and sentences. Also a summary of a request in words.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/controllers/link_supervisor.h"
#include "engine/input/presets.h"
#include "engine/model/run_request.h"

namespace app {

struct RequestAction {
  std::string id;     // "recipe.scaling.2"
  std::string group;  // "Recipe"
  std::string title;  // "Recipe: FP8 block"
  std::string field;  // path of what it changes
  std::string words;  // other words that people look for it by
  bool chosen = false;
  std::function<void(engine::RunRequest&)> change;
};

/// All of them, available or not; `chosen` marks what the request has now.
std::vector<RequestAction> request_actions(const engine::RunRequest& request,
                                           const std::vector<engine::ShapePreset>& presets);

/// Why the choice is not available or would have no effect; empty = it can be made.
std::string refusal_of(const RequestAction& action, const engine::RunRequest& request,
                       const LinkSupervisor& link);

/// The preset's name, or "E8 T4096 N2048 K2048".
std::string shape_words(const engine::ShapeSpec& shape);
/// The request in one line that distinguishes runs: preset or sizes, recipe, routing, launch,
/// and whatever else is not the default.
std::string summary_of(const engine::RunRequest& request);
/// Summaries of runs in one list: they leave out what all runs share.
std::vector<std::string> summaries_of(std::span<const engine::RunRequest* const> requests);
/// The same without settings that no two of them need to be told apart: titles of a document, which
/// lists the settings elsewhere.
std::vector<std::string> titles_of(std::span<const engine::RunRequest* const> requests);
/// What all of them have in common, as summary_of() writes it.
std::string shared_summary_of(std::span<const engine::RunRequest* const> requests);
/// Runs of one sweep by what distinguishes them: "FP8 block, power-of-two scales, Zipf".
std::vector<std::string> sweep_names(std::span<const engine::RunRequest* const> requests);
/// Groups of a sweep's requests by the numbers that all requests of a group have in common and
/// other groups do not: "Rows 256, Seed 1". `group_of[i]` is that of request i; they count from 0.
std::vector<std::string> group_names(std::span<const engine::RunRequest* const> requests,
                                     std::span<const std::size_t> group_of);

}  // namespace app
