// Files that the window reads: tours, request logs (by their other ending) and its settings.
#include <nlohmann/json.hpp>

#include "app/controllers/tour_script.h"
#include "app/gui/shell/settings.h"
#include "engine/input/json_text.h"
#include "engine/input/value_json.h"
#include "tests/fuzz/fuzz_target.h"

namespace fuzz {

std::vector<std::string> seeds() {
  const std::string tours = EXPERTSCOPE_SOURCE "/assets/tours/";
  const std::string settings = scratch_folder() + "/settings";
  app::Settings kept;
  kept.files.recent = {"/a/b.session", "c"};
  require(app::save_settings(settings, kept).empty(), "settings can be saved");
  return {content_of(tours + "first_steps.json"), content_of(tours + "workspace_bug.json"),
          R"({"title": "t", "steps": [{"name": "a", "caption": "b", "page": "numerics",)"
          R"( "view": "recipes", "run": 1, "seconds": 2.5, "open_sample": true,)"
          R"( "select": {"timeline_ms": [0.5, 2], "values_log2": [-3, 4], "expert": 2}}]})",
          R"({"seed": "3", "caption": "one"})"
          "\n\n" +
              engine::to_json_text(engine::RunRequest()) + "\n",
          content_of(settings)};
}

std::vector<std::string> dictionary() {
  return {"\"steps\"",       "\"name\"",        "\"caption\"",
          "\"page\"",        "\"performance\"", "\"numerics\"",
          "\"graphs\"",      "\"compare\"",     "\"request\"",
          "\"select\"",      "\"timeline_ms\"", "\"values_log2\"",
          "\"expert\"",      "\"run\"",         "\"seconds\"",
          "\"open_sample\"", "\"recording\"",   "\"recent\"",
          "\"theme\"",       "\"text_scale\"",  "\"rail_width\"",
          "\"width\"",       "\"x\"",           "\n",
          "1e300",           "[0,1]",           "{}",
          "\"../../a\"",     "\"light\"",       "\\u0000"};
}

}  // namespace fuzz

namespace {

/// As JSON: a request of a log keeps its own order of members until it is written.
bool same_patch(const std::string& a, const std::string& b) {
  return a.empty() == b.empty() &&
         (a.empty() || engine::parse_json(a).value() == engine::parse_json(b).value());
}

void check_tour(const std::string& path, std::size_t size) {
  const auto tour = app::load_tour(path);
  if (!fuzz::accepted(tour)) return;
  if (tour.value().steps.empty()) {
    fuzz::require(tour.value().request || tour.value().is_routing, "a tour has steps");
    return;
  }
  const fuzz::CostLimit limit(size);
  for (const app::TourStep& step : tour.value().steps) {
    static_cast<void>(app::reading_seconds(step));
  }
  const std::size_t last = tour.value().steps.size() - 1;
  static_cast<void>(fuzz::accepted(app::request_of_step(tour.value(), last, {})));
  const std::string written = app::tour_text(tour.value());
  const auto again = app::load_tour(fuzz::scratch_file("again.json", written));
  fuzz::require(again.ok(), "what is written is read", again.ok() ? "" : again.error().message);
  fuzz::require(again.value().title == tour.value().title &&
                    again.value().steps.size() == tour.value().steps.size(),
                "a tour comes back as it was", written);
  for (std::size_t i = 0; i < tour.value().steps.size(); ++i) {
    const app::TourStep& a = tour.value().steps[i];
    const app::TourStep& b = again.value().steps[i];
    // A selection is scaled on its way and may differ in the last bit.
    fuzz::require(a.name == b.name && a.title == b.title && a.caption == b.caption &&
                      a.page == b.page && a.view == b.view && a.preset == b.preset &&
                      same_patch(a.request_patch, b.request_patch) && a.recording == b.recording &&
                      a.open_sample == b.open_sample && std::max(a.run, -1) == b.run &&
                      a.selection.has_value() == b.selection.has_value(),
                  "a step comes back as it was", written);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  check_tour(fuzz::scratch_file("tour.json", text), size);
  check_tour(fuzz::scratch_file("requests.jsonl", text), size);
  const app::LoadedSettings loaded = app::load_settings(fuzz::scratch_file("settings", text));
  if (fuzz::accepted_unless(loaded.problem)) {
    const std::string path = fuzz::scratch_folder() + "/settings-saved";
    fuzz::require(app::save_settings(path, loaded.settings).empty(), "settings can be saved");
    const app::LoadedSettings again = app::load_settings(path);
    fuzz::require(again.problem.empty() && again.settings == loaded.settings,
                  "settings come back as they were", again.problem);
  }
  return 0;
}
