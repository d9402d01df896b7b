// Cards, headlines and empty states.
#include "app/gui/cards/card.h"

#include <fmt/format.h>
#include <imgui_internal.h>  // what is visible of a card

#include <algorithm>
#include <cmath>
#include <span>

#include "app/gui/cards/card_caption.h"
#include "app/gui/cards/card_header.h"
#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/plot/format.h"
#include "app/gui/plot/plot_text.h"
#include "app/gui/theme/fitted_lines.h"
#include "app/gui/theme/text.h"
#include "app/protocol/shipped_recordings.h"
#include "engine/model/text.h"

namespace app {

using plot::draw_text;
using plot::faded;
using plot::fitted;
using plot::text_size;

std::string_view panel_name(std::string_view id) {
  constexpr std::string_view kCard = "_card";
  const bool card = id.ends_with(kCard) || id.ends_with(".card");
  return id.substr(0, id.size() - (card ? kCard.size() : 0));
}

namespace {

/// Lines that are broken anew grow in both directions with the size of their text.
void fit_words(PresentingPass& pass, const Area& room) {
  const ImVector<ImGuiWindow*>& drawn = ImGui::GetCurrentWindow()->DC.ChildWindows;
  if (drawn.empty()) return;
  const ImGuiWindowTempData& words = drawn.back()->DC;
  const float height = words.CursorMaxPos.y - words.CursorStartPos.y;
  if (height <= 0.0F) return;
  pass.fits = std::sqrt(room.size.y / height);
  pass.scrolls = true;
}

void draw_content(const PanelContext& context, const Area& room, const CardSpec& spec) {
  if (const EmptyState empty = spec.empty ? spec.empty() : EmptyState(); !empty.title.empty()) {
    return draw_empty(context, room.size, empty);
  }
  if (context.presenting != nullptr && spec.needs) {
    const ImVec2 needed = spec.needs();
    context.presenting->fits =
        std::min(room.size.x / std::max(needed.x, 1.0F), room.size.y / std::max(needed.y, 1.0F));
  }
  if (spec.draw) {
    spec.draw(room);
    if (context.presenting != nullptr && spec.words) fit_words(*context.presenting, room);
    return;
  }
  const CardTable& table = spec.table;
  const std::vector<plot::TableRow>& rows = table.drawn->rows;
  if (PresentingPass* const pass = context.presenting) {
    const ImVec2 needed = plot::table_needs(context.theme, table.drawn->columns, rows.size());
    pass->fits = std::min(room.size.x / needed.x, room.size.y / needed.y);
    pass->scrolls = true;
  }
  const bool chosen = plot::draw_table(context, table.id, table.drawn->columns, rows,
                                       table.generation, room.size, *table.state);
  if (chosen && table.chosen) table.chosen(plot::selected_row(*table.state, rows.size()));
}

/// Inside the card, so that neighbours do not cover it.
void draw_outline(const PanelContext& context, const Area& area) {
  const float width = context.theme.px(3);
  const float inset = width / 2;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  // The card's own clip rectangle leaves out its padding; what the page does not show of the card
  // stays outside.
  const ImRect shown = ImGui::GetCurrentWindow()->OuterRectClipped;
  draw->PushClipRect(shown.Min, shown.Max);
  draw->AddRect({area.at.x + inset, area.at.y + inset},
                {area.end().x - inset, area.end().y - inset}, context.theme.colors.accent,
                context.theme.px(4), ImDrawFlags_None, width);
  draw->PopClipRect();
  controls::record(context, "tour.outline", "outline", "text", std::string(context.outlined),
                   shown.Min, shown.Max);
}

/// Draws the card's sentence at the lower end of `area` if the card is presented; returns the rest.
Area above_sentence(const PanelContext& context, const Area& area, const CardSpec& spec) {
  const std::string text =
      context.presenting != nullptr && spec.sentence ? spec.sentence() : std::string();
  if (text.empty()) return area;
  const Theme& theme = context.theme;
  const float edge = theme.px(kPanelPadding);
  const float width = area.size.x - 2.0F * edge;
  const float height =
      std::min(shown_size(theme.fonts.body, text, width).y, 0.4F * area.size.y) + theme.px(kGap);
  const Area card{area.at, ImVec2(area.size.x, area.size.y - height)};
  const ImVec2 low(area.at.x + edge, card.end().y + theme.px(kGap));
  draw_shown(ImGui::GetWindowDrawList(), theme.fonts.body, low, theme.colors.text, text, width);
  controls::record(context, "present.sentence", "The card in one sentence", "text", text, low,
                   area.end());
  return card;
}

}  // namespace

bool has_content(const CardSpec& spec) {
  return !spec.waits && (!spec.empty || spec.empty().title.empty());
}

void draw_card(const PanelContext& context, const Area& whole, const CardSpec& spec) {
  const Theme& theme = context.theme;
  const Area area = above_sentence(context, whole, spec);
  ImGui::SetCursorScreenPos(area.at);
  ImGui::PushStyleColor(ImGuiCol_ChildBg, theme.colors.panel);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(theme.px(kPanelPadding), theme.px(kGap)));
  // No scrolling here: the wheel belongs to the plots; tables scroll inside.
  ImGui::BeginChild(spec.id, area.size, true,
                    ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
  ImGui::PopStyleVar();
  ImGui::PopStyleColor();
  draw_card_header(context, spec);
  const Area room{ImGui::GetCursorScreenPos(), ImGui::GetContentRegionAvail()};
  draw_content(context, room, spec);
  const CardReadOut& read_out = spec.read_out;
  if (read_out.id != nullptr) {
    controls::record(context, read_out.id, read_out.label, read_out.kind, read_out.value(), room.at,
                     room.end());
  }
  if (!context.outlined.empty() && panel_name(spec.id) == context.outlined) {
    draw_outline(context, area);
  }
  ImGui::EndChild();
  if (context.picture == nullptr || context.picture->card != spec.id) return;
  PicturePass& pass = *context.picture;
  pass.min = area.at;
  pass.max = area.end();
  pass.caption = spec.caption ? spec.caption() : run_caption(context.view);
}

float headline_height(const Theme& theme) {
  return theme.fonts.title->FontSize + theme.fonts.label->FontSize + theme.px(6);
}

namespace {

constexpr float kFigureGap = 28;  // grid pixels

std::string others_text(std::size_t count) { return fmt::format("+{}", count); }

float figure_width(const Theme& theme, const Figure& figure) {
  const float unit = text_size(theme.fonts.body, figure.value.unit).x;
  const float note = text_size(theme.fonts.label, figure.note).x;
  const float value = text_size(theme.fonts.title, figure.value.figure).x +
                      (unit > 0.0F ? theme.px(4) + unit : 0.0F) +
                      (note > 0.0F ? theme.px(6) + note : 0.0F);
  return std::max(value, text_size(theme.fonts.label, figure.label).x);
}

/// How many have room, with the count of the others behind them.
std::size_t figures_with_room(const Theme& theme, const std::vector<Figure>& figures, float width) {
  const float gap = theme.px(kFigureGap);
  float end = 0.0F;
  std::size_t fit = 0;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    end += figure_width(theme, figures[i]) + (i > 0 ? gap : 0.0F);
    const std::size_t others = figures.size() - i - 1;
    const float counted =
        others == 0 ? 0.0F : gap + text_size(theme.fonts.label, others_text(others)).x;
    if (end + counted <= width) fit = i + 1;
  }
  return fit;
}

/// "+1" for the figures that have no room, which its tooltip has.
void draw_other_figures(const PanelContext& context, std::span<const Figure> others, ImVec2 at) {
  const ImFont* font = context.theme.fonts.label;
  const std::string words = others_text(others.size());
  draw_text(ImGui::GetWindowDrawList(), font, at, context.theme.colors.dim_text, words);
  std::string names;
  for (const Figure& figure : others) {
    names += fmt::format("{}{}: {}{}{}", names.empty() ? "" : "\n", figure.label,
                         figure.value.text(), figure.note.empty() ? "" : ", ", figure.note);
  }
  const ImVec2 end(at.x + text_size(font, words).x, at.y + headline_height(context.theme));
  controls::record(context, "figures.others", words.c_str(), "text", names, at, end);
  if (ImGui::IsMouseHoveringRect(at, end) && ImGui::IsWindowHovered()) {
    controls::tooltip(context, names);
  }
}

}  // namespace

void draw_headline(const PanelContext& context, const std::vector<Figure>& figures, float width) {
  const Theme& theme = context.theme;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const ImFont* label_font = theme.fonts.label;
  const float baseline = origin.y + label_font->FontSize + theme.px(2);
  float x = origin.x;
  const std::size_t fit = figures_with_room(theme, figures, width);
  for (const Figure& figure : std::span(figures).first(fit)) {
    const ImFont* font = theme.fonts.title;
    const float unit_width = text_size(theme.fonts.body, figure.value.unit).x;
    const float block = figure_width(theme, figure);
    draw_text(draw, label_font, ImVec2(x, origin.y), theme.colors.dim_text, figure.label);
    draw_text(draw, font, ImVec2(x, baseline), figure.color != 0 ? figure.color : theme.colors.text,
              figure.value.figure);
    float after = x + text_size(font, figure.value.figure).x + theme.px(4);
    const auto baseline_y = [&](const ImFont* small) {
      return baseline + 0.82F * (font->FontSize - small->FontSize);
    };
    draw_text(draw, theme.fonts.body, ImVec2(after, baseline_y(theme.fonts.body)),
              theme.colors.dim_text, figure.value.unit);
    if (unit_width > 0.0F) after += unit_width + theme.px(6);
    draw_text(draw, label_font, ImVec2(after, baseline_y(label_font)), theme.colors.dim_text,
              figure.note);
    const ImVec2 low(x, origin.y);
    const ImVec2 high(x + block, origin.y + headline_height(theme));
    if (ImGui::IsMouseHoveringRect(low, high) && ImGui::IsWindowHovered()) {
      controls::tooltip(context, figure.tooltip);
    }
    const plot::Quantity& value = figure.value;
    controls::copy_if_wanted(context, low, high,
                             {value.figure, value.unit, value.exact, value.exact_unit},
                             figure.label);
    controls::record(context, figure.id, figure.label.c_str(), "figure", figure.value.text(), low,
                     high);
    x += block + theme.px(kFigureGap);
  }
  if (fit < figures.size())
    draw_other_figures(context, std::span(figures).subspan(fit), ImVec2(x, origin.y));
  ImGui::Dummy(ImVec2(width, headline_height(theme)));
}

void draw_text_line(const PanelContext& context, const Area& area, const TextLine& line) {
  const ImFont* font = context.theme.fonts.label;
  const float y = area.at.y + 0.5F * (area.size.y - font->FontSize);
  const std::string shown = fitted(font, line.text, area.size.x);
  draw_text(ImGui::GetWindowDrawList(), font, ImVec2(area.at.x, y), line.color, shown);
  controls::record(context, line.id, line.label, "text",
                   line.tooltip.empty() ? line.text : line.text + "\n" + line.tooltip, area.at,
                   area.end());
  if (ImGui::IsMouseHoveringRect(area.at, area.end()) && ImGui::IsWindowHovered()) {
    controls::tooltip(context, with_whole(shown, line.text, line.tooltip));
  }
}

void draw_batch_progress(const PanelContext& context, const char* page, float button_width,
                         float width, const std::string& doing) {
  const Theme& theme = context.theme;
  const BatchProgress& progress = context.view.batch.progress;
  if (controls::button(
          context, fmt::format("{}.cancel", page).c_str(), "Cancel",
          {.tooltip = "Stops; what was measured so far is kept", .width = button_width})) {
    context.commands.push_back(Action::Cancel);
  }
  ImGui::SameLine(0, theme.px(kGap));
  const std::string text =
      progress.remaining_seconds < 0.0
          ? doing
          : fmt::format("{}, about {:.0f} s left", doing, std::ceil(progress.remaining_seconds));
  const Area bar{
      ImGui::GetCursorScreenPos(),
      ImVec2(std::max(width - button_width - theme.px(kGap), 1.0F), theme.px(kRowHeight))};
  ImGui::ProgressBar(static_cast<float>(progress.fraction), bar.size, text.c_str());
  controls::record(context, fmt::format("{}.progress", page).c_str(), "progress", "figure", text,
                   bar.at, bar.end());
}

bool accent_button(const PanelContext& context, const char* id, const char* label,
                   const controls::Options& options) {
  const Palette& colors = context.theme.colors;
  ImGui::PushStyleColor(ImGuiCol_Button, colors.accent);
  ImGui::PushStyleColor(ImGuiCol_ButtonHovered, faded(colors.accent, 0.85F));
  const TextColorScope color(colors.window);
  const bool pressed = controls::button(context, id, label, options);
  ImGui::PopStyleColor(2);
  return pressed;
}

bool draw_empty(const PanelContext& context, ImVec2 size, const char* title,
                const std::string& reason, const char* button_id, const char* button_label) {
  const Theme& theme = context.theme;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float wrap = std::min(size.x - theme.px(2 * kPanelPadding), theme.px(460));
  const ImFont* body = theme.fonts.body;
  // Only the beginning of a reason that is too long for any panel.
  const std::string sentence = broken_at_spaces(body, engine::shown_text(reason, 1000), wrap);
  const ImVec2 text = shown_size(body, sentence, wrap);
  const float height = theme.fonts.title->FontSize + theme.px(kGap) + text.y + theme.px(kGapLarge) +
                       theme.px(kRowHeight + 8);
  const float middle = at.x + 0.5F * size.x;
  float y = at.y + std::max(0.0F, 0.5F * (size.y - height));
  ImDrawList* draw = ImGui::GetWindowDrawList();
  plot::draw_text_centered(draw, theme.fonts.title, ImVec2(middle, y), theme.colors.text, title);
  y += theme.fonts.title->FontSize + theme.px(kGap);
  // Line by line, each centred, like the title.
  const char* from = sentence.data();
  const char* const last = from + sentence.size();
  while (from < last) {
    const char* const line = std::find(from, last, '\n');
    const char* to = body->CalcWordWrapPositionA(1.0F, from, line, wrap);
    if (to == from) ++to;  // at least one character, however narrow
    plot::draw_text_centered(draw, body, ImVec2(middle, y), theme.colors.dim_text,
                             std::string_view(from, static_cast<std::size_t>(to - from)));
    y += body->FontSize;
    while (to < last && (*to == ' ' || *to == '\n')) ++to;
    from = to;
  }
  y += theme.px(kGapLarge);
  bool pressed = false;
  if (button_label != nullptr) {
    const float width = text_size(body, button_label).x + theme.px(32);
    ImGui::SetCursorScreenPos(ImVec2(middle - 0.5F * width, y));
    pressed = accent_button(context, button_id, button_label, {.width = width});
  }
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy(size);
  return pressed;
}

void draw_empty(const PanelContext& context, ImVec2 size, const EmptyState& state) {
  if (draw_empty(context, size, state.title.c_str(), state.sentence, state.button_id,
                 state.button_label)) {
    state.act();
  }
}

NoRun no_run(const SessionView& view) {
  const LinkStatus& link = view.link;
  constexpr const char* kNone = "No run yet";
  if (view.from_file) return {"No run", "The recording on screen has no run."};
  if (link.state == LinkState::Busy) {
    return {"Running",
            fmt::format("The first result is being computed: stage {}, {:.0f} % done.",
                        engine::stage_name(link.pulse.stage), 100.0 * link.pulse.fraction)};
  }
  if (view.no_worker) {
    return {kNone,
            "This window was opened without a worker: it shows recordings and runs nothing. Open "
            "one (Ctrl+O), or the one that ships with the program."};
  }
  if (link.state == LinkState::Lost) {
    return {kNone,
            "There is no worker: " + link.reason + ". Start another one, then run the step."};
  }
  std::string sentence = view.blocked.empty() ? "" : view.blocked + ". ";
  if (link.state == LinkState::Starting) sentence += "The worker is starting. ";
  sentence += view.blocked.empty()
                  ? "Choose input, shape and recipe in the rail on the left, then run the step "
                    "(F5), or switch Live on."
                  : "Change the request in the rail on the left, then run the step (F5).";
  return {kNone, std::move(sentence)};
}

void draw_no_run(const PanelContext& context, ImVec2 size, const char* what) {
  struct WayOut {
    const char* id;  // after the panel's
    const char* label;
    Command command;
  };
  const SessionView& view = context.view;
  const WayOut way = view.from_file   ? WayOut{".live", "Back to my runs", Action::BackToLive}
                     : view.no_worker ? WayOut{".sample", "Open the shipped recording",
                                               OpenShipped{kExampleRecording}}
                     : view.link.state == LinkState::Lost
                         ? WayOut{".start_worker", "Start new worker", Action::ReplaceWorker}
                         : WayOut{".run_now", "Run now", Action::Run};
  const bool waits = !view.from_file && view.link.state == LinkState::Busy;
  const auto [title, sentence] = no_run(view);
  if (draw_empty(context, size, title, sentence, (what + std::string(way.id)).c_str(),
                 waits ? nullptr : way.label)) {
    context.commands.push_back(way.command);
  }
  const ImVec2 at = ImGui::GetItemRectMin();
  controls::record(context, (what + std::string(".no_run")).c_str(), "Why there is no run", "text",
                   sentence, at, ImGui::GetItemRectMax());
}

void draw_sorting(const PanelContext& context, ImVec2 size, const char* by) {
  const std::size_t records = context.view.run->activity.records.size();
  draw_empty(context, size, "Preparing the recording",
             fmt::format("Sorting {} records{}.", plot::count_text(records), by), "", nullptr);
}

void StaleVeil::draw(const PanelContext& context, const char* busy, ImVec2 min, ImVec2 max) {
  const bool working = *busy != '\0';
  if (!context.view.stale && !working) {
    since_ = -1.0;
    return;
  }
  const double now = ImGui::GetTime();
  if (since_ < 0.0) since_ = now;
  // A live-running drag gets its result faster than this: nothing flickers.
  constexpr double kFadeSeconds = 0.12;
  if (now - since_ < kFadeSeconds) return;
  // Said by the headline: a label here would cover what is still readable.
  const std::string why = working ? std::string(busy)
                                  : fmt::format("outdated: settings changed since request {}",
                                                context.view.run->result.id);
  controls::record(context, "page.dimmed", "Why the page is dimmed", "text", why, min, max);
  ImGui::GetWindowDrawList()->AddRectFilled(min, max, faded(context.theme.colors.window, 0.35F));
}

}  // namespace app
