#include "app/cli/request_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "app/cli/arguments.h"
#include "app/protocol/paths.h"
#include "app/protocol/request_files.h"
#include "engine/input/presets.h"
#include "engine/model/values.h"

namespace app::cli {
namespace {

engine::Error refuse(std::string message) {
  return {engine::ErrorCode::InvalidArgument, std::move(message)};
}

}  // namespace

engine::Result<engine::ShapePreset> find_preset(const std::string& name) {
  ENGINE_ASSIGN(const std::vector<engine::ShapePreset> presets,
                engine::load_presets(assets_folder() + "/shapes"));
  return engine::find_preset(presets, name);
}

void RequestOptions::add_to(CLI::App& command) {
  command.add_option("--request", request_file_, "A request as JSON; single fields override it")
      ->option_text("FILE");
  command.add_option("--preset", preset_, "Shape preset by name (see: expertscope list presets)")
      ->option_text("NAME");
  command
      .add_option("--recipe", recipe_,
                  fmt::format("{}; the other fields of the recipe have their own options",
                              fmt::join(enum_names(engine::Scaling{}), ", ")))
      ->option_text("NAME")
      ->check(one_of(words_of<engine::Scaling>()));
  const auto last_word = [](const std::string& path) {
    return path.substr(path.rfind('.') + 1);  // npos + 1 is 0
  };
  std::map<std::string, int> last_words;
  for (engine::Leaf& leaf : engine::leaves_of(engine::kType<engine::RunRequest>)) {
    ++last_words[last_word(leaf.path)];
    fields_.push_back({.expected = engine::expected_text(leaf.type, leaf.field.rules),
                       .name = std::move(leaf.path),
                       .text = {}});
  }
  for (Field& field : fields_) {
    const std::string last = last_word(field.name);
    std::string names = "--" + field.name;
    // "preset" is the option above; "kind" alone would be ambiguous.
    if (last != field.name && last != "preset" && last != "kind" && last_words[last] == 1) {
      names += ",--" + last;
    }
    field.option = command.add_option(names, field.text, field.expected)
                       ->option_text(" ")
                       ->group("Fields of the request");
  }
}

bool RequestOptions::given_field(std::string_view name) const {
  const auto field = std::ranges::find(fields_, name, &Field::name);
  return field != fields_.end() && field->option->count() > 0;
}

std::string RequestOptions::given() const {
  if (!request_file_.empty()) return "--request";
  if (!preset_.empty()) return "--preset";
  if (!recipe_.empty()) return "--recipe";
  for (const Field& field : fields_) {
    if (field.option->count() > 0) return "--" + field.name;
  }
  return {};
}

std::string RequestOptions::library_file() const {
  return given_field("cublaslt_library") ? std::string() : request_file_;
}

engine::Result<engine::RunRequest> RequestOptions::resolve(engine::RunRequest request) const {
  if (!request_file_.empty()) {
    ENGINE_ASSIGN(request, read_request(request_file_));
  }
  if (!preset_.empty()) {
    ENGINE_ASSIGN(const engine::ShapePreset preset, find_preset(preset_));
    engine::apply_preset(preset, request);
  }
  if (!recipe_.empty() && given_field("recipe.scaling")) {
    return refuse("--recipe and --scaling set the same field; give one of them");
  }
  if (!recipe_.empty()) request.recipe.scaling = names_of<engine::Scaling>().at(recipe_);
  for (const Field& field : fields_) {
    if (field.option->count() == 0) continue;
    if (!engine::set_leaf(engine::kType<engine::RunRequest>, &request, field.name, field.text)) {
      return refuse(
          fmt::format("--{} is '{}'; it must be {}", field.name, field.text, field.expected));
    }
  }
  ENGINE_TRY(engine::validate(request));
  return request;
}

}  // namespace app::cli
