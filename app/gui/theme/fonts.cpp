// The five type sizes, from the distribution's Inter and JetBrains Mono if they are installed.
// Rule: never null and never a failed start; without the files ImGui's own font is used.
#include <array>
#include <cmath>
#include <filesystem>
#include <string>
#include <string_view>

#include "app/gui/theme/theme.h"

namespace app {
namespace {

// Only the glyphs that the window uses, so that the atlas is ready within the first frame's time:
// Latin-1, thin space and dashes, arrows, comparison signs, a few geometric marks.
constexpr std::array<ImWchar, 15> kRanges = {0x0020, 0x00FF, 0x03BC, 0x03BC, 0x2007,
                                             0x2026, 0x2190, 0x2193, 0x2211, 0x2212,
                                             0x2248, 0x2265, 0x22EF, 0x22EF, 0};

constexpr std::array<std::string_view, 3> kRegular = {
    "/usr/share/fonts/opentype/inter/Inter-Regular.otf",
    "/usr/share/fonts/truetype/inter/Inter-Regular.ttf",
    "/usr/share/fonts/opentype/inter/Inter-Regular.ttf"};
constexpr std::array<std::string_view, 3> kSemiBold = {
    "/usr/share/fonts/opentype/inter/Inter-SemiBold.otf",
    "/usr/share/fonts/truetype/inter/Inter-SemiBold.ttf",
    "/usr/share/fonts/opentype/inter/Inter-SemiBold.ttf"};
constexpr std::array<std::string_view, 2> kMono = {
    "/usr/share/fonts/truetype/jetbrains-mono/JetBrainsMono-Regular.ttf",
    "/usr/share/fonts/opentype/jetbrains-mono/JetBrainsMono-Regular.otf"};

template <std::size_t kCount>
ImFont* load(const std::array<std::string_view, kCount>& paths, float size) {
  ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
  ImFontConfig config;
  config.OversampleH = 2;
  config.OversampleV = 1;
  const float pixels = std::round(size);
  for (const std::string_view path : paths) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) continue;
    const std::string name(path);
    if (ImFont* font = atlas.AddFontFromFileTTF(name.c_str(), pixels, &config, kRanges.data())) {
      return font;
    }
  }
  config.SizePixels = pixels;
  return atlas.AddFontDefault(&config);
}

}  // namespace

ThemeFonts load_fonts(float scale) {
  ImGui::GetIO().Fonts->Clear();
  ThemeFonts fonts;
  // The first font of the atlas is ImGui's default.
  fonts.body = load(kRegular, 13.0F * scale);
  fonts.label = load(kRegular, 11.0F * scale);
  fonts.title = load(kSemiBold, 16.0F * scale);
  fonts.headline = load(kRegular, 24.0F * scale);
  fonts.mono = load(kMono, 12.5F * scale);
  return fonts;
}

}  // namespace app
