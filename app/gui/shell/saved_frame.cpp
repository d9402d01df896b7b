// Both are written only when asked for. glReadPixels is OpenGL 1.0, so no loader is needed for it;
// libpng's simplified interface does not use setjmp in our frames.
#include "app/gui/shell/saved_frame.h"

#include <GL/gl.h>
#include <png.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/model/path_text.h"

namespace app {
namespace {

using nlohmann::json;

json control(const ControlEntry& entry) {
  return {{"id", entry.id},
          {"label", entry.label},
          {"kind", entry.kind},
          {"value", entry.value},
          {"rect", {entry.min.x, entry.min.y, entry.max.x, entry.max.y}},
          {"enabled", entry.enabled},
          {"reason", entry.reason},
          {"visible", entry.visible}};
}

}  // namespace

std::string_view link_state_name(LinkState state) {
  switch (state) {
    case LinkState::Starting:
      return "starting";
    case LinkState::Responsive:
      return "responsive";
    case LinkState::Busy:
      return "busy";
    case LinkState::Stalled:
      return "stalled";
    case LinkState::Lost:
      break;
  }
  return "lost";
}

std::string write_control_map(const std::string& path, const ControlMap& map,
                              const SessionView& view, const WindowFacts& facts) {
  json controls = json::array();
  for (const ControlEntry& entry : map.entries()) controls.push_back(control(entry));
  const json document = {
      {"frame", facts.frame},
      {"frames_left", facts.frames_left},
      {"window", {facts.width, facts.height}},
      {"text_scale", facts.text_scale},
      {"pointer", {facts.pointer.x, facts.pointer.y}},
      {"pointer_down", facts.pointer_down},
      {"state",
       {{"link", link_state_name(view.link.state)},
        {"link_reason", view.link.reason},
        {"worker_pid", view.link.pid},
        {"page", page_name(facts.page)},
        {"shown_run_id", view.run == nullptr ? 0 : view.run->result.id},
        {"run_generation", view.run_generation},
        {"runs", view.runs.size()},
        {"recipes", view.recipes},
        {"comparisons", view.comparisons.size()},
        {"comparing", view.comparing},
        {"comparison_error", view.comparison_error},
        {"batch_id", view.batch.id},
        {"batch_running", view.batch.id != 0 && view.batch.state == BatchState::Running},
        {"batch_error", view.batch.error},
        {"second_runs", view.second_runs.size()},
        {"requested_id", facts.requested_id},
        {"stale", view.stale},
        {"from_file", view.from_file},
        {"session_path", view.session_path},
        {"live", facts.live},
        {"recording", facts.recording},
        {"recording_path", facts.recording_path},
        {"screenshot_path", facts.screenshot_path},
        {"tooltip", map.tooltip()},
        {"request_error", facts.request_error},
        {"last_error", facts.last_error}}},
      {"controls", std::move(controls)}};
  // Not a ReplacedFile: a flush to the disk would delay every frame.
  const std::string beside = path + ".part";
  std::ofstream file(beside, std::ios::trunc);
  file << document.dump(-1, ' ', false, json::error_handler_t::replace) << '\n';
  file.close();
  std::error_code error;
  if (file) std::filesystem::rename(beside, path, error);
  if (file && !error) return "";
  std::filesystem::remove(beside, error);
  return "the control map could not be written to " + engine::shown_path(path);
}

std::string write_screenshot(const std::string& path, int width, int height) {
  if (width <= 0 || height <= 0) return "there is nothing to draw";
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(width) *
                                   static_cast<std::size_t>(height) * 3);
  glPixelStorei(GL_PACK_ALIGNMENT, 1);
  glReadPixels(0, 0, width, height, GL_RGB, GL_UNSIGNED_BYTE, pixels.data());
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_RGB;
  image.flags = PNG_IMAGE_FLAG_FAST;
  // A negative stride: OpenGL's first row is the lowest.
  if (png_image_write_to_file(&image, path.c_str(), 0, pixels.data(), -width * 3, nullptr) == 0) {
    return engine::shown_path(path) + ": " + image.message;
  }
  return {};
}

}  // namespace app
