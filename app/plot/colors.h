// The colours that the window and the shared page have in common, as 0xRRGGBB: those of both
// themes, one colour per stage, and the map of values.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/model/stage.h"

namespace app::plot {

using Rgb = std::uint32_t;

struct ThemeColors {
  Rgb window, panel, raised, line, text, dim_text, accent, good, warn, bad;
};
inline constexpr ThemeColors kDarkColors = {.window = 0x0F1318,
                                            .panel = 0x161B22,
                                            .raised = 0x1E252E,
                                            .line = 0x2A323D,
                                            .text = 0xE6EAF0,
                                            .dim_text = 0x98A2B0,
                                            .accent = 0x4DA3FF,
                                            .good = 0x3FB68B,
                                            .warn = 0xE0A63A,
                                            .bad = 0xE5605C};
inline constexpr ThemeColors kLightColors = {.window = 0xF6F7F9,
                                             .panel = 0xFFFFFF,
                                             .raised = 0xEEF1F5,
                                             .line = 0xD5DAE1,
                                             .text = 0x1A2028,
                                             .dim_text = 0x5B6675,
                                             .accent = 0x1F6FD1,
                                             .good = 0x1D8A63,
                                             .warn = 0xA8740F,
                                             .bad = 0xC53A36};

/// Colour-blind-safe, the same in both themes; none for Other, which has the theme's dim text.
std::optional<Rgb> stage_color(engine::Stage stage);
/// Perceptually uniform map of values, readable in grey, for t in [0, 1]; beyond it, that of the
/// nearer end. NaN gives that of 0: whoever draws missing values marks them.
Rgb sequential_color(float t);

}  // namespace app::plot
