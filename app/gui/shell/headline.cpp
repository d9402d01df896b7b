// The figures of the run on screen that answer "how long, how fast, how right, on what".
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "app/controllers/request_actions.h"
#include "app/gui/cards/card.h"
#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/plot/format.h"
#include "app/gui/plot/plot_text.h"
#include "app/gui/shell/bars.h"
#include "app/gui/theme/text.h"

namespace app {
namespace {

struct HeadlineFigure {
  const char* id;
  std::string value;
  std::string unit;
  std::string label;
  std::string tooltip;
  ImU32 color;
  double exact = std::numeric_limits<double>::quiet_NaN();  // in `exact_unit`
  std::string exact_unit{};
};

/// Three significant digits without an exponent: 0.0123, 3.41, 1108.
std::string three_digits(double value) {
  if (!std::isfinite(value)) return "–";
  const double magnitude = std::abs(value);
  const int decimals = magnitude >= 100   ? 0
                       : magnitude >= 10  ? 1
                       : magnitude >= 1   ? 2
                       : magnitude >= 0.1 ? 3
                                          : 4;
  return fmt::format("{:.{}f}", value, decimals);
}

/// Index of the expert with the lowest SNR; -1 when no expert has a finite reference.
int worst_expert(const std::vector<engine::ExpertResult>& experts) {
  int worst = -1;
  double lowest = 0.0;
  for (std::size_t i = 0; i < experts.size(); ++i) {
    const double snr = experts[i].fprop.snr_db;
    if (experts[i].rows == 0 || std::isnan(snr)) continue;
    if (worst >= 0 && snr >= lowest) continue;
    worst = static_cast<int>(i);
    lowest = snr;
  }
  return worst;
}

/// Overflowed outputs of all experts: the SNR leaves them out.
HeadlineFigure lost_figure(std::uint64_t lost, const Palette& colors) {
  return {.id = "headline.lost",
          .value = plot::count_text(lost),
          .unit = "",
          .label = lost == 1 ? "output of Y lost" : "outputs of Y lost",
          .tooltip =
              "Infinite or NaN although the unquantized product is finite: they overflowed "
              "the type of Y. The SNR leaves them out",
          .color = colors.bad,
          .exact = static_cast<double>(lost),
          .exact_unit = ""};
}

/// "0 frames drawn while timing": the window draws on the machine that it measures.
std::string drawn_text(int frames) {
  if (frames < 0) return {};
  return fmt::format(" · {} frame{} drawn while timing", frames, frames == 1 ? "" : "s");
}

std::vector<HeadlineFigure> figures(const engine::RunResult& result,
                                    const profiling::Distribution& time,
                                    const std::string& precision, int frames,
                                    const Palette& colors) {
  std::vector<HeadlineFigure> list;
  if (time.n > 0) {
    const std::string end = profiling::iteration_end_text(result);
    const std::string reach =
        precision.empty() ? "" : ", 95 % interval of the median " + precision + " at most";
    list.push_back(
        {.id = "headline.step",
         .value = three_digits(1e-6 * time.median),
         .unit = "ms",
         .label = fmt::format("step, median of {}{}{}", time.n, precision.empty() ? "" : " · ",
                              precision) +
                  drawn_text(frames),
         .tooltip = fmt::format("{}. n = {}, median {} ms, 5 % to 95 %: {} to {} ms{}{}{}",
                                result.iteration_method, time.n, three_digits(1e-6 * time.median),
                                three_digits(1e-6 * time.p5), three_digits(1e-6 * time.p95), reach,
                                end.empty() ? "" : "; ", end),
         .color = colors.text,
         .exact = time.median,
         .exact_unit = "ns"});
    if (time.median > 0 && result.flop > 0) {
      const double per_second = result.flop / (time.median * 1e-9);
      const bool tera = per_second >= 1e11;
      list.push_back(
          {.id = "headline.throughput",
           .value = three_digits(per_second * (tera ? 1e-12 : 1e-9)),
           .unit = tera ? "TFLOP/s" : "GFLOP/s",
           .label = "useful work",
           .tooltip = fmt::format("{:.4g} useful FLOP of one step (2·m·n·k over all experts and "
                                  "layers, padding not counted) divided by its median time",
                                  result.flop),
           .color = colors.text,
           .exact = per_second,
           .exact_unit = "FLOP/s"});
    }
  }
  if (const int worst = worst_expert(result.experts); worst >= 0) {
    const engine::ProductAccuracy& error = result.experts[static_cast<std::size_t>(worst)].fprop;
    const double snr = error.snr_db;
    list.push_back(
        {.id = "headline.snr",
         .value = snr == std::numeric_limits<double>::infinity() ? "exact" : three_digits(snr),
         .unit = snr == std::numeric_limits<double>::infinity() ? "" : "dB",
         .label =
             fmt::format("SNR of Y, worst expert ({}){}", worst,
                         error.left_out() == 0 ? std::string()
                                               : fmt::format(", {} left out", error.left_out())),
         .tooltip = "Product of layer 0 against the product of the unquantized operands: "
                    "10·log10(sum y² / sum (y - ŷ)²), the lowest of all experts",
         .color = snr < 15 ? colors.warn : colors.text,
         .exact = snr,
         .exact_unit = "dB"});
  }
  std::uint64_t lost = 0;
  for (const engine::ExpertResult& expert : result.experts) lost += expert.fprop.lost;
  if (lost > 0) list.push_back(lost_figure(lost, colors));
  return list;
}

void draw_figure(const PanelContext& context, const HeadlineFigure& figure) {
  const Theme& theme = context.theme;
  ImGui::BeginGroup();
  const ImVec2 at = ImGui::GetCursorPos();
  {
    const FontScope font(theme.fonts.headline);
    const TextColorScope color(figure.color);
    show_text(figure.value);
  }
  if (!figure.unit.empty()) {
    ImGui::SameLine(0, theme.px(kGapSmall));
    // On the baseline of the large figure.
    ImGui::SetCursorPosY(at.y + theme.px(9));
    const TextColorScope color(theme.colors.dim_text);
    show_text(figure.unit);
  }
  ImGui::SetCursorPos({at.x, at.y + theme.px(30)});
  {
    const FontScope font(theme.fonts.label);
    const TextColorScope color(theme.colors.dim_text);
    // The window may end before the text does.
    const float room = ImGui::GetContentRegionAvail().x;
    show_text(plot::fitted(theme.fonts.label, figure.label, room));
  }
  ImGui::EndGroup();
  controls::record(context, figure.id, figure.label.c_str(), "figure",
                   figure.value + (figure.unit.empty() ? "" : " " + figure.unit),
                   ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
  if (ImGui::IsItemHovered()) controls::tooltip(context, figure.tooltip);
  controls::copy_if_wanted(context, ImGui::GetItemRectMin(), ImGui::GetItemRectMax(),
                           {figure.value, figure.unit, figure.exact, figure.exact_unit},
                           figure.label);
}

}  // namespace

void draw_headline(const PanelContext& context, const profiling::Distribution& step_ns,
                   const std::string& precision) {
  const Theme& theme = context.theme;
  const SessionView& view = context.view;
  if (view.run == nullptr) {
    const TextColorScope color(theme.colors.dim_text);
    ImGui::AlignTextToFramePadding();
    const NoRun none = no_run(view);
    const std::string why = none.title + (". " + none.sentence);
    const std::string shown = plot::fitted(ImGui::GetFont(), why, ImGui::GetContentRegionAvail().x);
    show_text(shown);
    controls::record(context, "headline.no_run", "Why there are no figures", "text", why,
                     ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
    if (shown != why && ImGui::IsItemHovered()) controls::tooltip(context, why);
    return;
  }
  const engine::RunResult& result = view.run->result;
  const ImVec2 origin = ImGui::GetCursorPos();
  if (view.stale) ImGui::PushStyleVar(ImGuiStyleVar_Alpha, 0.55F);
  for (const HeadlineFigure& figure :
       figures(result, step_ns, precision, view.frames_while_timing, theme.colors)) {
    draw_figure(context, figure);
    ImGui::SameLine(0, theme.px(28));
    ImGui::SetCursorPosY(origin.y);
  }
  if (view.stale) ImGui::PopStyleVar();

  if (!result.emulated.empty()) {
    draw_figure(context, {.id = "headline.emulated",
                          .value = "emulated",
                          .unit = "",
                          .label = "products on dequantized operands",
                          .tooltip = result.emulated,
                          .color = theme.colors.warn});
    ImGui::SameLine(0, theme.px(28));
    ImGui::SetCursorPosY(origin.y);
  }

  // The right part says what the figures belong to; its tooltip has the full text.
  const std::string summary = summary_of(view.run->request);
  ImGui::BeginGroup();
  {
    const TextColorScope color(view.stale ? theme.colors.warn : theme.colors.text);
    const std::string answers = (view.stale       ? "older request: "
                                 : view.from_file ? "recorded: "
                                 : !view.answers  ? "another request: "
                                                  : "") +
                                summary;
    ImGui::SetCursorPosY(origin.y + theme.px(9));
    show_text(plot::fitted(ImGui::GetFont(), answers, ImGui::GetContentRegionAvail().x));
    if (ImGui::IsItemHovered()) controls::tooltip(context, answers);
  }
  {
    ImGui::SetCursorPos({ImGui::GetCursorPosX(), origin.y + theme.px(30)});
    const FontScope font(theme.fonts.label);
    const TextColorScope color(theme.colors.dim_text);
    const std::string device = result.device.driver.empty()
                                   ? result.device.name
                                   : result.device.name + " · driver " + result.device.driver;
    show_text(device);
  }
  ImGui::EndGroup();
  controls::record(context, "headline.request", "The request these figures answer", "text", summary,
                   ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
}

}  // namespace app
