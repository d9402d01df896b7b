// Controls of a bar one after the other, on as many rows as their widths need.
#pragma once

#include <imgui.h>

#include <utility>

#include "app/gui/theme/theme.h"

namespace app::controls {

class Flow {
 public:
  /// Starts at the cursor; further rows begin at `left`, and none extends beyond `right` (screen).
  Flow(const Theme& theme, float left, float right)
      : gap_(theme.px(kGap)),
        step_(theme.px(kRowHeight + kGapSmall)),
        left_(left),
        right_(right),
        top_(ImGui::GetCursorScreenPos().y) {}

  /// Call before every control: `width` is its width.
  void next(float width) {
    if (!std::exchange(begun_, true)) return;
    const float end = ImGui::GetItemRectMax().x;
    if (end + gap_ + width <= right_) return ImGui::SameLine(0, gap_);
    top_ += step_;
    ImGui::SetCursorScreenPos(ImVec2(left_, top_));
  }
  /// The y where the next row would begin.
  float bottom() const { return top_ + step_; }

 private:
  float gap_;
  float step_;
  float left_;
  float right_;
  float top_;
  bool begun_ = false;
};

}  // namespace app::controls
