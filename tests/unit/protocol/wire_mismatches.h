// Whether described types (engine/model/fields.h) and the messages of the .proto fit together, so
// that a field added to one and forgotten in the other fails a test with its name.
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <vector>

#include "engine/model/values.h"

namespace app {

/// The mismatches between a type and a message, in words; fields in `wire_only` exist only in the
/// message ("id"). Recurses into records and messages. A choice is compared with the message's
/// oneof.
std::vector<std::string> wire_mismatches(const engine::Type& type,
                                         const google::protobuf::Descriptor& message,
                                         const std::vector<std::string>& wire_only = {});

}  // namespace app
