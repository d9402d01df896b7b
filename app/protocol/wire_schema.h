// The .proto of described types (engine/model/fields.h), made from their descriptions: a member
// that is added to fields() is on the wire with the next build, which compiles this text.
//
// A record is a message with the name of its type, and its fields have the names of the members:
//   bool, integer, float, double   bool, sint32/64 or uint32/64 by sign and width, float, double
//   enumeration                    enum; words of enum_names() after the name of the enumeration
//   text                           string
//   list                           repeated; bytes where elements have one byte
//   list of records with columns   one message, <record>Columns: a repeated field for each member
//   choice                         message with a oneof of the alternatives' names
//   optional                       as what it holds, absent = none
// A field's number is its place in fields(), counted from 1, that of an alternative its place in
// the variant, and an enumerator keeps its value. So a member that is moved gets another number:
// protocol_version() in framing.h changes with it, and only programs of one build talk to each
// other. Every single number and text has presence: what is absent keeps the default of the member.
#pragma once

#include <span>
#include <string>

#include "engine/model/error.h"
#include "engine/model/fields.h"

namespace app {

/// "BenchRow" of engine::BenchRow, "RowReportOfBenchRow" of app::RowReport<engine::BenchRow>.
std::string message_name(const engine::Type& type);

/// Messages of these records and of everything in them, innermost first. Unsupported where two
/// types would have one name, or where a type has no form on the wire (a list of lists).
engine::Result<std::string> wire_schema(std::span<const engine::Type* const> records);

/// Everything that is sent between a window and its worker: app/protocol/values.proto.
engine::Result<std::string> wire_schema();

}  // namespace app
