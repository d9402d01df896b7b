// The strip above the status bar: always as high where it is open, so that messages and questions
// that follow each other move nothing.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "app/gui/cards/card_layout.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/plot/plot_text.h"
#include "app/gui/shell/bars.h"
#include "app/gui/theme/text.h"
#include "engine/model/text.h"

namespace app {
namespace {

// A message must leave room for what it is about.
constexpr std::size_t kMostText = 1000;
constexpr float kMark = 4;  // grid pixels, at the left edge
constexpr float kSwitchWidth = 44;

struct Letters {
  ImFont* font = nullptr;
  float height = 0.0F;
};

/// The largest letters with which the text has room; the smallest if none do.
Letters letters_for(const Theme& theme, const std::string& text, bool caption, ImVec2 room) {
  const std::array<ImFont*, 3> fonts = {theme.fonts.title, theme.fonts.body, theme.fonts.label};
  Letters letters;
  for (std::size_t i = caption ? 0 : 1; i < fonts.size(); ++i) {
    letters = {fonts[i], shown_size(fonts[i], text, room.x).y};
    if (letters.height <= room.y) break;
  }
  return letters;
}

/// What the text says in `room`; whole in a tooltip if it has no room.
void draw_words(const PanelContext& context, const Banner& banner, const Area& room) {
  const std::string text = engine::shown_text(banner.text, kMostText);
  const Letters letters = letters_for(context.theme, text, banner.caption, room.size);
  const bool cut = letters.height > room.size.y;
  const float top = cut ? room.at.y : room.at.y + 0.5F * (room.size.y - letters.height);
  ImDrawList* draw = ImGui::GetWindowDrawList();
  draw->PushClipRect(room.at, room.end(), true);
  draw_shown(draw, letters.font, {room.at.x, top}, context.theme.colors.text, text, room.size.x);
  draw->PopClipRect();
  controls::record(context, banner.id, "notice", "text", text, room.at, room.end());
  if (cut && ImGui::IsMouseHoveringRect(room.at, room.end()) && ImGui::IsWindowHovered()) {
    controls::tooltip(context, text);
  }
}

/// For whoever reads the window's controls: what is behind the banner in front.
void record_behind(const PanelContext& context, const Banner& banner, const Area& strip) {
  context.controls.add({.id = banner.id,
                        .label = "notice",
                        .kind = "text",
                        .value = engine::shown_text(banner.text, kMostText),
                        .min = strip.at,
                        .max = strip.end(),
                        .enabled = true,
                        .reason = {},
                        .visible = false});
}

}  // namespace

float strip_height(const Theme& theme) {
  return 2.0F * theme.fonts.title->FontSize + 2.0F * theme.px(kGapSmall);
}

bool MessageStrip::overdue() const {
  // Long enough for the next of a row of messages, and for a click that was on its way; after a
  // message that no other follows only for what the click leads to, a tour for example.
  constexpr std::chrono::milliseconds kMostEmpty{3000};
  constexpr std::chrono::milliseconds kAfterAnswer{250};
  const auto most = answered_ ? kAfterAnswer : kMostEmpty;
  return open_ && !wanted_ && std::chrono::steady_clock::now() - wanted_at_ > most;
}

bool MessageStrip::takes_room(bool wanted, Page page) {
  wanted_ = wanted;
  if (wanted) wanted_at_ = std::chrono::steady_clock::now();
  const bool pressed = ImGui::IsAnyMouseDown();
  if (wanted && !pressed) open_ = true;
  if (!wanted && ((overdue() && !pressed) || page != page_)) open_ = false;
  page_ = page;
  return open_;
}

const Banner& MessageStrip::front(const std::vector<Banner>& banners) {
  std::vector<std::string> ids;
  for (const Banner& one : banners) ids.emplace_back(one.id);
  // What comes up is shown by its urgency, whatever was looked at before.
  if (ids != ids_) chosen_.clear();
  ids_ = std::move(ids);
  const auto found =
      std::ranges::find_if(banners, [this](const Banner& one) { return chosen_ == one.id; });
  return found == banners.end() ? banners.front() : *found;
}

void MessageStrip::draw(const PanelContext& context, const std::vector<Banner>& banners) {
  if (banners.empty()) {
    ids_.clear();
    chosen_.clear();
    return;
  }
  const Theme& theme = context.theme;
  const Area strip{ImGui::GetWindowPos(), ImGui::GetWindowSize()};
  const float gap = theme.px(kGap);
  const float row = theme.px(kRowHeight);
  const Banner& banner = front(banners);
  ImDrawList* draw = ImGui::GetWindowDrawList();
  draw->AddRectFilled(strip.at, strip.end(), theme.colors.raised);
  draw->AddRectFilled(strip.at, {strip.at.x + theme.px(kMark), strip.end().y}, banner.color);
  const bool several = banners.size() > 1;
  const float switches = several ? theme.px(kSwitchWidth) + theme.px(kGapSmall) : 0.0F;
  const float room = strip.size.x - 2.0F * theme.px(kPanelPadding) - switches - gap;
  const float width = std::min(banner.width, room);
  const float actions = width + switches;
  const float start = strip.end().x - actions - theme.px(kPanelPadding);
  const float words = strip.at.x + theme.px(kPanelPadding);
  draw_words(context, banner,
             {{words, strip.at.y + theme.px(2)},
              {std::max(start - gap - words, 1.0F), strip.size.y - theme.px(4)}});
  float top = strip.at.y + 0.5F * (strip.size.y - row);
  if (!banner.heading.empty()) {
    const ImFont* font = theme.fonts.label;
    top = strip.end().y - row - theme.px(2);
    plot::draw_fitted(context, font, {start, top - font->FontSize - theme.px(2)},
                      theme.colors.dim_text, engine::shown_text(banner.heading, kMostText),
                      actions);
  }
  ImGui::SetCursorScreenPos({start, top});
  if (several) {
    const auto place = static_cast<std::size_t>(&banner - banners.data());
    const std::string label = fmt::format("{}/{}", place + 1, banners.size());
    if (controls::button(
            context, "banner.next", label.c_str(),
            {.tooltip = "The next of these messages", .width = theme.px(kSwitchWidth)})) {
      chosen_ = banners[(place + 1) % banners.size()].id;
    }
    ImGui::SameLine(0, theme.px(kGapSmall));
  }
  if (banner.actions) banner.actions(width);
  if (ImGui::IsMouseReleased(ImGuiMouseButton_Left)) {
    answered_ = banner.last && ImGui::IsMouseHoveringRect(strip.at, strip.end());
  }
  for (const Banner& one : banners) {
    if (&one != &banner) record_behind(context, one, strip);
  }
}

}  // namespace app
