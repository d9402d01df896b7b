#include "app/protocol/wire_fields.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>

#include <cassert>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

#include "engine/model/text.h"

namespace app {
namespace {

using engine::Field;
using engine::FieldPath;
using engine::Kind;
using engine::Type;
using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::RepeatedField;

/// The message is generated from the type: both have the same fields in the same order.
const FieldDescriptor& wire_field([[maybe_unused]] const Type& type, std::size_t index,
                                  const Message& message) {
  const Descriptor& fields = *message.GetDescriptor();
  assert(fields.field_count() == static_cast<int>(type.fields.size()));
  const FieldDescriptor& field = *fields.field(static_cast<int>(index));
  assert(field.name() == type.fields[index].name);
  return field;
}

bool is_column(const FieldDescriptor& wire) {
  return wire.is_repeated() && wire.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE &&
         wire.cpp_type() != FieldDescriptor::CPPTYPE_STRING;
}

/// Calls `use` with the C++ type of a numeric field's elements.
template <class Use>
void with_number_type(const FieldDescriptor& wire, const Use& use) {
  switch (wire.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
    case FieldDescriptor::CPPTYPE_ENUM:
      return use(std::int32_t{});
    case FieldDescriptor::CPPTYPE_INT64:
      return use(std::int64_t{});
    case FieldDescriptor::CPPTYPE_UINT32:
      return use(std::uint32_t{});
    case FieldDescriptor::CPPTYPE_UINT64:
      return use(std::uint64_t{});
    case FieldDescriptor::CPPTYPE_FLOAT:
      return use(float{});
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return use(double{});
    case FieldDescriptor::CPPTYPE_BOOL:
      return use(bool{});
    default:
      assert(false && "a number must travel as a number");
  }
}

// The replacement for these two calls costs a virtual call per element: too slow for a million
// records.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
template <class Wire>
const RepeatedField<Wire>& column(const Message& message, const FieldDescriptor& wire) {
  return message.GetReflection()->GetRepeatedField<Wire>(message, &wire);
}
template <class Wire>
RepeatedField<Wire>& mutable_column(Message& message, const FieldDescriptor& wire) {
  return *message.GetReflection()->MutableRepeatedField<Wire>(&message, &wire);
}
#pragma GCC diagnostic pop

/// Calls `use` with the C++ type of a number in memory.
template <class Use>
void with_memory_type(const Type& type, const Use& use) {
  if (type.kind == Kind::Bool) return use(bool{});
  if (type.kind == Kind::Real) return type.size == sizeof(float) ? use(float{}) : use(double{});
  const bool negative = type.kind == Kind::Signed || type.is_signed;
  switch (type.size) {
    case 1:
      return negative ? use(std::int8_t{}) : use(std::uint8_t{});
    case 2:
      return negative ? use(std::int16_t{}) : use(std::uint16_t{});
    case 4:
      return negative ? use(std::int32_t{}) : use(std::uint32_t{});
    default:
      return negative ? use(std::int64_t{}) : use(std::uint64_t{});
  }
}

template <class T>
T load(const void* value) {
  T number;
  std::memcpy(&number, value, sizeof(T));
  return number;
}

// ---- To the wire -------------------------------------------------------------------------------

/// Writes numbers that are `stride` bytes apart into a repeated field.
void write_numbers(const Type& type, const void* first, std::size_t count, std::size_t stride,
                   Message& message, const FieldDescriptor& wire) {
  with_number_type(wire, [&](auto wire_type) {
    using Wire = decltype(wire_type);
    RepeatedField<Wire>& out = mutable_column<Wire>(message, wire);
    out.Clear();
    out.Reserve(static_cast<int>(count));
    Wire* to = out.AddNAlreadyReserved(static_cast<int>(count));
    with_memory_type(type, [&](auto memory_type) {
      const char* from = static_cast<const char*>(first);
      for (std::size_t i = 0; i < count; ++i, from += stride) {
        to[i] = static_cast<Wire>(load<decltype(memory_type)>(from));
      }
    });
  });
}

void write_number(const Type& type, const void* value, Message& message,
                  const FieldDescriptor& wire) {
  const Reflection& access = *message.GetReflection();
  switch (wire.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return access.SetInt32(&message, &wire,
                             static_cast<std::int32_t>(engine::signed_number(type, value)));
    case FieldDescriptor::CPPTYPE_INT64:
      return access.SetInt64(&message, &wire, engine::signed_number(type, value));
    case FieldDescriptor::CPPTYPE_UINT32:
      return access.SetUInt32(&message, &wire,
                              static_cast<std::uint32_t>(engine::unsigned_number(type, value)));
    case FieldDescriptor::CPPTYPE_UINT64:
      return access.SetUInt64(&message, &wire, engine::unsigned_number(type, value));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return access.SetFloat(&message, &wire, static_cast<float>(engine::real_number(type, value)));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return access.SetDouble(&message, &wire, engine::real_number(type, value));
    case FieldDescriptor::CPPTYPE_BOOL:
      return access.SetBool(&message, &wire, engine::signed_number(type, value) != 0);
    case FieldDescriptor::CPPTYPE_ENUM:
      return access.SetEnumValue(&message, &wire,
                                 static_cast<int>(engine::signed_number(type, value)));
    default:
      assert(false && "a number must travel as a number");
  }
}

/// Consecutive records as columns of the message; clears what it held.
void write_columns(const Type& record, const void* first, std::size_t count, Message& message) {
  for (std::size_t i = 0; i < record.fields.size(); ++i) {
    const Field& field = record.fields[i];
    // Without records there is no first member.
    write_numbers(*field.type, count == 0 ? nullptr : field.in(first), count, record.size, message,
                  wire_field(record, i, message));
  }
}

void write_list(const Type& type, const void* list, Message& message, const FieldDescriptor& wire) {
  const Reflection& access = *message.GetReflection();
  const Type& element = *type.element;
  const std::size_t count = type.list.size(list);
  const char* first = static_cast<const char*>(type.list.data(const_cast<void*>(list)));
  if (element.kind == Kind::Record && !wire.is_repeated()) {
    return write_columns(element, first, count, *access.MutableMessage(&message, &wire));
  }
  if (wire.cpp_type() == FieldDescriptor::CPPTYPE_STRING && !wire.is_repeated()) {
    return access.SetString(&message, &wire, std::string(first, count));
  }
  if (is_column(wire)) return write_numbers(element, first, count, element.size, message, wire);
  for (std::size_t i = 0; i < count; ++i) {
    const void* value = first + i * element.size;
    if (element.kind == Kind::Text) {
      access.AddString(&message, &wire,
                       engine::valid_utf8(*static_cast<const std::string*>(value)));
    } else {
      write_fields(element, value, *access.AddMessage(&message, &wire));
    }
  }
}

void write_value(const Type& type, const void* value, Message& message,
                 const FieldDescriptor& wire) {
  const Reflection& access = *message.GetReflection();
  switch (type.kind) {
    case Kind::Text:
      return access.SetString(&message, &wire,
                              engine::valid_utf8(*static_cast<const std::string*>(value)));
    case Kind::Record:
      return write_fields(type, value, *access.MutableMessage(&message, &wire));
    case Kind::List:
      return write_list(type, value, message, wire);
    case Kind::Choice:
      return write_choice(type, value, *access.MutableMessage(&message, &wire));
    case Kind::Optional:
      if (const void* held = type.maybe.value(value)) {
        write_value(*type.element, held, message, wire);
      }
      return;
    default:
      return write_number(type, value, message, wire);
  }
}

// ---- From the wire -----------------------------------------------------------------------------

/// The alternative that a message's only oneof holds.
struct Chosen {
  std::size_t index;
  const FieldDescriptor* wire;
};
std::optional<Chosen> chosen_in(const Type& type, const Message& message) {
  const FieldDescriptor* wire = message.GetReflection()->GetOneofFieldDescriptor(
      message, message.GetDescriptor()->oneof_decl(0));
  for (std::size_t i = 0; wire != nullptr && i < type.choice.names.size(); ++i) {
    if (type.choice.names[i] == wire->name()) return Chosen{i, wire};
  }
  return std::nullopt;
}

class Reader {
 public:
  std::optional<engine::Error> error;

  void record(const Type& type, void* record, const Message& message, const FieldPath& path) {
    for (std::size_t i = 0; i < type.fields.size() && !error; ++i) {
      const Field& field = type.fields[i];
      const FieldDescriptor& wire = wire_field(type, i, message);
      if (wire.has_presence() && !message.GetReflection()->HasField(message, &wire)) continue;
      value(*field.type, field.in(record), message, wire, {.above = &path, .name = field.name});
    }
  }

 private:
  template <class... Parts>
  void refuse(const FieldPath& path, fmt::format_string<Parts...> words, Parts... parts) {
    if (error) return;
    error = engine::Error{
        engine::ErrorCode::Protocol,
        fmt::format("{} {}", path.text(), fmt::format(words, std::forward<Parts>(parts)...))};
  }

  template <class Number>
  void refuse_number(const Type& type, Number number, const FieldPath& path) {
    if (type.kind == Kind::Enum) {
      refuse(path, "is {}, which this version does not know", number);
    } else {
      refuse(path, "is {}, which is out of range", number);
    }
  }

  void value(const Type& type, void* value, const Message& message, const FieldDescriptor& wire,
             const FieldPath& path) {
    const Reflection& access = *message.GetReflection();
    switch (type.kind) {
      case Kind::Text:
        *static_cast<std::string*>(value) = access.GetString(message, &wire);
        return;
      case Kind::Record:
        return record(type, value, access.GetMessage(message, &wire), path);
      case Kind::List:
        return list(type, value, message, wire, path);
      case Kind::Choice:
        return choice(type, value, access.GetMessage(message, &wire), path);
      case Kind::Optional:
        return this->value(*type.element, type.maybe.make(value), message, wire, path);
      default:
        return number(type, value, message, wire, path);
    }
  }

  void number(const Type& type, void* value, const Message& message, const FieldDescriptor& wire,
              const FieldPath& path) {
    const Reflection& access = *message.GetReflection();
    switch (wire.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return take(type, value, std::int64_t{access.GetInt32(message, &wire)}, path);
      case FieldDescriptor::CPPTYPE_INT64:
        return take(type, value, access.GetInt64(message, &wire), path);
      case FieldDescriptor::CPPTYPE_UINT32:
        return take(type, value, std::uint64_t{access.GetUInt32(message, &wire)}, path);
      case FieldDescriptor::CPPTYPE_UINT64:
        return take(type, value, access.GetUInt64(message, &wire), path);
      case FieldDescriptor::CPPTYPE_FLOAT:
        return take(type, value, static_cast<double>(access.GetFloat(message, &wire)), path);
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return take(type, value, access.GetDouble(message, &wire), path);
      case FieldDescriptor::CPPTYPE_BOOL:
        return take(type, value, std::int64_t{access.GetBool(message, &wire)}, path);
      case FieldDescriptor::CPPTYPE_ENUM:
        return take(type, value, std::int64_t{access.GetEnumValue(message, &wire)}, path);
      default:
        assert(false && "a number must travel as a number");
    }
  }

  template <class Number>
  void take(const Type& type, void* value, Number number, const FieldPath& path) {
    if (!engine::store(type, value, number)) refuse_number(type, number, path);
  }

  /// Reads a repeated field into numbers that are `stride` bytes apart.
  void numbers(const Type& type, void* first, std::size_t stride, const Message& message,
               const FieldDescriptor& wire, const FieldPath& path) {
    with_number_type(wire, [&](auto wire_type) {
      using Wire = decltype(wire_type);
      const RepeatedField<Wire>& from = column<Wire>(message, wire);
      char* to = static_cast<char*>(first);
      if (type.kind == Kind::Enum) {
        for (int i = 0; i < from.size() && !error; ++i, to += stride) {
          take(type, to, static_cast<std::int64_t>(from[i]), at(path, i));
        }
        return;
      }
      with_memory_type(type, [&](auto memory_type) {
        using Memory = decltype(memory_type);
        for (int i = 0; i < from.size(); ++i, to += stride) {
          if constexpr (std::is_integral_v<Memory> && !std::is_same_v<Memory, bool> &&
                        std::is_integral_v<Wire> && !std::is_same_v<Wire, bool>) {
            if (!std::in_range<Memory>(from[i])) return refuse_number(type, from[i], at(path, i));
          }
          const auto number = static_cast<Memory>(from[i]);
          std::memcpy(to, &number, sizeof(number));
        }
      });
    });
  }

  static FieldPath at(const FieldPath& path, int index) {
    return {.above = path.above, .name = path.name, .index = static_cast<std::size_t>(index)};
  }

  void list(const Type& type, void* list, const Message& message, const FieldDescriptor& wire,
            const FieldPath& path) {
    const Reflection& access = *message.GetReflection();
    const Type& element = *type.element;
    if (element.kind == Kind::Record && !wire.is_repeated()) {
      return columns(type, list, access.GetMessage(message, &wire), path);
    }
    if (wire.cpp_type() == FieldDescriptor::CPPTYPE_STRING && !wire.is_repeated()) {
      return bytes(type, list, access.GetString(message, &wire), path);
    }
    const int count = access.FieldSize(message, &wire);
    if (!resize(type, list, static_cast<std::size_t>(count), path)) return;
    char* to = static_cast<char*>(type.list.data(list));
    if (is_column(wire)) return numbers(element, to, element.size, message, wire, path);
    for (int i = 0; i < count && !error; ++i, to += element.size) {
      if (element.kind == Kind::Text) {
        *reinterpret_cast<std::string*>(to) = access.GetRepeatedString(message, &wire, i);
      } else {
        record(element, to, access.GetRepeatedMessage(message, &wire, i), at(path, i));
      }
    }
  }

  bool resize(const Type& type, void* list, std::size_t count, const FieldPath& path) {
    if (type.list.resize(list, count)) return true;
    refuse(path, "has {} entries; it takes {}", count, type.list.size(list));
    return false;
  }

  void bytes(const Type& type, void* list, const std::string& from, const FieldPath& path) {
    if (!resize(type, list, from.size(), path) || from.empty()) return;
    char* to = static_cast<char*>(type.list.data(list));
    if (type.element->kind != Kind::Enum) {
      std::memcpy(to, from.data(), from.size());
      return;
    }
    for (std::size_t i = 0; i < from.size() && !error; ++i) {
      take(*type.element, to + i, std::int64_t{static_cast<unsigned char>(from[i])},
           {.above = path.above, .name = path.name, .index = i});
    }
  }

  void columns(const Type& type, void* list, const Message& message, const FieldPath& path) {
    const Type& element = *type.element;
    const Reflection& access = *message.GetReflection();
    const int count = access.FieldSize(message, &wire_field(element, 0, message));
    for (std::size_t i = 1; i < element.fields.size(); ++i) {
      const int size = access.FieldSize(message, &wire_field(element, i, message));
      if (size == count) continue;
      return refuse(path, "has {} of {} but {} of {}", count, element.fields.front().name, size,
                    element.fields[i].name);
    }
    if (!resize(type, list, static_cast<std::size_t>(count), path) || count == 0) return;
    void* first = type.list.data(list);
    for (std::size_t i = 0; i < element.fields.size() && !error; ++i) {
      const Field& field = element.fields[i];
      numbers(*field.type, field.in(first), element.size, message, wire_field(element, i, message),
              {.above = &path, .name = field.name});
    }
  }

  void choice(const Type& type, void* choice, const Message& message, const FieldPath& path) {
    const std::optional<Chosen> chosen = chosen_in(type, message);
    if (!chosen) return;
    value(*type.choice.types[chosen->index], type.choice.choose(choice, chosen->index), message,
          *chosen->wire, {.above = &path, .name = type.choice.names[chosen->index]});
  }
};

}  // namespace

void write_fields(const Type& type, const void* record, Message& message) {
  for (std::size_t i = 0; i < type.fields.size(); ++i) {
    const Field& field = type.fields[i];
    const void* value = field.in(record);
    if (field.rules.sparse && engine::equal(*field.type, value, field.in(type.defaults())))
      continue;
    write_value(*field.type, value, message, wire_field(type, i, message));
  }
}

engine::Status read_fields(const Type& type, void* record, const Message& message) {
  Reader reader;
  reader.record(type, record, message, {});
  if (reader.error) return std::move(*reader.error);
  return {};
}

void write_choice(const Type& type, const void* choice, Message& message) {
  const std::size_t index = type.choice.index(choice);
  if (type.choice.types[index] == nullptr) return;
  const FieldDescriptor* alternative =
      message.GetDescriptor()->FindFieldByName(std::string(type.choice.names[index]));
  write_value(*type.choice.types[index], type.choice.chosen(const_cast<void*>(choice)), message,
              *alternative);
}

engine::Status read_choice(const Type& type, void* choice, const Message& message) {
  const std::optional<Chosen> chosen = chosen_in(type, message);
  if (!chosen) {
    return engine::Error{engine::ErrorCode::Protocol, "unknown message type"};
  }
  return read_fields(*type.choice.types[chosen->index], type.choice.choose(choice, chosen->index),
                     message.GetReflection()->GetMessage(message, chosen->wire));
}

}  // namespace app
