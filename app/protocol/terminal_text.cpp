#include "app/protocol/terminal_text.h"

#include <fmt/format.h>

#include "app/protocol/utf8.h"

namespace app {
namespace {

char32_t code_point(std::string_view sequence) {
  const auto byte = [sequence](std::size_t i) { return static_cast<unsigned char>(sequence[i]); };
  if (sequence.size() == 1) return byte(0);
  char32_t code = byte(0) & (0xFFU >> (sequence.size() + 1));
  for (std::size_t i = 1; i < sequence.size(); ++i) code = code << 6 | (byte(i) & 0x3FU);
  return code;
}

bool commands(char32_t code) {
  const auto within = [code](char32_t first, char32_t last) {
    return code >= first && code <= last;
  };
  return (code < 0x20 && code != '\n' && code != '\t') || within(0x7F, 0x9F) || code == 0x061C ||
         within(0x200E, 0x200F) || within(0x2028, 0x202E) || within(0x2066, 0x2069);
}

}  // namespace

std::string terminal_text(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_length(text);
    if (length == 0) {
      safe += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    } else if (const char32_t code = code_point(text.substr(0, length)); commands(code)) {
      safe += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(code));
    } else {
      safe += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return safe;
}

}  // namespace app
