// The stages of the run under the roofs of their device.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/controls/widgets.h"
#include "app/gui/panels/performance_panel.h"
#include "app/gui/plot/label_places.h"
#include "app/gui/plot/plot_text.h"
#include "profiling/document/run_tables.h"

namespace app {
namespace {

using profiling::RooflinePoint;

constexpr double kTera = 1e12;
constexpr float kLineChip = 18.0F;  // piece of a line before its name

/// A memory rate and a product rate: the lower of the two bounds what can be reached.
struct Roof {
  double bytes_per_s = 0.0;
  double flop_per_s = 0.0;
  double at(double intensity) const {
    if (bytes_per_s <= 0.0) return flop_per_s;
    if (flop_per_s <= 0.0) return bytes_per_s * intensity;
    return std::min(bytes_per_s * intensity, flop_per_s);
  }
  bool empty() const { return bytes_per_s <= 0.0 && flop_per_s <= 0.0; }
};

Roof practical_roof(const engine::RunResult& result) {
  const engine::Ceilings& ceilings = result.measurements.ceilings;
  return {ceilings.copy_bytes_per_s, ceilings.product_flop_per_s};
}

Roof nominal_roof(const engine::RunResult& result) {
  const auto peaks = profiling::nominal_peaks(result);
  return peaks ? Roof{peaks->bytes_per_s, peaks->flop_per_s()} : Roof{};
}

std::string rate_text(double flop_per_s) {
  return fmt::format("{:.4g} TFLOP/s", flop_per_s / kTera);
}

/// Its two parts as drawn, so that they can be named.
struct RoofLines {
  ImVec2 slope_middle{};
  float flat_y = 0.0F;
};

RoofLines draw_roof(const plot::PlotFrame& frame, const Roof& roof, ImU32 color, float thickness,
                    plot::LabelPlaces& places) {
  // Both axes are logarithmic: a slope up to the ridge, then a flat line.
  const plot::Range view = frame.x().view;
  const double ridge =
      std::clamp(std::log2(roof.flop_per_s / roof.bytes_per_s), view.min, view.max);
  const auto at = [&](double x) {
    return ImVec2(frame.x().to_pixel(x),
                  frame.y().to_pixel(std::log10(roof.at(std::exp2(x)) / kTera)));
  };
  ImVec2 previous = at(view.min);
  for (const double x : {ridge, view.max}) {
    frame.draw()->AddLine(previous, at(x), color, thickness);
    places.keep_free_line(previous, at(x));
    previous = at(x);
  }
  return {.slope_middle = at(0.5 * (view.min + ridge)), .flat_y = at(view.max).y};
}

/// What a line is, with a piece of it before the words.
void name_line(const PanelContext& context, const plot::PlotFrame& frame,
               plot::LabelPlaces::Place place, ImU32 color, float thickness,
               const std::string& text) {
  if (place.taken) return;  // the read-out and the list have it
  const Theme& theme = context.theme;
  const float chip = theme.px(kLineChip);
  const float middle = place.at.y + 0.5F * theme.fonts.label->FontSize;
  if (!place.clear) {
    const ImVec2 size = plot::text_size(theme.fonts.label, text);
    frame.draw()->AddRectFilled(place.at, ImVec2(place.at.x + chip + size.x, place.at.y + size.y),
                                plot::faded(theme.colors.panel, 0.9F), theme.px(2));
  }
  frame.draw()->AddLine(ImVec2(place.at.x, middle), ImVec2(place.at.x + chip - theme.px(4), middle),
                        color, thickness);
  plot::draw_text(frame.draw(), theme.fonts.label, ImVec2(place.at.x + chip, place.at.y),
                  theme.colors.text, text);
}

/// "4.1 TB/s copy" in a small plot; in a large one also where the number comes from.
struct RoofNames {
  const char* rate;
  const char* product;
  const char* source;
};

void name_roof(const PanelContext& context, const plot::PlotFrame& frame, const Roof& roof,
               const RoofLines& lines, const RoofNames& names, ImU32 color, float thickness,
               plot::LabelPlaces& places) {
  const Theme& theme = context.theme;
  const bool large = frame.max().x - frame.min().x > theme.px(420);
  const std::string source = large ? std::string(", ") + names.source : std::string();
  const float gap = theme.px(kGapSmall);
  const auto size_of = [&](const std::string& text) {
    const ImVec2 size = plot::text_size(theme.fonts.label, text);
    return ImVec2(size.x + theme.px(kLineChip), size.y);
  };
  if (roof.flop_per_s > 0.0) {
    const std::string text = rate_text(roof.flop_per_s) + " " + names.product + source;
    plot::LabelPlaces::Place place = places.along(lines.flat_y, size_of(text), gap);
    // Two roofs may lie closer together than a line of text.
    if (!place.clear) place = places.anywhere(size_of(text), gap);
    name_line(context, frame, place, color, thickness, text);
  }
  if (roof.bytes_per_s > 0.0) {
    const std::string text =
        fmt::format("{:.4g} TB/s {}{}", roof.bytes_per_s / kTera, names.rate, source);
    const ImVec2 size = size_of(text);
    const auto beside = places.next_to(lines.slope_middle, size, theme.px(kGap));
    name_line(context, frame,
              beside ? plot::LabelPlaces::Place{.at = *beside, .clear = true}
                     : places.anywhere(size, gap),
              color, thickness, text);
  }
}

struct PointName {
  ImVec2 spot;
  std::string text;
};

/// Each beside its point, or further away with a line to it. Lines first: one may pass under the
/// name of another point.
void name_points(const PanelContext& context, const plot::PlotFrame& frame,
                 const std::vector<PointName>& names, plot::LabelPlaces& places) {
  const Theme& theme = context.theme;
  std::vector<plot::LabelPlaces::Place> chosen;
  bool lines = false;
  for (const PointName& name : names) {
    const ImVec2 size = plot::text_size(theme.fonts.label, name.text);
    std::optional<ImVec2> beside;
    for (const float away : {8.0F, 20.0F, 36.0F, 56.0F}) {
      beside = places.next_to(name.spot, size, theme.px(away));
      if (!beside) continue;
      if (away > 8.0F) {
        const ImVec2 end(std::clamp(name.spot.x, beside->x, beside->x + size.x),
                         std::clamp(name.spot.y, beside->y, beside->y + size.y));
        frame.draw()->AddLine(name.spot, end, theme.colors.dim_text);
        lines = true;
      }
      break;
    }
    chosen.push_back(beside ? plot::LabelPlaces::Place{.at = *beside, .clear = true}
                            : places.anywhere(size, theme.px(kGapSmall)));
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    chosen[i].clear = chosen[i].clear && !lines;
    plot::draw_label(frame.draw(), theme, chosen[i], theme.colors.text, names[i].text);
  }
}

struct Scales {
  plot::Range x;  // log2 of FLOP/byte
  plot::Range y;  // log10 of TFLOP/s
};

Scales scales_of(const std::vector<RooflinePoint>& points, const Roof& practical,
                 const Roof& nominal) {
  double low = std::log2(points.front().work.intensity());
  double high = low;
  double top = 0.0;
  double bottom = points.front().flop_per_s();
  for (const RooflinePoint& point : points) {
    low = std::min(low, std::log2(point.work.intensity()));
    high = std::max(high, std::log2(point.work.intensity()));
    top = std::max(top, point.flop_per_s());
    bottom = std::min(bottom, point.flop_per_s());
  }
  for (const Roof& roof : {practical, nominal}) {
    if (roof.empty()) continue;
    top = std::max(top, roof.at(std::exp2(high)));
    // The ridge must be in view: it shows which bound applies to a product.
    if (roof.bytes_per_s <= 0.0 || roof.flop_per_s <= 0.0) continue;
    const double ridge = std::log2(roof.flop_per_s / roof.bytes_per_s);
    low = std::min(low, ridge);
    high = std::max(high, ridge);
  }
  const double lowest = std::floor(std::log10(bottom / kTera) - 0.3);
  const double highest = std::log10(top / kTera) + 0.1;  // and room for the names of the roofs
  return {{std::floor(low) - 1.0, std::ceil(high) + 1.0},
          {lowest, highest + 0.1 * (highest - lowest)}};
}

}  // namespace

CardSpec PerformancePanel::roofline_card(const PanelContext& context) {
  const engine::RunResult& result = model_.run().result;
  const engine::Ceilings& ceilings = result.measurements.ceilings;
  const std::vector<RooflinePoint>& points = model_.picture().roofline;
  const auto peaks = profiling::nominal_peaks(result);
  const bool offers = practical_roof(result).empty() && !points.empty() && !context.view.from_file;
  const auto offer = [&context] {
    if (controls::button(context, "performance.measure_ceilings", "Measure roofs",
                         {.tooltip = "Runs again with a copy and a dense product of this size",
                          .width = context.theme.px(104)})) {
      engine::RunRequest request = context.view.requested;
      request.measure.ceilings = true;
      context.commands.push_back(EditRequest{.request = request, .run = true});
    }
  };
  return {
      .id = "performance.roofline_card",
      .title = "Roofline",
      .question =
          "Is a stage bound by memory or by arithmetic, and how far is it below what this "
          "device can do?",
      .note = ceilings.products > 0 ? ceilings.product : "",
      .measured =
          "Each point is a product or a quantize stage. Height: counted work (2 m n k of the "
          "routed rows; for quantize, one multiplication per code written) divided by the median "
          "time in which its records ran. Position: that work per counted byte (every operand "
          "once, scales included). If only some iterations quantize weights, a quantize point "
          "covers the iterations that reuse them. "
          "Solid roof: this run's own copy (bytes read + written) and dense product" +
          std::string(ceilings.product.empty() ? "" : " (" + ceilings.product + ")") +
          ". Thin roof: " +
          (peaks ? peaks->source : std::string("none, the device is not in the table")) + ".",
      .list = [this] { return profiling::roofline_table(model_.run()); },
      .header_widgets = offers ? context.theme.px(112) : 0.0F,
      .header = offers ? std::function<void()>(offer) : nullptr,
      .empty = [&points, &result]() -> EmptyState {
        if (!points.empty()) return {};
        return {"No product to place",
                "No record of this run belongs to a product, so its rate is not known. Method: " +
                    result.activity_method + "."};
      },
      .draw = [this, &context](const Area& room) { draw_roofline(context, room.size); },
      .read_out = {"performance.roofline", "roofline", [&points, &result] {
                     const Roof practical = practical_roof(result);
                     std::string value = fmt::format(
                         "points={};copy_gbps={:.4g};dense_tflops={:.3g};nominal={}", points.size(),
                         practical.bytes_per_s / 1e9, practical.flop_per_s / kTera,
                         nominal_roof(result).empty() ? 0 : 1);
                     for (const RooflinePoint& point : points) {
                       value += fmt::format(";{}={:.3f}", engine::stage_name(point.stage),
                                            point.flop_per_s() / kTera);
                     }
                     return value;
                   }}};
}

void PerformancePanel::draw_roofline(const PanelContext& context, ImVec2 size) {
  const Theme& theme = context.theme;
  const profiling::RecordedRun& run = model_.run();
  const std::vector<RooflinePoint>& points = model_.picture().roofline;
  const Roof practical = practical_roof(run.result);
  const Roof nominal = nominal_roof(run.result);
  const Scales scales = scales_of(points, practical, nominal);
  const RooflinePoint* hovered = nullptr;
  {
    plot::PlotFrame frame(
        context,
        {.id = "##performance.roofline",
         .size = size,
         .x = {.kind = plot::AxisKind::Log2, .label = "FLOP / byte", .limits = scales.x},
         .y = {.kind = plot::AxisKind::Log10Count, .label = "TFLOP/s", .limits = scales.y},
         .selectable = false,
         .min_span = 1.0},
        roofline_view_);
    plot::LabelPlaces places(frame.min(), frame.max());
    const ImU32 thin = plot::faded(theme.colors.dim_text, 0.8F);
    RoofLines nominal_lines;
    RoofLines practical_lines;
    if (!nominal.empty()) nominal_lines = draw_roof(frame, nominal, thin, 1, places);
    if (!practical.empty()) {
      practical_lines = draw_roof(frame, practical, theme.colors.accent, 2, places);
    }
    const auto spot_of = [&](const RooflinePoint& point) {
      return ImVec2(frame.x().to_pixel(std::log2(point.work.intensity())),
                    frame.y().to_pixel(std::log10(point.flop_per_s() / kTera)));
    };
    for (const RooflinePoint& point : points) {
      const ImVec2 spot = spot_of(point);
      places.keep_free(spot, theme.px(5));
      frame.draw()->AddCircleFilled(spot, theme.px(5), theme.stage(point.stage), 16);
      frame.draw()->AddCircle(spot, theme.px(5), theme.colors.window, 16);
      const float dx = frame.mouse().x - spot.x;
      const float dy = frame.mouse().y - spot.y;
      if (frame.hovered() && dx * dx + dy * dy < theme.px(10) * theme.px(10)) hovered = &point;
    }
    std::vector<PointName> names;
    for (const RooflinePoint& point : points) {
      names.push_back({spot_of(point), std::string(engine::stage_name(point.stage))});
    }
    name_points(context, frame, names, places);
    name_roof(context, frame, practical, practical_lines,
              {.rate = "copy", .product = "dense product", .source = "measured in this run"},
              theme.colors.accent, 2, places);
    name_roof(context, frame, nominal, nominal_lines,
              {.rate = "data sheet", .product = "data sheet", .source = "nominal"}, thin, 1,
              places);
  }
  if (hovered == nullptr) return;
  plot::read_out(context, std::string(engine::stage_name(hovered->stage)),
                 plot::row_lines(profiling::roofline_table(run),
                                 static_cast<std::size_t>(hovered - points.data()), theme.colors,
                                 {{"rate", theme.stage(hovered->stage)},
                                  {"of the copy's rate", theme.colors.accent},
                                  {"of the dense product", theme.colors.accent}}));
}

}  // namespace app
