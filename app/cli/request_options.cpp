#include "app/cli/request_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "app/cli/arguments.h"
#include "app/cli/typed_line.h"
#include "app/protocol/paths.h"
#include "app/protocol/request_files.h"
#include "engine/input/presets.h"
#include "engine/input/routing_kind.h"
#include "engine/model/leaves.h"
#include "engine/model/text.h"
#include "engine/model/values.h"

namespace app::cli {
namespace {

/// What people call a value besides its name.
struct OtherName {
  std::string_view field;
  std::string_view said;
  std::string_view name;
};
constexpr OtherName kOtherNames[] = {{"products.passes", "both", "forward-backward"},
                                     {"products.passes", "fwd-bwd", "forward-backward"},
                                     {"products.passes", "fwd", "forward"},
                                     {"products.passes", "fprop", "forward"},
                                     {"products.passes", "bwd", "backward"},
                                     {"step", "layer", "expert-layer"}};

/// Spelling of the command line: "recipe.amax-epsilon".
std::string dashed(std::string name) {
  std::ranges::replace(name, '_', '-');
  return name;
}

/// What people call a field besides its name: "pow2" is also an axis of a sweep.
constexpr std::pair<std::string_view, std::string_view> kOtherFieldNames[] = {
    {"recipe.pow2_scales", "pow2"}};

std::string_view own_name(const engine::Type& type, std::string_view field, std::string_view text) {
  if (type.kind == engine::Kind::Bool) {
    // As the window's switches are read.
    if (text == "on" || text == "off") return text == "on" ? "true" : "false";
    return text;
  }
  const auto* const found = std::ranges::find_if(
      kOtherNames, [&](const OtherName& one) { return one.field == field && one.said == text; });
  return found == std::end(kOtherNames) ? text : found->name;
}

}  // namespace

namespace {

const engine::Result<std::vector<engine::ShapePreset>>& shipped_presets() {
  static const auto presets = engine::load_presets(assets_folder() + "/shapes");
  return presets;
}

}  // namespace

engine::Result<engine::ShapePreset> find_preset(const std::string& name) {
  ENGINE_TRY(shipped_presets());
  return engine::find_preset(shipped_presets().value(), name);
}

engine::Status reconcile_preset_name(engine::RunRequest& request) {
  if (request.shape.preset.empty()) return {};
  ENGINE_TRY(shipped_presets());
  return engine::reconcile_preset_name(shipped_presets().value(), request);
}

namespace {

std::vector<RequestOption> make_request_options() {
  const auto last_word = [](const std::string& path) {
    return path.substr(path.rfind('.') + 1);  // npos + 1 is 0
  };
  const std::vector<engine::Leaf> leaves = engine::leaves_of(engine::kType<engine::RunRequest>);
  std::map<std::string, int> last_words;
  for (const engine::Leaf& leaf : leaves) ++last_words[last_word(leaf.path)];
  const engine::LeafTexts defaults = engine::leaf_texts(engine::RunRequest{});
  std::vector<RequestOption> options;
  for (const engine::Leaf& leaf : leaves) {
    RequestOption& option = options.emplace_back(RequestOption{.path = leaf.path,
                                                               .about = find_setting(leaf.path),
                                                               .type = &leaf.type,
                                                               .rules = leaf.field.rules});
    if (const auto usual = defaults.find(leaf.path); usual != defaults.end()) {
      option.usual = usual->second;
    }
    option.expected = engine::expected_text(leaf.type, leaf.field.rules);
    option.names.push_back(leaf.path);
    const std::string last = last_word(leaf.path);
    // "preset" looks one up; "kind" alone would be ambiguous.
    if (last != leaf.path && last != "preset" && last != "kind" && last_words[last] == 1) {
      option.names.push_back(last);
    }
    if (!leaf.field.rules.also.empty()) option.names.emplace_back(leaf.field.rules.also);
    for (const auto& [field, other] : kOtherFieldNames) {
      if (field == leaf.path) option.names.emplace_back(other);
    }
  }
  return options;
}

/// A list with the values' own names.
std::string own_names(const RequestOption& option, std::string_view text) {
  std::string names;
  while (true) {
    const auto comma = text.find(',');
    names += own_name(*option.type, option.path, text.substr(0, comma));
    if (comma == std::string_view::npos) return names;
    names += ',';
    text.remove_prefix(comma + 1);
  }
}

/// Its meaning; on a line of its own, its values: "an integer, between 1 and 8; default 1".
std::string help_of(const RequestOption& option) {
  return fmt::format("{}\n{}{}", option.about->meaning, option.expected,
                     option.usual.empty() ? "" : "; default " + option.usual);
}

}  // namespace

const std::vector<RequestOption>& request_options() {
  static const std::vector<RequestOption> options = make_request_options();
  return options;
}

std::vector<std::string> RequestOption::all_names() const {
  std::vector<std::string> all = names;
  if (!rules.formerly.empty()) {
    all.emplace_back(rules.formerly);
    all.push_back(path.substr(0, path.rfind('.') + 1) + all.back());
  }
  return all;
}

const RequestOption* find_request_option(std::string_view name) {
  const std::string word = engine::plain_word(name);
  const std::vector<RequestOption>& options = request_options();
  const auto found = std::ranges::find_if(options, [&word](const RequestOption& option) {
    const std::vector<std::string> names = option.all_names();
    return std::ranges::find(names, word, engine::plain_word) != names.end();
  });
  return found == options.end() ? nullptr : &*found;
}

bool is_request_field(std::string_view name) { return find_request_option(name) != nullptr; }

namespace {

/// Where a recorded routing can be read in several ways, refuses it with a command for each.
engine::Status check_readings(const engine::RoutingSpec& routing) {
  if (routing.distribution != engine::RoutingDistribution::File ||
      routing.numbers != engine::RoutingNumbers::Detect) {
    return {};
  }
  const auto readings = engine::routing_readings(routing);
  if (!readings.ok() || readings.value().size() < 2) return {};
  const std::vector<RequestOption>& options = request_options();
  const RequestOption& option =
      *std::ranges::find(options, "routing.numbers", &RequestOption::path);
  std::string commands;
  for (const engine::RoutingReading& one : readings.value()) {
    commands +=
        fmt::format("\n  {}:\n    {}", one.words,
                    typed_command_with(option.names, std::string(engine::name_of(one.numbers))));
  }
  return invalid_argument(fmt::format("{} can be read in {} ways; choose one:{}", routing.path,
                                      readings.value().size(), commands));
}

}  // namespace

void RequestOptions::add_to(CLI::App& command, Lists lists) {
  command
      .add_option("--request", request_file_,
                  "A request as JSON; the options of single fields override it. JSON writes _ "
                  "instead of -; here both are read")
      ->option_text("FILE")
      ->group(kRequestGroup);
  command.add_option("--preset", preset_, "Shape preset by name (see: expertscope list presets)")
      ->option_text("NAME")
      ->group(kRequestGroup);
  std::vector<RequestOption> options = request_options();
  const auto place = [](const RequestOption& option) { return option.about; };
  std::ranges::sort(options, {}, place);  // all are in one table, whose order is the help's
  for (RequestOption& one : options) {
    Field& field = fields_.emplace_back(Field{.is = std::move(one)});
    field.lists = lists == Lists::Allowed && is_listed_field(field.is.path);
    field.option = command
                       .add_option(dashed(fmt::format("--{}", fmt::join(field.is.names, ",--"))),
                                   field.text, help_of(field.is))
                       ->option_text(" ")
                       ->group(kSettingGroups[static_cast<std::size_t>(field.is.about->group)]);
    const std::string former(field.is.rules.formerly);
    if (former.empty()) continue;
    const std::string record = field.is.path.substr(0, field.is.path.rfind('.') + 1);
    // Scripts still have it; the help does not.
    field.former =
        command.add_option(dashed(fmt::format("--{},--{}{}", former, record, former)), field.text)
            ->group("");
  }
}

bool RequestOptions::given_field(std::string_view name) const {
  return std::ranges::any_of(
      fields_, [name](const Field& field) { return field.is.path == name && field.given(); });
}

engine::Result<std::vector<NumberAxis>> RequestOptions::number_axes() const {
  std::vector<NumberAxis> axes;
  for (const Field& field : fields_) {
    if (!field.several()) continue;
    ENGINE_ASSIGN(NumberAxis axis, read_axis(field.is.path, own_names(field.is, field.text),
                                             typed_option(field.is.path)));
    axes.push_back(std::move(axis));
  }
  return axes;
}

std::string RequestOptions::given() const {
  if (!request_file_.empty()) return "--request";
  if (!preset_.empty()) return "--preset";
  for (const Field& field : fields_) {
    if (field.given()) return typed_option(field.is.path);
  }
  return {};
}

std::string RequestOptions::library_file() const {
  return given_field("cublaslt_library") ? std::string() : request_file_;
}

CLI::Option& RequestOptions::option_of(std::string_view path) {
  return *std::ranges::find(fields_, path, [](const Field& field) {
            return field.is.path;
          })->option;
}

namespace {

engine::Status apply_preset(const std::string& name, engine::RunRequest& request) {
  ENGINE_ASSIGN(const engine::ShapePreset preset, find_preset(name));
  engine::apply_preset(preset, request);
  return {};
}

/// `typed`: how the message names the option.
engine::Status set_field(const RequestOption& option, const std::string& text,
                         const std::string& typed, engine::RunRequest& request) {
  if (engine::set_leaf(engine::kType<engine::RunRequest>, &request, option.path,
                       std::string(own_name(*option.type, option.path, text)))) {
    return {};
  }
  const bool lists = text.find(',') != std::string::npos && is_listed_field(option.path);
  return invalid_argument(fmt::format("{} is '{}'{}; it must be {}{}", typed, text,
                                      engine::nearest_name(*option.type, text), option.expected,
                                      lists ? "; expertscope sweep takes a list" : ""));
}

}  // namespace

engine::Result<engine::RunRequest> RequestOptions::resolve(
    const IsHere& is_here, engine::RunRequest request, std::span<const TypedSetting> more) const {
  if (!request_file_.empty()) {
    ENGINE_ASSIGN(request, read_request(request_file_));
  }
  if (!preset_.empty()) ENGINE_TRY(apply_preset(preset_, request));
  ENGINE_ASSIGN(const std::vector<NumberAxis> axes, number_axes());
  for (const NumberAxis& axis : axes) {
    engine::set_leaf(engine::kType<engine::RunRequest>, &request, axis.field, axis.values.front());
  }
  for (const Field& field : fields_) {
    if (!field.given() || field.several()) continue;
    ENGINE_TRY(set_field(field.is, field.text, typed_option(field.is.path), request));
  }
  for (const TypedSetting& one : more) {
    if (one.option == nullptr) ENGINE_TRY(apply_preset(one.value, request));
  }
  bool names_preset = given_field("shape.preset");
  for (const TypedSetting& one : more) {
    if (one.option == nullptr) continue;
    ENGINE_TRY(set_field(*one.option, one.value, one.typed, request));
    names_preset = names_preset || one.option->path == "shape.preset";
  }
  if (axes.empty()) ENGINE_TRY(engine::validate(request));
  const std::string named = names_preset ? request.shape.preset : std::string();
  ENGINE_TRY(reconcile_preset_name(request));
  if (!named.empty() && request.shape.preset.empty()) {
    return invalid_argument(
        fmt::format("--shape.preset only names the sizes of a preset, and these are others than "
                    "those of '{}': take it with --preset",
                    named));
  }
  if (is_here(request.routing.path)) ENGINE_TRY(check_readings(request.routing));
  return request;
}

}  // namespace app::cli
