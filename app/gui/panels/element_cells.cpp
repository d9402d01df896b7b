// The cells of a sample: as a table, and drawn as a grid of text.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/gui/cards/card.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/panels/element_inspector.h"
#include "app/gui/plot/plot_text.h"
#include "profiling/document/columns.h"

namespace app {
namespace {

std::string cell_text(const RecipeOverlay& overlay, CellField field, std::size_t index) {
  const engine::QuantizationSample& sample = overlay.report->sample;
  const auto number = [](float value) { return fmt::format("{:.4g}", static_cast<double>(value)); };
  switch (field) {
    case CellField::Original:
      return number(sample.original[index]);
    case CellField::Code:
      return code_hex(overlay.format, sample.codes[index]);
    case CellField::Bits:
      return code_bits(overlay.format, sample.codes[index]);
    case CellField::Scale:
      return number(sample.scale_inv[index]);
    case CellField::Decoded:
      return number(sample.decoded[index]);
    case CellField::Error:
      return number(sample.decoded[index] - sample.original[index]);
    case CellField::Ulp: {
      const double steps = steps_to_code(overlay, index);
      return std::isfinite(steps) ? fmt::format("{:.2f}", steps) : "n/a";
    }
  }
  return {};
}

}  // namespace

const std::vector<std::string>& cell_fields() {
  static const std::vector<std::string> kFields = {"x",     "code",  "bits", "scale",
                                                   "value", "error", "ulp"};
  return kFields;
}

profiling::Table elements_table(std::span<const RecipeOverlay> overlays) {
  using profiling::column;
  using profiling::Measure;
  return {.name = "elements",
          .columns = {column("recipe"), column("row", Measure::Count),
                      column("column", Measure::Count), column("x", Measure::Number),
                      column("code"), column("bits"), column("scale_inv", Measure::Number),
                      column("decoded", Measure::Number), column("ulp", Measure::Number)},
          .rows = [overlays](const profiling::RowSink& sink) {
            // Nine digits tell two FP32 values apart.
            const auto exact = [](float value) {
              return profiling::worded(static_cast<double>(value), fmt::format("{:.9g}", value));
            };
            for (const RecipeOverlay& overlay : overlays) {
              const engine::QuantizationSample& sample = overlay.report->sample;
              const auto columns = static_cast<std::size_t>(sample.columns);
              for (std::size_t i = 0; i < sample.codes.size(); ++i) {
                sink({.cells = profiling::cells_of(
                          overlay.name, sample.row + static_cast<std::int64_t>(i / columns),
                          sample.column + static_cast<std::int64_t>(i % columns),
                          exact(sample.original[i]), code_hex(overlay.format, sample.codes[i]),
                          code_bits(overlay.format, sample.codes[i]), exact(sample.scale_inv[i]),
                          exact(sample.decoded[i]), steps_to_code(overlay, i))});
              }
            }
          }};
}

bool draw_sample_position(const PanelContext& context, const SamplePosition& position,
                          std::int64_t& row, std::int64_t& column) {
  const auto field = [&](const char* id, const char* label, std::int64_t& value, std::int64_t count,
                         const std::string& tooltip) {
    return controls::drag_int(context, id, label, value, 0, std::max<std::int64_t>(count - 1, 0), 0,
                              {.enabled = position.fixed[0] == '\0',
                               .reason = position.fixed,
                               .tooltip = tooltip,
                               .width = context.theme.px(position.width)});
  };
  const bool row_moved =
      field(position.row_id, "row", row, position.rows,
            fmt::format("First row of the elements; a click on {} sets both", position.map));
  ImGui::SameLine(0, context.theme.px(kGap));
  const bool column_moved = field(position.column_id, position.column_label, column,
                                  position.columns, "First column of the elements");
  ImGui::SameLine(0, context.theme.px(kGap));
  return row_moved || column_moved;
}

void draw_sample_cells(const PanelContext& context, const char* id, const RecipeOverlay& overlay,
                       const Area& area, SampleView& view) {
  const auto field = static_cast<CellField>(view.field);
  const Theme& theme = context.theme;
  const engine::QuantizationSample& sample = overlay.report->sample;
  const ImFont* font = theme.fonts.mono;
  const float cell_width =
      plot::text_size(font, field == CellField::Bits ? "0 00000 00" : "-0.00001234").x +
      theme.px(kGap);
  const float cell_height = font->FontSize + theme.px(4);
  const float label_width = plot::text_size(theme.fonts.label, "0000000").x + theme.px(kGapSmall);
  const float label_height = theme.fonts.label->FontSize + theme.px(2);
  ImGui::SetCursorScreenPos(area.at);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  ImGui::BeginChild(id, area.size, false, ImGuiWindowFlags_HorizontalScrollbar);
  ImGui::PopStyleVar();
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const ImVec2 grid(origin.x + label_width, origin.y + label_height);
  const ImVec2 low(area.at.x + label_width, area.at.y + label_height);
  ImGui::Dummy(ImVec2(label_width + cell_width * static_cast<float>(sample.columns),
                      label_height + cell_height * static_cast<float>(sample.rows)));
  if (std::exchange(view.to_picked, false)) {
    const auto show = [](float start, float size, float scroll, float room, void (*set)(float)) {
      if (start < scroll || start + size > scroll + room) {
        set(std::max(start - 0.5F * (room - size), 0.0F));
      }
    };
    show(cell_width * static_cast<float>(view.picked_column), cell_width, ImGui::GetScrollX(),
         area.size.x - label_width - ImGui::GetStyle().ScrollbarSize, ImGui::SetScrollX);
    show(cell_height * static_cast<float>(view.picked_row), cell_height, ImGui::GetScrollY(),
         area.size.y - label_height - ImGui::GetStyle().ScrollbarSize, ImGui::SetScrollY);
  }
  const ImVec2 scroll(ImGui::GetScrollX(), ImGui::GetScrollY());
  const ImVec2 mouse = ImGui::GetMousePos();
  const bool inside = ImGui::IsWindowHovered() && mouse.x >= low.x && mouse.y >= low.y;
  if (inside) {
    const int row = static_cast<int>((mouse.y - grid.y) / cell_height);
    const int column = static_cast<int>((mouse.x - grid.x) / cell_width);
    if (row >= 0 && column >= 0 && row < sample.rows && column < sample.columns) {
      view.picked_row = row;
      view.picked_column = column;
    }
  }
  draw->PushClipRect(low, area.end(), true);
  for (int row = 0; row < sample.rows; ++row) {
    const float y = grid.y + cell_height * static_cast<float>(row);
    if (y + cell_height < low.y || y > area.end().y) continue;
    for (int column = 0; column < sample.columns; ++column) {
      const float x = grid.x + cell_width * static_cast<float>(column);
      if (x + cell_width < low.x || x > area.end().x) continue;
      const auto index = static_cast<std::size_t>(row) * static_cast<std::size_t>(sample.columns) +
                         static_cast<std::size_t>(column);
      if (row == view.picked_row && column == view.picked_column) {
        draw->AddRectFilled(ImVec2(x, y), ImVec2(x + cell_width, y + cell_height),
                            theme.colors.raised);
        draw->AddRect(ImVec2(x, y), ImVec2(x + cell_width, y + cell_height), overlay.color);
      }
      plot::draw_text_right(draw, font,
                            ImVec2(x + cell_width - theme.px(kGapSmall), y + theme.px(2)),
                            theme.colors.text, cell_text(overlay, field, index));
    }
  }
  draw->PopClipRect();
  // Row and column numbers stay in place while the cells scroll.
  draw->PushClipRect(ImVec2(area.at.x, low.y), area.end(), true);
  for (int row = 0; row < sample.rows; ++row) {
    const float y = grid.y + cell_height * static_cast<float>(row) + theme.px(3);
    plot::draw_text_right(draw, theme.fonts.label, ImVec2(low.x - theme.px(kGapSmall), y),
                          theme.colors.dim_text, std::to_string(sample.row + row));
  }
  draw->PopClipRect();
  draw->PushClipRect(ImVec2(low.x, area.at.y), area.end(), true);
  for (int column = 0; column < sample.columns; ++column) {
    const float x = grid.x + cell_width * static_cast<float>(column + 1) - theme.px(kGapSmall);
    plot::draw_text_right(draw, theme.fonts.label, ImVec2(x, area.at.y), theme.colors.dim_text,
                          std::to_string(sample.column + column));
  }
  draw->PopClipRect();
  ImGui::EndChild();
  controls::record(
      context, id, "elements of the sample", "plot",
      fmt::format("row={};column={};rows={};columns={};cell_width={:.1f};"
                  "cell_height={:.1f};left={:.1f};top={:.1f};scroll_x={:.1f};scroll_y={:.1f}",
                  sample.row, sample.column, sample.rows, sample.columns, cell_width, cell_height,
                  low.x, low.y, scroll.x, scroll.y),
      area.at, area.end());
}

}  // namespace app
