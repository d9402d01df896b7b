// A page fills the window right of the rail. It holds a little state of its own, and does no I/O,
// takes no lock and never waits.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "app/gui/controls/panel_context.h"
#include "app/page/recording_page.h"

namespace app {

class PagePanel {
 public:
  /// Names of its views, in their order on screen; static.
  explicit PagePanel(std::span<const std::string_view> views = {}) : views_(views) {}
  virtual ~PagePanel() = default;
  /// Draws into the current ImGui window, using the whole of `size`.
  virtual void draw(const PanelContext& context, ImVec2 size) = 0;
  /// Called between frames, a few times per second: true when a background result is to be drawn.
  virtual bool tick() { return false; }
  /// What the view is about, as last drawn, where that is not the run on screen.
  virtual std::optional<PageSubject> subject() const { return std::nullopt; }
  /// The two sides that the view compares, as last drawn.
  virtual std::optional<PageComparison> compared() const { return std::nullopt; }
  /// Switches to one of the page's views; empty = its first, an unknown name changes nothing.
  void show_view(std::string_view name) {
    for (std::size_t i = 0; i < views_.size(); ++i) {
      if (views_[i] == name || (i == 0 && name.empty())) view_ = static_cast<int>(i);
    }
  }
  std::string_view view() const {
    return views_.empty() ? std::string_view() : views_[static_cast<std::size_t>(view_)];
  }
  /// Why this button of the page cannot be pressed now, whatever the page shows; empty = it can.
  virtual std::string refusal(const SessionView& /*view*/, std::string_view /*button*/) {
    return {};
  }
  /// Closes what lies in front of the page's usual content; false if nothing does.
  virtual bool close_front() { return false; }
  /// Selects as a user would, as soon as the run on screen is ready.
  virtual void select(const Selection&) {}
  virtual Selection selected() const { return {}; }

 protected:
  int view_ = 0;  // index of the one on screen

 private:
  std::span<const std::string_view> views_;
};

/// `wake` may be called from any thread when tick() would find a result.
std::unique_ptr<PagePanel> make_performance_panel(const std::function<void()>& wake);
std::unique_ptr<PagePanel> make_numerics_panel();
std::unique_ptr<PagePanel> make_graphs_panel(const std::function<void()>& wake);
std::unique_ptr<PagePanel> make_compare_panel(const std::function<void()>& wake);

}  // namespace app
