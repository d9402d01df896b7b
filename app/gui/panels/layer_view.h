// An expert layer as a picture, where the error of its output comes from, and what every recipe
// keeps for backward.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/cards/card_board.h"
#include "app/gui/plot/named_bars.h"
#include "app/plot/layer_model.h"

namespace app {

class LayerView {
 public:
  /// The operand that the user has clicked: its numbers are wanted. `shown` is outlined.
  std::optional<engine::StepTensor> draw(const PanelContext& context, const Area& area,
                                         engine::StepTensor shown);
  /// Shows all cards again, if one fills the view.
  bool close_front() { return board_.restore(); }

 private:
  void follow(const PanelContext& context);
  /// A table of the run on screen; null without an expert layer.
  std::function<profiling::Table()> layer_list(
      profiling::Table (*table)(const engine::RunResult&)) const;
  EmptyState no_layer(const PanelContext& context) const;
  /// Of the run on screen, else of the request.
  bool has_backward() const { return memory_of_.products.passes != engine::StepPasses::Forward; }
  // layer_picture.cpp
  CardSpec picture_card(const PanelContext& context);
  void draw_picture(const PanelContext& context, const Area& room);
  void draw_tensor(const PanelContext& context, const LayerTensorBox& box, const Area& place);
  static void draw_kernels(const PanelContext& context, const LayerKernelBox& box,
                           const Area& place);
  std::string picture_note() const;
  std::string picture_value() const;
  // layer_cards.cpp
  CardSpec errors_card(const PanelContext& context);
  void draw_errors(const PanelContext& context, const Area& room) const;
  CardSpec memory_card(const PanelContext& context);
  void draw_memory(const PanelContext& context, const Area& room) const;

  LayerModel model_;
  std::uint64_t followed_ = 0;  // the run that it was derived from last
  bool has_layer_ = false;
  CardBoard board_;
  engine::StepTensor shown_ = engine::StepTensor::X;
  std::optional<engine::StepTensor> clicked_;  // in this frame

  // Derived anew when the request or the splits change.
  engine::RunRequest memory_of_;
  std::vector<std::int64_t> memory_splits_;
  std::vector<RecipeMemory> memories_;
};

}  // namespace app
