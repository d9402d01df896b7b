#include "app/controllers/presentation.h"

#include <algorithm>

namespace app {

void Presentation::begin(Before before) {
  page_ = before.page;
  view_ = before.view();
  card_ = cards_ = arrival_ = 0;
  before_ = std::move(before);
}

std::optional<Page> Presentation::go(bool forward) {
  const auto at = std::ranges::find(kPages, page_);
  if (forward ? at + 1 == kPages.end() : at == kPages.begin()) return std::nullopt;
  // Until the page is drawn, the number of its cards is not known: another step would get lost.
  cards_ = 0;
  arrival_ = forward ? 0 : kLast;
  return forward ? *(at + 1) : *(at - 1);
}

std::optional<Page> Presentation::next() {
  if (cards_ == 0) return std::nullopt;
  if (card_ + 1 >= cards_) return go(true);
  ++card_;
  return std::nullopt;
}

std::optional<Page> Presentation::previous() {
  if (cards_ == 0) return std::nullopt;
  if (card_ == 0) return go(false);
  // Two steps of one frame may follow each other.
  card_ = std::min(card_, cards_) - 1;
  return std::nullopt;
}

std::size_t Presentation::follow(Page page, std::string_view view) {
  if (page == page_ && view == view_) return card_;
  page_ = page;
  view_ = view;
  return card_ = std::exchange(arrival_, 0);
}

void Presentation::drawn(std::size_t card, std::size_t cards) {
  cards_ = std::max<std::size_t>(cards, 1);
  card_ = std::min(card, cards_ - 1);
}

}  // namespace app
