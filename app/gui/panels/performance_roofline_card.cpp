// The stages of the run under the roofs of their device.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "app/gui/controls/widgets.h"
#include "app/gui/panels/performance_panel.h"
#include "app/gui/plot/marks.h"
#include "app/gui/plot/plot_text.h"
#include "profiling/document/quantity.h"
#include "profiling/document/roof_sentence.h"
#include "profiling/document/run_tables.h"

namespace app {
namespace {

using profiling::RooflinePoint;

/// The axis of rates: a device counts in TFLOP/s, most processors in GFLOP/s.
struct RateUnit {
  const char* name;
  double flop_per_s;
};
constexpr RateUnit kTera{"TFLOP/s", 1e12};
constexpr RateUnit kGiga{"GFLOP/s", 1e9};

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

std::string rate_text(double flop_per_s, const RateUnit& unit) {
  return fmt::format("{:.4g} {}", flop_per_s / unit.flop_per_s, unit.name);
}

/// "4.1 TB/s copy" in a small plot; in a large one also where the number comes from.
struct RoofNames {
  const char* rate;
  const char* product;
  const char* source;  // empty = no room
};

/// Both axes are logarithmic: a slope up to the ridge, then a level line.
void add_roof(plot::Marks& marks, const Roof& roof, plot::Range view, const RateUnit& unit,
              const RoofNames& names, ImU32 color, float width) {
  const double ridge =
      std::clamp(std::log2(roof.flop_per_s / roof.bytes_per_s), view.min, view.max);
  const auto at = [&](double x) {
    return plot::Point{x, std::log10(roof.at(std::exp2(x)) / unit.flop_per_s)};
  };
  if (roof.bytes_per_s > 0.0) {
    marks.push_back(
        plot::Line{.points = {at(view.min), at(ridge)},
                   .color = color,
                   .width = width,
                   .name = fmt::format("{} {}{}", profiling::byte_rate_text(roof.bytes_per_s),
                                       names.rate, names.source)});
  }
  if (roof.flop_per_s > 0.0) {
    const double level = std::log10(roof.flop_per_s / unit.flop_per_s);
    marks.push_back(plot::Line{.points = {{ridge, level}, {view.max, level}},
                               .color = color,
                               .width = width,
                               .name = fmt::format("{} {}{}", rate_text(roof.flop_per_s, unit),
                                                   names.product, names.source)});
  }
}

struct Scales {
  plot::Range x;  // log2 of FLOP/byte
  plot::Range y;  // log10 of the rate in `unit`
  RateUnit unit = kTera;
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
  const RateUnit unit = top < kTera.flop_per_s ? kGiga : kTera;
  const double lowest = std::floor(std::log10(bottom / unit.flop_per_s) - 0.3);
  const double highest =
      std::log10(top / unit.flop_per_s) + 0.1;  // and room for the names of the roofs
  return {.x = {std::floor(low) - 1.0, std::ceil(high) + 1.0},
          .y = {lowest, highest + 0.1 * (highest - lowest)},
          .unit = unit};
}

}  // namespace

std::string PerformancePanel::refusal(const SessionView& view, std::string_view /*button*/) {
  if (view.run == nullptr) return no_run(view).sentence;
  if (view.from_file) return "Roofs are measured with a run: go back to your runs first";
  if (!practical_roof(view.run->result).empty()) return "This run has measured roofs already";
  return {};
}

CardSpec PerformancePanel::roofline_card(const PanelContext& context) {
  const engine::RunResult& result = model_.run().result;
  const engine::Ceilings& ceilings = result.measurements.ceilings;
  const std::vector<RooflinePoint>& points = model_.picture().roofline;
  const std::string& unplaced = model_.picture().unplaced;
  const auto peaks = profiling::nominal_peaks(result);
  const bool offers =
      refusal(context.view, "performance.measure_ceilings").empty() && !points.empty();
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
      .note = !unplaced.empty()       ? unplaced
              : ceilings.products > 0 ? ceilings.product
                                      : "",
      .measured =
          "Each point is a product or a quantize stage. Height: counted work (2 m n k of the "
          "routed rows; for quantize, one multiplication per code written) divided by the median "
          "time in which its records ran. Position: that work per counted byte (every operand "
          "once, scales included). If only some iterations quantize weights, a quantize point "
          "covers the iterations that reuse them. "
          "Solid roof: this run's own copy (bytes read + written) and dense product" +
          std::string(ceilings.product.empty() ? "" : " (" + ceilings.product + ")") +
          ". Thin roof: " +
          (peaks ? peaks->source : std::string("none, the device is not in the table")) + "." +
          (unplaced.empty() ? std::string() : " Here " + unplaced + "."),
      .list = [this] { return profiling::roofline_table(model_.run(), model_.picture().roofline); },
      .header_widgets = offers ? context.theme.px(112) : 0.0F,
      .header = offers ? std::function<void()>(offer) : nullptr,
      .empty = [&points, &result]() -> EmptyState {
        if (!points.empty()) return {};
        return {"No product to place",
                "No record of this run belongs to a product, so its rate is not known. Method: " +
                    result.activity_method + "."};
      },
      .draw = [this, &context](const Area& room) { draw_roofline(context, room.size); },
      .read_out = {"performance.roofline", "roofline",
                   [&points, &result] {
                     const Roof practical = practical_roof(result);
                     std::string value = fmt::format(
                         "points={};copy_gbps={:.4g};dense_tflops={:.3g};nominal={}", points.size(),
                         practical.bytes_per_s / 1e9, practical.flop_per_s / kTera.flop_per_s,
                         nominal_roof(result).empty() ? 0 : 1);
                     for (const RooflinePoint& point : points) {
                       value += fmt::format(";{}={:.3f}", engine::stage_name(point.stage),
                                            point.flop_per_s() / kTera.flop_per_s);
                     }
                     return value;
                   }},
      .sentence = [&points, &result] { return profiling::roofline_sentence(result, points); }};
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
         .y = {.kind = plot::AxisKind::Log10Count, .label = scales.unit.name, .limits = scales.y},
         .selectable = false,
         .min_span = 1.0},
        roofline_view_);
    const bool large = frame.max().x - frame.min().x > theme.px(420);
    plot::Marks marks;
    add_roof(marks, nominal, frame.x().view, scales.unit,
             {.rate = "data sheet", .product = "data sheet", .source = large ? ", nominal" : ""},
             plot::faded(theme.colors.dim_text, 0.8F), 1);
    add_roof(marks, practical, frame.x().view, scales.unit,
             {.rate = "copy",
              .product = "dense product",
              .source = large ? ", measured in this run" : ""},
             theme.colors.accent, 2);
    plot::Dots dots{.radius = 5.0F, .reach = 10.0F, .rim = theme.colors.window};
    for (const RooflinePoint& point : points) {
      dots.dots.push_back(
          {.at = {std::log2(point.work.intensity()),
                  std::log10(point.flop_per_s() / scales.unit.flop_per_s)},
           .color = theme.stage(point.stage),
           .name = std::string(engine::stage_name(point.stage)),
           .joined = true,
           .id = fmt::format("performance.roofline.{}", engine::stage_name(point.stage)),
           .value = rate_text(point.flop_per_s(), scales.unit)});
    }
    marks.emplace_back(std::move(dots));
    const plot::MarkHit hit = plot::draw_marks(context, frame, marks);
    plot::draw_unnamed(context, frame, "performance.roofline.unnamed", hit.unnamed);
    const int index = hit.index;
    if (index >= 0) hovered = &points[static_cast<std::size_t>(index)];
  }
  if (hovered == nullptr) return;
  plot::read_out(context, std::string(engine::stage_name(hovered->stage)),
                 plot::row_lines(profiling::roofline_table(run, {hovered, 1}), 0, theme.colors,
                                 {{"flop_per_s", theme.stage(hovered->stage)},
                                  {"of_copy", theme.colors.accent},
                                  {"of_product", theme.colors.accent}}));
}

}  // namespace app
