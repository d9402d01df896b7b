// Text that no program should have to show, and messages made of it: for the fake worker and the
// tests of the code that reads its frames.
#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "engine/model/text.h"

namespace app::testing {

/// Without a blank to wrap at: control characters, terminal escape sequences, direction marks, then
/// ordinary letters to the end. Valid UTF-8, as Protobuf requires of a string.
inline std::string hostile_text(std::size_t bytes) {
  std::string text = "\x1b[2J\x1b]0;title\a\x01\r\b\u009b31m\u202Eabc\u2066\u200B\uFEFF%s%n##x###y";
  text.resize(bytes > text.size() ? bytes : text.size(), 'x');
  return text;
}

/// Sets every text of the message and of its submessages. Absent fields are not added, so that the
/// meaning of the message stays the same. Texts of a request are cut to what is let in as a name,
/// with room for control characters, which become longer when they are made visible: a longer one
/// is refused, and then nothing of the message is displayed.
inline void make_hostile(google::protobuf::Message& message, const std::string& long_text,
                         const std::string& but_not) {
  using google::protobuf::FieldDescriptor;
  const auto& access = *message.GetReflection();
  const auto& type = *message.GetDescriptor();
  const std::string text =
      type.name() == "RunRequest" ? long_text.substr(0, engine::kMaxNameBytes / 2) : long_text;
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (field.type() == FieldDescriptor::TYPE_STRING && field.name() != but_not) {
      if (field.is_repeated()) {
        const int count = access.FieldSize(message, &field);
        for (int n = 0; n < count; ++n) access.SetRepeatedString(&message, &field, n, text);
        if (count == 0) access.AddString(&message, &field, text);
      } else {
        access.SetString(&message, &field, text);
      }
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      const int count = field.is_repeated() ? access.FieldSize(message, &field)
                                            : static_cast<int>(access.HasField(message, &field));
      for (int n = 0; n < count; ++n) {
        make_hostile(field.is_repeated() ? *access.MutableRepeatedMessage(&message, &field, n)
                                         : *access.MutableMessage(&message, &field),
                     text, but_not);
      }
    }
  }
}

}  // namespace app::testing
