// The picture of an expert layer. Boxes keep the size that their text needs: a card that is too
// small for them scrolls; while it is presented, all text is made smaller instead.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/panels/layer_view.h"
#include "app/gui/plot/plot_frame.h"
#include "app/gui/plot/plot_text.h"
#include "app/plot/kept_room.h"
#include "app/plot/layer_arrows.h"
#include "engine/model/snr_words.h"
#include "profiling/document/quantity.h"
#include "profiling/document/run_tables.h"

namespace app {
namespace {

/// Empty where it was not compared.
std::string snr_of(const engine::TensorResult& result) {
  return std::isnan(result.error.snr_db) ? std::string()
                                         : plot::decibels(result.error.snr_db).text() +
                                               (result.error.left_out() > 0 ? "*" : "");
}

float line_height(const Theme& theme) { return theme.fonts.label->FontSize + theme.px(3); }

/// Name, bytes, and what is kept, of which tokens have none.
float tensor_height(const Theme& theme, int row) {
  const float lines = row == 0 || row == kLayerRows - 1 ? 1.0F : 2.0F;
  return theme.fonts.body->FontSize + lines * line_height(theme) + theme.px(2 * kGapSmall);
}

/// Title, times or why there are none, and bytes.
float kernel_lines(const LayerKernelBox& box) {
  const std::size_t times = std::max<std::size_t>(box.times.size(), 1);
  return static_cast<float>(1 + times + (box.bytes > 0.0 ? 1 : 0));
}

/// Where the columns and rows of boxes lie, from the size of the texts in them.
class LayerGrid {
 public:
  LayerGrid(const Theme& theme, const LayerModel& model, ImVec2 room) {
    const float line = line_height(theme);
    const float padding = theme.px(2 * kGapSmall);
    widths_ = {theme.px(104), theme.px(132)};
    for (const LayerTensorBox& box : model.tensors()) {
      const auto row = static_cast<std::size_t>(box.place.row);
      heights_[row] = std::max(heights_[row], tensor_height(theme, box.place.row));
    }
    for (const LayerKernelBox& box : model.kernels()) {
      const auto row = static_cast<std::size_t>(box.place.row);
      heights_[row] = std::max(heights_[row], kernel_lines(box) * line + padding);
    }
    // Weights and their gradients are as narrow as tensors, but stand in the columns of kernels.
    const float boxes = 4.0F * widths_[0] + 3.0F * widths_[1];
    const float beside = theme.px(static_cast<float>(kBesideColumn));
    gap_.x = std::clamp((room.x - boxes - beside) / 6.0F, theme.px(16), theme.px(64));
    float rows = 0.0F;
    float used = 0.0F;
    for (const float height : heights_) {
      rows += height;
      used += height > 0.0F ? 1.0F : 0.0F;
    }
    gap_.y = std::clamp((room.y - rows) / std::max(used - 1.0F, 1.0F), theme.px(12), theme.px(40));
    size_ = ImVec2(boxes + 6.0F * gap_.x + beside, rows + std::max(used - 1.0F, 0.0F) * gap_.y);
  }

  ImVec2 size() const { return size_; }
  /// Relative to the grid.
  Area of(LayerPlace place) const {
    ImVec2 at(0, 0);
    for (int column = 0; column < place.column; ++column) {
      at.x += widths_[static_cast<std::size_t>(column % 2)] + gap_.x;
    }
    for (int row = 0; row < place.row; ++row) {
      const float height = heights_[static_cast<std::size_t>(row)];
      if (height > 0.0F) at.y += height + gap_.y;
    }
    return {at, ImVec2(widths_[static_cast<std::size_t>(place.column % 2)],
                       heights_[static_cast<std::size_t>(place.row)])};
  }

 private:
  std::array<float, 2> widths_{};  // of even and odd columns
  std::array<float, kLayerRows> heights_{};
  ImVec2 gap_{};
  ImVec2 size_{};
};

void draw_head(ImDrawList* draw, ImVec2 tip, ImVec2 direction, float size, ImU32 color) {
  const ImVec2 back(tip.x - size * direction.x, tip.y - size * direction.y);
  const ImVec2 side(-0.5F * size * direction.y, 0.5F * size * direction.x);
  draw->AddTriangleFilled(tip, ImVec2(back.x + side.x, back.y + side.y),
                          ImVec2(back.x - side.x, back.y - side.y), color);
}

void draw_dashes(ImDrawList* draw, ImVec2 from, ImVec2 to, float dash, ImU32 color) {
  const ImVec2 way(to.x - from.x, to.y - from.y);
  const float length = std::hypot(way.x, way.y);
  for (float at = 0.0F; at < length; at += 2.0F * dash) {
    const float end = std::min(at + dash, length);
    draw->AddLine(ImVec2(from.x + way.x * at / length, from.y + way.y * at / length),
                  ImVec2(from.x + way.x * end / length, from.y + way.y * end / length), color);
  }
}

LayerBox box_of(const Area& area) {
  return {.x = static_cast<double>(area.at.x),
          .y = static_cast<double>(area.at.y),
          .width = static_cast<double>(area.size.x),
          .height = static_cast<double>(area.size.y)};
}

/// Dashed where backward reads what forward has kept. `label`: what is written along it, beside an
/// arrow down or up a column; on the left in the last one.
void draw_arrow(const Theme& theme, const std::vector<LayerPoint>& path, bool kept,
                std::string_view label, bool last) {
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const ImU32 color = kept ? theme.colors.accent : theme.colors.dim_text;
  const auto at = [&](std::size_t i) {
    return ImVec2(static_cast<float>(path[i].x), static_cast<float>(path[i].y));
  };
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    if (kept) {
      draw_dashes(draw, at(i), at(i + 1), theme.px(4), color);
    } else {
      draw->AddLine(at(i), at(i + 1), color);
    }
  }
  const ImVec2 start = at(path.size() - 2);
  const ImVec2 tip = at(path.size() - 1);
  const float length = std::max(std::hypot(tip.x - start.x, tip.y - start.y), 1.0F);
  draw_head(draw, tip, ImVec2((tip.x - start.x) / length, (tip.y - start.y) / length), theme.px(6),
            color);
  if (label.empty()) return;
  const ImFont* font = theme.fonts.label;
  const float away = theme.px(6);
  // Beside the kernels that write it: further on, boxes of other columns are higher.
  const float y = tip.y > start.y ? start.y + 1.0F : start.y - font->FontSize - 1.0F;
  if (last) {
    plot::draw_text_right(draw, font, ImVec2(tip.x - away, y), theme.colors.dim_text, label);
  } else {
    plot::draw_text(draw, font, ImVec2(tip.x + away, y), theme.colors.dim_text, label);
  }
}

}  // namespace

CardSpec LayerView::picture_card(const PanelContext& context) {
  return {
      .id = "layer.picture_card",
      .title = "Expert layer",
      .question =
          "Where in the layer are error, memory and time? A click on an operand shows its "
          "numbers on This run.",
      .note = picture_note(),
      .measured =
          "SNR: the tensor as the next product reads it, against the same tensor of a layer that "
          "computes in FP32 from unquantized operands, so everything before it counts; all experts "
          "of layer 0. Bytes: one copy as the next product reads it, or as it is written where no "
          "product does; beside an arrow, what is written before it is quantized. Times: median "
          "over the traced iterations "
          "of the time in which the stage ran for this projection in that pass. Fused, the "
          "activation "
          "is part of the quantize kernels of A, and backward of dH. A permutation's bytes are "
          "counted: every token and row that it reads or writes once, and 4 bytes for each number "
          "of a copy (its expert, its row, its probability and the gradient of that). What is kept "
          "for "
          "backward is blue; a dashed line leads to the kernels that read it. It counts what these "
          "splits fill; what Graphs, Memory, shows is allocated, with room for any splits.",
      .list = layer_list(profiling::tensors_table),
      .empty = [this, &context] { return no_layer(context); },
      .draw = [this, &context](const Area& room) { draw_picture(context, room); },
      .needs =
          [this, &context] {
            const ImVec2 least = LayerGrid(context.theme, model_, ImVec2(0, 0)).size();
            const float edge = context.theme.px(4);
            return ImVec2(least.x + edge, least.y + edge);
          },
      .read_out = {"layer.picture", "expert layer", [this] { return picture_value(); }}};
}

std::string LayerView::picture_note() const {
  if (!has_layer_) return {};
  std::string note = "layer 0 · median times per step";
  if (!has_backward()) return note;
  note += " · blue: kept for backward";
  const std::string room = kept_room_text(model_.run());
  return room.empty() ? note : note + "; " + room;
}

std::string LayerView::picture_value() const {
  if (!has_layer_) return "none";
  return fmt::format("tensors={};kernels={};arrows={}", model_.tensors().size(),
                     model_.kernels().size(), model_.arrows().size());
}

void LayerView::draw_picture(const PanelContext& context, const Area& room) {
  const Theme& theme = context.theme;
  const ChildScope body("##layer.picture", room.size, 0, ImVec2(0, 0),
                        ImGuiWindowFlags_HorizontalScrollbar);
  const LayerGrid grid(theme, model_, ImVec2(room.size.x - theme.px(2), room.size.y - theme.px(2)));
  const ImVec2 cursor = ImGui::GetCursorScreenPos();
  const ImVec2 at(cursor.x + std::max(0.5F * (room.size.x - grid.size().x), 1.0F),
                  cursor.y + std::max(0.5F * (room.size.y - grid.size().y), 1.0F));
  const auto place_on = [&](LayerPlace place, ImVec2 wanted) {
    Area area = grid.of(place);
    const ImVec2 size(std::min(wanted.x, area.size.x), std::min(wanted.y, area.size.y));
    return Area{ImVec2(std::floor(at.x + area.at.x + 0.5F * (area.size.x - size.x)),
                       std::floor(at.y + area.at.y + 0.5F * (area.size.y - size.y))),
                size};
  };
  const ImVec2 whole(1e6F, 1e6F);
  const auto place_at = [&](LayerPlace place) {
    const bool kernels = std::ranges::find(model_.kernels(), place, &LayerKernelBox::place) !=
                         model_.kernels().end();
    return place_on(place,
                    kernels ? whole : ImVec2(theme.px(104), tensor_height(theme, place.row)));
  };
  for (const LayerArrow& arrow : model_.arrows()) {
    const std::vector<LayerPoint> path =
        arrow_path(box_of(place_at(arrow.from)), box_of(place_at(arrow.to)), arrow.kept,
                   static_cast<double>(theme.px(1.0F)));
    draw_arrow(theme, path, arrow.kept, model_.label_of(arrow),
               arrow.to.column + 1 == kLayerColumns);
  }
  for (const LayerKernelBox& box : model_.kernels()) {
    draw_kernels(context, box, place_at(box.place));
  }
  for (const LayerTensorBox& box : model_.tensors()) {
    draw_tensor(context, box, place_at(box.place));
  }
  ImGui::SetCursorScreenPos(cursor);
  ImGui::Dummy(
      ImVec2(at.x - cursor.x + grid.size().x + 1.0F, at.y - cursor.y + grid.size().y + 1.0F));
}

void LayerView::draw_tensor(const PanelContext& context, const LayerTensorBox& box,
                            const Area& place) {
  const Theme& theme = context.theme;
  const engine::TensorResult& result = *box.result;
  const engine::StepTensorTraits& traits = engine::traits_of(result.tensor);
  const std::string id = fmt::format("layer.tensor.{}", engine::name_of(result.tensor));
  bool hovered = false;
  if (context.picture == nullptr) {
    ImGui::SetCursorScreenPos(place.at);
    const bool pressed = ImGui::InvisibleButton(("##" + id).c_str(), place.size);
    hovered = ImGui::IsItemHovered();
    if (pressed && box.has_numbers) clicked_ = result.tensor;
    if (hovered && box.has_numbers) ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
  }
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const float rounding = theme.px(kRounding);
  const bool lost = result.error.lost > 0;
  draw->AddRectFilled(place.at, place.end(),
                      hovered && box.has_numbers ? theme.colors.line : theme.colors.raised,
                      rounding);
  const bool shown = result.tensor == shown_ && box.has_numbers;
  draw->AddRect(place.at, place.end(),
                lost    ? theme.colors.bad
                : shown ? theme.colors.accent
                        : theme.colors.line,
                rounding, 0, shown || lost ? theme.px(1.5F) : 1.0F);

  const float inset = theme.px(kGapSmall);
  const ImFont* label = theme.fonts.label;
  const float right = place.end().x - inset;
  ImVec2 at(place.at.x + inset + theme.px(2), place.at.y + inset);
  plot::draw_text(draw, theme.fonts.body, at, theme.colors.text, traits.symbol);
  plot::draw_text_right(draw, label,
                        ImVec2(right, at.y + theme.fonts.body->FontSize - label->FontSize),
                        theme.colors.text, snr_of(result));
  at.y += theme.fonts.body->FontSize + theme.px(2);
  plot::draw_text(draw, label, at, theme.colors.dim_text, bytes_of(result.bytes));
  if (lost) {
    plot::draw_text_right(draw, label, ImVec2(right, at.y), theme.colors.bad,
                          plot::si_text(static_cast<double>(result.error.lost)) + " lost");
  }
  at.y += line_height(theme);
  if (result.saved_bytes > 0) {
    const ImVec2 text = plot::draw_chip(draw, theme, label, at, theme.colors.accent);
    plot::draw_text(draw, label, text, theme.colors.accent, bytes_of(result.saved_bytes) + " kept");
  }
  controls::record(
      context, id.c_str(), std::string(traits.symbol).c_str(), "button",
      fmt::format("snr={};bytes={};saved={};lost={}", plot::decibel_text(result.error.snr_db),
                  result.bytes, result.saved_bytes, result.error.lost),
      place.at, place.end());
  if (!hovered) return;
  std::vector<plot::ReadOutLine> lines = {
      {"shape", fmt::format("{} x {}", plot::count_text(static_cast<std::uint64_t>(result.rows)),
                            plot::count_text(static_cast<std::uint64_t>(result.columns)))},
      {"SNR in the layer",
       std::isnan(result.error.snr_db) && result.error.left_out() == 0
           ? "not compared"
           : engine::snr_text(result.error, plot::kSnrDecimals),
       theme.colors.accent}};
  if (result.quantization && result.quantization->elements > 0) {
    lines.push_back(
        {"SNR of quantizing it", engine::snr_text(*result.quantization, plot::kSnrDecimals)});
  }
  if (!std::isnan(result.error.snr_db)) {
    lines.push_back({"max error", plot::number_text(result.error.max_abs_error)});
    lines.push_back({"rms of reference", plot::number_text(result.error.reference_rms)});
    lines.push_back(
        {"lost to overflow", plot::count_text(result.error.lost), lost ? theme.colors.bad : 0});
  }
  if (!box.elements.empty()) lines.push_back({"as it is written", box.elements});
  lines.push_back({"one copy", bytes_of(result.bytes)});
  lines.push_back(
      {"kept for backward", result.saved_bytes > 0 ? bytes_of(result.saved_bytes) : "nothing"});
  if (box.room > 0) {
    lines.push_back({"allocated for it", bytes_of(box.room) + ", with room for any splits"});
  }
  if (box.has_numbers) lines.push_back({"click", "its numbers on This run"});
  plot::read_out(context, fmt::format("{}: {}", traits.symbol, traits.meaning), lines);
}

void LayerView::draw_kernels(const PanelContext& context, const LayerKernelBox& box,
                             const Area& place) {
  const Theme& theme = context.theme;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const ImFont* label = theme.fonts.label;
  draw->AddRectFilled(place.at, place.end(), theme.colors.panel, theme.px(kRounding));
  draw->AddRect(place.at, place.end(), theme.colors.line, theme.px(kRounding));
  const float inset = theme.px(kGapSmall + 2);
  ImVec2 at(place.at.x + inset,
            place.at.y + 0.5F * (place.size.y - kernel_lines(box) * line_height(theme)));
  const float right = place.end().x - inset;
  plot::draw_text(draw, label, at, theme.colors.text, plot::fitted(label, box.title, right - at.x));
  std::string value;
  if (box.times.empty()) {
    at.y += line_height(theme);
    plot::draw_text(draw, label, at, theme.colors.dim_text,
                    plot::fitted(label, box.note, right - at.x));
    value = box.note;
  }
  for (const auto& [name, time] : box.times) {
    at.y += line_height(theme);
    const std::string figure = plot::duration_text(time.time.median);
    const float room = right - at.x - plot::text_size(label, figure).x - theme.px(14);
    const ImVec2 text = plot::draw_chip(draw, theme, label, at, theme.stage(time.stage));
    plot::draw_text(draw, label, text, theme.colors.dim_text, plot::fitted(label, name, room));
    plot::draw_text_right(draw, label, ImVec2(right, at.y), theme.colors.text, figure);
    value += fmt::format("{}{}={:.0f}", value.empty() ? "" : ";", name, time.time.median);
  }
  if (box.bytes > 0.0) {
    at.y += line_height(theme);
    plot::draw_text(draw, label, at, theme.colors.dim_text,
                    bytes_of(static_cast<std::int64_t>(box.bytes)));
    value += fmt::format(";bytes={:.0f}", box.bytes);
  }
  controls::record(context, fmt::format("layer.kernels.{}", box.id).c_str(), box.title, "text",
                   value, place.at, place.end());
  const bool hovered = context.picture == nullptr && ImGui::IsWindowHovered() &&
                       ImGui::IsMouseHoveringRect(place.at, place.end());
  if (!hovered || box.times.empty()) return;
  std::vector<plot::ReadOutLine> read;
  for (const auto& [name, time] : box.times) {
    read.push_back({std::string(name),
                    fmt::format("{} (p5 {}, p95 {}, n {})", plot::duration_text(time.time.median),
                                plot::duration_text(time.time.p5),
                                plot::duration_text(time.time.p95), time.time.n),
                    theme.stage(time.stage), time.time.median});
  }
  if (!box.reads.empty()) read.push_back({"quantizes", box.reads});
  if (box.bytes > 0.0) {
    const double per_second = box.bytes / (box.times.front().of.time.median * 1e-9);
    read.push_back({"bytes, counted", bytes_of(static_cast<std::int64_t>(box.bytes))});
    read.push_back({"rate", profiling::byte_rate_text(per_second)});
  }
  plot::read_out(context, box.title, read);
}

}  // namespace app
