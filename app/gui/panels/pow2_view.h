// The cost of power-of-two scales for every expert: unused range, added error, and time saved or
// not.
#pragma once

#include "app/gui/cards/card_board.h"
#include "app/gui/panels/order_bar.h"
#include "app/gui/panels/pow2_model.h"

namespace app {

class Pow2View {
 public:
  /// The page uses the first `taken_left` pixels of the first row.
  void draw(const PanelContext& context, const Area& area, float taken_left);
  /// Shows all cards again, if one fills the view.
  bool close_front() { return board_.restore(); }

 private:
  void follow(const PanelContext& context);
  engine::ComparisonRequest wanted(const PanelContext& context) const;
  float draw_controls(const PanelContext& context, const Area& area, float taken_left);
  void draw_figures(const PanelContext& context, float width);
  CardTable table();
  CardSpec waste_card(const PanelContext& context);
  void draw_waste(const PanelContext& context, ImVec2 size);
  CardSpec snr_card(const PanelContext& context);
  void draw_snr(const PanelContext& context, ImVec2 size);
  CardSpec table_card(const PanelContext& context);

  Pow2Model model_;
  CardBoard board_;
  bool shown_ = false;
  /// What the model was derived from last.
  struct Followed {
    Pow2Model::Comparison comparison;
    engine::Scaling scaling = {};
    ThemeKind theme = ThemeKind::Dark;
    bool operator==(const Followed&) const = default;
  };
  Followed followed_;
  int operand_ = 0;
  int scaling_ = 2;  // index into kScalings
  int variant_ = 1;  // 0 = FP32 scales, 1 = power of two
  Orders<engine::ComparisonRequest> orders_;
  plot::PlotView waste_view_;
  plot::PlotView snr_view_;
  plot::TableState table_;
};

}  // namespace app
