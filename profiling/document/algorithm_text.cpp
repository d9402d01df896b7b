#include "profiling/document/algorithm_text.h"

#include <fmt/format.h>

#include "profiling/document/quantity.h"

namespace profiling {

std::string algorithm_text(const engine::AlgorithmChoice& choice) {
  if (choice.candidates == 0) return "the library's first choice, not timed";
  const std::string first = duration_text(1e3 * choice.first_us);
  if (choice.candidates == 1) return first + ", the only algorithm that cuBLASLt offers";
  if (choice.chosen == 0 || choice.first_us <= 0) {
    return fmt::format("{}, the first of {} is the fastest", first, choice.candidates);
  }
  return fmt::format(
      "{} → {}, {:.1f} % less (number {} of {})", first, duration_text(1e3 * choice.chosen_us),
      100.0 * (1.0 - choice.chosen_us / choice.first_us), choice.chosen + 1, choice.candidates);
}

}  // namespace profiling
