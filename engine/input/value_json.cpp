#include "engine/input/value_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include "engine/model/run_request.h"
#include "engine/model/text.h"
#include "engine/model/values.h"

namespace engine {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// The shortest decimal number that reads back as this one: 0.1, not 0.10000000149011612.
double shortest(float value) {
  const std::string text = fmt::to_string(value);
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

ordered_json real_json(const Type& type, const void* value) {
  // + 0 makes -0 a plain 0, as text_of() does.
  const double number = real_number(type, value) + 0.0;
  if (!std::isfinite(number)) return text_of(type, value);
  return type.size == sizeof(float) ? shortest(static_cast<float>(number)) : number;
}

ordered_json record_json(const Type& type, const void* record) {
  ordered_json object = ordered_json::object();
  for (const Field& field : type.fields) {
    const void* value = field.in(record);
    if (field.type->kind == Kind::Optional) {
      value = field.type->maybe.value(value);
      if (value != nullptr) object[std::string(field.name)] = to_json(*field.type->element, value);
    } else {
      object[std::string(field.name)] = to_json(*field.type, value);
    }
  }
  return object;
}

/// Stores what a document says in a value. The first thing that is wrong ends it.
class Reader {
 public:
  std::string flaw;

  void read(const Type& type, void* value, const FieldRules& rules, const json& found,
            const FieldPath& path) {
    switch (type.kind) {
      case Kind::Record:
        return read_record(type, value, found, path);
      case Kind::List:
        return read_list(type, value, rules, found, path);
      case Kind::Choice:
        return read_choice(type, value, found, path);
      case Kind::Optional:
        return read(*type.element, type.maybe.make(value), rules, found, path);
      default:
        if (!read_number(type, value, found) && !read_text(type, value, found)) {
          refuse(path, found, expected_text(type, rules),
                 found.is_string() ? nearest_name(type, found.get_ref<const std::string&>()) : "");
        }
    }
  }

  void read_record(const Type& type, void* record, const json& found, const FieldPath& path) {
    if (!found.is_object()) {
      std::vector<std::string_view> names;
      for (const Field& field : type.fields) names.push_back(field.name);
      return refuse(path, found, fmt::format("an object with any of {}", fmt::join(names, ", ")));
    }
    for (const auto& [name, value] : found.items()) {
      const Field* field = find(type, name);
      if (field == nullptr) return unknown(type, name, path);
      read(*field->type, field->in(record), field->rules, value,
           {.above = &path, .name = field->name});
      if (!flaw.empty()) return;
    }
  }

 private:
  static const Field* find(const Type& type, std::string_view name) {
    for (const Field& field : type.fields) {
      if (is_called(field, name)) return &field;
    }
    return nullptr;
  }

  void read_list(const Type& type, void* list, const FieldRules& rules, const json& found,
                 const FieldPath& path) {
    if (!found.is_array()) return refuse(path, found, "a list");
    // Emptied first: new elements start from their defaults.
    type.list.resize(list, 0);
    if (found.size() > rules.most || !type.list.resize(list, found.size())) {
      flaw = fmt::format("{} has {} entries; it must have {}", path.text(), found.size(),
                         found.size() > rules.most ? fmt::format("at most {}", rules.most)
                                                   : fmt::to_string(type.list.size(list)));
      return;
    }
    auto* first = static_cast<char*>(type.list.data(list));
    for (std::size_t i = 0; i < found.size() && flaw.empty(); ++i) {
      read(*type.element, first + i * type.element->size, rules, found[i],
           {.above = path.above, .name = path.name, .index = i});
    }
  }

  void read_choice(const Type& type, void* choice, const json& found, const FieldPath& path) {
    std::vector<std::string> names;
    for (const std::string_view name : type.choice.names) {
      if (!name.empty()) names.emplace_back(name);
    }
    if (!found.is_object() || found.size() > 1) {
      return refuse(path, found, fmt::format("an object with one of {}", fmt::join(names, ", ")));
    }
    if (found.empty()) return;  // stays as it is
    const std::string& name = found.begin().key();
    for (std::size_t i = 0; i < type.choice.names.size(); ++i) {
      if (type.choice.types[i] == nullptr || type.choice.names[i] != name) continue;
      void* chosen = type.choice.index(choice) == i ? type.choice.chosen(choice)
                                                    : type.choice.choose(choice, i);
      return read_record(*type.choice.types[i], chosen, found.front(),
                         {.above = &path, .name = type.choice.names[i]});
    }
    flaw = fmt::format("{} has no '{}'{}; it takes one of {}", path.text(), shown_text(name, 80),
                       suggestion(name, names), fmt::join(names, ", "));
  }

  static bool read_text(const Type& type, void* value, const json& found) {
    return found.is_string() && parse(type, value, found.get_ref<const std::string&>());
  }

  /// False: the document has no number, or not one that this type holds.
  static bool read_number(const Type& type, void* value, const json& found) {
    if (found.is_boolean()) {
      return type.kind == Kind::Bool && store(type, value, std::int64_t{found.get<bool>()});
    }
    const bool number =
        type.kind == Kind::Signed || type.kind == Kind::Unsigned || type.kind == Kind::Real;
    if (!number || !found.is_number()) return false;
    if (found.is_number_unsigned()) return store(type, value, found.get<std::uint64_t>());
    if (found.is_number_integer()) return store(type, value, found.get<std::int64_t>());
    const double real = found.get<double>();
    if (type.kind == Kind::Real) {
      return store(type, value, real) && std::isfinite(real_number(type, value));
    }
    // 1e6 is a whole number as well; beyond 2^53 a double no longer tells its neighbours apart.
    constexpr double kExact = double{std::int64_t{1} << 53};
    return std::fabs(real) <= kExact && real == std::trunc(real) &&
           store(type, value, static_cast<std::int64_t>(real));
  }

  void unknown(const Type& type, const std::string& name, const FieldPath& path) {
    std::vector<std::string> names;
    for (const Field& field : type.fields) names.emplace_back(field.name);
    const std::string where = path.text();
    flaw = fmt::format("{} has no field '{}'{}; its fields are {}",
                       where.empty() ? "the document" : where, shown_text(name, 80),
                       suggestion(name, names), fmt::join(names, ", "));
  }

  void refuse(const FieldPath& path, const json& found, const std::string& expected,
              const std::string& nearest = {}) {
    const std::string where = path.text();
    flaw = fmt::format("{} is {}{}; it must be {}", where.empty() ? "the document" : where,
                       shown_text(found.dump(-1, ' ', false, json::error_handler_t::replace), 80),
                       nearest, expected);
  }
};

}  // namespace

ordered_json to_json(const Type& type, const void* value) {
  switch (type.kind) {
    case Kind::Bool:
      return signed_number(type, value) != 0;
    case Kind::Signed:
      return signed_number(type, value);
    case Kind::Unsigned:
      return unsigned_number(type, value);
    case Kind::Real:
      return real_json(type, value);
    case Kind::Record:
      return record_json(type, value);
    case Kind::List: {
      ordered_json list = ordered_json::array();
      const auto* first = static_cast<const char*>(type.list.data(const_cast<void*>(value)));
      for (std::size_t i = 0; i < type.list.size(value); ++i) {
        list.push_back(to_json(*type.element, first + i * type.element->size));
      }
      return list;
    }
    case Kind::Choice: {
      const std::size_t index = type.choice.index(value);
      ordered_json object = ordered_json::object();
      if (const Type* chosen = type.choice.types[index]) {
        object[std::string(type.choice.names[index])] =
            to_json(*chosen, type.choice.chosen(const_cast<void*>(value)));
      }
      return object;
    }
    case Kind::Optional: {
      const void* held = type.maybe.value(value);
      return held == nullptr ? ordered_json() : to_json(*type.element, held);
    }
    default:
      return text_of(type, value);
  }
}

std::string to_json_text(const Type& type, const void* value, bool indented) {
  return to_json(type, value)
      .dump(indented ? 2 : -1, ' ', false, ordered_json::error_handler_t::replace);
}

Status read_json(const Type& type, void* record, std::string_view text, const JsonLimits& limits) {
  ENGINE_ASSIGN(const json document, parse_json(text, limits));
  Reader reader;
  reader.read_record(type, record, document, {});
  if (reader.flaw.empty()) return {};
  return Error{ErrorCode::InvalidArgument, std::move(reader.flaw)};
}

Result<RunRequest> request_from_json(std::string_view text, const RunRequest& base) {
  constexpr JsonLimits kLimits{.max_name_bytes = 256, .max_text_bytes = kMaxNameBytes};
  RunRequest request = base;
  ENGINE_TRY(read_json(request, text, kLimits));
  ENGINE_TRY(validate(request));
  return request;
}

Result<RunRequest> request_from_json(std::string_view text) {
  return request_from_json(text, RunRequest{});
}

}  // namespace engine
