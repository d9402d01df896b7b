// Presenting: the window shows one card at a time. Which card that is, where the next one lies, and
// what the user had on screen before.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "app/controllers/session_view.h"

namespace app {

/// Times the user's own size of text.
inline constexpr float kPresentedScale = 1.5F;

class Presentation {
 public:
  /// The page on screen, and the view of each page.
  struct Before {
    Page page = Page::Performance;
    std::array<std::string, kPages.size()> views{};
    const std::string& view() const { return views[static_cast<std::size_t>(page)]; }
  };

  bool on() const { return before_.has_value(); }
  /// What end() restores; null = nothing is presented.
  const Before* before() const { return before_ ? &*before_ : nullptr; }
  /// Starts with the first card of the page on screen.
  void begin(Before before);
  /// Returns what was on screen before.
  Before end() { return *std::exchange(before_, std::nullopt); }

  /// The page whose first view is to be shown; nullopt = the step stays on this page. Nothing comes
  /// after the last card of the last page, or before the first one of the first.
  std::optional<Page> next();
  std::optional<Page> previous();
  /// Of the page on screen.
  void first() { card_ = 0; }
  void last() { card_ = kLast; }

  /// The card of the frame that is about to show this page; beyond the last one = the last one.
  std::size_t follow(Page page, std::string_view view);
  /// What the frame showed. A page without cards is presented as it is, as one card.
  void drawn(std::size_t card, std::size_t cards);

 private:
  static constexpr std::size_t kLast = static_cast<std::size_t>(-1);
  std::optional<Page> go(bool forward);

  std::optional<Before> before_;
  // As the newest frame showed it.
  Page page_ = Page::Performance;
  std::string view_;
  std::size_t card_ = 0;
  std::size_t cards_ = 0;    // 0 = the page has not been drawn yet
  std::size_t arrival_ = 0;  // the card with which the next page begins
};

}  // namespace app
