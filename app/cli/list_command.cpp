// `expertscope list`: what can be requested here, and what prevents the rest.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/cli/command.h"
#include "app/cli/request_options.h"
#include "app/cli/terminal.h"
#include "app/cli/worker_session.h"
#include "app/controllers/value_meanings.h"
#include "app/protocol/paths.h"
#include "app/sweep/plan.h"
#include "engine/gemm/support.h"
#include "engine/input/presets.h"
#include "engine/model/text.h"
#include "engine/model/values.h"

namespace app::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kEveryTopic = "all";

struct ListOptions {
  WorkerChoice worker;
  std::string topic = kEveryTopic;
  bool json = false;
};

engine::Result<Json> list_presets() {
  ENGINE_ASSIGN(const std::vector<engine::ShapePreset> presets,
                engine::load_presets(assets_folder() + "/shapes"));
  Json list = Json::array();
  for (const engine::ShapePreset& preset : presets) {
    list.push_back({{"name", preset.name},
                    {"num_experts", preset.shape.num_experts},
                    {"rows", preset.shape.rows},
                    {"n", preset.shape.n},
                    {"k", preset.shape.k},
                    {"step", engine::name_of(preset.step)},
                    {"laptop", preset.laptop},
                    {"description", preset.description}});
  }
  return list;
}

Json list_recipes() {
  Json list = Json::array();
  for (const engine::EnumName& scaling : engine::kType<engine::Scaling>.names) {
    const auto recipe = static_cast<engine::Scaling>(scaling.value);
    list.push_back({{"name", scaling.name}, {"meaning", engine::traits_of(recipe).meaning}});
  }
  return list;
}

Json list_backends(const WorkerHello& hello) {
  Json list = Json::array();
  for (const BackendOffer& offer : hello.backends) {
    list.push_back({{"name", engine::name_of(offer.kind)},
                    {"available", offer.available},
                    {"reason", offer.reason},
                    {"device", offer.device.name},
                    {"compute_capability", offer.device.compute_capability},
                    {"cublaslt_version", offer.device.cublaslt_version},
                    {"cublaslt_path", offer.device.cublaslt_path},
                    {"blas", offer.device.blas}});
  }
  return list;
}

Json list_gates(const WorkerHello& hello) {
  Json list = Json::array();
  for (const BackendOffer& offer : hello.backends) {
    const engine::DeviceCapability device = capability_of(offer);
    const auto add = [&](const std::string& what, const engine::Verdict& verdict) {
      list.push_back({{"backend", engine::name_of(offer.kind)},
                      {"setting", what},
                      {"support", engine::name_of(verdict.support)},
                      {"reason", verdict.sentence}});
    };
    engine::RunRequest request;
    request.backend = offer.kind;
    for (const auto& [value, name] : engine::kType<engine::Scaling>.names) {
      request.recipe.scaling = static_cast<engine::Scaling>(value);
      add(fmt::format("recipe.scaling {}", name),
          engine::recipe_support(request.recipe, offer.kind, device));
    }
    for (const auto& [value, name] : engine::kType<engine::LaunchKind>.names) {
      request.launch.kind = static_cast<engine::LaunchKind>(value);
      add(fmt::format("launch.kind {}", name),
          engine::launch_support(request.launch, offer.kind, device));
    }
    // The last launch kind is the graph, where sharing a workspace is a hazard.
    for (const auto& [value, name] : engine::kType<engine::WorkspaceStrategy>.names) {
      add(fmt::format("workspace {}", name),
          engine::workspace_support(static_cast<engine::WorkspaceStrategy>(value), request,
                                    device));
    }
  }
  return list;
}

/// What a setting of a request can be, by any name of its option; null if there is no such setting.
Json list_values(const std::string& name) {
  const std::string word = engine::plain_word(name);
  for (const RequestOption& option : request_options()) {
    if (std::ranges::find(option.names, word, engine::plain_word) == option.names.end()) continue;
    Json values = Json::array();
    for (const engine::EnumName& one : engine::choices_of(*option.type, option.rules)) {
      values.push_back({{"name", one.name}, {"meaning", value_meaning(*option.type, one)}});
    }
    if (values.empty()) values.push_back(option.expected);
    return {{option.path, std::move(values)}};
  }
  return nullptr;
}

/// One line per row: its name, what it means, then all other values that are not empty.
void print_table(const std::string& title, const Json& rows) {
  print("{}\n", title);
  if (rows.empty()) print("  none\n");
  for (const Json& row : rows) {
    if (row.is_string()) {
      print("  {}\n", row.get<std::string>());
      continue;
    }
    std::string line;
    for (const auto& [key, value] : row.items()) {
      const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
      if (text.empty()) continue;
      if (line.empty()) {
        line = fmt::format("{:<28}", text);
      } else {
        line += key == "meaning" ? "  " + text : fmt::format("  {} {}", key, text);
      }
    }
    print("  {}\n", line);
  }
  print("\n");
}

constexpr std::array kTopics = {"presets", "recipes", "backends", "gates", "libraries"};

/// The topic that a word names, also in the singular: "backend"; empty = none.
std::string topic_of(const std::string& name) {
  const std::string word = engine::plain_word(name);
  if (word == kEveryTopic) return word;
  for (const std::string topic : kTopics) {
    const std::string stem = topic.ends_with("ies") ? topic.substr(0, topic.size() - 3) + 'y'
                                                    : topic.substr(0, topic.size() - 1);
    if (word == topic || word == stem) return topic;
  }
  return {};
}

engine::Error no_topic(const std::string& name) {
  std::vector<std::string> words(kTopics.begin(), kTopics.end());
  for (const RequestOption& option : request_options()) {
    words.insert(words.end(), option.names.rbegin(), option.names.rend());
  }
  return {
      engine::ErrorCode::InvalidArgument,
      fmt::format("there is nothing to list about '{}'{}; it must be {}, {} or a field of a "
                  "request",
                  name, engine::suggestion(name, words), kEveryTopic, fmt::join(kTopics, ", "))};
}

int list(const ListOptions& options) {
  const std::string chosen = topic_of(options.topic);
  const auto asked = [&](const char* topic) { return chosen == kEveryTopic || chosen == topic; };
  Json document;
  if (chosen.empty()) {
    document = list_values(options.topic);
    if (document.is_null()) return report(no_topic(options.topic));
  }
  if (asked("presets")) {
    engine::Result<Json> presets = list_presets();
    if (!presets.ok()) return report(presets.error());
    document["presets"] = std::move(presets).value();
  }
  if (asked("recipes")) document["recipes"] = list_recipes();
  if (asked("backends") || asked("gates") || asked("libraries")) {
    const engine::Result<std::unique_ptr<WorkerSession>> session =
        WorkerSession::start(options.worker);
    if (!session.ok()) return report(session.error());
    const WorkerHello& hello = session.value()->hello();
    if (asked("backends")) document["backends"] = list_backends(hello);
    if (asked("gates")) document["gates"] = list_gates(hello);
    if (asked("libraries")) document["libraries"] = hello.cublaslt_libraries;
  }
  if (options.json) {
    print("{}\n", document.dump(2));
  } else {
    for (const auto& [title, rows] : document.items()) print_table(title, rows);
  }
  return kExitOk;
}

}  // namespace

void add_list_command(CLI::App& program, Action& chosen) {
  CLI::App& command =
      *program.add_subcommand("list", "List what can be requested here, what cannot, and why");
  const auto options = std::make_shared<ListOptions>();
  command
      .add_option("topic", options->topic,
                  fmt::format("{} or one of {}; or a field of a request, such as routing, for its "
                              "values",
                              kEveryTopic, fmt::join(kTopics, ", ")))
      ->capture_default_str();
  command.add_flag("--json", options->json, "Print as JSON");
  options->worker.add_to(command);
  command.callback([options, &chosen] { chosen = [options] { return list(*options); }; });
}

}  // namespace app::cli
