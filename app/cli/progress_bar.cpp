#include "app/cli/progress_bar.h"
#include "app/cli/terminal.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace app::cli {
namespace {

constexpr int kCells = 24;

void print_bar(double fraction, const std::string& text) {
  const double part = std::clamp(fraction, 0.0, 1.0);
  const auto filled = static_cast<std::size_t>(part * kCells);
  show_line(fmt::format("[{}{}] {:3.0f} %  {}", std::string(filled, '#'),
                        std::string(kCells - filled, '.'), part * 100.0, text));
}

}  // namespace

ProgressBar::~ProgressBar() {
  if (visible_) show_line("");
}

void ProgressBar::show(const LinkStatus& status) {
  if (!visible_) return;
  if (status.state == LinkState::Stalled) {
    show_line("stalled: " + status.reason);
  } else {
    std::string step;
    if (status.pulse.iteration >= 0) {
      step =
          fmt::format("  iteration {} of {}", status.pulse.iteration + 1, status.pulse.iterations);
    }
    print_bar(status.pulse.fraction,
              fmt::format("{}{}", engine::stage_name(status.pulse.stage), step));
  }
}

void ProgressBar::show(const LinkStatus& status, const BatchProgress& progress) {
  if (!visible_) return;
  if (status.state == LinkState::Stalled) return show(status);
  const std::string left = progress.remaining_seconds < 0.0
                               ? std::string()
                               : fmt::format(", about {:.0f} s left", progress.remaining_seconds);
  print_bar(progress.fraction,
            fmt::format("run {} of {}: {}{}", progress.measured + progress.failed + 1,
                        progress.total, progress.label, left));
}

}  // namespace app::cli
