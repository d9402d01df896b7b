#include "app/gui/cards/card_board.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "app/gui/controls/widgets.h"

namespace app {
namespace {

float sum_of(const std::vector<float>& lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), 0.0F);
}

float gaps_between(std::size_t parts, float gap) {
  return gap * static_cast<float>(std::max<std::size_t>(parts, 1) - 1);
}

/// `own`: what the part asks for itself, if it is one of several rows.
float height_of(const CardPart& part, float own, bool columns, float gap) {
  if (part.parts.empty()) return own;
  float height = columns ? 0.0F : gaps_between(part.parts.size(), gap);
  for (const CardPart& one : part.parts) {
    const float needed = height_of(one, columns ? 0.0F : one.least, !columns, gap);
    height = columns ? std::max(height, needed) : height + needed;
  }
  return std::max(height, own);
}

}  // namespace

float least_height(const CardPlan& plan, float gap) {
  return height_of({.parts = plan.parts}, 0.0F, plan.columns, gap);
}

std::vector<float> lengths_of(float room, const std::vector<float>& shares,
                              const std::vector<float>& least) {
  std::vector<float> lengths(shares.size(), 0.0F);
  std::vector<bool> fixed(shares.size(), false);
  const float needed = sum_of(least);
  const float squeeze = needed > room && needed > 0.0F ? std::max(room, 0.0F) / needed : 1.0F;
  // Every round fixes a part at its least, so that at most as many rounds as parts are needed.
  for (bool again = true; again;) {
    again = false;
    float left = room;
    float share = 0.0F;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      (fixed[i] ? left : share) += fixed[i] ? -lengths[i] : shares[i];
    }
    for (std::size_t i = 0; i < shares.size() && !again; ++i) {
      if (fixed[i]) continue;
      lengths[i] = left * shares[i] / share;
      if (lengths[i] >= least[i] * squeeze) continue;
      lengths[i] = least[i] * squeeze;
      fixed[i] = again = true;
    }
  }
  float left = room;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    lengths[i] = i + 1 == lengths.size() ? left : std::floor(lengths[i]);
    left -= lengths[i];
  }
  return lengths;
}

std::vector<float> moved_edge(std::vector<float> lengths, const std::vector<float>& least,
                              std::size_t edge, float pixels) {
  const float both = lengths[edge] + lengths[edge + 1];
  const float low = std::min(least[edge], lengths[edge]);
  const float high = both - std::min(least[edge + 1], lengths[edge + 1]);
  lengths[edge] = std::round(std::clamp(lengths[edge] + pixels, low, high));
  lengths[edge + 1] = both - lengths[edge];
  return lengths;
}

/// Parts next to each other, in one direction.
struct CardBoard::Cut {
  const std::vector<CardPart>& parts;
  bool columns = false;
  Area area;
  std::string id;  // of the plan, with the place of the cut in it
};

void CardBoard::draw(const PanelContext& context, const Area& area, const CardPlan& plan,
                     const std::vector<MakeCard>& cards) {
  if (context.picture != nullptr) return draw_for_picture(context, area, plan, cards);
  if (context.presenting != nullptr) return draw_presented(context, cards);
  const float gap = context.theme.px(kGap);
  // A tour shows the card that it speaks of.
  const std::optional<std::size_t> filled = context.outlined.empty() ? filled_ : std::nullopt;
  const float height = filled ? 0.0F : least_height(plan, gap) / context.theme.scale;
  const CardGround ground(context, plan.id, area, {.width = 0, .height = height});
  if (context.outlined.empty()) brought_.clear();
  const auto draw_one = [&](std::size_t index, const Area& place) {
    CardSpec spec = cards[index](place);
    if (!context.outlined.empty() && brought_ != context.outlined &&
        panel_name(spec.id) == context.outlined) {
      // Only once: the user may look elsewhere while the caption is shown.
      brought_ = context.outlined;
      ground.show(place);
    }
    spec.fills_page = filled.has_value();
    spec.fill_page = [this, index] {
      filled_ = filled_ ? std::nullopt : std::optional<std::size_t>(index);
    };
    draw_card(context, place, spec);
  };
  if (filled && *filled < cards.size()) return draw_one(*filled, ground.area());
  std::vector<Area> places;
  place(context, {plan.parts, plan.columns, ground.area(), plan.id}, places);
  for (std::size_t i = 0; i < cards.size() && i < places.size(); ++i) draw_one(i, places[i]);
}

void CardBoard::draw_for_picture(const PanelContext& context, const Area& area,
                                 const CardPlan& plan, const std::vector<MakeCard>& cards) {
  const Area place{area.at, context.picture->size};
  for (const MakeCard& make : cards) {
    CardSpec spec = make(place);
    if (spec.id != context.picture->card) continue;
    if (!spec.caption) spec.caption = plan.caption;
    return draw_card(context, place, spec);
  }
}

void CardBoard::draw_presented(const PanelContext& context, const std::vector<MakeCard>& cards) {
  if (cards.empty()) return;
  PresentingPass& pass = *context.presenting;
  const Area place{pass.at, pass.size};
  std::vector<CardSpec> walked;
  std::optional<std::size_t> shown;
  for (const MakeCard& make : cards) {
    CardSpec spec = make(place);
    // A tour shows the card that it speaks of.
    const bool outlined = !context.outlined.empty() && panel_name(spec.id) == context.outlined;
    if (!outlined && !has_content(spec)) continue;
    if (outlined || (!shown && spec.id == pass.chosen)) shown = walked.size();
    walked.push_back(std::move(spec));
  }
  // The card covers what the page has drawn around its cards.
  context.controls.keep(pass.controls_before);
  ImGui::GetWindowDrawList()->AddRectFilled(place.at, place.end(), context.theme.colors.window);
  if (!pass.chosen.empty() && !shown) return;
  // Why nothing is shown is said as well as can be by the first card.
  if (walked.empty()) walked.push_back(cards.front()(place));
  pass.cards = walked.size();
  pass.card = shown.value_or(std::min(pass.wanted, walked.size() - 1));
  const CardSpec& spec = walked[pass.card];
  pass.title = spec.title;
  draw_card(context, place, spec);
}

void CardBoard::place(const PanelContext& context, const Cut& cut, std::vector<Area>& places) {
  const float gap = context.theme.px(kGap);
  const bool columns = cut.columns;
  std::vector<float> shares;
  std::vector<float> least;
  for (const CardPart& part : cut.parts) {
    shares.push_back(part.share);
    least.push_back(columns ? part.least : height_of(part, part.least, true, gap));
  }
  const auto chosen = shares_.find(cut.id);
  if (chosen != shares_.end() && chosen->second.size() == shares.size()) shares = chosen->second;
  const float whole = columns ? cut.area.size.x : cut.area.size.y;
  const std::vector<float> lengths =
      lengths_of(whole - gaps_between(shares.size(), gap), shares, least);
  ImVec2 at(std::floor(cut.area.at.x), std::floor(cut.area.at.y));
  const auto next = [&](float length) {
    const Area part{at,
                    columns ? ImVec2(length, cut.area.size.y) : ImVec2(cut.area.size.x, length)};
    (columns ? at.x : at.y) += length;
    return part;
  };
  for (std::size_t i = 0; i < cut.parts.size(); ++i) {
    if (i > 0) draw_splitter(context, cut, next(gap), lengths, least, i - 1);
    const Area area = next(lengths[i]);
    const std::vector<CardPart>& parts = cut.parts[i].parts;
    if (parts.empty()) {
      places.push_back(area);
    } else {
      place(context, {parts, !columns, area, fmt::format("{}.{}", cut.id, i)}, places);
    }
  }
}

void CardBoard::draw_splitter(const PanelContext& context, const Cut& cut, const Area& gap,
                              const std::vector<float>& lengths, const std::vector<float>& least,
                              std::size_t edge) {
  const std::string id = fmt::format("{}.splitter.{}", cut.id, edge);
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const float from_start = cut.columns ? mouse.x - gap.at.x : mouse.y - gap.at.y;
  ImGui::SetCursorScreenPos(gap.at);
  ImGui::InvisibleButton(id.c_str(), gap.size);
  const bool active = ImGui::IsItemActive();
  const bool hovered = ImGui::IsItemHovered();
  if (ImGui::IsItemActivated()) grabbed_ = from_start;
  if (hovered && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) {
    shares_.erase(cut.id);
    // The splitter jumps back from under the pointer, which is still down: that is no drag.
    grabbed_.reset();
  } else if (active && grabbed_ && from_start != *grabbed_) {
    // Takes effect in the next frame: some of this one's cards are placed already.
    shares_[cut.id] = moved_edge(lengths, least, edge, from_start - *grabbed_);
  }
  if (active || hovered) {
    ImGui::SetMouseCursor(cut.columns ? ImGuiMouseCursor_ResizeEW : ImGuiMouseCursor_ResizeNS);
    const ImVec2 middle(gap.at.x + 0.5F * gap.size.x, gap.at.y + 0.5F * gap.size.y);
    const ImVec2 low = cut.columns ? ImVec2(middle.x, gap.at.y) : ImVec2(gap.at.x, middle.y);
    const ImVec2 high = cut.columns ? ImVec2(middle.x, gap.end().y) : ImVec2(gap.end().x, middle.y);
    ImGui::GetWindowDrawList()->AddLine(low, high, context.theme.colors.accent,
                                        context.theme.px(2));
  }
  controls::record(context, id.c_str(), cut.columns ? "Width of the card" : "Height of the card",
                   "drag", fmt::format("{:.0f}", lengths[edge]), gap.at, gap.end());
}

}  // namespace app
