#include "app/protocol/terminal_text.h"

#include <cstdint>

#include "engine/model/text.h"

namespace app {

std::string terminal_text(std::string_view text) {
  constexpr std::string_view kLineEnd = "\r\n";
  std::string safe;
  for (std::size_t end = text.find(kLineEnd); end != text.npos; end = text.find(kLineEnd)) {
    safe += engine::shown_text(text.substr(0, end), SIZE_MAX);
    safe += kLineEnd;
    text.remove_prefix(end + kLineEnd.size());
  }
  return safe + engine::shown_text(text, SIZE_MAX);
}

}  // namespace app
