// Whether two programs understand each other: only if all their messages are the same.
#pragma once

#include <google/protobuf/descriptor.h>

#include <cstdint>

namespace app {

/// A hash of the message and of all in it: the names, numbers and types of fields and enumerators.
std::uint32_t version_of(const google::protobuf::Descriptor& message);

/// That of a frame. Values and their messages change together (wire_schema.h), so nobody has to
/// remember to count a version. The handshake refuses any difference.
std::uint32_t protocol_version();

}  // namespace app
