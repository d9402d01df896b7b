// Measures wall time: it is what the user waits for.
#include "app/gui/bench/control_probe.h"

#include <algorithm>
#include <chrono>

#include "app/gui/bench/frame_times.h"
#include "app/gui/shell/shell.h"
#include "profiling/trace/statistics.h"

namespace app {
namespace {

constexpr const char* kControl = "recipe.pow2";
constexpr std::size_t kClicks = 20;
constexpr double kPatienceMs = 30'000;
constexpr double kRestMs = 150;
constexpr double kBudgetMs = 50;

}  // namespace

void ControlProbe::enter(Phase phase) {
  phase_ = phase;
  entered_ms_ = wall_ms();
  frame_ = 0;
}

void ControlProbe::begin(Shell& /*shell*/, std::function<void()> /*wake*/) {
  enter(Phase::FirstRun);
}

bool ControlProbe::wants_frame(Shell& shell) {
  if (phase_ == Phase::Done) return false;
  if (wall_ms() - entered_ms_ > kPatienceMs) {
    problem_ = "no answer within 30 s: " + shell.state().last_error;
    enter(Phase::Done);
    shell.close(1);
    return false;
  }
  const bool shown = shell.state().shown() != nullptr && !shell.state().stale();
  if (phase_ == Phase::FirstRun && shown) enter(Phase::Rest);
  if (phase_ == Phase::Rest && wall_ms() - entered_ms_ > kRestMs) enter(Phase::Click);
  return phase_ == Phase::Click;
}

void ControlProbe::feed(Shell& shell) {
  if (phase_ != Phase::Click) return;
  const auto& entries = shell.controls().entries();
  const auto found = std::ranges::find(entries, kControl, &ControlEntry::id);
  if (found == entries.end() || !found->visible || !found->enabled) {
    problem_ = std::string(kControl) + " cannot be clicked";
    enter(Phase::Done);
    return shell.close(1);
  }
  ImGuiIO& io = ImGui::GetIO();
  io.MousePos = ImVec2(found->min.x + 8.0F, 0.5F * (found->min.y + found->max.y));
  ++frame_;
  io.MouseDown[ImGuiMouseButton_Left] = frame_ == 3 || frame_ == 4;
  if (frame_ < 5) return;
  before_ = shell.state().shown();
  released_ms_ = wall_ms();
  enter(Phase::Answer);
}

void ControlProbe::answered(Shell& shell) {
  const double engine = 1e-6 * static_cast<double>(shell.state().shown()->result.wall_ns);
  engine_ms_.push_back(engine);
  extra_ms_.push_back(std::max(0.0, wall_ms() - released_ms_ - engine));
  if (extra_ms_.size() < kClicks) return enter(Phase::Rest);
  const auto row = [&](const char* what, const std::vector<double>& samples, double budget) {
    report_.row({.what = what,
                 .records = shell.state().shown()->activity.records.size(),
                 .n = samples.size(),
                 .p50 = profiling::quantile(samples, 0.5),
                 .p95 = profiling::quantile(samples, 0.95),
                 .maximum = profiling::quantile(samples, 1.0),
                 .present_p50 = 0,
                 .budget = budget,
                 .unit = "ms"});
  };
  row("control to new plots, less the engine", extra_ms_, kBudgetMs);
  row("the engine meanwhile", engine_ms_, 0);
  problem_.clear();
  enter(Phase::Done);
  shell.close(0);
}

void ControlProbe::drawn(Shell& shell, const FrameCost& /*cost*/) {
  if (phase_ != Phase::Answer) return;
  const SessionState::Run& shown = shell.state().shown();
  if (shown != before_ && !shell.state().stale()) answered(shell);
}

}  // namespace app
