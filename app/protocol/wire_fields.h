// Values to messages and back by protobuf's own reflection: a described field
// (engine/model/fields.h) travels in the message's field of the same name. The way in trusts
// nothing: an unknown enumerator, a number that does not fit and columns of different length are
// refused by the field's path.
//
// What travels as what:
//   record         message; a sparse one that equals its default is left out
//   number, bool   number of at least its width; enumerations also as uint32, by their numbers
//   text           string, with invalid UTF-8 replaced
//   list           repeated field; bytes where elements have one byte
//   list of        repeated message; or, where the field is one message, the columns of a table: a
//    records       repeated field for each member. Columns are several times quicker to convert and
//                  smaller: for what comes in thousands.
//   choice         message with a oneof of the alternatives' names
//   optional       message, absent = none
// An absent field with presence (optional, message) keeps the default of the member.
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
