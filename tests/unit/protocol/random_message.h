// Fills every field of a message at random through its own description, so that a field that is
// added to the protocol is covered without touching a test. Values of ours: random_value.h.
#pragma once

#include <google/protobuf/message.h>

#include <random>

namespace app::testing {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

class RandomMessage {
 public:
  explicit RandomMessage(unsigned seed) : random_(seed) {}

  void fill(Message& message) {
    const auto& type = *message.GetDescriptor();
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& field = *type.field(i);
      // Only one field of a oneof may be set (except proto3's presence wrapper): choose at random.
      if (field.real_containing_oneof() != nullptr && number(0, 1) == 0) continue;
      if (field.is_repeated()) {
        const int count = static_cast<int>(number(1, 4));
        for (int n = 0; n < count; ++n) add(message, field);
      } else {
        set(message, field);
      }
    }
  }

 private:
  std::int64_t number(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  std::string text() { return "text " + std::to_string(number(0, 1 << 30)); }
  int enumerator(const FieldDescriptor& field) {
    return static_cast<int>(number(0, field.enum_type()->value_count() - 1));
  }

  void set(Message& message, const FieldDescriptor& field) {
    const auto& access = *message.GetReflection();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return access.SetInt32(&message, &field, static_cast<std::int32_t>(number(-1000, 1000)));
      case FieldDescriptor::CPPTYPE_INT64:
        return access.SetInt64(&message, &field, number(INT64_MIN, INT64_MAX));
      case FieldDescriptor::CPPTYPE_UINT32:
        return access.SetUInt32(&message, &field, static_cast<std::uint32_t>(number(0, 1000)));
      case FieldDescriptor::CPPTYPE_UINT64:
        return access.SetUInt64(&message, &field, random_());
      case FieldDescriptor::CPPTYPE_FLOAT:
        return access.SetFloat(&message, &field, static_cast<float>(number(-1000, 1000)) / 8.0F);
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return access.SetDouble(&message, &field, static_cast<double>(number(-1000, 1000)) / 8.0);
      case FieldDescriptor::CPPTYPE_BOOL:
        return access.SetBool(&message, &field, number(0, 1) == 1);
      case FieldDescriptor::CPPTYPE_ENUM:
        return access.SetEnumValue(&message, &field, enumerator(field));
      case FieldDescriptor::CPPTYPE_STRING:
        return access.SetString(&message, &field, text());
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return fill(*access.MutableMessage(&message, &field));
    }
  }

  void add(Message& message, const FieldDescriptor& field) {
    const auto& access = *message.GetReflection();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return access.AddInt32(&message, &field, static_cast<std::int32_t>(number(0, 1000)));
      case FieldDescriptor::CPPTYPE_INT64:
        return access.AddInt64(&message, &field, number(INT64_MIN, INT64_MAX));
      case FieldDescriptor::CPPTYPE_UINT32:
        return access.AddUInt32(&message, &field, static_cast<std::uint32_t>(number(0, 1000)));
      case FieldDescriptor::CPPTYPE_UINT64:
        return access.AddUInt64(&message, &field, random_());
      case FieldDescriptor::CPPTYPE_FLOAT:
        return access.AddFloat(&message, &field, static_cast<float>(number(-1000, 1000)) / 8.0F);
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return access.AddDouble(&message, &field, static_cast<double>(number(-1000, 1000)) / 8.0);
      case FieldDescriptor::CPPTYPE_BOOL:
        return access.AddBool(&message, &field, number(0, 1) == 1);
      case FieldDescriptor::CPPTYPE_ENUM:
        return access.AddEnumValue(&message, &field, enumerator(field));
      case FieldDescriptor::CPPTYPE_STRING:
        return access.AddString(&message, &field, text());
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return fill(*access.AddMessage(&message, &field));
    }
  }

  std::mt19937_64 random_;
};

}  // namespace app::testing
