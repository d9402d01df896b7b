// A matrix as a texture: uploaded when the data changes, never drawn cell by cell. Missing cells
// are hatched; the legend shows the unit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/gui/plot/plot_frame.h"
#include "app/plot/grid_fold.h"

namespace app::plot {

/// Owner of one GL texture. Only touched with the window's GL context current, which is when panels
/// draw and when the window is torn down.
class Texture {
 public:
  Texture() = default;
  Texture(const Texture&) = delete;
  Texture& operator=(const Texture&) = delete;
  ~Texture();

  /// `pixels` [height, width], packed as ImU32.
  void upload(int width, int height, const std::vector<ImU32>& pixels);
  ImTextureID id() const;
  bool empty() const { return name_ == 0; }
  /// Of all textures so far.
  static std::uint64_t uploads() { return uploads_; }

 private:
  static inline std::uint64_t uploads_ = 0;
  unsigned name_ = 0;
  int width_ = 0;
  int height_ = 0;
};

struct HeatmapState {
  PlotView view;
  Texture texture;
  std::uint64_t uploaded = 0;  // generation of the texture's contents
  int uploaded_rows = 0;
  ColumnSpan uploaded_span{};
  int uploaded_columns = 0;
  ThemeKind uploaded_theme = ThemeKind::Dark;
};

struct HeatmapSpec {
  const char* id = "";
  ImVec2 size{};
  std::string x_label{};
  std::string y_label{};
  double x_offset = 0.0;                  // of the first column's centre on the axis
  std::vector<double> separators{};       // in rows: drawn as lines across
  std::vector<std::string> row_labels{};  // one per row; empty = row ticks
  std::vector<ImU32> row_colors{};        // chip before the row's label
  std::vector<std::string> row_margin{};  // text right of each row
  std::string margin_title{};
  double source_rows = 0.0;  // axis in source units; 0 = cells
  double source_columns = 0.0;
  Range colors{};                          // values at both ends of the scale
  std::string legend{};                    // what the values are, with their unit
  std::vector<std::string> legend_ends{};  // text of both ends
};

struct HeatmapHover {
  bool inside = false;
  bool clicked = false;  // in this frame, without a drag
  int row = 0;           // cell
  int column = 0;        // cell
  double source_row = 0.0;
  double source_column = 0.0;
};

/// `generation` identifies the content of `grid`; a texture is created when it changes.
HeatmapHover draw_heatmap(const PanelContext& context, const HeatmapSpec& spec, const Grid& grid,
                          std::uint64_t generation, HeatmapState& state);

}  // namespace app::plot
