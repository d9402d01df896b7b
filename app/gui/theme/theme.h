// Look tokens: with app/plot/colors.h the only place that names a colour, a size or a gap.
// Everything else uses a Theme.
#pragma once

#include <imgui.h>

#include <cstddef>
#include <cstdint>

#include "engine/model/stage.h"

namespace app {

enum class ThemeKind { Dark, Light };

struct Palette {
  ImU32 window, panel, raised, line, text, dim_text, accent, good, warn, bad;
};

/// Fonts may repeat one ImGui font if the distribution's are not installed; never null after
/// ThemeFonts are loaded.
struct ThemeFonts {
  ImFont* body = nullptr;      // Inter 13
  ImFont* label = nullptr;     // Inter 11: labels, units, axes
  ImFont* title = nullptr;     // Inter semibold 16
  ImFont* headline = nullptr;  // Inter 24
  ImFont* mono = nullptr;      // JetBrains Mono 12.5
};

struct Theme {
  ThemeKind kind = ThemeKind::Dark;
  float scale = 1.0F;  // text scale 0.8 .. 2.0; every size below is multiplied by it through px()
  Palette colors{};
  ThemeFonts fonts;

  float px(float grid_pixels) const { return grid_pixels * scale; }
  ImU32 stage(engine::Stage stage) const;
  /// Colour of the i-th of up to three overlaid series.
  ImU32 series(std::size_t index) const;
  /// Colour of the i-th of any number of groups that have an order, such as values of a number.
  ImU32 group(std::size_t index, std::size_t count) const;
  /// Perceptually uniform sequential map (viridis-like), t in [0, 1]. NaN gives the hatch
  /// background colour.
  ImU32 sequential(float t) const;
};

inline constexpr float kGapSmall = 4.0F;
inline constexpr float kGap = 8.0F;
inline constexpr float kGapLarge = 12.0F;
inline constexpr float kGapSection = 16.0F;
inline constexpr float kPanelPadding = 12.0F;
inline constexpr float kRowHeight = 22.0F;
inline constexpr float kRounding = 4.0F;

Palette palette(ThemeKind kind);
/// Loads fonts into the current ImGui context's atlas for this scale; falls back to ImGui's own.
ThemeFonts load_fonts(float scale);
/// Sets ImGui's style from the tokens.
void apply_style(const Theme& theme);

}  // namespace app
