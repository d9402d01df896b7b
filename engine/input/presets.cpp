// Presets ship with the program but users may extend the folder: every field is checked like a
// request's.
#include "engine/input/presets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/input/json_text.h"
#include "engine/input/regular_file.h"
#include "engine/model/path_text.h"
#include "engine/model/run_request.h"
#include "engine/model/text.h"
#include "engine/model/values.h"

namespace engine {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxPresetBytes = 64 * 1024;

std::string plain(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) letters += static_cast<char>(std::tolower(byte));
  }
  return letters;
}

/// Reads an optional field: false if it is present and its value does not fit.
template <class T>
bool take_name(const Json& json, const char* key, T& value) {
  const auto found = json.find(key);
  if (found == json.end()) return true;
  if (!found->is_string()) return false;
  for (const EnumName& name : kType<T>.names) {
    if (name.name != found->template get<std::string>()) continue;
    value = static_cast<T>(name.value);
    return true;
  }
  return false;
}

bool take_flag(const Json& json, const char* key, bool& value) {
  const auto found = json.find(key);
  if (found == json.end()) return true;
  if (!found->is_boolean()) return false;
  value = found->get<bool>();
  return true;
}

std::optional<std::string> text_field(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

Result<ShapePreset> load_preset(const std::string& path) {
  const auto refuse = [&](const std::string& why) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("shape preset {}: {}", shown_path(path), why)};
  };
  const Result<std::string> text = read_file(path, kMaxPresetBytes);
  if (!text.ok()) return Error{text.error().code, "shape preset " + text.error().message};
  const Result<Json> document = parse_json(text.value());
  if (!document.ok()) return refuse(document.error().message);
  const Json& json = document.value();
  if (!json.is_object()) return refuse("not a JSON object");

  ShapePreset preset;
  const std::optional<std::string> name = text_field(json, "name");
  const std::optional<std::string> description = text_field(json, "description");
  if (!name || name->empty() || !description) return refuse("needs a name and a description");
  preset.name = *name;
  preset.description = *description;
  const auto laptop = json.find("laptop");
  preset.laptop = laptop != json.end() && laptop->is_boolean() && laptop->get<bool>();
  preset.shape.preset = preset.name;
  struct Field {
    const char* key;
    std::int64_t* value;
    std::int64_t high = kMaxDimension;
  };
  std::int64_t experts = 0;
  std::int64_t top_k = 0;
  std::vector<Field> fields = {{"num_experts", &experts},
                               {"rows", &preset.shape.rows},
                               {"n", &preset.shape.n},
                               {"k", &preset.shape.k}};
  if (json.contains("top_k")) fields.push_back({"top_k", &top_k, kMaxTopK});
  for (const Field& field : fields) {
    const Result<std::int64_t> value = whole_number(json, field.key, 0, field.high);
    if (!value.ok()) return refuse(value.error().message);
    *field.value = value.value();
  }
  preset.top_k = static_cast<int>(top_k);
  preset.shape.num_experts = static_cast<int>(experts);  // at most 2^24
  if (!take_name(json, "step", preset.step)) {
    return refuse(
        fmt::format("'step' must be one of {}", fmt::join(enum_names(preset.step), ", ")));
  }
  if (!take_name(json, "activation", preset.activation)) {
    return refuse(fmt::format("'activation' must be one of {}",
                              fmt::join(enum_names(preset.activation), ", ")));
  }
  if (!take_flag(json, "bias", preset.bias)) return refuse("'bias' must be true or false");
  RunRequest request;
  apply_preset(preset, request);
  request.expert_layer.top_k = preset.top_k;
  const Status status = validate(request);
  if (!status.ok()) return refuse(status.error().message);
  return preset;
}

}  // namespace

void apply_preset(const ShapePreset& preset, RunRequest& request) {
  request.shape = preset.shape;
  request.step = preset.step;
  if (preset.step != StepKind::ExpertLayer) return;
  request.expert_layer.activation = preset.activation;
  request.products.bias = preset.bias;
  request.expert_layer.top_k = 0;  // what another preset allowed may not fit this one
}

Status reconcile_preset_name(const std::vector<ShapePreset>& presets, RunRequest& request) {
  std::string& name = request.shape.preset;
  if (name.empty()) return {};
  const Result<ShapePreset> preset = find_preset(presets, name);
  if (!preset.ok()) {
    return Error{.code = preset.error().code,
                 .message = "shape.preset: " + preset.error().message,
                 .field = "shape.preset"};
  }
  name = preset.value().name;
  const bool own = request.shape == preset.value().shape && request.step == preset.value().step;
  if (!own) name.clear();
  return {};
}

Result<std::vector<ShapePreset>> load_presets(const std::string& folder) {
  std::error_code failure;
  std::vector<std::string> paths;
  for (std::filesystem::directory_iterator it(folder, failure), end; !failure && it != end;
       it.increment(failure)) {
    if (it->path().extension() == ".json") paths.push_back(it->path().string());
  }
  if (failure) {
    return Error{ErrorCode::Io, fmt::format("cannot list the shape presets in {}: {}",
                                            shown_path(folder), failure.message())};
  }
  std::sort(paths.begin(), paths.end());
  std::vector<ShapePreset> presets;
  for (const std::string& path : paths) {
    ENGINE_ASSIGN(ShapePreset preset, load_preset(path));
    presets.push_back(std::move(preset));
  }
  return presets;
}

Result<ShapePreset> find_preset(const std::vector<ShapePreset>& presets, std::string_view name) {
  std::vector<std::string> names;
  for (const ShapePreset& preset : presets) {
    if (plain(preset.name) == plain(name)) return preset;
    names.push_back(preset.name);
  }
  const std::string nearly = suggestion(name, names);
  if (!nearly.empty()) {
    return Error{ErrorCode::NotFound, fmt::format("there is no preset '{}'{}; see expertscope list "
                                                  "presets",
                                                  name, nearly)};
  }
  return Error{ErrorCode::NotFound, fmt::format("there is no preset '{}'; choose from: '{}'", name,
                                                fmt::join(names, "', '"))};
}

}  // namespace engine
