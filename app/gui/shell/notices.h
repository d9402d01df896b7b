// Sentences above the workspace: what happened, until it is read. Never a modal, nothing steals the
// focus.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/gui/view.h"

namespace app {

enum class Severity { Good, Warn, Bad };

class Notices {
 public:
  /// The same text again only moves to the end.
  void add(Severity severity, std::string text);
  void clear() { notices_.clear(); }
  bool empty() const { return notices_.empty(); }
  std::size_t count() const { return notices_.size(); }
  void draw(const PanelContext& context);

 private:
  struct Notice {
    Severity severity = Severity::Good;
    std::string text;
  };
  std::vector<Notice> notices_;
};

/// One coloured strip with a sentence; buttons may follow on the same line. False = region clipped.
class Banner {
 public:
  Banner(const PanelContext& context, const char* id, ImU32 color, const std::string& text,
         float buttons_width);
  ~Banner();
  Banner(const Banner&) = delete;
  Banner& operator=(const Banner&) = delete;
};

}  // namespace app
