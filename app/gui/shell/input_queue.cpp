#include "app/gui/shell/input_queue.h"

#include <GLFW/glfw3.h>

#include <algorithm>
#include <type_traits>

namespace app {
namespace {

// GLFW numbers keys that print something below this.
constexpr int kFirstFunctionKey = GLFW_KEY_ESCAPE;
bool is_modifier(int key) { return key >= GLFW_KEY_LEFT_SHIFT && key <= GLFW_KEY_RIGHT_SUPER; }

/// ImGui asks for the state of these; of other keys only their text matters, and the state of a
/// frame need not show every press.
bool has_state(const KeyInput& one) {
  return one.key >= kFirstFunctionKey || one.key == GLFW_KEY_SPACE ||
         (one.modifiers & GLFW_MOD_CONTROL) != 0;
}

/// What one frame has taken so far.
class Frame {
 public:
  bool takes(const KeyInput& one) {
    if (has_state(one) && has(keys_, one.key)) return false;
    const bool pressed = one.action != GLFW_RELEASE;
    // What is clicked takes the focus first, and a chord is read as a whole.
    if (!buttons_.empty() || (is_modifier(one.key) && pressed_)) return false;
    const bool edits = pressed && one.key >= kFirstFunctionKey && !is_modifier(one.key);
    if (edits && text_) return false;
    keys_.push_back(one.key);
    edited_ = edited_ || edits;
    pressed_ = pressed_ || (pressed && !is_modifier(one.key));
    return true;
  }
  bool takes(const CharInput&) {
    if (edited_ || !buttons_.empty()) return false;
    return text_ = true;
  }
  bool takes(const ButtonInput& one) {
    if (has(buttons_, one.button) || scrolled_ || pressed_) return false;
    buttons_.push_back(one.button);
    return true;
  }
  bool takes(const CursorInput&) { return buttons_.empty() && !scrolled_; }
  bool takes(const ScrollInput&) {
    if (!buttons_.empty()) return false;
    return scrolled_ = true;
  }

 private:
  static bool has(const std::vector<int>& all, int one) {
    return std::ranges::find(all, one) != all.end();
  }

  std::vector<int> keys_;  // that changed
  std::vector<int> buttons_;
  bool pressed_ = false;  // a key that is no modifier
  bool edited_ = false;   // a key that edits text rather than being text
  bool text_ = false;
  bool scrolled_ = false;
};

bool is_keyboard(const InputEvent& event) {
  return std::holds_alternative<KeyInput>(event) || std::holds_alternative<CharInput>(event);
}

}  // namespace

bool ClickTimes::again(int button, double before, double now) {
  const bool soon = button == button_ && before - read_ < kDoubleClickSeconds;
  button_ = button;
  read_ = now;
  return soon;
}

void ClickTimes::take(const KeyInput& one) {
  if (one.action == GLFW_PRESS && !is_modifier(one.key)) button_ = kNoButton;
}

void InputQueue::push(const InputEvent& event) {
  // Only the last of several positions in a row matters.
  if (std::holds_alternative<CursorInput>(event) && !events_.empty() &&
      std::holds_alternative<CursorInput>(events_.back())) {
    events_.back() = event;
    return;
  }
  // A held key repeats faster than a slow window draws: what it has not seen yet counts once, so
  // that nothing goes on after the key is released.
  if (const auto* key = std::get_if<KeyInput>(&event); key != nullptr && is_waiting(*key)) return;
  events_.push_back(event);
}

bool InputQueue::is_waiting(const KeyInput& repeat) const {
  if (repeat.action != GLFW_REPEAT) return false;
  for (auto event = events_.rbegin(); event != events_.rend(); ++event) {
    const auto* key = std::get_if<KeyInput>(&*event);
    if (key != nullptr && key->key == repeat.key) return key->action != GLFW_RELEASE;
  }
  return false;
}

std::vector<InputEvent> InputQueue::next_frame() {
  std::vector<InputEvent> taken;
  Frame frame;
  const bool held = held_frames_ > 0;
  held_frames_ = std::max(held_frames_ - 1, 0);
  while (!events_.empty()) {
    const InputEvent& first = events_.front();
    if (held && is_keyboard(first)) break;
    if (!std::visit([&frame](const auto& one) { return frame.takes(one); }, first)) break;
    taken.push_back(first);
    events_.pop_front();
  }
  return taken;
}

}  // namespace app
