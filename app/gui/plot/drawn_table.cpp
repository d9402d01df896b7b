#include "app/gui/plot/drawn_table.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "app/gui/plot/format.h"
#include "app/gui/theme/text.h"
#include "profiling/document/document.h"
#include "profiling/document/text.h"
#include "profiling/export/csv.h"

namespace app::plot {
namespace {

// Grid pixels.
constexpr float kDigit = 7.2F;              // of the mono font
constexpr float kLetter = 6.4F;             // of the body font, on average
constexpr float kTitleLetter = 6.0F;        // of the label font, on average
constexpr float kMostWords = 24 * kLetter;  // unless more is left over
constexpr std::size_t kMostDigits = 24;
constexpr float kChip = 14.0F;   // with the gap after it
constexpr float kArrow = 14.0F;  // room that a heading of words keeps for the arrow of its order

/// Width of words in grid pixels; without fonts, in tests, an estimate.
float width_of_words(const Theme& theme, const ImFont* font, float letter, std::string_view words) {
  if (font == nullptr) return letter * static_cast<float>(profiling::columns_of(words));
  return std::ceil(shown_size(font, words).x) / theme.px(1);
}

Cell drawn_cell(const profiling::Column& column, const profiling::Cell& cell, bool name,
                const Theme& theme) {
  const bool decibels =
      column.measure == profiling::Measure::Decibels && cell.words.empty() && !cell.empty();
  // The unit is in the heading.
  Cell made{decibels ? decibel_text(cell.number()) : profiling::shown(column, cell, kSnrDecimals),
            cell.number(), color_of(cell.tone, theme.colors)};
  if (decibels && cell.left_out > 0) {
    made.text += '*';
    made.color = theme.colors.warn;
  }
  if (made.color == 0 && !name && !column.numeric()) made.color = theme.colors.dim_text;
  return made;
}

std::string heading_of(const profiling::Column& column) {
  return column.measure == profiling::Measure::Decibels ? column.heading() + ", dB"
                                                        : column.heading();
}

}  // namespace

ImU32 color_of(profiling::Tone tone, const Palette& colors) {
  switch (tone) {
    case profiling::Tone::Plain:
      return 0;
    case profiling::Tone::Good:
      return colors.good;
    case profiling::Tone::Warning:
      return colors.warn;
    case profiling::Tone::Bad:
      return colors.bad;
    case profiling::Tone::Dim:
      return colors.dim_text;
  }
  return 0;
}

std::string tabbed_text(const profiling::Table& table) {
  // Visited twice: the rows of a large table are not held.
  const std::vector<std::size_t> chosen = profiling::shown_columns(table);
  std::string text;
  const auto add = [&](std::size_t column, const std::string& field) {
    text += one_field(field);
    text += column == chosen.back() ? '\n' : '\t';
  };
  for (const std::size_t i : chosen) add(i, table.columns[i].heading());
  table.rows([&](const profiling::Row& row) {
    for (const std::size_t i : chosen) {
      const std::string* const whole = row.cells[i].text();
      add(i, whole != nullptr && !whole->empty()
                 ? *whole
                 : profiling::shown(table.columns[i], row.cells[i], kSnrDecimals));
    }
  });
  return text;
}

profiling::Table DrawnTable::ordered(const std::vector<int>& order) const {
  std::vector<profiling::Row> all = profiling::all_rows(source);
  if (order.size() != all.size()) return source;
  std::vector<profiling::Row> chosen;
  for (const int row : order) chosen.push_back(std::move(all[static_cast<std::size_t>(row)]));
  return profiling::table_of(source.name, source.columns, std::move(chosen));
}

std::string DrawnTable::csv(const std::vector<int>& order) const {
  return profiling::csv_text(ordered(order));
}

std::string DrawnTable::text(const std::vector<int>& order) const {
  return tabbed_text(ordered(order));
}

std::vector<ReadOutLine> row_lines(const profiling::Table& table, std::size_t row,
                                   const Palette& colors, const ChipColors& chips) {
  std::vector<ReadOutLine> lines;
  std::size_t visited = 0;
  table.rows([&](const profiling::Row& one) {
    if (visited++ != row) return;
    bool names_the_row = true;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const profiling::Column& column = table.columns[i];
      if (!column.for_people() || std::exchange(names_the_row, false)) continue;
      const profiling::Cell& cell = one.cells[i];
      if (cell.empty() && cell.words.empty()) continue;
      const auto chip =
          std::ranges::find(chips, std::string_view(column.key), &ChipColors::value_type::first);
      lines.push_back({.label = column.heading(),
                       .value = profiling::shown(column, cell, kSnrDecimals),
                       .color = chip == chips.end() ? color_of(cell.tone, colors) : chip->second,
                       .exact = cell.number()});
    }
  });
  return lines;
}

DrawnTable drawn(profiling::Table table, const Theme& theme) {
  DrawnTable made;
  made.source = std::move(table);
  const std::vector<profiling::Row> source_rows = profiling::all_rows(made.source);
  const std::vector<std::size_t> shown = profiling::shown_columns(made.source, source_rows);
  for (const std::size_t i : shown) {
    const profiling::Column& column = made.source.columns[i];
    made.columns.push_back({.title = heading_of(column),
                            .width = 0.0F,
                            .numeric = column.numeric(),
                            .tooltip = column.tooltip,
                            .optional = column.optional()});
  }
  // Names take what is left: the first column of words, else what follows the first number.
  const auto words = std::ranges::find(made.columns, false, &Column::numeric);
  const std::size_t names = words != made.columns.end()
                                ? static_cast<std::size_t>(words - made.columns.begin())
                                : std::min<std::size_t>(1, made.columns.size() - 1);
  std::vector<std::size_t> letters(made.columns.size());
  std::vector<float> whole(made.columns.size());
  for (const profiling::Row& row : source_rows) {
    TableRow& drawn_row = made.rows.emplace_back();
    drawn_row.chip = row.stage ? theme.stage(*row.stage) : color_of(row.tone, theme.colors);
    drawn_row.tooltip = row.full_name;
    for (std::size_t i = 0; i < shown.size(); ++i) {
      drawn_row.cells.push_back(
          drawn_cell(made.source.columns[shown[i]], row.cells[shown[i]], i == names, theme));
      const std::string& text = drawn_row.cells.back().text;
      letters[i] = std::max(letters[i], profiling::columns_of(text));
      if (made.columns[i].numeric) continue;
      const float width = width_of_words(theme, theme.fonts.body, kLetter, text);
      if (width <= whole[i]) continue;
      whole[i] = width;
      made.columns[i].widest = text;
    }
  }
  for (std::size_t i = 0; i < made.columns.size(); ++i) {
    Column& column = made.columns[i];
    const bool chips =
        i == 0 && std::ranges::any_of(made.rows, [](const TableRow& row) { return row.chip != 0; });
    const float chip = chips ? kChip : 0.0F;
    column.chip = chip;
    const float title = static_cast<float>(profiling::columns_of(column.title)) * kTitleLetter;
    if (!column.numeric) column.whole = std::max(whole[i], title + kArrow) + chip;
    if (i == names) continue;
    column.width =
        column.numeric
            ? std::max(static_cast<float>(std::min(letters[i], kMostDigits)) * kDigit, title) + chip
            : std::min(column.whole, std::max(kMostWords, title + kArrow) + chip);
  }
  return made;
}

}  // namespace app::plot
