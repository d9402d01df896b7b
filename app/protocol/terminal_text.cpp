#include "app/protocol/terminal_text.h"

#include <cstdint>

#include "engine/model/text.h"

namespace app {

std::string terminal_text(std::string_view text) { return engine::shown_text(text, SIZE_MAX); }

}  // namespace app
