// Values to messages and back by protobuf's own reflection: a described type
// (engine/model/fields.h) travels in the message that is generated from it (wire_schema.h, which
// says what travels as what). Invalid UTF-8 of a text is replaced, and a sparse field that equals
// its default is left out. The way in trusts nothing: an unknown enumerator, a number that does not
// fit and columns of different length are refused by the field's path.
#pragma once

#include <google/protobuf/message.h>

#include "engine/model/values.h"

namespace app {

void write_fields(const engine::Type& type, const void* record, google::protobuf::Message& message);
/// Returns Protocol errors that begin with the path of the field. Limits are left to
/// engine::validate.
engine::Status read_fields(const engine::Type& type, void* record,
                           const google::protobuf::Message& message);

/// A choice as the only oneof of a message that may have other fields too. Errors begin with the
/// path in the alternative, without its name; a message that holds no known alternative is one.
void write_choice(const engine::Type& type, const void* choice, google::protobuf::Message& message);
engine::Status read_choice(const engine::Type& type, void* choice,
                           const google::protobuf::Message& message);

}  // namespace app
