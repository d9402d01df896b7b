// Replay = eager, cell by cell.
#include "app/gui/panels/replay_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/gui/plot/plot_text.h"

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

/// Rows of the strip: the layers in order, in each the products that were compared at all.
struct Rows {
  int layers = 1;
  std::vector<engine::Product> products;

  explicit Rows(const std::vector<engine::ReplayCheck>& checks) {
    for (const engine::ReplayCheck& check : checks) layers = std::max(layers, check.layer + 1);
    for (const auto product :
         {engine::Product::Fprop, engine::Product::Dgrad, engine::Product::Wgrad}) {
      const bool any = std::ranges::any_of(
          checks, [&](const engine::ReplayCheck& check) { return check.product == product; });
      if (any) products.push_back(product);
    }
  }
  int count() const { return layers * static_cast<int>(products.size()); }
  int of(const engine::ReplayCheck& check) const {
    const auto at = std::ranges::find(products, check.product) - products.begin();
    return check.layer * static_cast<int>(products.size()) + static_cast<int>(at);
  }
  std::string label(int row) const {
    const auto each = static_cast<int>(products.size());
    const char* product =
        kProducts.at(static_cast<std::size_t>(products[static_cast<std::size_t>(row % each)]));
    return each == 1 && products.front() == engine::Product::Fprop
               ? fmt::format("layer {}", row / each)
               : fmt::format("{} · {}", row / each, product);
  }
};

}  // namespace

CheckSummary summarize_checks(const std::vector<engine::ReplayCheck>& checks) {
  CheckSummary summary;
  const engine::ReplayCheck* first = nullptr;
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
    summary.sentence = fmt::format("{} of {} differ; first: replay {}, layer {}, {}, experts {}",
                                   summary.wrong, summary.checks, first->replay, first->layer,
                                   kProducts.at(static_cast<std::size_t>(first->product)),
                                   named(first->wrong_experts));
  }
  return summary;
}

void draw_replay_checks(const PanelContext& context, ImVec2 size,
                        const std::vector<engine::ReplayCheck>& checks, plot::PlotView& view) {
  if (checks.empty()) return;
  const Theme& theme = context.theme;
  const Rows rows(checks);
  int last = 1;
  for (const engine::ReplayCheck& check : checks) {
    last = std::max(last, check.replay);
  }
  plot::FrameSpec spec{.id = "##graphs.checks",
                       .size = size,
                       .x = {.kind = plot::AxisKind::Integer,
                             .label = "replay",
                             .limits = {0.5, static_cast<double>(last) + 0.5}},
                       .y = {.kind = plot::AxisKind::Integer,
                             .label = "",
                             .limits = {0.0, static_cast<double>(rows.count())},
                             .ticks = false},
                       .selectable = false,
                       .min_span = std::min(5.0, static_cast<double>(last)),
                       .left_margin = theme.px(52)};
  plot::PlotFrame frame(context, spec, view);
  const float row_height = (frame.max().y - frame.min().y) / static_cast<float>(rows.count());
  const engine::ReplayCheck* hovered = nullptr;
  float drawn_to = -1.0F;
  int drawn_row = -1;
  const auto wrong_last = [&](bool wrong) {
    // Right ones first, wrong ones over them: a red cell is never hidden by a neighbour's pixel.
    for (const engine::ReplayCheck& check : checks) {
      if (check.wrong_experts.empty() == wrong) continue;
      const double center = check.replay;
      if (center + 0.5 < frame.x().view.min || center - 0.5 > frame.x().view.max) continue;
      const float left = frame.x().to_pixel(center - 0.5);
      const float right = std::max(frame.x().to_pixel(center + 0.5), left + 1.0F);
      if (rows.of(check) == drawn_row && right <= drawn_to) continue;
      drawn_row = rows.of(check);
      drawn_to = std::floor(right);
      const float top = frame.min().y + row_height * static_cast<float>(rows.of(check));
      const float gap = right - left > 5.0F ? 1.0F : 0.0F;
      frame.draw()->AddRectFilled(ImVec2(left, top + 1.0F),
                                  ImVec2(right - gap, top + row_height - 1.0F),
                                  wrong ? theme.colors.bad : plot::faded(theme.colors.good, 0.75F));
    }
    drawn_to = -1.0F;
    drawn_row = -1;
  };
  wrong_last(false);
  wrong_last(true);
  frame.draw()->PushClipRect(ImVec2(frame.min().x - theme.px(52), frame.min().y), frame.max());
  const float each = std::max(1.0F, std::ceil(theme.fonts.label->FontSize / row_height));
  for (int row = 0; row < rows.count(); row += static_cast<int>(each)) {
    const float middle = frame.min().y + row_height * (static_cast<float>(row) + 0.5F) -
                         0.5F * theme.fonts.label->FontSize;
    plot::draw_text_right(frame.draw(), theme.fonts.label,
                          ImVec2(frame.min().x - theme.px(5), middle), theme.colors.dim_text,
                          rows.label(row));
  }
  frame.draw()->PopClipRect();
  if (!frame.hovered()) return;
  const int replay = static_cast<int>(std::round(frame.hover_x()));
  const int row = std::clamp(static_cast<int>((frame.mouse().y - frame.min().y) / row_height), 0,
                             rows.count() - 1);
  for (const engine::ReplayCheck& check : checks) {
    if (check.replay == replay && rows.of(check) == row) hovered = &check;
  }
  if (hovered == nullptr) {
    plot::read_out(context, "", {{"replay", std::to_string(replay), 0}, {"compared", "no", 0}});
    return;
  }
  const bool right = hovered->wrong_experts.empty();
  plot::read_out(context, "",
                 {{"replay", std::to_string(hovered->replay), 0},
                  {"layer", std::to_string(hovered->layer), 0},
                  {"product", kProducts.at(static_cast<std::size_t>(hovered->product)), 0},
                  {right ? "equal to eager" : "wrong experts",
                   right ? "every expert, bit for bit" : named(hovered->wrong_experts),
                   right ? theme.colors.good : theme.colors.bad}});
}

}  // namespace app
