// Lets a benchmark drive the window from inside its own loop and see what every frame costs.
#pragma once

#include <functional>

namespace app {

class Shell;

/// What a frame took, in milliseconds.
struct FrameCost {
  double cpu = 0;      // of the window's thread: news, ImGui and our drawing
  double wall = 0;     // the same on the wall clock
  double present = 0;  // GL calls and swap, on the wall clock; software GL works here
};

/// All calls come from the window's thread, with its GL context current.
class FrameProbe {
 public:
  virtual ~FrameProbe() = default;
  /// `wake` ends the loop's sleep and may be called from any thread.
  virtual void begin(Shell& shell, std::function<void()> wake) = 0;
  /// Before every turn of the loop. True: draw a frame even if nothing has happened.
  virtual bool wants_frame(Shell& shell) = 0;
  /// After GLFW's input and before ImGui's NewFrame: the place to add input.
  virtual void feed(Shell& shell) = 0;
  /// False: frames are built but not given to GL, whose cost on a software renderer would drown
  /// what is measured.
  virtual bool presents() const { return true; }
  virtual void drawn(Shell& shell, const FrameCost& cost) = 0;
};

}  // namespace app
