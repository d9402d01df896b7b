// The windows that are timed: one with a recording, driven by simulated input, a live one with a
// worker, and one to which a worker elsewhere sends a large run.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "app/controllers/session_state.h"
#include "app/gui/shell/shell.h"
#include "app/gui/shell/window.h"

namespace app {

/// Milliseconds over `n` frames or tries, or the unit that `unit` names; a single number if n is 1.
struct WindowRow {
  std::string what;  // "zoom", "idle, visible", "open: first picture", ...
  std::size_t records = 0;
  std::size_t n = 0;
  double p50 = 0;
  double p95 = 0;
  double maximum = 0;
  double present_p50 = 0;  // GL and swap, not included in the above; 0 = does not apply
  double budget = 0;       // 0 = none
  std::string unit = "ms CPU";
};
/// Called as soon as a row is known.
using ReportWindowRow = std::function<void(const WindowRow&)>;

/// Frame costs by activity, and their summary.
class FrameTimes {
 public:
  void add(const std::string& what, const FrameCost& cost) {
    if (what.empty()) return;
    Costs& costs = by_what_[what];
    costs.cpu.push_back(cost.cpu);
    costs.present.push_back(cost.present);
  }

  std::vector<WindowRow> rows(std::size_t records, double budget) const;

 private:
  struct Costs {
    std::vector<double> cpu;
    std::vector<double> present;
  };
  std::map<std::string, Costs> by_what_;
};

/// A step of simulated input.
struct ScriptStep {
  std::string what;  // frames with the same name are reported together; empty = not reported
  /// Feeds one frame's input; true = this was the last.
  std::function<bool(Shell& shell, int frame)> feed;
};

/// Opens a recording, plays simulated input on all pages, then leaves the window alone.
class RecordingProbe : public FrameProbe {
 public:
  RecordingProbe(std::string path, std::size_t records, ReportWindowRow report);

  bool wants_frame(Shell& shell) override;
  void feed(Shell& shell) override;
  void drawn(Shell& shell, const FrameCost& cost) override;
  /// Empty if everything was measured.
  const std::string& problem() const { return problem_; }

 private:
  enum class Phase { Begin, Open, Settle, Script, Visible, Quiet, Idle, Done };

  void begin(Shell& shell);
  void enter(Phase phase);
  void opened(Shell& shell, const FrameCost& cost);
  void report_memory(const Shell& shell) const;
  void one(const std::string& what, double value, const std::string& unit, double budget) const;

  const std::string path_;
  const std::size_t records_;
  const ReportWindowRow report_;
  const std::vector<ScriptStep> script_;
  Phase phase_ = Phase::Begin;
  double entered_ms_ = 0;
  double resident_before_bytes_ = 0;
  double cpu_before_ms_ = 0;
  bool loaded_ = false;
  std::size_t step_ = 0;
  int frame_ = 0;  // within the step or phase
  std::string drawing_;
  FrameTimes times_;
  FrameTimes visible_;
  FrameTimes opening_;
  int idle_frames_ = 0;
  std::string problem_ = "the window was closed early";
};

/// Clicks a control of the rail and waits for the plots that result: wall time, which is what the
/// user waits for.
class ControlProbe : public FrameProbe {
 public:
  /// `control`: a switch of the rail.
  explicit ControlProbe(ReportWindowRow report, std::string control = "recipe.pow2",
                        double budget_ms = 50)
      : report_(std::move(report)), control_(std::move(control)), budget_ms_(budget_ms) {}

  bool wants_frame(Shell& shell) override;
  void feed(Shell& shell) override;
  bool presents() const override { return false; }
  void drawn(Shell& shell, const FrameCost& cost) override;
  const std::string& problem() const { return problem_; }

 private:
  enum class Phase { Begin, FirstRun, Rest, Click, Wait, Done };

  void enter(Phase phase);
  void answered(Shell& shell);

  const ReportWindowRow report_;
  const std::string control_;
  const double budget_ms_;
  Phase phase_ = Phase::Begin;
  double entered_ms_ = 0;
  int frame_ = 0;
  double released_ms_ = 0;
  SessionState::Run before_;
  std::vector<double> extra_ms_;   // in addition to the engine's time
  std::vector<double> engine_ms_;  // the engine's own
  std::string problem_ = "the window was closed early";
};

/// Orders one run with many records and draws all the time until they are on screen: what receiving
/// them costs a frame.
class ArrivalProbe : public FrameProbe {
 public:
  ArrivalProbe(engine::RunRequest request, ReportWindowRow report)
      : request_(std::move(request)), report_(std::move(report)) {}

  bool wants_frame(Shell& shell) override;
  void feed(Shell& shell) override;
  void drawn(Shell& shell, const FrameCost& cost) override;
  const std::string& problem() const { return problem_; }

 private:
  enum class Phase { Begin, FirstRun, Arriving, Shown, Done };

  void finish(Shell& shell, std::string problem);

  const engine::RunRequest request_;
  const ReportWindowRow report_;
  Phase phase_ = Phase::Begin;
  double entered_ms_ = 0;
  SessionState::Run before_;
  FrameTimes times_;
  int frame_ = 0;  // since it is on screen
  std::string problem_ = "the window was closed early";
};

}  // namespace app
