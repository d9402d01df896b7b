// Names of enumerators that are stored in recordings and have been renamed since. The one place
// that knows them.
#pragma once

#include <array>
#include <string_view>
#include <utility>

namespace profiling {

/// The present name of an enumerator that a recording may store under a former name; other names
/// are returned unchanged.
constexpr std::string_view present_name(std::string_view stored) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kRenamed = {{
      {"number", "fixed-count"},  // engine::IterationEnd
      {"known", "converged"},
      {"most", "max-iterations"},
  }};
  for (const auto& [former, present] : kRenamed) {
    if (stored == former) return present;
  }
  return stored;
}

}  // namespace profiling
