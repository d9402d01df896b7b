// The check that replays equal the eager run, cell by cell.
#include "app/gui/panels/replay_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "app/gui/plot/plot_text.h"
#include "engine/model/projections.h"

namespace app {
namespace {

std::string named(const std::vector<int>& experts) {
  std::string text;
  constexpr std::size_t kMostNamed = 12;
  for (std::size_t i = 0; i < std::min(experts.size(), kMostNamed); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(experts[i]);
  }
  if (experts.size() > kMostNamed) text += fmt::format(" and {} more", experts.size() - kMostNamed);
  return text;
}

constexpr std::array<const char*, 3> kProducts = {"Y", "dX", "dW"};

/// Rows of the strip: the micro-batches in order, in each the layers, and within these the products
/// that were compared.
struct Rows {
  engine::StepKind step;
  int batches = 1;
  int layers = 1;
  std::vector<engine::Product> products;

  Rows(const std::vector<engine::ReplayCheck>& checks, engine::StepKind step_kind)
      : step(step_kind) {
    for (const engine::ReplayCheck& check : checks) {
      batches = std::max(batches, check.micro_batch + 1);
      layers = std::max(layers, check.layer + 1);
    }
    for (const auto product :
         {engine::Product::Fprop, engine::Product::Dgrad, engine::Product::Wgrad}) {
      const bool any = std::ranges::any_of(
          checks, [&](const engine::ReplayCheck& check) { return check.product == product; });
      if (any) products.push_back(product);
    }
  }
  int of_batch() const { return layers * static_cast<int>(products.size()); }
  int count() const { return batches * of_batch(); }
  int of(const engine::ReplayCheck& check) const {
    const auto at = std::ranges::find(products, check.product) - products.begin();
    return check.micro_batch * of_batch() + check.layer * static_cast<int>(products.size()) +
           static_cast<int>(at);
  }
  std::string label(int row) const {
    if (batches == 1) return label_in_batch(row);
    return fmt::format("{} · {}", row / of_batch() + 1, label_in_batch(row % of_batch()));
  }
  std::string label_in_batch(int row) const {
    const auto each = static_cast<int>(products.size());
    const char* product =
        kProducts.at(static_cast<std::size_t>(products[static_cast<std::size_t>(row % each)]));
    return each == 1 && products.front() == engine::Product::Fprop
               ? engine::layer_words(step, row / each)
               : fmt::format("{} · {}", engine::layer_number(step, row / each), product);
  }
};

int last_replay(const std::vector<engine::ReplayCheck>& checks) {
  int last = 1;
  for (const engine::ReplayCheck& check : checks) last = std::max(last, check.replay);
  return last;
}

}  // namespace

CheckSummary summarize_checks(const std::vector<engine::ReplayCheck>& checks,
                              engine::StepKind step) {
  CheckSummary summary;
  const engine::ReplayCheck* first = nullptr;
  const bool several = std::ranges::any_of(
      checks, [](const engine::ReplayCheck& check) { return check.micro_batch > 0; });
  for (const engine::ReplayCheck& check : checks) {
    ++summary.checks;
    if (check.wrong_experts.empty()) continue;
    ++summary.wrong;
    if (first == nullptr || check.replay < first->replay) first = &check;
  }
  if (summary.checks == 0) {
    summary.sentence = "no replay was compared";
  } else if (first == nullptr) {
    summary.sentence =
        fmt::format("all {} comparisons equal the eager run, bit for bit", summary.checks);
  } else {
    summary.sentence = fmt::format(
        "{} of {} differ; first: replay {}, {}{}, {}, experts {}", summary.wrong, summary.checks,
        first->replay, several ? fmt::format("micro-batch {}, ", first->micro_batch + 1) : "",
        engine::layer_words(step, first->layer),
        kProducts.at(static_cast<std::size_t>(first->product)), named(first->wrong_experts));
  }
  return summary;
}

std::size_t strip_cells(const std::vector<engine::ReplayCheck>& checks) {
  if (checks.empty()) return 0;
  const Rows rows(checks, engine::StepKind::Linear);
  return static_cast<std::size_t>(rows.count()) * static_cast<std::size_t>(last_replay(checks));
}

CheckStrip make_check_strip(const std::vector<engine::ReplayCheck>& checks, engine::StepKind step) {
  CheckStrip strip{.step = step};
  if (checks.empty()) return strip;
  const Rows rows(checks, step);
  const int last = last_replay(checks);
  for (int row = 0; row < rows.count(); ++row) strip.labels.push_back(rows.label(row));
  strip.grid.rows = rows.count();
  strip.grid.columns = last;
  const std::size_t cells = strip_cells(checks);
  strip.grid.values.assign(cells, std::numeric_limits<float>::quiet_NaN());
  strip.check_of.assign(cells, -1);
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const engine::ReplayCheck& check = checks[i];
    if (check.replay < 1) continue;
    const auto cell = static_cast<std::size_t>(rows.of(check)) * static_cast<std::size_t>(last) +
                      static_cast<std::size_t>(check.replay - 1);
    strip.grid.values[cell] = check.wrong_experts.empty() ? 0.0F : 1.0F;
    strip.check_of[cell] = static_cast<std::int32_t>(i);
  }
  plot::add_coarser(strip.grid);
  return strip;
}

namespace {

/// One rectangle per cell if cells are wider than a pixel, otherwise one per stretch of equal
/// pixels.
void draw_cells(const PanelContext& context, const plot::PlotFrame& frame, const CheckStrip& strip,
                float row_height) {
  const Theme& theme = context.theme;
  const plot::Range view = frame.x().view;
  const plot::ColumnSpan span =
      plot::shown_columns(view.min - 0.5, view.max + 0.5, strip.grid.columns);
  const int pixels = std::max(1, static_cast<int>(frame.max().x - frame.min().x));
  const plot::Grid cells = plot::folded(strip.grid, span, strip.grid.rows, pixels);
  if (cells.columns == 0) return;
  const double wide = static_cast<double>(span.last - span.first) / cells.columns;
  const bool apart = frame.x().pixels_per_unit() > 5.0;
  for (int row = 0; row < cells.rows; ++row) {
    const float top = frame.min().y + row_height * static_cast<float>(row);
    for (int column = 0; column < cells.columns;) {
      const float value = cells.at(row, column);
      int end = column + 1;
      while (!apart && end < cells.columns && cells.at(row, end) == value) ++end;
      if (!std::isnan(value)) {
        const float left = frame.x().to_pixel(0.5 + span.first + column * wide);
        const float right =
            std::max(frame.x().to_pixel(0.5 + span.first + end * wide), left + 1.0F);
        frame.draw()->AddRectFilled(
            ImVec2(left, top + 1.0F),
            ImVec2(right - (apart ? 1.0F : 0.0F), top + row_height - 1.0F),
            value > 0.0F ? theme.colors.bad : plot::faded(theme.colors.good, 0.75F));
      }
      column = end;
    }
  }
}

}  // namespace

void draw_replay_checks(const PanelContext& context, ImVec2 size, const CheckStrip& strip,
                        const std::vector<engine::ReplayCheck>& checks, plot::PlotView& view) {
  if (strip.labels.empty()) return;
  const Theme& theme = context.theme;
  const int rows = strip.grid.rows;
  const double last = strip.grid.columns;
  float margin = theme.px(52);
  for (const std::string& label : strip.labels) {
    margin = std::max(margin, plot::text_size(theme.fonts.label, label).x + theme.px(kGap));
  }
  margin = std::min(margin, 0.4F * size.x);
  plot::FrameSpec spec{
      .id = "##graphs.checks",
      .size = size,
      .x = {.kind = plot::AxisKind::Integer, .label = "replay", .limits = {0.5, last + 0.5}},
      .y = {.kind = plot::AxisKind::Integer,
            .label = "",
            .limits = {0.0, static_cast<double>(rows)},
            .ticks = false},
      .selectable = false,
      .min_span = std::min(5.0, last),
      .left_margin = margin};
  plot::PlotFrame frame(context, spec, view);
  const float row_height = (frame.max().y - frame.min().y) / static_cast<float>(rows);
  draw_cells(context, frame, strip, row_height);
  frame.open_clip();
  frame.draw()->PushClipRect(ImVec2(frame.min().x - margin, frame.min().y), frame.max(), true);
  const float each = std::max(1.0F, std::ceil(theme.fonts.label->FontSize / row_height));
  for (int row = 0; row < rows; row += static_cast<int>(each)) {
    const float middle = frame.min().y + row_height * (static_cast<float>(row) + 0.5F) -
                         0.5F * theme.fonts.label->FontSize;
    plot::draw_text_right(frame.draw(), theme.fonts.label,
                          ImVec2(frame.min().x - theme.px(5), middle), theme.colors.dim_text,
                          strip.labels[static_cast<std::size_t>(row)]);
  }
  frame.draw()->PopClipRect();
  frame.close_clip();
  if (!frame.hovered()) return;
  const int replay =
      std::clamp(static_cast<int>(std::round(frame.hover_x())), 1, strip.grid.columns);
  const int row =
      std::clamp(static_cast<int>((frame.mouse().y - frame.min().y) / row_height), 0, rows - 1);
  const std::int32_t check =
      strip.check_of[static_cast<std::size_t>(row) * static_cast<std::size_t>(strip.grid.columns) +
                     static_cast<std::size_t>(replay - 1)];
  if (check < 0) {
    plot::read_out(context, "", {{"replay", std::to_string(replay)}, {"compared", "no"}});
    return;
  }
  const engine::ReplayCheck& hovered = checks[static_cast<std::size_t>(check)];
  const bool right = hovered.wrong_experts.empty();
  plot::read_out(context, "",
                 {{"replay", std::to_string(hovered.replay)},
                  {"micro-batch", std::to_string(hovered.micro_batch + 1)},
                  {"layer", engine::layer_number(strip.step, hovered.layer)},
                  {"product", kProducts.at(static_cast<std::size_t>(hovered.product))},
                  {right ? "equal to eager" : "wrong experts",
                   right ? "every expert, bit for bit" : named(hovered.wrong_experts),
                   right ? theme.colors.good : theme.colors.bad}});
}

}  // namespace app
