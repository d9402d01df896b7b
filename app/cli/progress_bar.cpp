#include "app/cli/progress_bar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>

namespace app::cli {
namespace {

constexpr int kCells = 24;

}  // namespace

ProgressBar::~ProgressBar() {
  if (visible_) fmt::print(stderr, "\r\x1b[K");
}

void ProgressBar::show(const LinkStatus& status) {
  if (!visible_) return;
  if (status.state == LinkState::Stalled) {
    fmt::print(stderr, "\r\x1b[Kstalled: {}", status.reason);
  } else {
    const double fraction = std::clamp(status.pulse.fraction, 0.0, 1.0);
    const auto filled = static_cast<std::size_t>(fraction * kCells);
    std::string step;
    if (status.pulse.iteration >= 0) {
      step =
          fmt::format("  iteration {} of {}", status.pulse.iteration + 1, status.pulse.iterations);
    }
    fmt::print(stderr, "\r\x1b[K[{}{}] {:3.0f} %  {}{}", std::string(filled, '#'),
               std::string(kCells - filled, '.'), fraction * 100.0,
               engine::stage_name(status.pulse.stage), step);
  }
  std::fflush(stderr);
}

}  // namespace app::cli
