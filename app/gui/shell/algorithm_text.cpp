#include "app/gui/shell/algorithm_text.h"

#include <fmt/format.h>

#include "app/gui/plot/plot_text.h"
#include "engine/model/projections.h"
#include "engine/model/step_tensors.h"

namespace app {

std::string algorithm_text(const engine::AlgorithmChoice& choice, engine::StepKind step) {
  const char* part = engine::symbols_of(step, engine::projection_at(choice.layer)).part;
  const std::string product =
      fmt::format("{}{}{}", engine::name_of(choice.product), *part == '\0' ? "" : " ", part);
  const std::string first = plot::duration_text(1e3 * choice.first_us);
  if (choice.candidates == 1) {
    return fmt::format("{}: {}, the only algorithm that cuBLASLt offers", product, first);
  }
  if (choice.chosen == 0 || choice.first_us <= 0) {
    return fmt::format("{}: {}, the first of {} is the fastest", product, first, choice.candidates);
  }
  return fmt::format("{}: {} → {}, {:.1f} % less (number {} of {})", product, first,
                     plot::duration_text(1e3 * choice.chosen_us),
                     100.0 * (1.0 - choice.chosen_us / choice.first_us), choice.chosen + 1,
                     choice.candidates);
}

}  // namespace app
