#include "app/controllers/presentation.h"

#include <algorithm>

namespace app {

std::optional<Presentation::Place> Presentation::begin(Before before,
                                                       std::vector<PresentedCard> chosen) {
  page_ = before.page;
  view_ = before.view();
  card_ = cards_ = arrival_ = misses_ = 0;
  scale_ = kPresentedScale;
  before_ = std::move(before);
  chosen_ = std::move(chosen);
  return chosen_.empty() ? std::nullopt : to_chosen(0, true);
}

std::optional<Presentation::Place> Presentation::go(bool forward) {
  const auto at = std::ranges::find(kPages, page_);
  if (forward ? at + 1 == kPages.end() : at == kPages.begin()) return std::nullopt;
  // Until the page is drawn, the number of its cards is not known: another step would get lost.
  cards_ = 0;
  arrival_ = forward ? 0 : kLast;
  return Place{.page = forward ? *(at + 1) : *(at - 1)};
}

std::optional<Presentation::Place> Presentation::to_chosen(std::size_t index, bool forward) {
  index_ = index;
  forward_ = forward;
  scale_ = kPresentedScale;
  return Place{.page = chosen_[index].page, .view = chosen_[index].view};
}

std::optional<Presentation::Place> Presentation::next() {
  if (!chosen_.empty()) {
    return index_ + 1 < chosen_.size() ? to_chosen(index_ + 1, true) : std::nullopt;
  }
  if (cards_ == 0) return std::nullopt;
  scale_ = kPresentedScale;
  if (card_ + 1 >= cards_) return go(true);
  ++card_;
  return std::nullopt;
}

std::optional<Presentation::Place> Presentation::previous() {
  if (!chosen_.empty()) return index_ > 0 ? to_chosen(index_ - 1, false) : std::nullopt;
  if (cards_ == 0) return std::nullopt;
  scale_ = kPresentedScale;
  if (card_ == 0) return go(false);
  // Two steps of one frame may follow each other.
  card_ = std::min(card_, cards_) - 1;
  return std::nullopt;
}

std::optional<Presentation::Place> Presentation::first() {
  if (!chosen_.empty()) return to_chosen(0, true);
  scale_ = kPresentedScale;
  card_ = 0;
  return std::nullopt;
}

std::optional<Presentation::Place> Presentation::last() {
  if (!chosen_.empty()) return to_chosen(chosen_.size() - 1, false);
  scale_ = kPresentedScale;
  card_ = kLast;
  return std::nullopt;
}

std::optional<Presentation::Place> Presentation::missed() {
  // Once in each direction.
  if (chosen_.size() < 2 || ++misses_ >= 2 * chosen_.size()) {
    chosen_.clear();
    return std::nullopt;
  }
  if (forward_ ? index_ + 1 == chosen_.size() : index_ == 0) forward_ = !forward_;
  return to_chosen(forward_ ? index_ + 1 : index_ - 1, forward_);
}

void Presentation::fit(const Fit& shown) {
  constexpr float kSpare = 0.98F;  // sizes are whole pixels
  const float least = shown.scrolls ? kPresentedScale : 1.0F;
  const float most = std::clamp(shown.most, kPresentedScale, kLargestPresentedScale);
  const float wanted =
      shown.part > 0.0F ? std::clamp(scale_ * shown.part * kSpare, least, most) : kPresentedScale;
  // Fonts are made anew for every scale: not for a hair's breadth.
  if (wanted < scale_ * kSpare || wanted > scale_ / kSpare) scale_ = wanted;
}

std::size_t Presentation::follow(Page page, std::string_view view) {
  if (page == page_ && view == view_) return card_;
  page_ = page;
  view_ = view;
  return card_ = std::exchange(arrival_, 0);
}

void Presentation::drawn(std::size_t card, std::size_t cards) {
  misses_ = 0;
  cards_ = std::max<std::size_t>(cards, 1);
  card_ = std::min(card, cards_ - 1);
}

}  // namespace app
