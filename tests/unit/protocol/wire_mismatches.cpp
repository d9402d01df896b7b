#include "tests/unit/protocol/wire_mismatches.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>

#include <set>
#include <utility>

namespace app {
namespace {

using engine::Field;
using engine::Kind;
using engine::Type;
using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

/// A repeated field of numbers, which may be a member's column.
bool is_numbers(const FieldDescriptor& wire) {
  return wire.is_repeated() && wire.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE &&
         wire.cpp_type() != FieldDescriptor::CPPTYPE_STRING;
}

/// "fp8-block" and "FP8_BLOCK" are the same word.
std::string upper_snake(std::string_view name) {
  std::string word;
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter) {
      word += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    } else if (!word.empty() && word.back() != '_') {
      word += '_';
    }
  }
  return word;
}

class Fit {
 public:
  std::vector<std::string> mismatches;

  void record(const Type& type, const Descriptor& message, const std::set<std::string>& wire_only,
              const std::string& path) {
    if (!seen_.insert({&type, &message}).second) return;
    std::set<std::string> described = wire_only;
    for (const Field& field : type.fields) {
      const std::string name(field.name);
      described.insert(name);
      const std::string where = path + "." + name;
      const FieldDescriptor* wire = message.FindFieldByName(name);
      if (wire == nullptr) {
        say(where, "has no field on the wire");
      } else {
        value(*field.type, *wire, where);
      }
    }
    for (int i = 0; i < message.field_count(); ++i) {
      const std::string& name = message.field(i)->name();
      if (!described.contains(name)) say(path + "." + name, "is on the wire but described nowhere");
    }
  }

  void choice(const Type& type, const Descriptor& message, const std::set<std::string>& wire_only,
              const std::string& path) {
    if (message.real_oneof_decl_count() != 1) return say(path, "must have one oneof");
    int fields = 0;
    for (int i = 0; i < message.field_count(); ++i) {
      if (!wire_only.contains(message.field(i)->name())) ++fields;
    }
    for (std::size_t i = 0; i < type.choice.names.size(); ++i) {
      if (type.choice.types[i] == nullptr) continue;
      --fields;
      const std::string name(type.choice.names[i]);
      const FieldDescriptor* wire = message.FindFieldByName(name);
      if (wire == nullptr || wire->real_containing_oneof() == nullptr) {
        say(path + "." + name, "is not an alternative on the wire");
      } else {
        value(*type.choice.types[i], *wire, path + "." + name);
      }
    }
    require(fields == 0, path, "has alternatives only on the wire");
  }

 private:
  void say(const std::string& path, const std::string& what) {
    mismatches.push_back(path + " " + what);
  }
  void require(bool fits, const std::string& path, const char* what) {
    if (!fits) say(path, what);
  }

  void value(const Type& type, const FieldDescriptor& wire, const std::string& path) {
    if (type.kind == Kind::List) return list(type, wire, path);
    if (wire.is_repeated()) return say(path, "is not a list but is repeated on the wire");
    switch (type.kind) {
      case Kind::Record:
      case Kind::Choice:
        if (wire.message_type() == nullptr) return say(path, "must be a message");
        return type.kind == Kind::Record ? record(type, *wire.message_type(), {}, path)
                                         : choice(type, *wire.message_type(), {}, path);
      case Kind::Optional:
        require(wire.has_presence(), path, "is optional and must have presence");
        return value(*type.element, wire, path);
      case Kind::Text:
        return require(wire.type() == FieldDescriptor::TYPE_STRING, path, "must be a string");
      default:
        return number(type, wire, path);
    }
  }

  void list(const Type& type, const FieldDescriptor& wire, const std::string& path) {
    const Type& element = *type.element;
    if (wire.type() == FieldDescriptor::TYPE_BYTES) {
      return require(element.size == 1 && !wire.is_repeated(), path,
                     "has elements larger than a byte");
    }
    if (element.kind == Kind::Record && !wire.is_repeated() && wire.message_type() != nullptr) {
      return columns(element, *wire.message_type(), path);
    }
    if (!wire.is_repeated()) return say(path, "is a list and must be repeated");
    switch (element.kind) {
      case Kind::Record:
        if (wire.message_type() == nullptr) return say(path, "must be a message");
        return record(element, *wire.message_type(), {}, path);
      case Kind::Text:
        return require(wire.type() == FieldDescriptor::TYPE_STRING, path, "must be a string");
      case Kind::List:
      case Kind::Choice:
      case Kind::Optional:
        return say(path, "is a list of a type that has no repeated form");
      default:
        return number(element, wire, path);
    }
  }

  void columns(const Type& record, const Descriptor& message, const std::string& path) {
    for (const Field& field : record.fields) {
      const FieldDescriptor* wire = message.FindFieldByName(std::string(field.name));
      const std::string where = path + "." + std::string(field.name);
      if (wire == nullptr || !is_numbers(*wire)) {
        say(where, "has no column on the wire");
      } else {
        number(*field.type, *wire, where);
      }
    }
    require(message.field_count() == static_cast<int>(record.fields.size()), path,
            "has columns on the wire that are described nowhere");
  }

  void number(const Type& type, const FieldDescriptor& wire, const std::string& path) {
    const auto wire_type = wire.cpp_type();
    const bool wide = wire_type == FieldDescriptor::CPPTYPE_INT64 ||
                      wire_type == FieldDescriptor::CPPTYPE_UINT64 ||
                      wire_type == FieldDescriptor::CPPTYPE_DOUBLE;
    const bool is_signed =
        wire_type == FieldDescriptor::CPPTYPE_INT32 || wire_type == FieldDescriptor::CPPTYPE_INT64;
    const bool is_unsigned = wire_type == FieldDescriptor::CPPTYPE_UINT32 ||
                             wire_type == FieldDescriptor::CPPTYPE_UINT64;
    switch (type.kind) {
      case Kind::Bool:
        return require(wire_type == FieldDescriptor::CPPTYPE_BOOL, path, "must be a bool");
      case Kind::Signed:
        return require(is_signed && (type.size < 8 || wide), path,
                       "must be signed and at least as wide");
      case Kind::Unsigned:
        return require(is_unsigned && (type.size < 8 || wide), path,
                       "must be unsigned and at least as wide");
      case Kind::Real:
        return require(
            (wire_type == FieldDescriptor::CPPTYPE_FLOAT && type.size == sizeof(float)) ||
                wire_type == FieldDescriptor::CPPTYPE_DOUBLE,
            path, "must be a float or double and at least as wide");
      default:
        if (wire.enum_type() != nullptr) return enumeration(type, *wire.enum_type(), path);
        return require(wire_type == FieldDescriptor::CPPTYPE_UINT32, path,
                       "must be its enumeration or uint32");
    }
  }

  void enumeration(const Type& type, const google::protobuf::EnumDescriptor& wire,
                   const std::string& path) {
    require(wire.value_count() == static_cast<int>(type.names.size()), path,
            "has other enumerators on the wire");
    for (const engine::EnumName& entry : type.names) {
      const auto* value = wire.FindValueByNumber(static_cast<int>(entry.value));
      const std::string word = upper_snake(entry.name);
      if (value == nullptr || (value->name() != word && !value->name().ends_with("_" + word))) {
        say(path, fmt::format("calls {} {} on the wire", entry.name,
                              value == nullptr ? "nothing" : value->name()));
      }
    }
  }

  std::set<std::pair<const Type*, const Descriptor*>> seen_;
};

}  // namespace

std::vector<std::string> wire_mismatches(const Type& type, const Descriptor& message,
                                         const std::vector<std::string>& wire_only) {
  Fit fit;
  const std::set<std::string> only(wire_only.begin(), wire_only.end());
  if (type.kind == Kind::Choice) {
    fit.choice(type, message, only, message.name());
  } else {
    fit.record(type, message, only, message.name());
  }
  return std::move(fit.mismatches);
}

}  // namespace app
