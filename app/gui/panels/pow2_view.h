// The cost of power-of-two scales for every expert: unused range, added error, and time saved or
// not.
#pragma once

#include <optional>

#include "app/gui/cards/card_layout.h"
#include "app/gui/controls/panel_context.h"
#include "app/gui/panels/pow2_model.h"

namespace app {

class Pow2View {
 public:
  /// The page uses the first `taken_left` pixels of the first row.
  void draw(const PanelContext& context, const Area& area, float taken_left);

 private:
  void follow(const PanelContext& context);
  void order(const PanelContext& context);
  float draw_controls(const PanelContext& context, const Area& area, float taken_left);
  void draw_figures(const PanelContext& context, float width);
  void draw_waste(const PanelContext& context, const Area& area);
  void draw_snr(const PanelContext& context, const Area& area);
  void draw_table(const PanelContext& context, const Area& area);
  void draw_nothing(const PanelContext& context, const Area& area);

  Pow2Model model_;
  bool shown_ = false;
  ThemeKind theme_kind_ = ThemeKind::Dark;
  int operand_ = 0;
  int scaling_ = 2;  // index into kScalings
  int variant_ = 1;  // 0 = FP32 scales, 1 = power of two
  bool live_ = false;
  std::optional<engine::ComparisonRequest> asked_;
  plot::PlotView waste_view_;
  plot::PlotView snr_view_;
  plot::TableState table_;
};

}  // namespace app
