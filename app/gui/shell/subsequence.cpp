// The best of all ways to place the letters, by dynamic programming: a greedy match would take the
// first "r" of "Recipe: MXFP8 run" for the r of "run".
#include "app/gui/shell/command_palette.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <string>
#include <vector>

namespace app {
namespace {

constexpr int kNone = std::numeric_limits<int>::min() / 2;
constexpr int kLetter = 1;
constexpr int kWordStart = 8;
constexpr int kFollows = 10;
constexpr int kTextStart = 4;

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }
bool word_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

}  // namespace

std::optional<int> subsequence_score(std::string_view typed, std::string_view text) {
  std::string wanted;
  for (const char c : typed) {
    if (c != ' ') wanted += lower(c);
  }
  if (wanted.empty()) return 0;
  if (text.empty()) return std::nullopt;
  // ends[i]: best score with the letters so far, the last of them at text[i].
  std::vector<int> ends(text.size(), kNone);
  for (std::size_t letter = 0; letter < wanted.size(); ++letter) {
    std::vector<int> next(text.size(), kNone);
    int best_before = letter == 0 ? 0 : kNone;  // over all earlier places
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (letter > 0 && i > 0) best_before = std::max(best_before, ends[i - 1]);
      if (lower(text[i]) != wanted[letter]) continue;
      int bonus = kLetter;
      if (word_letter(text[i]) && (i == 0 || !word_letter(text[i - 1]))) bonus += kWordStart;
      if (i == 0) bonus += kTextStart;
      int score = best_before + bonus;
      if (letter > 0 && i > 0 && ends[i - 1] > kNone) {
        score = std::max(score, ends[i - 1] + bonus + kFollows);
      }
      next[i] = score > 0 ? score : kNone;
    }
    ends = std::move(next);
  }
  const int best = *std::max_element(ends.begin(), ends.end());
  if (best <= 0) return std::nullopt;
  return best * 16 - static_cast<int>(std::min<std::size_t>(text.size(), 200));
}

}  // namespace app
