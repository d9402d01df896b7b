#include "app/protocol/wire_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "app/protocol/orders.h"
#include "app/protocol/worker_link.h"
#include "engine/model/values.h"

namespace app {
namespace {

using engine::Field;
using engine::FieldRules;
using engine::Kind;
using engine::Type;

constexpr std::string_view kStart =
    R"(// Generated from fields() of the value types by wire_schema, whose header says how; do not edit.
// Where a type is declared, its members are explained; a comment here gives the limits of a number.
syntax = "proto3";
package expertscope.wire;
)";

/// "FORWARD_STEP_PROGRAMMATIC" of "forward step, programmatic", "STEP_KIND" of "StepKind".
std::string upper_snake(std::string_view words) {
  std::string upper;
  bool after_small = false;
  for (const char c : words) {
    const auto byte = static_cast<unsigned char>(c);
    const bool in_word = std::isalnum(byte) != 0;
    const bool begins = !in_word || (after_small && std::isupper(byte) != 0);
    if (begins && !upper.empty() && upper.back() != '_') upper += '_';
    if (in_word) upper += static_cast<char>(std::toupper(byte));
    after_small = std::islower(byte) != 0 || std::isdigit(byte) != 0;
  }
  return upper;
}

bool is_number(const Type& type) {
  return type.kind == Kind::Bool || type.kind == Kind::Signed || type.kind == Kind::Unsigned ||
         type.kind == Kind::Real || type.kind == Kind::Enum;
}

/// What a number must be, where its type does not say it.
std::string comment_on(const Type& type, const FieldRules& rules) {
  const Type& number =
      type.kind == Kind::List || type.kind == Kind::Optional ? *type.element : type;
  if (!is_number(number) || number.kind == Kind::Bool || number.kind == Kind::Enum) return {};
  const FieldRules any;
  if (rules.low == any.low && rules.high == any.high && rules.unit.empty()) return {};
  return "  // " + engine::expected_text(number, rules);
}

class Schema {
 public:
  std::string text{kStart};
  std::optional<engine::Error> error;

  /// Defines the message, unless it has been, and returns its name.
  std::string record(const Type& type) {
    return define(type, message_name(type), [&](const std::string& name) {
      std::string lines;
      for (std::size_t i = 0; i < type.fields.size(); ++i) {
        const Field& field = type.fields[i];
        const std::string where = fmt::format("{}.{}", type.name, field.name);
        lines += fmt::format("  {} {} = {};{}\n", field_type(*field.type, field.rules, where),
                             field.name, i + 1, comment_on(*field.type, field.rules));
      }
      return fmt::format("message {} {{\n{}}}\n", name, lines);
    });
  }

 private:
  template <class Define>
  std::string define(const Type& type, const std::string& name, const Define& define) {
    const auto [known, added] = defined_.emplace(name, &type);
    if (known->second != &type) {
      refuse(fmt::format("{} and {} would both be {}", known->second->name, type.name, name));
    }
    if (!added) return name;
    // What the message uses is defined before it.
    const std::string definition = define(name);
    text += fmt::format("\n// {}\n{}", type.name, definition);
    return name;
  }

  std::string enumeration(const Type& type) {
    return define(type, message_name(type), [&](const std::string& name) {
      if (type.names.front().value != 0) {
        refuse(fmt::format("the first enumerator of {} must be 0", type.name));
      }
      std::string lines;
      for (const engine::EnumName& entry : type.names) {
        lines +=
            fmt::format("  {}_{} = {};\n", upper_snake(name), upper_snake(entry.name), entry.value);
      }
      return fmt::format("enum {} {{\n{}}}\n", name, lines);
    });
  }

  std::string choice(const Type& type) {
    return define(type, message_name(type), [&](const std::string& name) {
      std::string lines;
      for (std::size_t i = 0; i < type.choice.types.size(); ++i) {
        if (type.choice.types[i] == nullptr) continue;  // what an empty oneof says
        lines += fmt::format("    {} {} = {};\n", record(*type.choice.types[i]),
                             type.choice.names[i], i + 1);
      }
      return fmt::format("message {} {{\n  oneof kind {{\n{}  }}\n}}\n", name, lines);
    });
  }

  std::string columns(const Type& type, const std::string& where) {
    if (type.kind != Kind::Record) refuse(where + " is no list of records and has no columns");
    return define(type, message_name(type) + "Columns", [&](const std::string& name) {
      std::string lines;
      for (std::size_t i = 0; i < type.fields.size(); ++i) {
        const Field& field = type.fields[i];
        if (!is_number(*field.type)) {
          refuse(fmt::format("{}.{} is no number and cannot be a column", type.name, field.name));
        }
        lines += fmt::format("  repeated {} {} = {};{}\n", word(*field.type), field.name, i + 1,
                             comment_on(*field.type, field.rules));
      }
      return fmt::format("message {} {{\n{}}}\n", name, lines);
    });
  }

  std::string field_type(const Type& type, const FieldRules& rules, const std::string& where) {
    switch (type.kind) {
      case Kind::Record:
      case Kind::Choice:
        return word(type);
      case Kind::Optional:
        if (type.element->kind == Kind::List)
          refuse(where + " is an optional list: use an empty one");
        return field_type(*type.element, rules, where);
      case Kind::List:
        break;
      default:
        return "optional " + word(type);
    }
    const Type& element = *type.element;
    const bool byte = element.kind == Kind::Unsigned || element.kind == Kind::Enum;
    if (byte && element.size == 1) return "bytes";
    if (rules.columns) return columns(element, where);
    if (!is_number(element) && element.kind != Kind::Text && element.kind != Kind::Record) {
      refuse(where + " is a list of lists, choices or optionals: make those a record");
    }
    return "repeated " + word(element);
  }

  std::string word(const Type& type) {
    switch (type.kind) {
      case Kind::Bool:
        return "bool";
      case Kind::Signed:
        return type.size == 8 ? "sint64" : "sint32";
      case Kind::Unsigned:
        return type.size == 8 ? "uint64" : "uint32";
      case Kind::Real:
        return type.size == sizeof(float) ? "float" : "double";
      case Kind::Enum:
        return enumeration(type);
      case Kind::Choice:
        return choice(type);
      case Kind::Record:
        return record(type);
      default:
        return "string";
    }
  }

  void refuse(std::string why) {
    if (!error) error = engine::Error{engine::ErrorCode::Unsupported, std::move(why)};
  }

  std::map<std::string, const Type*> defined_;
};

}  // namespace

std::string message_name(const Type& type) {
  std::string name;
  std::size_t word = 0;  // where the last identifier begins in it
  for (const char c : type.name.substr(0, type.name.find('>'))) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      name += c;
    } else if (c == '<') {
      name += "Of";
      word = name.size();
    } else {
      name.resize(word);  // before "::" was a namespace
    }
  }
  return name;
}

engine::Result<std::string> wire_schema(std::span<const Type* const> records) {
  Schema schema;
  for (const Type* record : records) schema.record(*record);
  if (schema.error) return std::move(*schema.error);
  return std::move(schema.text);
}

engine::Result<std::string> wire_schema() {
  std::vector<const Type*> records = {&engine::kType<WorkerHello>, &engine::kType<PulseReport>,
                                      &engine::kType<FileQuestion>, &engine::kType<FileReport>};
  std::ranges::copy(engine::kType<Task>.choice.types, std::back_inserter(records));
  std::ranges::copy(engine::kType<Answer>.choice.types, std::back_inserter(records));
  return wire_schema(records);
}

}  // namespace app
