// The phases of the benchmark, from opening the file to the idle window.
#include "app/gui/bench/recording_probe.h"
#include "app/gui/bench/frame_times.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <utility>

namespace app {
namespace {

constexpr int kSettleFrames = 30;
constexpr int kVisibleFrames = 200;
constexpr double kQuietMs = 500;
constexpr double kIdleMs = 3000;
constexpr double kFrameBudgetMs = 4;
constexpr double kVisibleBudgetMs = 1;
constexpr double kOpenBudgetMs = 1000;  // for a million records
constexpr double kMemoryBudgetBytes = 100;

/// Over all threads: the cost of opening on a busy machine.
double process_cpu_ms() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

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

}  // namespace

void RecordingProbe::enter(Phase phase) {
  phase_ = phase;
  entered_ms_ = wall_ms();
  frame_ = 0;
}

void RecordingProbe::one(const std::string& what, double value, const std::string& unit,
                         double budget) const {
  report_.row({.what = what,
               .records = records_,
               .n = 1,
               .p50 = value,
               .p95 = value,
               .maximum = value,
               .present_p50 = 0,
               .budget = budget,
               .unit = unit});
}

void RecordingProbe::begin(Shell& shell, std::function<void()> /*wake*/) {
  resident_before_bytes_ = resident_bytes();
  cpu_before_ms_ = process_cpu_ms();
  enter(Phase::Open);
  shell.carry_out(OpenFile{path_});
}

bool RecordingProbe::wants_frame(Shell& shell) {
  const double passed_ms = wall_ms() - entered_ms_;
  switch (phase_) {
    case Phase::Open:
      if (!shell.state().last_error.empty()) {
        problem_ = shell.state().last_error;
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
      for (WindowBenchRow& row : opening_.rows(records_, kFrameBudgetMs)) {
        if (row.what.starts_with("first frame")) row.budget = 0;
        report_.row(row);
      }
      for (const WindowBenchRow& row : times_.rows(records_, kFrameBudgetMs)) report_.row(row);
      for (const WindowBenchRow& row : visible_.rows(records_, kVisibleBudgetMs)) report_.row(row);
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

}  // namespace app
