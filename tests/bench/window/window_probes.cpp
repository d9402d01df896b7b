// Input overwrites what GLFW has read for the frame; positions come from the control map.
#include "tests/bench/window/window_probes.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <utility>

#include "profiling/trace/statistics.h"
#include "tests/support/cpu_time.h"

namespace app {
namespace {

/// Of the steady clock.
double wall_ms() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

const ControlEntry* control(const Shell& shell, const std::string& id) {
  for (const ControlEntry& entry : shell.controls().entries()) {
    if (entry.id == id) return &entry;
  }
  return nullptr;
}

/// Moves the mouse to a position in the control, 0..1 from left to right and from top to bottom.
bool move_to(const Shell& shell, const std::string& id, float part_x, float part_y) {
  const ControlEntry* entry = control(shell, id);
  if (entry == nullptr) return false;
  ImGui::GetIO().MousePos = ImVec2(entry->min.x + part_x * (entry->max.x - entry->min.x),
                                   entry->min.y + part_y * (entry->max.y - entry->min.y));
  return true;
}

float sweep_position(int frame, float period) {
  return 0.5F + 0.4F * std::sin(static_cast<float>(frame) * 6.2832F / period);
}

ScriptStep wheel(const std::string& what, const std::string& plot, float notches, bool shift,
                 int frames) {
  return {what, [=](Shell& shell, int frame) {
            if (!move_to(shell, plot, sweep_position(frame, 40.0F), 0.4F)) return true;
            ImGui::GetIO().KeyShift = shift;
            ImGui::GetIO().MouseWheel = notches;
            return frame + 1 >= frames;
          }};
}

ScriptStep hover(const std::string& what, const std::string& plot, int frames) {
  return {what, [=](Shell& shell, int frame) {
            move_to(shell, plot, sweep_position(frame, 61.0F), sweep_position(frame, 17.0F));
            return frame + 1 >= frames;
          }};
}

ScriptStep select(const std::string& what, const std::string& plot, int frames) {
  return {what, [=](Shell& shell, int frame) {
            const float part = static_cast<float>(frame) / static_cast<float>(frames);
            move_to(shell, plot, 0.3F + 0.4F * part, 0.4F);
            ImGui::GetIO().MouseDown[ImGuiMouseButton_Left] = frame > 0 && frame + 1 < frames;
            return frame + 1 >= frames;
          }};
}

ScriptStep show(Action action) {
  return {"change of page", [action](Shell& shell, int frame) {
            if (frame == 0) shell.carry_out(action);
            return frame >= 9;
          }};
}

/// Frames while a background thread's result is pending and arrives.
ScriptStep wait_frames(const std::string& what, int frames) {
  return {what, [frames](Shell&, int frame) { return frame + 1 >= frames; }};
}

void use_plot(const std::string& plot, std::vector<ScriptStep>& script) {
  script.push_back(wheel("zoom", plot, 1.0F, false, 40));
  script.push_back(wheel("pan", plot, 1.0F, true, 20));
  script.push_back(hover("hover", plot, 30));
  script.push_back(wheel("zoom", plot, -1.0F, false, 40));
  script.push_back(wheel("pan", plot, -1.0F, true, 20));
  script.push_back(hover("hover", plot, 30));
}

constexpr int kSettleFrames = 30;
constexpr int kVisibleFrames = 200;
constexpr double kQuietMs = 500;
constexpr double kIdleMs = 3000;
constexpr double kFrameBudgetMs = 4;
constexpr double kVisibleBudgetMs = 1;
constexpr double kOpenBudgetMs = 1000;  // for a million records
constexpr double kMemoryBudgetBytes = 100;

/// Over all threads: the cost of opening on a busy machine.
double process_cpu_ms() { return 1e3 * tests::cpu_seconds(); }

double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double pages = 0;
  double resident = 0;
  file >> pages >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

bool shows(const Shell& shell, const char* id) {
  return std::ranges::any_of(shell.controls().entries(),
                             [id](const ControlEntry& entry) { return entry.id == id; });
}

constexpr std::size_t kClicks = 20;
constexpr double kPatienceMs = 30'000;
constexpr double kArrivalPatienceMs = 300'000;
constexpr double kRestMs = 150;

/// Zooms, pans, hovers and selects on the plots of all pages, and switches between them.
std::vector<ScriptStep> window_script() {
  std::vector<ScriptStep> script;
  script.push_back(show(Action::ShowPerformance));
  use_plot("performance.timeline", script);
  script.push_back(select("select a range", "performance.timeline", 20));
  script.push_back(wait_frames("select a range", 60));
  use_plot("performance.iterations", script);
  script.push_back(hover("hover", "performance.experts", 60));
  script.push_back(hover("hover", "performance.durations", 60));
  script.push_back(show(Action::ShowNumerics));
  script.push_back(show(Action::ShowGraphs));
  script.push_back(wait_frames("", 200));
  use_plot("graphs.matrix", script);
  use_plot("graphs.series", script);
  for (int i = 0; i < 4; ++i) {
    script.push_back(show(Action::ShowPerformance));
    script.push_back(show(Action::ShowNumerics));
    script.push_back(show(Action::ShowGraphs));
  }
  script.push_back(show(Action::ShowPerformance));
  return script;
}

}  // namespace

std::vector<WindowRow> FrameTimes::rows(std::size_t records, double budget) const {
  std::vector<WindowRow> rows;
  for (const auto& [what, costs] : by_what_) {
    rows.push_back({.what = what,
                    .records = records,
                    .n = costs.cpu.size(),
                    .p50 = profiling::quantile(costs.cpu, 0.5),
                    .p95 = profiling::quantile(costs.cpu, 0.95),
                    .maximum = profiling::quantile(costs.cpu, 1.0),
                    .present_p50 = profiling::quantile(costs.present, 0.5),
                    .budget = budget,
                    .unit = "ms CPU per frame"});
  }
  return rows;
}

RecordingProbe::RecordingProbe(std::string path, std::size_t records, ReportWindowRow report)
    : path_(std::move(path)),
      records_(records),
      report_(std::move(report)),
      script_(window_script()) {}

void RecordingProbe::enter(Phase phase) {
  phase_ = phase;
  entered_ms_ = wall_ms();
  frame_ = 0;
}

void RecordingProbe::one(const std::string& what, double value, const std::string& unit,
                         double budget) const {
  report_({.what = what,
           .records = records_,
           .n = 1,
           .p50 = value,
           .p95 = value,
           .maximum = value,
           .present_p50 = 0,
           .budget = budget,
           .unit = unit});
}

void RecordingProbe::begin(Shell& shell) {
  resident_before_bytes_ = resident_bytes();
  cpu_before_ms_ = process_cpu_ms();
  enter(Phase::Open);
  shell.carry_out(OpenFile{path_});
}

bool RecordingProbe::wants_frame(Shell& shell) {
  const double passed_ms = wall_ms() - entered_ms_;
  switch (phase_) {
    case Phase::Begin:
      begin(shell);
      return false;
    case Phase::Open:
      if (!shell.state().file_error.empty()) {
        problem_ = shell.state().file_error;
        shell.close(1);
      }
      return false;
    case Phase::Settle:
    case Phase::Script:
    case Phase::Visible:
      return true;
    case Phase::Quiet:
      if (passed_ms > kQuietMs) enter(Phase::Idle);
      return false;
    case Phase::Idle:
      if (passed_ms < kIdleMs) return false;
      one("redraws while idle", idle_frames_, "frames in 3 s", 0);
      problem_.clear();
      enter(Phase::Done);
      shell.close(0);
      return false;
    case Phase::Done:
      return false;
  }
  return false;
}

void RecordingProbe::feed(Shell& shell) {
  drawing_.clear();
  if (phase_ == Phase::Visible) drawing_ = "idle, visible";
  if (phase_ >= Phase::Visible) ImGui::GetIO().MousePos = ImVec2(-1.0F, -1.0F);
  if (phase_ != Phase::Script) return;
  const ScriptStep& step = script_[step_];
  drawing_ = step.what;
  if (!step.feed(shell, frame_++)) return;
  frame_ = 0;
  ++step_;
}

void RecordingProbe::opened(Shell& shell, const FrameCost& cost) {
  const double passed_ms = wall_ms() - entered_ms_;
  // The first frame of a window compiles shaders and rasterises glyphs.
  opening_.add(frame_++ == 0 ? "first frame of the window" : "frames while opening", cost);
  if (!loaded_ && shell.state().shown() != nullptr) {
    loaded_ = true;
    one("open: file read", passed_ms, "ms", 0);
    one("open: file read, software GL included", process_cpu_ms() - cpu_before_ms_, "ms CPU", 0);
  }
  if (!shows(shell, "performance.timeline")) return;
  one("open: first picture", passed_ms, "ms", records_ <= 1'000'000 ? kOpenBudgetMs : 0);
  enter(Phase::Settle);
}

void RecordingProbe::report_memory(const Shell& shell) const {
  const auto count =
      static_cast<double>(std::max<std::size_t>(shell.state().shown()->activity.records.size(), 1));
  one("memory of the process, less before opening",
      (resident_bytes() - resident_before_bytes_) / count, "bytes per record", kMemoryBudgetBytes);
}

void RecordingProbe::drawn(Shell& shell, const FrameCost& cost) {
  switch (phase_) {
    case Phase::Begin:
      return;
    case Phase::Open:
      return opened(shell, cost);
    case Phase::Settle:
      if (++frame_ >= kSettleFrames) enter(Phase::Script);
      return;
    case Phase::Script:
      times_.add(drawing_, cost);
      if (!drawing_.empty()) times_.add("all of these", cost);
      if (step_ < script_.size()) return;
      report_memory(shell);
      enter(Phase::Visible);
      return;
    case Phase::Visible:
      visible_.add(drawing_, cost);
      if (++frame_ < kVisibleFrames) return;
      for (WindowRow& row : opening_.rows(records_, kFrameBudgetMs)) {
        if (row.what.starts_with("first frame")) row.budget = 0;
        report_(row);
      }
      for (const WindowRow& row : times_.rows(records_, kFrameBudgetMs)) report_(row);
      for (const WindowRow& row : visible_.rows(records_, kVisibleBudgetMs)) report_(row);
      enter(Phase::Quiet);
      return;
    case Phase::Idle:
      ++idle_frames_;
      return;
    case Phase::Quiet:
    case Phase::Done:
      return;
  }
}

void ControlProbe::enter(Phase phase) {
  phase_ = phase;
  entered_ms_ = wall_ms();
  frame_ = 0;
}

bool ControlProbe::wants_frame(Shell& shell) {
  if (phase_ == Phase::Begin) enter(Phase::FirstRun);
  if (phase_ == Phase::Done) return false;
  if (wall_ms() - entered_ms_ > kPatienceMs) {
    problem_ = "no answer within 30 s: " + shell.state().last_error;
    enter(Phase::Done);
    shell.close(1);
    return false;
  }
  const bool shown = shell.state().shown() != nullptr && !shell.state().stale();
  if (phase_ == Phase::FirstRun && shown) {
    // It is off where a run of this size takes its time.
    if (!shell.state().live) shell.carry_out(Action::ToggleLive);
    enter(Phase::Rest);
  }
  // The rest of a previewed run would delay the next answer.
  const bool arrived = !shell.state().shows_preview();
  if (phase_ == Phase::Rest && arrived && wall_ms() - entered_ms_ > kRestMs) enter(Phase::Click);
  return phase_ == Phase::Click;
}

void ControlProbe::feed(Shell& shell) {
  if (phase_ != Phase::Click) return;
  const auto& entries = shell.controls().entries();
  const auto found = std::ranges::find(entries, control_, &ControlEntry::id);
  if (found == entries.end() || !found->enabled) {
    problem_ = control_ + " cannot be clicked";
    enter(Phase::Done);
    return shell.close(1);
  }
  ImGuiIO& io = ImGui::GetIO();
  io.MousePos = ImVec2(found->min.x + 8.0F, 0.5F * (found->min.y + found->max.y));
  if (!found->visible) {  // it is further down the rail
    io.MousePos.y = 0.5F * io.DisplaySize.y;
    io.MouseWheel = -1.0F;
    return;
  }
  ++frame_;
  io.MouseDown[ImGuiMouseButton_Left] = frame_ == 3 || frame_ == 4;
  if (frame_ < 5) return;
  before_ = shell.state().shown();
  released_ms_ = wall_ms();
  enter(Phase::Wait);
}

void ControlProbe::answered(Shell& shell) {
  const double engine = 1e-6 * static_cast<double>(shell.state().shown()->result.wall_ns);
  engine_ms_.push_back(engine);
  extra_ms_.push_back(std::max(0.0, wall_ms() - released_ms_ - engine));
  if (extra_ms_.size() < kClicks) return enter(Phase::Rest);
  const auto row = [&](const char* what, const std::vector<double>& samples, double budget) {
    report_({.what = what,
             .records = shell.state().shown()->activity.records.size(),
             .n = samples.size(),
             .p50 = profiling::quantile(samples, 0.5),
             .p95 = profiling::quantile(samples, 0.95),
             .maximum = profiling::quantile(samples, 1.0),
             .present_p50 = 0,
             .budget = budget,
             .unit = "ms"});
  };
  row("control to new plots, less the engine", extra_ms_, budget_ms_);
  row("the engine meanwhile", engine_ms_, 0);
  problem_.clear();
  enter(Phase::Done);
  shell.close(0);
}

void ControlProbe::drawn(Shell& shell, const FrameCost& /*cost*/) {
  if (phase_ != Phase::Wait) return;
  const SessionState::Run& shown = shell.state().shown();
  if (shown != before_ && !shell.state().stale()) answered(shell);
}

void ArrivalProbe::finish(Shell& shell, std::string problem) {
  problem_ = std::move(problem);
  phase_ = Phase::Done;
  shell.close(problem_.empty() ? 0 : 1);
}

bool ArrivalProbe::wants_frame(Shell& shell) {
  const SessionState& state = shell.state();
  if (phase_ == Phase::Begin) {
    phase_ = Phase::FirstRun;
    entered_ms_ = wall_ms();
  }
  if (phase_ == Phase::Done) return false;
  if (wall_ms() - entered_ms_ > kArrivalPatienceMs) {
    finish(shell, "no run arrived: " + state.last_error);
    return false;
  }
  if (phase_ == Phase::FirstRun && state.shown() != nullptr && !state.stale()) {
    before_ = state.shown();
    phase_ = Phase::Arriving;
    entered_ms_ = wall_ms();
    shell.carry_out(EditRequest{.request = request_, .run = true});
  }
  return phase_ == Phase::Arriving || phase_ == Phase::Shown;
}

void ArrivalProbe::feed(Shell& /*shell*/) {
  if (phase_ < Phase::Arriving) return;
  // Somebody is at the mouse meanwhile.
  ImGuiIO& io = ImGui::GetIO();
  const auto moment = static_cast<float>(wall_ms() - entered_ms_);
  io.MousePos = ImVec2(io.DisplaySize.x * (0.6F + 0.3F * std::sin(moment / 900.0F)),
                       io.DisplaySize.y * (0.5F + 0.3F * std::cos(moment / 700.0F)));
}

void ArrivalProbe::drawn(Shell& shell, const FrameCost& cost) {
  if (phase_ < Phase::Arriving) return;
  const SessionState::Run& shown = shell.state().shown();
  if (phase_ == Phase::Arriving) {
    times_.add("frames while a run is measured and arrives", cost);
    if (shown == before_ || shell.state().stale() || shell.state().shows_preview()) return;
    phase_ = Phase::Shown;
    return;
  }
  times_.add("frames from then on", cost);
  if (++frame_ < kVisibleFrames) return;
  for (const WindowRow& row : times_.rows(shown->activity.records.size(), kFrameBudgetMs)) {
    report_(row);
  }
  finish(shell, "");
}

}  // namespace app
