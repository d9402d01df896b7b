#include "app/cli/request_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <map>
#include <optional>

#include "app/protocol/convert.h"
#include "app/protocol/paths.h"
#include "app/protocol/request_json.h"
#include "app/protocol/request_log.h"
#include "engine/input/presets.h"
#include "engine/input/regular_file.h"
#include "profiling/export/setting_names.h"

namespace app::cli {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

engine::Error refuse(std::string message) {
  return {engine::ErrorCode::InvalidArgument, std::move(message)};
}

std::vector<std::string> value_names(const EnumDescriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.value_count(); ++i) names.push_back(type.value(i)->name());
  return names;
}

std::string description_of(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_ENUM:
      return fmt::format("{}", fmt::join(value_names(*field.enum_type()), ", "));
    case FieldDescriptor::CPPTYPE_BOOL:
      return "true or false";
    case FieldDescriptor::CPPTYPE_STRING:
      return "text";
    case FieldDescriptor::CPPTYPE_FLOAT:
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return "a number";
    default:
      return "an integer";
  }
}

std::string upper_snake(std::string text) {
  for (char& c : text) {
    c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return text;
}

/// By its name, or by the end of its name if only one ends so: ZIPF for ROUTING_ZIPF.
const google::protobuf::EnumValueDescriptor* find_value(const EnumDescriptor& type,
                                                        const std::string& word) {
  if (const auto* exact = type.FindValueByName(word)) return exact;
  const google::protobuf::EnumValueDescriptor* found = nullptr;
  for (int i = 0; i < type.value_count(); ++i) {
    if (!type.value(i)->name().ends_with("_" + word)) continue;
    if (found != nullptr) return nullptr;
    found = type.value(i);
  }
  return found;
}

template <class T>
std::optional<T> parse_number(const std::string& text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

/// False when the text is no value of the field.
bool set_leaf(Message& message, const FieldDescriptor& field, const std::string& text) {
  const Reflection& access = *message.GetReflection();
  const auto set_number = [&](auto parsed, auto setter) {
    if (parsed) (access.*setter)(&message, &field, *parsed);
    return parsed.has_value();
  };
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return set_number(parse_number<std::int32_t>(text), &Reflection::SetInt32);
    case FieldDescriptor::CPPTYPE_INT64:
      return set_number(parse_number<std::int64_t>(text), &Reflection::SetInt64);
    case FieldDescriptor::CPPTYPE_UINT64:
      return set_number(parse_number<std::uint64_t>(text), &Reflection::SetUInt64);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return set_number(parse_number<float>(text), &Reflection::SetFloat);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return set_number(parse_number<double>(text), &Reflection::SetDouble);
    case FieldDescriptor::CPPTYPE_BOOL: {
      const std::string word = upper_snake(text);
      const bool yes = word == "TRUE" || word == "1" || word == "ON" || word == "YES";
      const bool no = word == "FALSE" || word == "0" || word == "OFF" || word == "NO";
      if (yes || no) access.SetBool(&message, &field, yes);
      return yes || no;
    }
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto* value = find_value(*field.enum_type(), upper_snake(text));
      if (value != nullptr) access.SetEnum(&message, &field, value);
      return value != nullptr;
    }
    case FieldDescriptor::CPPTYPE_STRING:
      access.SetString(&message, &field, text);
      return true;
    default:
      return false;
  }
}

std::string plain(const std::string& name) {
  std::string letters;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) letters += static_cast<char>(std::tolower(byte));
  }
  return letters;
}

}  // namespace

engine::Result<engine::ShapeSpec> find_preset(const std::string& name) {
  const std::string folder = assets_folder() + "/shapes";
  const engine::Result<std::vector<engine::ShapePreset>> presets = engine::load_presets(folder);
  if (!presets.ok()) return presets.error();
  std::vector<std::string> names;
  for (const engine::ShapePreset& preset : presets.value()) {
    if (plain(preset.name) == plain(name)) {
      engine::ShapeSpec shape = preset.shape;
      shape.preset = preset.name;
      return shape;
    }
    names.push_back(preset.name);
  }
  return engine::Error{
      engine::ErrorCode::NotFound,
      fmt::format("no preset is called '{}'; there are: {}", name, fmt::join(names, ", "))};
}

std::map<std::string, engine::Scaling> recipe_names() {
  std::map<std::string, engine::Scaling> names;
  for (int i = 0; i < wire::Scaling_ARRAYSIZE; ++i) {
    const auto scaling = static_cast<engine::Scaling>(i);
    names.emplace(profiling::scaling_name(scaling), scaling);
  }
  return names;
}

void RequestOptions::collect(const Descriptor& message, std::vector<const FieldDescriptor*>& path) {
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    path.push_back(&field);
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      collect(*field.message_type(), path);
    } else {
      Field& added = fields_.emplace_back();
      added.path = path;
      for (const FieldDescriptor* step : path) {
        added.name += (added.name.empty() ? "" : ".") + step->name();
      }
    }
    path.pop_back();
  }
}

void RequestOptions::add_to(CLI::App& command) {
  command.add_option("--request", request_file_, "A request as JSON; single fields override it")
      ->option_text("FILE");
  command.add_option("--preset", preset_, "Shape preset by name (see: expertscope list presets)")
      ->option_text("NAME");
  command
      .add_option("--recipe", recipe_,
                  "bf16, fp8-per-tensor, fp8-delayed, fp8-block, mxfp8 or nvfp4; the other fields "
                  "of the recipe have options of their own")
      ->option_text("NAME")
      ->check(CLI::IsMember(recipe_names()));
  std::vector<const FieldDescriptor*> path;
  collect(*wire::RunRequest::descriptor(), path);
  std::map<std::string, int> last_words;
  for (const Field& field : fields_) ++last_words[field.path.back()->name()];
  for (Field& field : fields_) {
    const std::string& last = field.path.back()->name();
    std::string names = "--" + field.name;
    // "preset" is the option above; "kind" alone would not say of what.
    if (last != field.name && last != "preset" && last != "kind" && last_words[last] == 1) {
      names += ",--" + last;
    }
    field.option = command.add_option(names, field.text, description_of(*field.path.back()))
                       ->option_text(" ")
                       ->group("Fields of the request");
  }
}

std::string RequestOptions::library_file() const {
  const auto field = std::ranges::find(fields_, "cublaslt_library", &Field::name);
  const bool by_option = field != fields_.end() && field->option->count() > 0;
  return by_option ? std::string() : request_file_;
}

engine::Result<engine::RunRequest> RequestOptions::resolve() const {
  engine::RunRequest request;
  if (!request_file_.empty()) {
    const engine::Result<std::string> text = engine::read_file(request_file_, kMaxRequestFileBytes);
    if (!text.ok()) return text.error();
    engine::Result<engine::RunRequest> parsed = request_from_json(text.value());
    if (!parsed.ok()) return refuse(request_file_ + ": " + parsed.error().message);
    request = std::move(parsed).value();
  }
  if (!preset_.empty()) {
    engine::Result<engine::ShapeSpec> shape = find_preset(preset_);
    if (!shape.ok()) return shape.error();
    request.shape = std::move(shape).value();
  }
  if (!recipe_.empty()) request.recipe.scaling = recipe_names().at(recipe_);
  wire::RunRequest message = to_wire(request);
  for (const Field& field : fields_) {
    if (field.option->count() == 0) continue;
    Message* owner = &message;
    for (std::size_t i = 0; i + 1 < field.path.size(); ++i) {
      owner = owner->GetReflection()->MutableMessage(owner, field.path[i]);
    }
    if (!set_leaf(*owner, *field.path.back(), field.text)) {
      return refuse(fmt::format("--{} is '{}'; it must be {}", field.name, field.text,
                                description_of(*field.path.back())));
    }
  }
  engine::Result<engine::RunRequest> result = from_wire(message);
  if (!result.ok()) return result;
  if (engine::Status limits = engine::validate(result.value()); !limits.ok()) {
    return limits.error();
  }
  return result;
}

}  // namespace app::cli
