// Untrusted text from a file, a worker or the clipboard: how much of it is kept, and what may be
// shown on a screen or terminal. All handling of UTF-8 bytes is here.
#pragma once

#include <climits>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/error.h"

namespace engine {

/// The maximum bytes of one text that are kept and drawn. More than the longest path that Linux
/// opens (kMaxNameBytes), so that a truncated path opens no other file. ImGui draws a wrapped text
/// with four vertices per character and counts the vertices of one text in 16 bits, so it handles
/// at most 16 383 characters.
inline constexpr std::size_t kMaxTextBytes = 8192;

/// Length of the valid sequence at the start of a text that is not empty; 0 if there is none.
/// Overlong forms, surrogates and values above U+10FFFF are not valid.
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

/// Valid UTF-8 without NUL: what a recording may hold.
bool is_clean_text(std::string_view text);

/// Limit of a name or a path, which is typed, sent and stored: the longest path that Linux opens.
/// PATH_MAX counts the NUL at the end.
inline constexpr std::size_t kMaxNameBytes = PATH_MAX - 1;
static_assert(kMaxNameBytes < kMaxTextBytes, "a name is never cut");

/// For a record's flaw(): why this name of a file cannot go to a worker or into a recording; empty
/// if it can. Replacing its invalid bytes would name another file.
Flaw flaw_of_name(std::string_view field, std::string_view name);

/// The same text with every invalid UTF-8 byte replaced by '?'.
std::string valid_utf8(std::string_view text);

/// Makes text safe for a terminal: control characters other than newline and tab, direction marks,
/// zero-width characters and invalid UTF-8 bytes become "\u001b" or "\xff". JSON stays the same
/// JSON. Text beyond `max_bytes` is cut, with "…" at its end. Idempotent.
std::string shown_text(std::string_view text, std::size_t max_bytes = kMaxTextBytes);
/// Whether shown_text() would change nothing. Allocates no memory.
bool is_shown_text(std::string_view text, std::size_t max_bytes = kMaxTextBytes);

/// Cuts the text like shown_text(), to whole characters and "…"; changes nothing else.
std::string cut_text(std::string text, std::size_t max_bytes = kMaxTextBytes);

/// A file name derived from a title: letters, digits, '-', '_' and inner dots are kept, all others
/// become '-'. Never empty, hidden or in another folder, at most 100 bytes.
std::string file_name_of(std::string_view title);

/// Words as people write them are compared in this form: letters and digits in lower case, '-' for
/// whatever stands between them. "FP8_Block" and "fp8 block" are both "fp8-block".
std::string plain_word(std::string_view text);

/// " (did you mean 'nvfp4'?)" if a word is at most two typing errors away (one for words of two or
/// three letters); otherwise the first few of which the text is a whole part: "experts" of
/// "num_experts", "routing" of "routing.alignment". Empty if there are none.
std::string suggestion(std::string_view text, const std::vector<std::string>& words);

}  // namespace engine
