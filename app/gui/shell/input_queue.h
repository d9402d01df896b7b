// Input between two frames, handed to ImGui so that nothing is lost. ImGui 1.86 sees only the state
// of keys and buttons at the start of a frame: a key that goes down and up in between was never
// pressed. Here such changes wait for the next frame, in order.
#pragma once

#include <cstddef>
#include <deque>
#include <variant>
#include <vector>

namespace app {

/// As GLFW's callbacks give them.
struct KeyInput {
  int key = 0;
  int scancode = 0;
  int action = 0;  // press, release, repeat
  int modifiers = 0;
};
struct CharInput {
  unsigned int codepoint = 0;
};
struct ButtonInput {
  int button = 0;
  int action = 0;
  int modifiers = 0;
  bool again = false;  // a press soon after one of the same button
};
struct CursorInput {
  double x = 0;
  double y = 0;
};
struct ScrollInput {
  double x = 0;
  double y = 0;
};
using InputEvent = std::variant<KeyInput, CharInput, ButtonInput, CursorInput, ScrollInput>;

/// Which presses come soon enough after the one before to be a double click. Times are of reading,
/// in seconds, not of frames: on a busy machine a frame takes longer than a hand.
class ClickTimes {
 public:
  /// As desktops set it.
  static constexpr double kDoubleClickSeconds = 0.5;
  /// A press that was read at `now` and came after `before`, when input was read last: it may have
  /// waited for a frame, so the time that it is given is the earliest possible.
  bool again(int button, double before, double now);
  /// A key pressed between two clicks separates them: whoever types something and clicks into the
  /// field again is placing the cursor, not selecting a word.
  void take(const KeyInput& one);

 private:
  static constexpr int kNoButton = -1;

  int button_ = kNoButton;
  double read_ = 0;  // of the press before
};

class InputQueue {
 public:
  void push(const InputEvent& event);
  bool empty() const { return events_.empty(); }

  /// The first events that one frame can tell apart: no key or button changes twice, the mouse does
  /// not move after a click or a turn of its wheel, and text keeps its order with keys that edit
  /// it.
  std::vector<InputEvent> next_frame();
  /// Keys and text wait for this many frames: something was opened that takes the focus.
  void hold_keys(int frames) { held_frames_ = frames; }

 private:
  /// Whether a press of the same key waits.
  bool is_waiting(const KeyInput& repeat) const;

  std::deque<InputEvent> events_;
  int held_frames_ = 0;
};

}  // namespace app
