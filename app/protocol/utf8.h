// Text for the wire. Protobuf drops a whole message whose strings are not UTF-8, and paths, file
// headers and error texts may hold any bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace app {

/// Length of the valid sequence at the start of `text`; 0 if there is none. Overlong forms,
/// surrogates and values above U+10FFFF are not valid.
constexpr std::size_t utf8_sequence_length(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead < 0xC2   ? 0
                             : lead < 0xE0 ? 2
                             : lead < 0xF0 ? 3
                             : lead < 0xF5 ? 4
                                           : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool surrogate = lead == 0xED && byte(1) > 0x9F;
  const bool beyond = lead == 0xF4 && byte(1) > 0x8F;
  return overlong || surrogate || beyond ? 0 : length;
}

/// The same text with every byte that is no UTF-8 replaced by '?'.
inline std::string wire_text(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_length(text);
    length == 0 ? valid.push_back('?') : static_cast<void>(valid.append(text.substr(0, length)));
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return valid;
}

}  // namespace app
