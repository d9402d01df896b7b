// Heatmap: hatching below, texture above, separators and labels around.
#include "app/gui/plot/heatmap_plot.h"

#include <GL/gl.h>
#include <GL/glext.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "app/gui/plot/plot_text.h"

namespace app::plot {

// GL 1.1 calls suffice for a nearest-filtered image.
Texture::~Texture() {
  if (name_ != 0) glDeleteTextures(1, &name_);
}

void Texture::upload(int width, int height, const std::vector<ImU32>& pixels) {
  ++uploads_;
  GLint bound = 0;
  glGetIntegerv(GL_TEXTURE_BINDING_2D, &bound);
  if (name_ == 0) glGenTextures(1, &name_);
  glBindTexture(GL_TEXTURE_2D, name_);
  if (width != width_ || height != height_) {
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    // Cells stay sharp when zoomed in.
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, width, height, 0, GL_RGBA, GL_UNSIGNED_BYTE,
                 pixels.data());
    width_ = width;
    height_ = height;
  } else {
    glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, width, height, GL_RGBA, GL_UNSIGNED_BYTE,
                    pixels.data());
  }
  glBindTexture(GL_TEXTURE_2D, static_cast<GLuint>(bound));
}

ImTextureID Texture::id() const {
  // ImTextureID is a pointer or an integer, depending on ImGui's version; both hold the GL name.
  return (ImTextureID)(std::intptr_t)name_;  // NOLINT
}

namespace {

constexpr int kMostTexels = 2048;  // per side: every GL 3.3 device supports it

void upload(const PanelContext& context, const Grid& grid, Range colors, HeatmapState& state) {
  const Grid small = folded(grid, state.uploaded_span, state.uploaded_rows, state.uploaded_columns);
  std::vector<ImU32> pixels(small.values.size());
  const double span = colors.empty() ? 1.0 : colors.span();
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const float value = small.values[i];
    if (std::isnan(value)) continue;  // transparent: the hatch shows through
    const double part = (static_cast<double>(value) - colors.min) / span;
    pixels[i] = context.theme.sequential(static_cast<float>(std::clamp(part, 0.0, 1.0)));
  }
  state.texture.upload(small.columns, small.rows, pixels);
}

/// Returns the y at which it ends.
float draw_legend(const PanelContext& context, const HeatmapSpec& spec, ImVec2 at, float width) {
  const Theme& theme = context.theme;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const ImFont* font = theme.fonts.label;
  // Whole pixels: an edge between two would look blurred, and differ between rasterisers.
  const float bar_height = std::round(theme.px(8));
  const float bar_width = std::min(theme.px(140), 0.3F * width);
  const std::string low = spec.legend_ends.empty() ? "" : spec.legend_ends.front();
  const std::string high = spec.legend_ends.empty() ? "" : spec.legend_ends.back();
  const float gap = theme.px(kGapSmall);
  float x = at.x;
  draw_text(draw, font, ImVec2(x, at.y), theme.colors.dim_text, spec.legend);
  x += text_size(font, spec.legend).x + theme.px(kGap);
  draw_text(draw, font, ImVec2(x, at.y), theme.colors.text, low);
  x = std::round(x + text_size(font, low).x + gap);
  constexpr int kSteps = 32;
  const float top = std::round(at.y + 0.5F * (font->FontSize - bar_height));
  for (int i = 0; i < kSteps; ++i) {
    const float left = x + bar_width * static_cast<float>(i) / kSteps;
    const float right = x + bar_width * static_cast<float>(i + 1) / kSteps;
    draw->AddRectFilledMultiColor(ImVec2(left, top), ImVec2(right, top + bar_height),
                                  theme.sequential(static_cast<float>(i) / kSteps),
                                  theme.sequential(static_cast<float>(i + 1) / kSteps),
                                  theme.sequential(static_cast<float>(i + 1) / kSteps),
                                  theme.sequential(static_cast<float>(i) / kSteps));
  }
  x += bar_width + gap;
  draw_text(draw, font, ImVec2(x, at.y), theme.colors.text, high);
  x += text_size(font, high).x + theme.px(kGapSection);
  // If several maps share a row there is no room to explain the hatching on each.
  if (x + theme.px(18) + text_size(font, "none").x > at.x + width) return x;
  const ImVec2 hatch(x, top);
  draw_hatch(draw, hatch, ImVec2(x + theme.px(14), top + bar_height), theme.colors.dim_text,
             theme.px(4));
  draw_text(draw, font, ImVec2(x + theme.px(18), at.y), theme.colors.dim_text, "none");
  return x + theme.px(18) + text_size(font, "none").x;
}

void draw_row_labels(const PanelContext& context, const HeatmapSpec& spec, ImVec2 min, ImVec2 max,
                     float left, std::size_t rows) {
  const Theme& theme = context.theme;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const ImFont* font = theme.fonts.label;
  const float height = (max.y - min.y) / static_cast<float>(rows);
  // Rows lower than a line of text: label only as many as stay apart.
  const auto stride = static_cast<std::size_t>(
      std::max(1.0F, std::ceil(1.15F * font->FontSize / std::max(height, 0.1F))));
  for (std::size_t row = 0; row < rows; ++row) {
    const float top = min.y + height * static_cast<float>(row);
    const float middle = top + 0.5F * height - 0.5F * font->FontSize;
    float x = left;
    if (row < spec.row_colors.size()) {
      draw->AddRectFilled(ImVec2(min.x - theme.px(7), top),
                          ImVec2(min.x - theme.px(3), top + height), spec.row_colors[row]);
    }
    if (row % stride != 0) continue;
    if (row < spec.row_labels.size()) {
      const std::string text = fitted_label(font, spec.row_labels[row], min.x - theme.px(12) - x);
      draw_text(draw, font, ImVec2(x, middle), theme.colors.text, text);
      explain_cut(context, text, spec.row_labels[row], ImVec2(x, middle),
                  ImVec2(min.x - theme.px(8), middle + font->FontSize));
    }
    if (row < spec.row_margin.size()) {
      draw_text(draw, font, ImVec2(max.x + theme.px(kGap), middle), theme.colors.text,
                spec.row_margin[row]);
    }
  }
}

}  // namespace

HeatmapHover draw_heatmap(const PanelContext& context, const HeatmapSpec& spec, const Grid& grid,
                          std::uint64_t generation, HeatmapState& state) {
  HeatmapHover hover;
  if (grid.rows <= 0 || grid.columns <= 0) return hover;
  const Theme& theme = context.theme;
  const float legend_height = theme.fonts.label->FontSize + theme.px(6);
  const double rows = spec.source_rows > 0.0 ? spec.source_rows : grid.rows;
  const double columns = spec.source_columns > 0.0 ? spec.source_columns : grid.columns;
  const bool labelled = !spec.row_labels.empty();
  float left_margin = 0.0F;
  float right_margin = 0.0F;
  if (labelled) {
    float widest = 0.0F;
    for (const std::string& label : spec.row_labels) {
      widest = std::max(widest, text_size(theme.fonts.label, label).x);
    }
    left_margin = std::clamp(widest + theme.px(16), theme.px(60), 0.3F * spec.size.x);
  }
  for (const std::string& text : spec.row_margin) {
    right_margin =
        std::max(right_margin, text_size(theme.fonts.label, text).x + theme.px(kGap + kGapSmall));
  }
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const float legend_end = draw_legend(context, spec, origin, spec.size.x);
  const float title_start = origin.x + spec.size.x - theme.px(kGapLarge) -
                            text_size(theme.fonts.label, spec.margin_title).x;
  if (!spec.margin_title.empty() && legend_end <= title_start) {
    draw_text_right(ImGui::GetWindowDrawList(), theme.fonts.label,
                    ImVec2(origin.x + spec.size.x - theme.px(kGapSmall), origin.y),
                    theme.colors.dim_text, spec.margin_title);
  }
  ImGui::SetCursorScreenPos(ImVec2(origin.x, origin.y + legend_height));
  // A margin of half a cell would be misleading: the first column starts at its own left edge.
  const double half = spec.source_columns > 0.0 ? 0.0 : 0.5;
  FrameSpec frame_spec{.id = spec.id,
                       .size = ImVec2(spec.size.x, spec.size.y - legend_height),
                       .x = {.kind = AxisKind::Integer,
                             .label = spec.x_label,
                             .limits = {spec.x_offset - half, spec.x_offset - half + columns}},
                       .y = {.kind = AxisKind::Integer,
                             .label = labelled ? std::string() : spec.y_label,
                             .limits = {0.0, rows},
                             .ticks = false},
                       .selectable = false,
                       .min_span = std::min(4.0, columns),
                       .left_margin = labelled ? left_margin : theme.px(42),
                       .right_margin = right_margin};
  ImVec2 min;
  ImVec2 max;
  {
    PlotFrame frame(context, frame_spec, state.view);
    min = frame.min();
    max = frame.max();
    ImDrawList* draw = frame.draw();
    draw_hatch(draw, min, max, theme.colors.line, theme.px(6));
    const Range limits = frame_spec.x.limits;
    const Range shown = frame.x().view;
    // Only the columns in view, so that zooming in resolves every one of very many.
    const double columns_per_unit = grid.columns / limits.span();
    const ColumnSpan span =
        shown_columns((shown.min - limits.min) * columns_per_unit,
                      (shown.max - limits.min) * columns_per_unit, grid.columns);
    const auto u = [&](double value) {
      return static_cast<float>(((value - limits.min) * columns_per_unit - span.first) /
                                (span.last - span.first));
    };
    // As many texels as pixels, so that folding and not sampling determines each pixel.
    const int texel_rows = std::clamp(static_cast<int>(max.y - min.y), 1, kMostTexels);
    const int texel_columns = std::clamp(static_cast<int>(max.x - min.x), 1, kMostTexels);
    const int wanted_rows = std::min(texel_rows, grid.rows);
    const int wanted_columns = std::min(texel_columns, span.last - span.first);
    if (state.texture.empty() || state.uploaded != generation ||
        state.uploaded_theme != theme.kind || state.uploaded_rows != wanted_rows ||
        state.uploaded_columns != wanted_columns || state.uploaded_span != span) {
      state.uploaded = generation;
      state.uploaded_theme = theme.kind;
      state.uploaded_rows = wanted_rows;
      state.uploaded_columns = wanted_columns;
      state.uploaded_span = span;
      upload(context, grid, spec.colors, state);
    }
    draw->AddImage(state.texture.id(), min, max, ImVec2(u(shown.min), 0.0F),
                   ImVec2(u(shown.max), 1.0F));
    // The dark rim distinguishes a separator from a bright row of data; with hundreds of experts
    // there is none, it would cover their data.
    const float apart = (max.y - min.y) / static_cast<float>(spec.separators.size() + 1);
    const bool rim = apart >= theme.px(kGapLarge);
    for (const double separator : spec.separators) {
      const float y = std::floor(min.y + static_cast<float>(separator / rows) * (max.y - min.y));
      if (rim) {
        draw->AddRectFilled(ImVec2(min.x, y - 1.0F), ImVec2(max.x, y + 2.0F), theme.colors.window);
      }
      draw->AddRectFilled(ImVec2(min.x, y), ImVec2(max.x, y + 1.0F),
                          rim ? theme.colors.text : faded(theme.colors.text, 0.5F));
    }
    if (frame.hovered()) {
      hover.inside = true;
      hover.clicked = frame.clicked();
      const double part_y = std::clamp(
          static_cast<double>((frame.mouse().y - min.y) / (max.y - min.y)), 0.0, 0.999999);
      const double part_x =
          std::clamp((frame.hover_x() - limits.min) / limits.span(), 0.0, 0.999999);
      hover.row = static_cast<int>(part_y * grid.rows);
      hover.column = static_cast<int>(part_x * grid.columns);
      hover.source_row = part_y * rows;
      hover.source_column = part_x * columns;
    }
  }
  ImDrawList* draw = ImGui::GetWindowDrawList();
  if (labelled) {
    draw_row_labels(context, spec, min, max, origin.x, static_cast<std::size_t>(grid.rows));
  } else {
    // Rows count downwards, as matrices do.
    const int most = std::max(2, static_cast<int>((max.y - min.y) / theme.px(36)));
    for (const Tick& tick : ticks(AxisKind::Integer, {0.0, rows}, most)) {
      const float y = min.y + static_cast<float>(tick.value / rows) * (max.y - min.y);
      if (y > max.y - 0.5F * theme.fonts.label->FontSize && tick.value > 0.0) continue;
      draw_text_right(draw, theme.fonts.label, ImVec2(min.x - theme.px(5), y),
                      theme.colors.dim_text, tick.label);
    }
  }
  return hover;
}

}  // namespace app::plot
