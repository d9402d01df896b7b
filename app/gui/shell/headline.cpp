// The figures of the run on screen that answer "how long, how fast, how right, on what".
#include <fmt/format.h>

#include <string>

#include "app/controllers/request_actions.h"
#include "app/gui/cards/card.h"
#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/plot/drawn_table.h"
#include "app/gui/plot/plot_text.h"
#include "app/gui/shell/bars.h"
#include "app/gui/theme/fitted_lines.h"
#include "app/gui/theme/text.h"
#include "profiling/document/headline.h"

namespace app {
namespace {

using profiling::HeadlineFigure;

/// " · 0 frames drawn while timing": the window draws on the machine that it measures.
std::string drawn_text(int frames) {
  if (frames < 0) return {};
  return fmt::format(" · {} frame{} drawn while timing", frames, frames == 1 ? "" : "s");
}

void draw_figure(const PanelContext& context, const HeadlineFigure& figure) {
  const Theme& theme = context.theme;
  ImGui::BeginGroup();
  const ImVec2 at = ImGui::GetCursorPos();
  {
    const FontScope font(theme.fonts.headline);
    const ImU32 tone = plot::color_of(figure.tone, theme.colors);
    const TextColorScope color(tone != 0 ? tone : theme.colors.text);
    show_text(figure.value.figure);
  }
  if (!figure.value.unit.empty()) {
    ImGui::SameLine(0, theme.px(kGapSmall));
    // On the baseline of the large figure.
    ImGui::SetCursorPosY(at.y + theme.px(9));
    const TextColorScope color(theme.colors.dim_text);
    show_text(figure.value.unit);
  }
  ImGui::SetCursorPos({at.x, at.y + theme.px(30)});
  // The window may end before the text does.
  const std::string label =
      plot::fitted(theme.fonts.label, figure.label, ImGui::GetContentRegionAvail().x);
  {
    const FontScope font(theme.fonts.label);
    const TextColorScope color(theme.colors.dim_text);
    show_text(label);
  }
  ImGui::EndGroup();
  controls::record(context, ("headline." + figure.name).c_str(), figure.label.c_str(), "figure",
                   figure.value.text(), ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
  if (ImGui::IsItemHovered()) {
    controls::tooltip(context, with_whole(label, figure.label, figure.method));
  }
  controls::copy_if_wanted(
      context, ImGui::GetItemRectMin(), ImGui::GetItemRectMax(),
      {figure.value.figure, figure.value.unit, figure.value.exact, figure.value.exact_unit},
      figure.label);
}

void draw_line(const PanelContext& context, const char* id, const char* label,
               const std::string& text, ImU32 color) {
  ImGui::AlignTextToFramePadding();
  const std::string shown = plot::fitted(ImGui::GetFont(), text, ImGui::GetContentRegionAvail().x);
  {
    const TextColorScope tone(color);
    show_text(shown);
  }
  controls::record(context, id, label, "text", text, ImGui::GetItemRectMin(),
                   ImGui::GetItemRectMax());
  if (ImGui::IsItemHovered()) controls::tooltip(context, with_whole(shown, text));
}

/// The request that the figures answer, and whether it is another one than the rail's.
std::string answered(const SessionView& view) {
  return (view.stale       ? "older request: "
          : view.from_file ? "recorded: "
          : !view.answers  ? "another request: "
                           : "") +
         summary_of(view.run->request);
}

/// What the figures belong to: the request, in two lines where one is too short, and the device.
void draw_request(const PanelContext& context, float top) {
  const Theme& theme = context.theme;
  const SessionView& view = context.view;
  const std::string summary = summary_of(view.run->request);
  const std::string answers = answered(view);
  const engine::DeviceFacts& facts = view.run->result.device;
  const std::string device =
      facts.driver.empty() ? facts.name : facts.name + " \u00b7 driver " + facts.driver;
  const float room = ImGui::GetContentRegionAvail().x;
  const ImFont* body = ImGui::GetFont();
  const FittedLines request = fitted_lines(body, answers, room, 2);
  const FittedLines machine = fitted_lines(theme.fonts.label, device, room, 1);
  ImGui::BeginGroup();
  const float x = ImGui::GetCursorPosX();
  // Two lines end where one does, above the device.
  float y = top + theme.px(request.lines.size() == 1 ? 9.0F : 12.0F - body->FontSize / theme.scale);
  for (const std::string& line : request.lines) {
    const TextColorScope color(view.stale ? theme.colors.warn : theme.colors.text);
    ImGui::SetCursorPos({x, y});
    show_text(line);
    y += body->FontSize + theme.px(1);
  }
  ImGui::SetCursorPos({x, top + theme.px(30)});
  {
    const FontScope font(theme.fonts.label);
    const TextColorScope color(theme.colors.dim_text);
    show_text(machine.text());
  }
  ImGui::EndGroup();
  controls::record(context, "headline.request", "The request these figures answer", "text", summary,
                   ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
  if (ImGui::IsItemHovered()) {
    controls::tooltip(context, with_whole(request.whole ? answers : request.text(), answers,
                                          with_whole(machine.text(), device)));
  }
}

}  // namespace

std::string headline_line(const SessionView& view, const profiling::Distribution& step_ns,
                          const profiling::MedianPrecision& precision) {
  if (view.subject) return view.subject->words;
  if (view.run == nullptr) return {};
  const engine::RunResult& result = view.run->result;
  std::string line;
  for (const HeadlineFigure& figure : profiling::headline_of(result, step_ns, precision)) {
    if (!line.empty()) line += " · ";
    // "TFLOP/s" needs no name.
    if (figure.name == "snr") line += figure.label.substr(0, figure.label.find(',')) + " ";
    if (figure.name == "step" || figure.name == "lost") line += figure.name + " ";
    line += figure.value.text();
  }
  for (const std::string& part : {result.device.name, answered(view)}) {
    if (!line.empty() && !part.empty()) line += " · ";
    line += part;
  }
  return line;
}

void draw_headline(const PanelContext& context, const profiling::Distribution& step_ns,
                   const profiling::MedianPrecision& precision) {
  const Theme& theme = context.theme;
  const SessionView& view = context.view;
  if (view.subject) {
    return draw_line(context, "headline.subject", "What the page shows", view.subject->words,
                     theme.colors.text);
  }
  if (view.run == nullptr) {
    const NoRun none = no_run(view);
    return draw_line(context, "headline.no_run", "Why there are no figures",
                     none.title + (". " + none.sentence), theme.colors.dim_text);
  }
  const engine::RunResult& result = view.run->result;
  const ImVec2 origin = ImGui::GetCursorPos();
  if (view.stale) ImGui::PushStyleVar(ImGuiStyleVar_Alpha, 0.55F);
  for (HeadlineFigure& figure : profiling::headline_of(result, step_ns, precision)) {
    if (figure.name == "step") figure.label += drawn_text(view.frames_while_timing);
    draw_figure(context, figure);
    ImGui::SameLine(0, theme.px(28));
    ImGui::SetCursorPosY(origin.y);
  }
  if (view.stale) ImGui::PopStyleVar();

  if (!result.emulated.empty()) {
    draw_figure(context, {.name = "emulated",
                          .value = {.figure = "emulated", .unit = ""},
                          .label = "products on dequantized operands",
                          .method = result.emulated,
                          .tone = profiling::Tone::Warning});
    ImGui::SameLine(0, theme.px(28));
    ImGui::SetCursorPosY(origin.y);
  }

  draw_request(context, origin.y);
}

}  // namespace app
