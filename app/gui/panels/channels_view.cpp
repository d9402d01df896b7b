#include "app/gui/panels/channels_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/plot/plot_text.h"
#include "app/gui/theme/text.h"
#include "profiling/trace/statistics.h"

namespace app {
namespace {

using engine::Channel;
using engine::ChannelProfile;
using profiling::ChannelAxis;
using profiling::ChannelList;

constexpr std::size_t kNamed = 3;  // in a profile
constexpr std::size_t index_of(ChannelAxis axis) { return static_cast<std::size_t>(axis); }

struct FigureWords {
  const char* item;
  const char* label;  // of the axis
  plot::AxisKind kind;
  std::vector<float> ChannelProfile::* cells;
  const char* of_several;  // which of them a step of several channels shows
};

constexpr FigureWords kFigures[] = {
    {"amax", "amax", plot::AxisKind::Log2, &ChannelProfile::amax, "largest"},
    {"SNR", "dB", plot::AxisKind::Decibel, &ChannelProfile::snr_db, "lowest"},
    {"saturated", "%", plot::AxisKind::Number, &ChannelProfile::saturated_share, "most"},
    {"underflowed", "%", plot::AxisKind::Number, &ChannelProfile::underflowed_share, "most"},
    {"lost", "%", plot::AxisKind::Number, &ChannelProfile::lost_share, "most"}};

/// What a profile marks with a dot: of amax only what the card counts as outliers, of SNR the
/// lowest few, whatever they are.
std::vector<Channel> marked_channels(const ChannelProfile& profile, ChannelFigure figure) {
  const bool outliers = figure == ChannelFigure::Amax;
  if (!outliers && figure != ChannelFigure::Snr) return {};
  std::vector<Channel> marked =
      profiling::channels_of(profile, outliers ? ChannelList::Largest : ChannelList::LowestSnr);
  if (marked.size() > kNamed) marked.resize(kNamed);
  if (outliers) {
    std::erase_if(marked, [&profile](const Channel& one) {
      return !(profile.over_median(one) >= engine::kOutlierFactor);
    });
  }
  return marked;
}

/// As it is drawn: an exponent, decibels, percent. NaN is nowhere.
double drawn_value(ChannelFigure figure, double value) {
  if (figure == ChannelFigure::Amax) return value > 0 ? std::log2(value) : profiling::kNaN;
  if (figure == ChannelFigure::Snr) return std::isfinite(value) ? value : profiling::kNaN;
  return 100.0 * value;
}

std::string noun(ChannelAxis axis) { return axis == ChannelAxis::Columns ? "column" : "row"; }

std::string count(std::int64_t number) {
  return plot::count_text(static_cast<std::uint64_t>(number));
}

/// Where a step of the curve stands for several channels, it shows the worst of them, and so lies
/// above the median of all.
std::string axis_label(const ChannelProfile& profile, ChannelAxis axis, const FigureWords& words) {
  const auto cells = static_cast<std::int64_t>(profile.cells());
  if (cells == 0 || profile.channels <= cells) return words.label;
  return fmt::format("{}, {} of {} {}s each", words.label, words.of_several,
                     count((profile.channels + cells - 1) / cells), noun(axis));
}

}  // namespace

void ChannelsView::follow(const NumericsModel& model, const Theme& theme) {
  const bool same = generation_ == model.generation();
  if (!same) {
    generation_ = model.generation();
    const auto& channels = model.statistics().channels;
    channels_ = channels ? &*channels : nullptr;
    operand_ = model.operand_name();
    missing_ = "It was made before rows and columns were measured. Run again to see them.";
    views_ = {};
    table_state_ = {};
    table_generation_ = 0;
  }
  if (channels_ == nullptr) return;
  const std::uint64_t wanted = 1 + generation_ * 16 + static_cast<std::uint64_t>(axis_ * 4 + list_);
  if (table_generation_ == wanted) return;
  table_generation_ = wanted;
  const auto axis = static_cast<ChannelAxis>(axis_);
  table_ = plot::drawn(
      profiling::named_channels_table(profile(axis), axis, static_cast<ChannelList>(list_)), theme);
  table_state_ = {};
}

std::optional<OperandRegion> ChannelsView::draw(const PanelContext& context, const Area& choices,
                                                const Area& area, const NumericsModel& model) {
  wanted_.reset();
  follow(model, context.theme);
  inspectable_ = has_elements(model);
  if (channels_ == nullptr) {
    ImGui::SetCursorScreenPos(area.at);
    draw_empty(context, area.size, "Not in this recording", missing_);
    return std::nullopt;
  }
  draw_choices(context, choices);
  const Theme& theme = context.theme;
  const float height = theme.px(150);
  const float width = theme.px(260);
  CardPlan plan{.id = "channels.cards",
                .columns = true,
                .parts = {{0.46F, width, {{0.5F, height}, {0.5F, height}}}, {0.54F, width}}};
  if (area.size.x < theme.px(700)) {
    plan = {.id = "channels.stacked",
            .parts = {{height, height}, {height, height}, {theme.px(220), theme.px(220)}}};
  }
  board_.draw(context, area, plan,
              {[&](const Area&) { return profile_card(context, ChannelAxis::Columns); },
               [&](const Area&) { return profile_card(context, ChannelAxis::Rows); },
               [&](const Area&) { return table_card(context); }});
  return wanted_;
}

void ChannelsView::draw_choices(const PanelContext& context, const Area& area) {
  ImGui::SetCursorScreenPos(area.at);
  std::vector<std::string> items;
  for (const FigureWords& one : kFigures) items.emplace_back(one.item);
  if (!controls::segmented(context, "channels.figure", figure_, items,
                           {.tooltip = "What the profiles show of each row and column",
                            .width = std::min(area.size.x, context.theme.px(400))})) {
    return;
  }
  // The table follows, and can be chosen apart.
  const auto figure = static_cast<ChannelFigure>(figure_);
  list_ = static_cast<int>(figure == ChannelFigure::Amax  ? ChannelList::Largest
                           : figure == ChannelFigure::Snr ? ChannelList::LowestSnr
                                                          : ChannelList::Noisiest);
}

CardSpec ChannelsView::profile_card(const PanelContext& context, ChannelAxis axis) {
  const ChannelProfile& shown = profile(axis);
  const bool columns = axis == ChannelAxis::Columns;
  const std::string text = profiling::channels_text(shown, axis);
  return {.id = columns ? "channels.columns_card" : "channels.rows_card",
          .title = fmt::format("{} of {}", columns ? "Columns" : "Rows", operand_),
          .question = columns
                          ? "Which channels are larger than the others, and which lose the most?"
                          : "Which rows are larger than the others, and which lose the most?",
          .note = fmt::format("{}, {} outlier{}", count(shown.channels), count(shown.outliers),
                              shown.outliers == 1 ? "" : "s"),
          .measured = fmt::format(
              "All elements of a row, or of a column over all experts: largest magnitude, SNR, and "
              "the shares that saturated, became zero, or were lost. With more than {} of them, a "
              "point has the worst of its neighbours. An outlier reaches {:g} times the median. A "
              "click leads to the largest element, where the worker can make the operand again. "
              "Dots: in "
              "amax up to {} outliers, in SNR the {} lowest.",
              engine::kMaxChannelCells, engine::kOutlierFactor, kNamed, kNamed),
          .list =
              [this, axis] {
                return profiling::named_channels_table(profile(axis), axis,
                                                       static_cast<ChannelList>(list_));
              },
          .draw = [this, &context, axis](const Area& room) { draw_profile(context, room, axis); },
          .read_out = {columns ? "channels.columns" : "channels.rows",
                       columns ? "profile of the columns" : "profile of the rows",
                       [this, text, &shown] {
                         const auto figure = static_cast<ChannelFigure>(figure_);
                         return fmt::format("channels={};cells={};outliers={};marked={};text={}",
                                            shown.channels, shown.cells(), shown.outliers,
                                            marked_channels(shown, figure).size(), text);
                       }}};
}

plot::Marks ChannelsView::marks(const Theme& theme, ChannelAxis axis) const {
  const ChannelProfile& shown = profile(axis);
  const auto figure = static_cast<ChannelFigure>(figure_);
  const std::vector<float>& cells = shown.*kFigures[figure_].cells;
  plot::Line line{.color = theme.colors.accent, .fill = 0.35F, .stepped = true};
  for (std::size_t cell = 0; cell <= cells.size(); ++cell) {
    // The last step ends with the last channel.
    const double value =
        static_cast<double>(cells.empty() ? 0.0F : cells[std::min(cell, cells.size() - 1)]);
    line.points.push_back(
        {static_cast<double>(shown.first_channel(cell)), drawn_value(figure, value)});
  }
  plot::Marks all = {std::move(line)};
  if (figure == ChannelFigure::Amax && shown.median_amax > 0) {
    all.emplace_back(plot::Rule{
        .at = std::log2(shown.median_amax),
        .color = theme.colors.dim_text,
        .label = fmt::format("median {} {}", noun(axis), plot::number_text(shown.median_amax))});
  }
  const std::vector<Channel> marked = marked_channels(shown, figure);
  if (marked.empty()) return all;
  plot::Dots dots{.radius = 3.0F, .rim = theme.colors.panel};
  for (const Channel& one : marked) {
    const bool amax = figure == ChannelFigure::Amax;
    dots.dots.push_back({.at = {static_cast<double>(one.index) + 0.5,
                                drawn_value(figure, amax ? one.amax : one.snr_db)},
                         .color = amax ? theme.colors.warn : theme.colors.text,
                         .name = count(one.index)});
  }
  all.emplace_back(std::move(dots));
  return all;
}

void ChannelsView::draw_profile(const PanelContext& context, const Area& room, ChannelAxis axis) {
  const Theme& theme = context.theme;
  const ChannelProfile& shown = profile(axis);
  const std::string text = profiling::channels_text(shown, axis);
  float taken = 0;
  {
    const FontScope font(theme.fonts.label);
    ImGui::SetCursorScreenPos(room.at);
    taken = shown_size(text, room.size.x).y;
    draw_shown(ImGui::GetWindowDrawList(), theme.fonts.label, room.at, theme.colors.text, text,
               room.size.x);
  }
  const Area below = room.below(taken + theme.px(kGapSmall));
  ImGui::SetCursorScreenPos(below.at);
  if (shown.channels == 0 || shown.cells() == 0) {
    draw_empty(context, below.size, "No elements", "The operand has no rows.");
    return;
  }
  const FigureWords& words = kFigures[figure_];
  const auto figure = static_cast<ChannelFigure>(figure_);
  plot::Range range = plot::kNoValues;
  for (const float value : shown.*words.cells) {
    range = plot::widened(range, drawn_value(figure, static_cast<double>(value)));
  }
  if (!plot::has_values(range)) range = {0.0, 1.0};
  const bool share = words.kind == plot::AxisKind::Number;
  const double least = share ? 0.0 : range.min - std::max(0.08 * range.span(), 0.5);
  const plot::PlotFrame frame(
      context,
      {.id = axis == ChannelAxis::Columns ? "##channels.columns" : "##channels.rows",
       .size = below.size,
       .x = {.kind = plot::AxisKind::Integer,
             .label = noun(axis),
             .limits = {0.0, static_cast<double>(shown.channels)}},
       .y = {.kind = words.kind,
             .label = axis_label(shown, axis, words),
             .limits = {least, share ? std::max(1.1 * range.max, 1e-3)
                                     : range.max + std::max(0.15 * range.span(), 0.5)}},
       .selectable = false,
       .min_span = 4.0},
      views_[index_of(axis)]);
  plot::draw_marks(context, frame, marks(theme, axis));
  if (!frame.hovered()) return;
  const auto channel =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(frame.hover_x()), 0, shown.channels - 1);
  const auto cell =
      static_cast<std::size_t>(channel * static_cast<std::int64_t>(shown.cells()) / shown.channels);
  draw_read_out(context, axis, cell);
  if (!frame.clicked() || !inspectable_) return;
  const std::int64_t first = shown.first_channel(cell);
  const std::int64_t end = shown.first_channel(cell + 1);
  wanted_ = region_of(axis, first, end - first);
}

OperandRegion ChannelsView::region_of(ChannelAxis axis, std::int64_t first,
                                      std::int64_t number) const {
  if (axis == ChannelAxis::Columns) return {0, first, channels_->rows.channels, number};
  return {first, 0, number, channels_->columns.channels};
}

void ChannelsView::draw_read_out(const PanelContext& context, ChannelAxis axis,
                                 std::size_t cell) const {
  const ChannelProfile& shown = profile(axis);
  const std::int64_t first = shown.first_channel(cell);
  const std::int64_t end = shown.first_channel(cell + 1);
  const bool several = end - first > 1;
  const auto share = [&](const std::vector<float>& cells) {
    return plot::share_text(static_cast<double>(cells[cell]), 1.0);
  };
  const double amax = static_cast<double>(shown.amax[cell]);
  std::vector<plot::ReadOutLine> lines = {
      {several ? "largest amax" : "amax", plot::number_text(amax)},
      {several ? "lowest SNR" : "SNR",
       plot::decibels(static_cast<double>(shown.snr_db[cell])).text()},
      {"saturated", share(shown.saturated_share)},
      {"underflowed", share(shown.underflowed_share)},
      {"lost", share(shown.lost_share)}};
  if (shown.median_amax > 0) {
    lines.push_back({"against the median", fmt::format("{:.3g} x", amax / shown.median_amax)});
  }
  if (inspectable_) lines.push_back({"click", "its largest element"});
  plot::read_out(context,
                 several ? fmt::format("{}s {} to {}", noun(axis), count(first), count(end - 1))
                         : fmt::format("{} {}", noun(axis), count(first)),
                 lines);
}

CardSpec ChannelsView::table_card(const PanelContext& context) {
  const auto axis = static_cast<ChannelAxis>(axis_);
  const float width = context.theme.px(130);
  const float lists = context.theme.px(180);
  CardSpec spec{.id = "channels.worst_card",
                .title = "Worst",
                .question =
                    "Which ones are the worst, and where is their largest element? A click "
                    "on a row leads there.",
                .measured = fmt::format("The {} worst by the chosen number, exact, of all rows or "
                                        "columns.",
                                        engine::kMaxNamedChannels),
                .header_widgets = width + lists + context.theme.px(2 * kGap)};
  spec.header = [this, &context, width, lists] {
    controls::segmented(context, "channels.axis", axis_, {"Columns", "Rows"}, {.width = width});
    ImGui::SameLine(0, context.theme.px(kGap));
    controls::segmented(context, "channels.list", list_, {"amax", "noise", "SNR"},
                        {.tooltip = "Largest amax, largest share of the noise, or lowest SNR",
                         .width = lists - context.theme.px(kGap)});
  };
  spec.table = {.id = "##channels.worst",
                .drawn = &table_,
                .generation = table_generation_,
                .state = &table_state_,
                .chosen = [this, axis](std::optional<std::size_t> row) {
                  if (!row || !inspectable_) return;
                  const Channel& one =
                      profiling::channels_of(profile(axis), static_cast<ChannelList>(list_))[*row];
                  // Where its largest element is known: no search through the whole operand.
                  const bool column = axis == ChannelAxis::Columns;
                  wanted_ = one.place < 0 ? region_of(axis, one.index, 1)
                                          : OperandRegion{column ? one.place : one.index,
                                                          column ? one.index : one.place, 1, 1};
                }};
  return spec;
}

}  // namespace app
