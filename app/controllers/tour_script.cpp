#include "app/controllers/tour_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/controllers/request_actions.h"
#include "app/protocol/request_files.h"
#include "engine/input/json_text.h"
#include "engine/input/regular_file.h"
#include "engine/input/routing_kind.h"
#include "engine/input/routing_names.h"
#include "engine/input/value_json.h"
#include "engine/model/path_text.h"
#include "engine/model/text.h"

namespace app {
namespace {

using nlohmann::json;

constexpr double kFurthest = 1e18;  // end of a range: nanoseconds must fit 64 bits
constexpr double kLongestStepSeconds = 24 * 3600;
constexpr std::int64_t kLastRun = 1'000'000;  // far more than a recording may hold

/// "name": [first, second], scaled; nothing where it is missing or no range that a plot can show.
std::optional<std::array<double, 2>> range_of(const json& select, const char* name, double scale) {
  if (!select.contains(name)) return std::nullopt;
  const auto ends = select.at(name).get<std::array<double, 2>>();
  if (ends[0] >= ends[1]) return std::nullopt;
  if (std::max(-ends[0], ends[1]) > kFurthest / scale) return std::nullopt;
  return std::array<double, 2>{scale * ends[0], scale * ends[1]};
}

engine::Result<TourScript> tour_of_log(const std::string& path) {
  auto logged = read_request_log(path);
  if (!logged.ok()) return logged.error();
  TourScript script;
  script.path = path;
  script.title = std::filesystem::path(path).stem().string();
  for (std::size_t i = 0; i < logged.value().size(); ++i) {
    LoggedRequest& one = logged.value()[i];
    TourStep step;
    step.name = fmt::format("{:02}-request", i + 1);
    step.title = fmt::format("Request {}", i + 1);
    step.caption = one.caption.empty() ? summary_of(one.request) : std::move(one.caption);
    step.request_patch = engine::to_json_text(one.request);
    step.whole_request = true;
    script.steps.push_back(std::move(step));
  }
  return script;
}

}  // namespace

bool is_tour_file(const std::string& path) {
  return path.ends_with(".json") || path.ends_with(".jsonl") || path.ends_with(".log");
}

double reading_seconds(const TourStep& step) {
  // About three words per second, and time to look at what the caption describes.
  constexpr double kWordSeconds = 0.35;
  constexpr double kLookSeconds = 5.0;
  const auto words = std::count(step.caption.begin(), step.caption.end(), ' ') + 1;
  return kLookSeconds + kWordSeconds * static_cast<double>(words);
}

namespace {

/// Whether a list of the object has a name that recordings of routing use.
bool names_routing(const json& document) {
  if (!document.is_object()) return false;
  const auto items = document.items();
  return std::any_of(items.begin(), items.end(), [](const auto& member) {
    return member.value().is_array() &&
           engine::numbers_by_name(member.key()) != engine::RoutingNumbers::Detect;
  });
}

engine::Status read_routing(const std::string& path, TourScript& script) {
  engine::RoutingSpec routing;
  routing.distribution = engine::RoutingDistribution::File;
  routing.path = path;
  script.is_routing = true;
  engine::Result<engine::RoutingFacts> facts = engine::inspect_routing(routing);
  if (facts.ok()) {
    script.routing = std::move(facts).value();
    return {};
  }
  const auto readings = engine::routing_readings(routing);
  if (readings.ok() && readings.value().size() > 1) return {};
  return facts.error();
}

}  // namespace

engine::Result<TourScript> load_tour(const std::string& path) {
  const auto refuse = [&](const std::string& why) {
    return engine::Error{engine::ErrorCode::InvalidArgument, engine::shown_path(path) + ": " + why};
  };
  const bool may_be_log = !path.ends_with(".json");
  ENGINE_ASSIGN(engine::RegularFile file, engine::RegularFile::open(path));
  if (may_be_log && file.size() > engine::JsonLimits{}.max_bytes) return tour_of_log(path);
  ENGINE_ASSIGN(const std::string text, file.read_all(kMaxRequestFileBytes));
  const engine::Result<json> parsed = engine::parse_json(text);
  const bool one_object =
      parsed.ok() && parsed.value().is_object() && parsed.value().contains("steps");
  if (!one_object && may_be_log) return tour_of_log(path);
  if (!parsed.ok()) return refuse(parsed.error().message);
  const json& document = parsed.value();
  TourScript script;
  script.path = path;
  if (document.is_array()) {
    ENGINE_TRY(read_routing(path, script));
    return script;
  }
  if (names_routing(document)) {
    ENGINE_TRY(read_routing(path, script));
    return script;
  }
  if (document.is_object() && !document.contains("steps")) {
    auto request = engine::request_from_json(text);
    if (!request.ok()) return refuse(request.error().message);
    script.request = std::move(request).value();
    return script;
  }
  if (!document.is_object() || !document["steps"].is_array()) {
    return refuse(
        "it must be a tour (an object with a list \"steps\"), a request or a list of splits");
  }
  std::vector<TourStep>& steps = script.steps;
  try {
    script.title = document.value("title", std::filesystem::path(path).stem().string());
    for (const json& entry : document["steps"]) {
      TourStep step;
      step.name = entry.at("name").get<std::string>();
      step.caption = entry.at("caption").get<std::string>();
      const auto page = page_named(entry.at("page").get<std::string>());
      if (!page) return refuse("step " + step.name + " names an unknown page");
      step.page = *page;
      step.title = entry.value("title", std::string());
      step.view = entry.value("view", std::string());
      step.panel = entry.value("panel", std::string());
      step.preset = entry.value("preset", std::string());
      if (entry.contains("request")) step.request_patch = entry["request"].dump();
      step.open_sample = entry.value("open_sample", false);
      step.recording = entry.value("recording", std::string());
      if (entry.contains("select")) {
        const json& select = entry["select"];
        const auto expert = engine::whole_number(select, "expert", -1, engine::kMaxExperts - 1, -1);
        if (!expert.ok()) return refuse("step " + step.name + ": " + expert.error().message);
        step.selection = {.timeline_ns = range_of(select, "timeline_ms", 1e6),
                          .values_log2 = range_of(select, "values_log2", 1.0),
                          .expert = static_cast<int>(expert.value())};
        if (step.selection->empty()) {
          return refuse("step " + step.name +
                        " selects neither timeline_ms nor values_log2 nor an expert");
        }
      }
      const auto run = engine::whole_number(entry, "run", -1, kLastRun, step.run);
      if (!run.ok()) return refuse("step " + step.name + ": " + run.error().message);
      step.run = static_cast<int>(run.value());
      const auto seconds =
          engine::real_number(entry, "seconds", 0, kLongestStepSeconds, step.seconds);
      if (!seconds.ok()) return refuse("step " + step.name + ": " + seconds.error().message);
      step.seconds = seconds.value();
      steps.push_back(std::move(step));
    }
  } catch (const json::exception& error) {
    return refuse(engine::shown_text(error.what(), 200));
  }
  if (steps.empty()) return refuse("it has no steps");
  return script;
}

std::string tour_text(const TourScript& script) {
  nlohmann::ordered_json steps = nlohmann::ordered_json::array();
  for (const TourStep& step : script.steps) {
    nlohmann::ordered_json entry = {
        {"name", step.name}, {"caption", step.caption}, {"page", page_name(step.page)}};
    const auto add = [&entry](const char* key, const std::string& value) {
      if (!value.empty()) entry[key] = value;
    };
    add("title", step.title);
    add("view", step.view);
    add("panel", step.panel);
    add("preset", step.preset);
    add("recording", step.recording);
    if (!step.request_patch.empty()) {
      const auto request = engine::parse_json<nlohmann::ordered_json>(step.request_patch);
      if (request.ok()) entry["request"] = request.value();
    }
    if (step.open_sample) entry["open_sample"] = true;
    if (step.run >= 0) entry["run"] = step.run;
    if (step.selection && !step.selection->empty()) {
      nlohmann::ordered_json& select = entry["select"];
      if (const auto& range = step.selection->timeline_ns) {
        select["timeline_ms"] = {(*range)[0] / 1e6, (*range)[1] / 1e6};
      }
      if (const auto& range = step.selection->values_log2) select["values_log2"] = *range;
      if (step.selection->expert >= 0) select["expert"] = step.selection->expert;
    }
    steps.push_back(std::move(entry));
  }
  return nlohmann::ordered_json{{"title", script.title}, {"steps", std::move(steps)}}.dump(2) +
         "\n";
}

engine::Result<engine::RunRequest> request_of_step(
    const TourScript& script, std::size_t index, const std::vector<engine::ShapePreset>& presets) {
  engine::RunRequest request;
  std::size_t first = index;
  while (first > 0 && !script.steps[first].whole_request) --first;
  for (std::size_t i = first; i <= index; ++i) {
    const TourStep& step = script.steps[i];
    if (step.request_patch.empty()) continue;
    const auto refuse = [&](const engine::Error& error) {
      return engine::Error{error.code, "tour step " + step.name + ": " + error.message};
    };
    if (!step.preset.empty()) {
      const auto preset = engine::find_preset(presets, step.preset);
      if (!preset.ok()) return refuse(preset.error());
      engine::apply_preset(preset.value(), request);
    }
    auto patched = engine::request_from_json(step.request_patch, request);
    if (!patched.ok()) return refuse(patched.error());
    request = std::move(patched).value();
    if (const auto named = engine::reconcile_preset_name(presets, request); !named.ok()) {
      return refuse(named.error());
    }
  }
  return request;
}

}  // namespace app
