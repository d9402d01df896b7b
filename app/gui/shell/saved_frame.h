// What a frame leaves on disk: the control map as JSON, for window tests and accessibility tools,
// and its picture as PNG.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "app/gui/controls/panel_context.h"

namespace app {

/// The state of the window that is written with the controls.
struct WindowFacts {
  std::uint64_t frame = 0;
  int frames_left = 0;  // that follow without another event; 0 = the window rests then
  int width = 0;
  int height = 0;
  float text_scale = 1;
  ImVec2 pointer;             // as the newest frame saw it
  bool pointer_down = false;  // its first button
  std::uint64_t requested_id = 0;
  std::string request_error;  // engine::validate's sentence for the rail's request
  std::string last_error;
  bool live = false;
  bool recording = false;
  std::string recording_path;
  std::string screenshot_path;  // of the newest screenshot
  Page page = Page::Performance;
};

/// Renamed into place, so that a reader never sees half a file. Empty = written, else why not.
std::string write_control_map(const std::string& path, const ControlMap& map,
                              const SessionView& view, const WindowFacts& facts);

std::string_view link_state_name(LinkState state);

/// Reads the current framebuffer (call after rendering, before the swap). Empty = written, else why
/// not.
std::string write_screenshot(const std::string& path, int width, int height);

}  // namespace app
