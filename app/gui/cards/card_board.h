// The cards of a page as the user has arranged them: a plan cuts the page into rows and columns,
// splitters between neighbours resize them, and a double click on a title fills the page with that
// card. What is too low for its cards scrolls; no card gets less than it needs to be read.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/gui/cards/card.h"

namespace app {

/// A card, or parts side by side or one above the other: the direction changes with every level.
struct CardPart {
  float share = 1.0F;             // relative to its siblings
  float least = 0.0F;             // pixels, in the direction of the cut between it and its siblings
  std::vector<CardPart> parts{};  // empty = a card
};

struct CardPlan {
  const char* id = "";   // of the sizes that the user chooses; "performance.cards"
  bool columns = false;  // the first cut; false = rows
  std::vector<CardPart> parts{};
  /// Below a picture of one of its cards; null = that of the run on screen.
  std::function<std::string()> caption{};
};

/// The height below which a card of the plan would get less than its least.
float least_height(const CardPlan& plan, float gap);

/// Cuts `room` by the shares into whole pixels; the last part takes the rounding remainder. A part
/// whose share is below its minimum gets the minimum, and the rest share what is left; if there is
/// not enough for all, every part shrinks in proportion.
std::vector<float> lengths_of(float room, const std::vector<float>& shares,
                              const std::vector<float>& least);

/// Two neighbours after the edge between them has moved: neither gets less than its least, nor
/// than it has already if that is less.
std::vector<float> moved_edge(std::vector<float> lengths, const std::vector<float>& least,
                              std::size_t edge, float pixels);

class CardBoard {
 public:
  using MakeCard = std::function<CardSpec(const Area&)>;

  /// `cards`: as the plan's, depth first.
  void draw(const PanelContext& context, const Area& area, const CardPlan& plan,
            const std::vector<MakeCard>& cards);
  /// Shows all cards again; false if none fills the page.
  bool restore() { return std::exchange(filled_, std::nullopt).has_value(); }

 private:
  struct Cut;
  /// Draws only this card: further cards might leave it no room.
  static void draw_for_picture(const PanelContext& context, const Area& area, const CardPlan& plan,
                               const std::vector<MakeCard>& cards);
  /// Draws only the card that is presented, over the whole page; what the user has arranged stays.
  static void draw_presented(const PanelContext& context, const std::vector<MakeCard>& cards);
  void place(const PanelContext& context, const Cut& cut, std::vector<Area>& places);
  void draw_splitter(const PanelContext& context, const Cut& cut, const Area& gap,
                     const std::vector<float>& lengths, const std::vector<float>& least,
                     std::size_t edge);

  std::map<std::string, std::vector<float>> shares_;  // by cut; of those that were dragged
  std::optional<std::size_t> filled_;                 // the card that fills the page
  std::string brought_;           // the panel that a tour speaks of, once it was scrolled into view
  std::optional<float> grabbed_;  // from the splitter's start to the pointer, while it is dragged
};

}  // namespace app
