// One window with one recording: opens it, plays the script, then leaves the window alone.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "app/gui/bench/frame_times.h"
#include "app/gui/bench/window_script.h"

namespace app {

class RecordingProbe : public FrameProbe {
 public:
  RecordingProbe(std::string path, std::size_t records, const WindowBenchReport& report)
      : path_(std::move(path)), records_(records), report_(report), script_(window_script()) {}

  void begin(Shell& shell, std::function<void()> wake) override;
  bool wants_frame(Shell& shell) override;
  void feed(Shell& shell) override;
  void drawn(Shell& shell, const FrameCost& cost) override;
  /// Empty if everything was measured.
  const std::string& problem() const { return problem_; }

 private:
  enum class Phase { Open, Settle, Script, Visible, Quiet, Idle, Done };

  void enter(Phase phase);
  void opened(Shell& shell, const FrameCost& cost);
  void report_memory(const Shell& shell) const;
  void one(const std::string& what, double value, const std::string& unit, double budget) const;

  const std::string path_;
  const std::size_t records_;
  const WindowBenchReport& report_;
  const std::vector<ScriptStep> script_;
  Phase phase_ = Phase::Open;
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

}  // namespace app
