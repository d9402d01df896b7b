// Text for the wire. Protobuf drops a whole message whose strings are not UTF-8, and paths, file
// headers and error texts may hold any bytes.
#pragma once

#include <string>
#include <string_view>

#include "engine/model/text.h"

namespace app {

inline std::string wire_text(std::string_view text) { return engine::valid_utf8(text); }

}  // namespace app
