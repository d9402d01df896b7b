// A count as people read it: with its digits in groups. Files have plain numbers.
#pragma once

#include <concepts>
#include <string>

namespace engine {

/// "1234567" -> "1 234 567"; a sign stays in front.
std::string grouped_digits(const std::string& whole_number);

/// 1234567 -> "1 234 567".
template <std::integral Count>
std::string count_text(Count count) {
  return grouped_digits(std::to_string(count));
}

}  // namespace engine
