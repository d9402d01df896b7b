// A number and what it counts, in a sentence: "1 edge", "12 345 edges".
#pragma once

#include <concepts>
#include <string>
#include <string_view>

#include "engine/model/count_text.h"

namespace engine {

/// `many` is for words whose plural is not `one` and an s.
template <std::integral Count>
std::string counted(Count n, std::string_view one, std::string_view many = {}) {
  std::string text = count_text(n) + " ";
  if (n == 1) return text.append(one);
  return many.empty() ? text.append(one).append("s") : text.append(many);
}

}  // namespace engine
