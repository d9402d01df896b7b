// Presenting: the window shows one card at a time. Which card that is, where the next one lies, and
// what the user had on screen before.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/controllers/session_view.h"

namespace app {

/// Times the user's own size of text; less for a card that would not be seen whole.
inline constexpr float kPresentedScale = 1.5F;
/// Of text that would leave a part of the screen empty.
inline constexpr float kLargestPresentedScale = 3.5F;

/// A card that the user has chosen to present.
struct PresentedCard {
  Page page = Page::Performance;
  std::string view{};  // of the page
  std::string card{};  // "performance.roofline_card"

  bool operator==(const PresentedCard&) const = default;
};

class Presentation {
 public:
  struct Place {
    Page page = Page::Performance;
    std::string view{};  // empty = the page's first

    bool operator==(const Place&) const = default;
  };
  /// The page on screen, and the view of each page.
  struct Before {
    Page page = Page::Performance;
    std::array<std::string, kPages.size()> views{};
    const std::string& view() const { return views[static_cast<std::size_t>(page)]; }
  };

  bool on() const { return before_.has_value(); }
  /// What end() restores; null = nothing is presented.
  const Before* before() const { return before_ ? &*before_ : nullptr; }
  /// Starts with the first card of the page on screen, or, if the user has chosen cards, with the
  /// first of those: then their order is the walk.
  std::optional<Place> begin(Before before, std::vector<PresentedCard> chosen = {});
  /// Returns what was on screen before.
  Before end() { return *std::exchange(before_, std::nullopt); }

  /// Where to go; nullopt = the step stays where it is. Nothing comes after the last card of the
  /// last page, or before the first one of the first.
  std::optional<Place> next();
  std::optional<Place> previous();
  /// Of the page on screen, or of the chosen cards.
  std::optional<Place> first();
  std::optional<Place> last();

  /// The chosen cards that are walked; empty = all that have content.
  const std::vector<PresentedCard>& chosen() const { return chosen_; }
  /// Of those, the one on screen.
  std::size_t chosen_index() const { return index_; }
  /// The frame did not find the chosen card, or it is empty: goes on to another one. If none has
  /// content, all cards are walked.
  std::optional<Place> missed();

  /// Of text, times the user's own size.
  float scale() const { return on() ? scale_ : 1.0F; }
  /// The frame showed a card whose content would fit at this part of its scale: above 1, it has
  /// room to spare. 0 = it fits at any size. One that scrolls does not get smaller than usual, and
  /// none larger than `most`, which the window is wide enough for.
  struct Fit {
    float part = 0.0F;
    bool scrolls = false;
    float most = kLargestPresentedScale;
  };
  void fit(const Fit& shown);

  /// The card of the frame that is about to show this page; beyond the last one = the last one.
  std::size_t follow(Page page, std::string_view view);
  /// What the frame showed. A page without cards is presented as it is, as one card.
  void drawn(std::size_t card, std::size_t cards);

 private:
  static constexpr std::size_t kLast = static_cast<std::size_t>(-1);
  std::optional<Place> go(bool forward);
  std::optional<Place> to_chosen(std::size_t index, bool forward);

  std::optional<Before> before_;
  // As the newest frame showed it.
  Page page_ = Page::Performance;
  std::string view_;
  std::size_t card_ = 0;
  std::size_t cards_ = 0;    // 0 = the page has not been drawn yet
  std::size_t arrival_ = 0;  // the card with which the next page begins
  float scale_ = kPresentedScale;
  std::vector<PresentedCard> chosen_;
  std::size_t index_ = 0;
  std::size_t misses_ = 0;  // since a chosen card was found
  bool forward_ = true;
};

}  // namespace app
