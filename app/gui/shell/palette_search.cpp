#include "app/gui/shell/palette_search.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <utility>

namespace app {
namespace {

constexpr int kNone = std::numeric_limits<int>::min() / 2;
constexpr int kLetter = 1;
constexpr int kWordStart = 8;
constexpr int kFollows = 10;
constexpr int kTextStart = 4;

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }
bool word_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

std::vector<std::string> search_words(std::string_view text) {
  std::vector<std::string> words;
  bool inside = false;
  for (const char c : text) {
    if (word_letter(c)) {
      if (!inside) words.emplace_back();
      words.back() += lower(c);
    }
    inside = word_letter(c);
  }
  return words;
}

/// How what was typed matches an entry, the best last. An action's name says more of it than its
/// other words do, and the word that its name begins with, "Export all ...", most.
enum class WordMatch {
  Letters,
  OtherBeginning,
  NameBeginning,
  OtherWord,
  NameWord,
  MainBeginning,
  MainWord
};

/// The words that a name and each of its parts begin with: "graphs" and "memory" of "Graphs:
/// Memory".
std::vector<std::string> main_words_of(std::string_view title) {
  std::vector<std::string> words;
  while (!title.empty()) {
    const std::size_t colon = std::min(title.find(": "), title.size());
    std::vector<std::string> part = search_words(title.substr(0, colon));
    if (!part.empty()) words.push_back(std::move(part.front()));
    title.remove_prefix(std::min(colon + 2, title.size()));
  }
  return words;
}

struct EntryWords {
  std::vector<std::string> main;
  std::vector<std::string> name;
  std::vector<std::string> other;
};

WordMatch match_of_word(const std::string& typed, const EntryWords& words) {
  const auto begins = [&typed](const std::string& word) { return word.starts_with(typed); };
  const auto is_in = [&typed](const std::vector<std::string>& list) {
    return std::ranges::find(list, typed) != list.end();
  };
  if (is_in(words.main)) return WordMatch::MainWord;
  if (std::ranges::any_of(words.main, begins)) return WordMatch::MainBeginning;
  if (is_in(words.name)) return WordMatch::NameWord;
  if (is_in(words.other)) return WordMatch::OtherWord;
  if (std::ranges::any_of(words.name, begins)) return WordMatch::NameBeginning;
  return std::ranges::any_of(words.other, begins) ? WordMatch::OtherBeginning : WordMatch::Letters;
}

/// The worst match of any typed word.
WordMatch word_match(const std::vector<std::string>& typed, const PaletteEntry& entry) {
  if (typed.empty()) return WordMatch::Letters;
  const EntryWords words{.main = main_words_of(entry.title),
                         .name = search_words(entry.title),
                         .other = search_words(entry.group + " " + entry.words)};
  WordMatch match = WordMatch::MainWord;
  for (const std::string& one : typed) match = std::min(match, match_of_word(one, words));
  return match;
}

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
      const bool begins = word_letter(text[i]) && (i == 0 || !word_letter(text[i - 1]));
      if (begins) bonus += kWordStart;
      if (i == 0) bonus += kTextStart;
      // After the first, a letter begins a word or follows the one before it.
      int score = letter == 0 || begins ? best_before + bonus : kNone;
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

std::optional<int> other_word_score(std::string_view typed, std::string_view words) {
  if (typed.size() < 2) return std::nullopt;
  const auto same = [](char a, char b) { return lower(a) == lower(b); };
  std::optional<int> best;
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(' '));
    words.remove_prefix(std::min(word.size() + 1, words.size()));
    if (word.size() < typed.size() ||
        !std::ranges::equal(typed, word.substr(0, typed.size()), same)) {
      continue;
    }
    best = std::max(best, subsequence_score(typed, word));
  }
  return best;
}

std::vector<std::size_t> palette_matches(const std::vector<PaletteEntry>& entries,
                                         const std::string& typed) {
  std::vector<std::size_t> order;
  std::vector<int> scores(entries.size());
  std::vector<WordMatch> words(entries.size(), WordMatch::Letters);
  const std::vector<std::string> typed_words = search_words(typed);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const PaletteEntry& entry = entries[i];
    const auto title = subsequence_score(typed, entry.title + " " + entry.group);
    const auto word = other_word_score(typed, entry.words);
    words[i] = word_match(typed_words, entry);
    const bool several = typed_words.size() > 1 && words[i] != WordMatch::Letters;
    if (!title && !word && !several) continue;
    scores[i] = std::max(title.value_or(0), word.value_or(0));
    order.push_back(i);
  }
  // Letters are for what is typed in short: where words match, they only add noise.
  const bool any_word =
      std::ranges::any_of(order, [&](std::size_t at) { return words[at] != WordMatch::Letters; });
  if (any_word) {
    std::erase_if(order, [&](std::size_t at) { return words[at] == WordMatch::Letters; });
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const bool can_a = entries[a].refusal.empty();
    const bool can_b = entries[b].refusal.empty();
    if (can_a != can_b) return can_a;
    return words[a] != words[b] ? words[a] > words[b] : scores[a] > scores[b];
  });
  return order;
}

}  // namespace app
