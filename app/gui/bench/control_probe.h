// A live window with a worker: clicks a control of the rail and waits for the plots that result.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/controllers/session_state.h"
#include "app/gui/bench/window_bench.h"
#include "app/gui/shell/frame_probe.h"

namespace app {

class ControlProbe : public FrameProbe {
 public:
  explicit ControlProbe(const WindowBenchReport& report) : report_(report) {}

  void begin(Shell& shell, std::function<void()> wake) override;
  bool wants_frame(Shell& shell) override;
  void feed(Shell& shell) override;
  bool presents() const override { return false; }
  void drawn(Shell& shell, const FrameCost& cost) override;
  const std::string& problem() const { return problem_; }

 private:
  enum class Phase { FirstRun, Rest, Click, Answer, Done };

  void enter(Phase phase);
  void answered(Shell& shell);

  const WindowBenchReport& report_;
  Phase phase_ = Phase::FirstRun;
  double entered_ms_ = 0;
  int frame_ = 0;
  double released_ms_ = 0;
  SessionState::Run before_;
  std::vector<double> extra_ms_;   // in addition to the engine's time
  std::vector<double> engine_ms_;  // the engine's own
  std::string problem_ = "the window was closed early";
};

}  // namespace app
