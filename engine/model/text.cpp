#include "engine/model/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

namespace engine {
namespace {

constexpr std::string_view kEllipsis = "\u2026";

/// The character encoded by a valid sequence.
std::uint32_t code_point(std::string_view sequence) {
  const auto lead = static_cast<unsigned char>(sequence.front());
  if (sequence.size() == 1) return lead;
  std::uint32_t code = lead & (0x7FU >> sequence.size());
  for (const char c : sequence.substr(1))
    code = code << 6 | (static_cast<unsigned char>(c) & 0x3FU);
  return code;
}

/// Control characters, and invisible ones that change how the rest is displayed.
bool is_shown(std::uint32_t code) {
  if (code < 0x20) return code == '\n' || code == '\t';
  if (code < 0x7F) return true;
  const bool control = code <= 0x9F;
  const bool line_end = code == 0x2028 || code == 0x2029;
  const bool direction = code == 0x061C || (code >= 0x200E && code <= 0x200F) ||
                         (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
  const bool no_width = code == 0xAD || (code >= 0x200B && code <= 0x200D) || code == 0x2060 ||
                        code == 0xFEFF || (code >= 0xFFF9 && code <= 0xFFFB);
  const bool tag = code >= 0xE0000 && code <= 0xE007F;
  return !control && !line_end && !direction && !no_width && !tag;
}

/// Appends the escaped start of `text` and returns how many bytes it consumed.
std::size_t append_shown(std::string_view text, std::string& out) {
  const std::size_t length = utf8_sequence_length(text);
  if (length == 0) {
    out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    return 1;
  }
  const std::string_view sequence = text.substr(0, length);
  const std::uint32_t code = code_point(sequence);
  if (is_shown(code)) {
    out += sequence;
  } else if (code <= 0xFFFF) {
    out += fmt::format("\\u{:04x}", code);
  } else {  // as JSON spells it: a pair of surrogates
    out += fmt::format("\\u{:04x}\\u{:04x}", 0xD7C0 + (code >> 10), 0xDC00 + (code & 0x3FF));
  }
  return length;
}

/// Insertions, deletions, replacements and exchanges of two neighbours: "rnu" for "run".
std::size_t typing_errors(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  std::vector<std::size_t> above = row;
  std::vector<std::size_t> second_above;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    second_above = std::exchange(above, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
      const bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (exchanged) row[j] = std::min(row[j], second_above[j - 2] + 1);
    }
  }
  return row.back();
}

/// Whether a word has these whole words in it, neither all of it nor none.
bool has_part(std::string_view word, std::string_view part) {
  const std::string whole = '-' + plain_word(word) + '-';
  const std::string inner = '-' + plain_word(part) + '-';
  return inner.size() > 2 && inner.size() < whole.size() && whole.find(inner) != std::string::npos;
}

/// Whether it is the word without some of its inner words: "fp8-tensor" of "fp8-per-tensor".
bool leaves_words_out(std::string_view word, std::string_view text) {
  const std::string whole = plain_word(word);
  const std::string shorter = plain_word(text);
  const std::size_t dash = shorter.find('-');
  if (dash == std::string::npos || dash == 0 || shorter.size() >= whole.size()) return false;
  return whole.starts_with(shorter.substr(0, dash + 1)) && whole.ends_with(shorter.substr(dash));
}

}  // namespace

std::string plain_word(std::string_view text) {
  std::string word;
  for (const char c : text) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      word += upper ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (!word.empty() && word.back() != '-') {
      word += '-';
    }
  }
  return word;
}

bool is_clean_text(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_length(text);
    if (length == 0 || text.front() == '\0') return false;
    text.remove_prefix(length);
  }
  return true;
}

Flaw flaw_of_name(std::string_view field, std::string_view name) {
  if (name.size() > kMaxNameBytes) {
    return {
        std::string(field),
        fmt::format("has {} bytes; a name or a path has at most {}", name.size(), kMaxNameBytes),
        "choose a shorter name"};
  }
  if (is_clean_text(name)) return {};
  return {
      std::string(field),
      fmt::format("is '{}', which is not UTF-8 text without NUL; rename it, or link to it under "
                  "another name",
                  shown_text(name))};
}

std::string valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_length(text);
    length == 0 ? valid.push_back('?') : static_cast<void>(valid.append(text.substr(0, length)));
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return valid;
}

bool is_shown_text(std::string_view text, std::size_t max_bytes) {
  if (text.size() > max_bytes) return false;
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_length(text);
    if (length == 0 || !is_shown(code_point(text.substr(0, length)))) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string shown_text(std::string_view text, std::size_t max_bytes) {
  std::string shown;
  shown.reserve(std::min(text.size(), max_bytes));
  // Where to cut if the rest does not fit.
  std::size_t last_end = 0;
  while (!text.empty()) {
    text.remove_prefix(append_shown(text, shown));
    if (shown.size() + kEllipsis.size() <= max_bytes) last_end = shown.size();
    if (shown.size() > max_bytes) {
      shown.resize(last_end);
      return shown.append(kEllipsis);
    }
  }
  return shown;
}

std::string cut_text(std::string text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  std::size_t end = max_bytes - std::min(kEllipsis.size(), max_bytes);
  // Never cut inside a character.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  text.resize(end);
  return text.append(kEllipsis);
}

std::string file_name_of(std::string_view title) {
  constexpr std::size_t kMaxBytes = 100;
  std::string name(title.substr(0, kMaxBytes));
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.';
    if (!plain) c = '-';
  }
  // Leading dots hide a file or leave its folder.
  const std::size_t first = name.find_first_not_of(".-");
  return first == std::string::npos ? "unnamed" : name.substr(first);
}

std::string suggestion(std::string_view text, const std::vector<std::string>& words) {
  constexpr std::size_t kMaxLength = 64;
  if (words.empty() || text.size() > kMaxLength) return {};
  // A whole part of a word is meant rather than mistyped.
  constexpr std::size_t kMaxListed = 3;
  std::vector<std::string> listed;
  for (const std::string& word : words) {
    if (listed.size() < kMaxListed && has_part(word, text)) listed.push_back('\'' + word + '\'');
  }
  if (!listed.empty()) return fmt::format(" (did you mean {}?)", fmt::join(listed, " or "));
  const auto errors = [text](const std::string& word) { return typing_errors(text, word); };
  const auto nearest = std::ranges::min_element(words, {}, errors);
  // Two letters of three would match anything.
  const std::size_t most = std::min<std::size_t>(2, std::min(text.size(), nearest->size()) / 2);
  if (errors(*nearest) > most) {
    const auto whole = std::ranges::find_if(
        words, [text](const std::string& word) { return leaves_words_out(word, text); });
    return whole == words.end() ? std::string() : fmt::format(" (did you mean '{}'?)", *whole);
  }
  return fmt::format(" (did you mean '{}'?)", *nearest);
}

}  // namespace engine
