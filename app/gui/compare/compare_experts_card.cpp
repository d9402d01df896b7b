// How every expert changes from A to B: time with the band in which no verdict is possible, or the
// error of its product.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/gui/compare/compare_panel.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/plot/bar_plot.h"
#include "app/gui/plot/plot_text.h"
#include "profiling/compare/comparison_tables.h"

namespace app {
namespace {

using profiling::ExpertRow;

constexpr std::array kProducts = {"Y", "dX", "dW"};  // by engine::Product

/// How many differ and why others have no verdict, then the method.
std::string verdicts_note(const profiling::RunComparison& comparison) {
  const std::string verdicts = profiling::expert_verdicts(comparison);
  return comparison.not_comparable.empty()
             ? fmt::format("{}; by {}", verdicts, comparison.expert_method)
             : verdicts;
}

/// From A to B: percent of time or decibels. NaN if a side has none.
struct Delta {
  double value = 0.0;
  double low = 0.0;  // of the interval; equal to high without one
  double high = 0.0;
  bool ambiguous = false;
};

double percent(double ratio) { return 100.0 * (ratio - 1.0); }

Delta delta_of(const ExpertRow& row, bool snr) {
  if (snr) {
    // Two exact products do not differ; one exact and one inexact product differ by more than any
    // scale can show.
    const double delta = row.snr_a_db == row.snr_b_db ? 0.0 : row.snr_b_db - row.snr_a_db;
    return {.value = delta, .low = delta, .high = delta};
  }
  const bool interval = !std::isnan(row.time.interval.low);
  return {.value = percent(row.time.ratio),
          .low = interval ? percent(row.time.interval.low) : percent(row.time.ratio),
          .high = interval ? percent(row.time.interval.high) : percent(row.time.ratio),
          .ambiguous = !row.time.decided()};
}

plot::Bar bar_of(const Delta& delta, bool better, const Palette& colors) {
  // An exact and an inexact product differ by more than any scale can show.
  plot::Bar bar{.value = std::clamp(delta.value, -1e9, 1e9), .low = delta.low, .high = delta.high};
  bar.color = better ? colors.good : colors.bad;
  if (delta.ambiguous) {
    // The true difference may be anywhere in the band, including zero.
    bar.color = plot::faded(colors.dim_text, 0.6F);
    bar.band = plot::faded(colors.warn, 0.22F);
  }
  return bar;
}

}  // namespace

void ComparePanel::draw_expert_bars(const PanelContext& context, ImVec2 size) {
  const Theme& theme = context.theme;
  const std::vector<ExpertRow>& experts = model_.comparison()->experts;
  double up = snr_ ? 0.2 : 0.5;
  double down = -up;
  std::vector<plot::Bar> bars;
  for (const ExpertRow& row : experts) {
    const Delta delta = delta_of(row, snr_);
    for (const double end : {delta.value, delta.low, delta.high}) {
      if (!std::isfinite(end)) continue;
      up = std::max(up, end);
      down = std::min(down, end);
    }
    bars.push_back(bar_of(delta, snr_ ? delta.value > 0.0 : delta.value < 0.0, theme.colors));
  }
  const int hovered = plot::draw_bars(context,
                                      {.id = "##compare.experts",
                                       .size = size,
                                       .y = {.kind = plot::AxisKind::Number,
                                             .label = snr_ ? "dB" : "% time",
                                             .limits = plot::padded({down, up}, 0.08)},
                                       .x_label = "expert"},
                                      bars, experts_view_)
                          .index;
  if (hovered < 0) return;
  const ExpertRow& row = experts[static_cast<std::size_t>(hovered)];
  std::vector<plot::ReadOutLine> lines =
      plot::row_lines(profiling::expert_differences_table({&row, 1}), 0, theme.colors);
  if (row.time.doubt != profiling::TimeDoubt::None) {
    lines.push_back({"reason", std::string(engine::name_of(row.time.doubt))});
  }
  plot::read_out(context, fmt::format("expert {}", row.expert), lines);
}

CardSpec ComparePanel::experts_card(const PanelContext& context) {
  const Theme& theme = context.theme;
  const profiling::RunComparison& comparison = *model_.comparison();
  const bool backward =
      sides_.a().runs.front()->result.backward && sides_.b().runs.front()->result.backward;
  const float metric = theme.px(110);
  const float products = backward && snr_ ? theme.px(150) : 0.0F;
  const auto product = static_cast<std::size_t>(product_);
  const bool timed = comparison.no_expert_time.empty();
  const auto choose = [this, &context, products, metric] {
    const float gap = context.theme.px(kGap);
    if (products > 0.0F) {
      controls::segmented(context, "compare.product", product_,
                          {kProducts.begin(), kProducts.end()}, {.width = products - gap});
      ImGui::SameLine(0, gap);
    }
    if (controls::either(context, "compare.metric", snr_, "Time", "SNR", {.width = metric - gap})) {
      experts_view_ = {};
    }
  };
  return {.id = "compare.experts_card",
          .title = snr_ ? fmt::format("Per expert: SNR of {}", kProducts.at(backward ? product : 0))
                        : "Per expert: time",
          .question = "How does each expert change from A to B?",
          .note = snr_    ? comparison.no_snr_difference.empty() ? "B minus A" : ""
                  : timed ? verdicts_note(comparison)
                          : "",
          .measured = "Time by " + (timed ? comparison.expert_method : std::string("no method")) +
                      ", medians, B against A; the shaded band is the interval of an expert whose "
                      "verdict is ambiguous. SNR: the expert's product against the unquantized "
                      "product; it is the same in every iteration, so it has no interval.",
          .list = [&comparison] { return profiling::expert_differences_table(comparison.experts); },
          .header_widgets = metric + products + theme.px(kGap),
          .header = choose,
          .empty = [this, &comparison, timed]() -> EmptyState {
            if (!snr_ && !timed) {
              return {"No time per expert", comparison.no_expert_time, "compare.show_snr",
                      "Show SNR", [this] { snr_ = true; }};
            }
            if (snr_ && !comparison.no_snr_difference.empty()) {
              return {"No difference of SNR", comparison.no_snr_difference, "compare.show_time",
                      "Show time", [this] { snr_ = false; }};
            }
            if (!comparison.experts.empty()) return {};
            return {"No experts", "Neither run has results per expert."};
          },
          .draw = [this, &context](const Area& room) { draw_expert_bars(context, room.size); },
          .read_out = {"compare.experts", "how each expert changes",
                       [this, &comparison, timed] {
                         return fmt::format("experts={};metric={};timed={}",
                                            comparison.experts.size(), snr_ ? "snr" : "time",
                                            timed ? 1 : 0);
                       }},
          .sentence = [this] { return verdict_words(); }};
}

}  // namespace app
