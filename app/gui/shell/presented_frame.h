// What the window shows. Most frames after an event look like the one before, and where the
// processor draws them, as on machines without a driver for their GPU, each costs tens of
// milliseconds: those are built, since they decide what a click meets, and not drawn.
#pragma once

#include <imgui.h>

#include <cstdint>
#include <optional>

namespace app {

class PresentedFrame {
 public:
  /// Whether `data` gives other pixels than those that were presented last; then these are, from
  /// now on. `width`, `height`: of the framebuffer, in pixels.
  bool changes_to(const ImDrawData& data, int width, int height, ImU32 background);
  /// The window may have lost its pixels.
  void lost() { shown_.reset(); }

 private:
  std::optional<std::uint64_t> shown_;
};

}  // namespace app
