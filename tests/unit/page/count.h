// How often a word is in a text.
#pragma once

#include <cstddef>
#include <string>

namespace app {

inline std::size_t count(const std::string& text, const std::string& word) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += word.size()) {
    ++found;
  }
  return found;
}

}  // namespace app
