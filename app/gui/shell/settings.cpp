// Values from the file are clamped: a settings file must not be able to make the window unusable.
#include "app/gui/shell/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/gui/shell/window.h"
#include "app/protocol/worker_command.h"
#include "engine/input/json_text.h"
#include "engine/input/regular_file.h"
#include "engine/model/fields.h"
#include "profiling/export/replaced_file.h"

namespace app {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxSettingsBytes = 1 << 20;
constexpr int kMostPixels = 1'000'000;  // further away than any desktop, kNoPlace included

/// Machines that could not be connected anyway are left out.
engine::Result<RememberedMachines> machines_of(const json& list) {
  RememberedMachines machines;
  constexpr std::int64_t kMostGpus = 1024;
  for (const json& one : list) {
    ConnectOptions machine;
    machine.host = one.value("host", std::string());
    if (machines.size() == kMaxRememberedMachines || !check_machine_name(machine.host).ok()) {
      continue;
    }
    ENGINE_ASSIGN(const std::int64_t gpu, engine::whole_number(one, "gpu", -1, kMostGpus, -1));
    machine.gpu = static_cast<int>(gpu);
    constexpr auto kWays = enum_names(ProvideLibrary{});
    const auto way = std::ranges::find(kWays, one.value("library", std::string()));
    if (way != kWays.end()) machine.library = static_cast<ProvideLibrary>(way - kWays.begin());
    machine.launcher = one.value("launcher", std::vector<std::string>());
    machines.push_back(std::move(machine));
  }
  return machines;
}

json json_of(const RememberedMachines& machines) {
  json list = json::array();
  for (const ConnectOptions& one : machines) {
    json machine = {{"host", one.host}, {"library", engine::name_of(one.library)}};
    if (one.gpu >= 0) machine["gpu"] = one.gpu;
    if (!one.launcher.empty()) machine["launcher"] = one.launcher;
    list.push_back(std::move(machine));
  }
  return list;
}

/// Those that the fields could not hold are left out.
RememberedPrograms programs_of(const json& list) {
  RememberedPrograms programs;
  for (const json& one : list) {
    RememberedProgram program = {.command = one.value("command", std::string()),
                                 .working_folder = one.value("folder", std::string())};
    const bool fits = !program.command.empty() && program.command.size() < kMaxTypedCommand &&
                      program.working_folder.size() < kMaxTypedCommand;
    if (fits && programs.size() < kMaxRememberedPrograms) programs.push_back(std::move(program));
  }
  return programs;
}

json json_of(const RememberedPrograms& programs) {
  json list = json::array();
  for (const RememberedProgram& one : programs) {
    list.push_back({{"command", one.command}, {"folder", one.working_folder}});
  }
  return list;
}

engine::Result<Settings> from_json(const json& document) {
  const Settings fallback;
  Settings settings;
  for (const auto& [key, pixels] : {std::pair{"width", &settings.width},
                                    {"height", &settings.height},
                                    {"x", &settings.x},
                                    {"y", &settings.y}}) {
    const auto number = engine::whole_number(document, key, -kMostPixels, kMostPixels, *pixels);
    if (!number.ok()) return number.error();
    *pixels = static_cast<int>(number.value());
  }
  settings.width = std::clamp(settings.width, WindowOptions::kLeastWidth, WindowOptions::kMostSide);
  settings.height =
      std::clamp(settings.height, WindowOptions::kLeastHeight, WindowOptions::kMostSide);
  // Clamped before they become floats, which a large double cannot.
  const auto scaled = [&](const char* key, float absent, double low, double high) {
    return static_cast<float>(std::clamp(document.value(key, double{absent}), low, high));
  };
  settings.rail_width = scaled("rail_width", fallback.rail_width, 260, 640);
  settings.text_scale = scaled("text_scale", fallback.text_scale, 0, 2);
  settings.theme =
      document.value("theme", std::string("dark")) == "light" ? ThemeKind::Light : ThemeKind::Dark;
  settings.restart_automatically =
      document.value("restart_automatically", fallback.restart_automatically);
  settings.rail_hidden = document.value("rail_hidden", fallback.rail_hidden);
  settings.rail_sections.folded = document.value("folded_sections", RailSections::Titles());
  settings.rail_sections.full = document.value("full_sections", RailSections::Titles());
  settings.files.folder = document.value("folder", std::string());
  settings.files.recent = document.value("recent", std::vector<std::string>());
  if (settings.files.recent.size() > kMaxRecentFiles) settings.files.recent.resize(kMaxRecentFiles);
  ENGINE_ASSIGN(settings.machines, machines_of(document.value("machines", json::array())));
  settings.programs = programs_of(document.value("programs", json::array()));
  for (const json& one : document.value("presented", json::array())) {
    const std::optional<Page> page = page_named(one.value("page", std::string()));
    if (!page || settings.presented.size() == Settings::kMostPresented) continue;
    settings.presented.push_back({.page = *page,
                                  .view = one.value("view", std::string()),
                                  .card = one.value("card", std::string())});
  }
  // Read like any other request, when the window begins with it.
  if (const auto request = document.find("request"); request != document.end()) {
    settings.request = request->dump(-1, ' ', false, json::error_handler_t::replace);
  }
  settings.live = document.value("live", fallback.live);
  settings.page = page_named(document.value("page", std::string())).value_or(Page::Performance);
  settings.view = document.value("view", std::string());
  // What this view of Numerics showed is on Recipes.
  if (settings.view == "pow2") settings.view = "recipes";
  return settings;
}

/// The file that a link leads to, which is what a user who has linked it wants to be written.
std::string behind_links(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::weakly_canonical(path, error);
  return error ? path : real.string();
}

}  // namespace

std::string settings_path() {
  if (const char* config = std::getenv("XDG_CONFIG_HOME"); config != nullptr && config[0] == '/') {
    return std::string(config) + "/expertscope/settings.json";
  }
  const char* home = std::getenv("HOME");
  return std::string(home == nullptr ? "." : home) + "/.config/expertscope/settings.json";
}

LoadedSettings load_settings(const std::string& path) {
  const engine::Result<std::string> text = engine::read_file(path, kMaxSettingsBytes);
  if (!text.ok() && text.error().code == engine::ErrorCode::NotFound) {
    return {.settings = {}, .first_start = true};
  }
  const auto fall_back = [](const std::string& why) {
    return LoadedSettings{.settings = {}, .problem = why + "; default settings are used"};
  };
  if (!text.ok()) return fall_back(text.error().message);
  const engine::Result<json> document = engine::parse_json(text.value());
  if (!document.ok()) return fall_back(path + " is " + document.error().message);
  if (!document.value().is_object()) return fall_back(path + " is not a JSON object");
  // value() throws only for wrong types.
  try {
    const engine::Result<Settings> settings = from_json(document.value());
    if (!settings.ok()) return fall_back(path + ": " + settings.error().message);
    return {.settings = settings.value()};
  } catch (const json::exception&) {
    return fall_back(path + " holds a value of a wrong type");
  }
}

std::string set_aside_unreadable(const std::string& path) {
  const std::string name = path + ".unreadable";
  std::string free = name;
  std::error_code error;
  // An earlier one may be the better copy.
  for (int i = 2; std::filesystem::exists(std::filesystem::symlink_status(free, error)); ++i) {
    free = fmt::format("{}-{}", name, i);
  }
  std::filesystem::rename(path, free, error);
  return error ? fmt::format("It could not be renamed to {} ({}), so it will be replaced", free,
                             error.message())
               : "The file was kept as " + free;
}

std::string save_settings(const std::string& path, const Settings& settings) {
  json document = {{"width", settings.width},
                   {"height", settings.height},
                   {"x", settings.x},
                   {"y", settings.y},
                   {"rail_width", settings.rail_width},
                   {"text_scale", settings.text_scale},
                   {"theme", settings.theme == ThemeKind::Light ? "light" : "dark"},
                   {"restart_automatically", settings.restart_automatically},
                   {"rail_hidden", settings.rail_hidden},
                   {"folded_sections", settings.rail_sections.folded},
                   {"full_sections", settings.rail_sections.full},
                   {"folder", settings.files.folder},
                   {"recent", settings.files.recent},
                   {"machines", json_of(settings.machines)},
                   {"programs", json_of(settings.programs)},
                   {"live", settings.live},
                   {"page", page_name(settings.page)},
                   {"view", settings.view}};
  for (const PresentedCard& one : settings.presented) {
    document["presented"].push_back(
        {{"page", page_name(one.page)}, {"view", one.view}, {"card", one.card}});
  }
  const engine::Result<json> request = engine::parse_json(settings.request);
  if (!settings.request.empty() && request.ok()) document["request"] = request.value();
  std::error_code ignored;  // create() says why it cannot write there
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  const auto written = [&]() -> engine::Status {
    ENGINE_ASSIGN(profiling::ReplacedFile file,
                  profiling::ReplacedFile::create(behind_links(path)));
    file.write(document.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
    return file.commit();
  }();
  return written.ok() ? "" : "settings could not be saved: " + written.error().message;
}

}  // namespace app
