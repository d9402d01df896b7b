// Values of the look tokens: the colours of app/plot/colors.h as ImGui packs them, ImGui's style
// derived from them, and the five type sizes. Rule: colour carries meaning or is a grey of the
// palette; a font is never null and never a failed start: without Inter and JetBrains Mono, of a
// package or of the distribution, ImGui's own is used.
#include "app/gui/theme/theme.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "app/plot/colors.h"
#include "app/protocol/paths.h"

namespace app {
namespace {

constexpr ImU32 rgb(unsigned value) {
  return IM_COL32((value >> 16) & 0xFFU, (value >> 8) & 0xFFU, value & 0xFFU, 0xFFU);
}

ImVec4 with_alpha(ImU32 color, float alpha) {
  ImVec4 result = ImGui::ColorConvertU32ToFloat4(color);
  result.w = alpha;
  return result;
}

// Only the glyphs that the window uses, so that the atlas is ready within the first frame's time:
// Latin-1, thin space and dashes, arrows, comparison signs, a few geometric marks.
constexpr std::array<ImWchar, 15> kRanges = {0x0020, 0x00FF, 0x03BC, 0x03BC, 0x2007,
                                             0x2026, 0x2190, 0x2193, 0x2211, 0x2212,
                                             0x2248, 0x2265, 0x22EF, 0x22EF, 0};

// Where a font is looked for: among the assets of an installed package, then where distributions
// have it.
constexpr std::array<std::string_view, 5> kRegular = {
    "fonts/Inter-Regular.otf", "fonts/Inter-Regular.ttf",
    "/usr/share/fonts/opentype/inter/Inter-Regular.otf",
    "/usr/share/fonts/truetype/inter/Inter-Regular.ttf",
    "/usr/share/fonts/opentype/inter/Inter-Regular.ttf"};
constexpr std::array<std::string_view, 5> kSemiBold = {
    "fonts/Inter-SemiBold.otf", "fonts/Inter-SemiBold.ttf",
    "/usr/share/fonts/opentype/inter/Inter-SemiBold.otf",
    "/usr/share/fonts/truetype/inter/Inter-SemiBold.ttf",
    "/usr/share/fonts/opentype/inter/Inter-SemiBold.ttf"};
constexpr std::array<std::string_view, 4> kMono = {
    "fonts/JetBrainsMono-Regular.ttf", "fonts/JetBrainsMono-Regular.otf",
    "/usr/share/fonts/truetype/jetbrains-mono/JetBrainsMono-Regular.ttf",
    "/usr/share/fonts/opentype/jetbrains-mono/JetBrainsMono-Regular.otf"};

template <std::size_t kCount>
ImFont* load(const std::array<std::string_view, kCount>& paths, float size) {
  ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
  ImFontConfig config;
  config.OversampleH = 2;
  config.OversampleV = 1;
  const float pixels = std::round(size);
  const std::filesystem::path assets = assets_folder();
  for (const std::string_view path : paths) {
    const std::string name = (assets / path).string();  // an absolute path stays what it is
    std::error_code error;
    if (!std::filesystem::is_regular_file(name, error)) continue;
    if (ImFont* font = atlas.AddFontFromFileTTF(name.c_str(), pixels, &config, kRanges.data())) {
      return font;
    }
  }
  config.SizePixels = pixels;
  return atlas.AddFontDefault(&config);
}

}  // namespace

ImU32 Theme::stage(engine::Stage stage) const {
  const std::optional<plot::Rgb> color = plot::stage_color(stage);
  return color ? rgb(*color) : colors.dim_text;
}

ImU32 Theme::series(std::size_t index) const {
  // Blue, orange, violet: distinguishable for the colour-blind and at 4.5:1 on either panel.
  constexpr std::array<unsigned, 3> kDark = {0x4DA3FF, 0xFFB454, 0xD38CF0};
  constexpr std::array<unsigned, 3> kLight = {0x1F6FD1, 0xA85400, 0x8A3FC4};
  return rgb((kind == ThemeKind::Dark ? kDark : kLight)[index % kDark.size()]);
}

ImU32 Theme::group(std::size_t index, std::size_t count) const {
  // Without the end of the map that the panel hides.
  const float low = kind == ThemeKind::Dark ? 0.4F : 0.0F;
  const float high = kind == ThemeKind::Dark ? 1.0F : 0.75F;
  const float last = static_cast<float>(std::max<std::size_t>(count, 2) - 1);
  return sequential(low + (high - low) * static_cast<float>(index) / last);
}

ImU32 Theme::sequential(float t) const {
  return std::isnan(t) ? colors.raised : rgb(plot::sequential_color(t));
}

Palette palette(ThemeKind kind) {
  const plot::ThemeColors& values =
      kind == ThemeKind::Light ? plot::kLightColors : plot::kDarkColors;
  return {.window = rgb(values.window),
          .panel = rgb(values.panel),
          .raised = rgb(values.raised),
          .line = rgb(values.line),
          .text = rgb(values.text),
          .dim_text = rgb(values.dim_text),
          .accent = rgb(values.accent),
          .good = rgb(values.good),
          .warn = rgb(values.warn),
          .bad = rgb(values.bad)};
}

void apply_style(const Theme& theme) {
  ImGuiStyle& style = ImGui::GetStyle();
  style = ImGuiStyle();
  const Palette& colors = theme.colors;
  style.WindowPadding = {theme.px(kPanelPadding), theme.px(kPanelPadding)};
  style.WindowRounding = 0;
  style.WindowBorderSize = 0;
  style.ChildRounding = theme.px(kRounding);
  style.ChildBorderSize = 1;
  style.PopupRounding = theme.px(kRounding);
  style.PopupBorderSize = 1;
  style.FrameRounding = theme.px(kRounding);
  style.FrameBorderSize = 1;
  // Body type is 13 high: this padding makes every framed control one row of 22.
  style.FramePadding = {theme.px(kGap), theme.px((kRowHeight - 13.0F) / 2.0F)};
  style.ItemSpacing = {theme.px(kGap), theme.px(kGapSmall)};
  style.ItemInnerSpacing = {theme.px(kGapSmall), theme.px(kGapSmall)};
  style.CellPadding = {theme.px(kGapSmall), theme.px(2)};
  style.IndentSpacing = theme.px(kGapSection);
  style.ScrollbarSize = theme.px(10);
  style.ScrollbarRounding = theme.px(kRounding);
  style.GrabMinSize = theme.px(10);
  style.GrabRounding = theme.px(kRounding);
  style.DisabledAlpha = 0.55F;
  style.MouseCursorScale = 1.0F;

  const auto set = [&](ImGuiCol slot, ImU32 color, float alpha = 1.0F) {
    style.Colors[slot] = with_alpha(color, alpha);
  };
  set(ImGuiCol_Text, colors.text);
  set(ImGuiCol_TextDisabled, colors.dim_text);
  set(ImGuiCol_WindowBg, colors.window);
  set(ImGuiCol_ChildBg, colors.panel, 0.0F);
  set(ImGuiCol_PopupBg, colors.raised);
  set(ImGuiCol_Border, colors.line);
  set(ImGuiCol_BorderShadow, colors.line, 0.0F);
  set(ImGuiCol_FrameBg, colors.raised);
  set(ImGuiCol_FrameBgHovered, colors.line);
  set(ImGuiCol_FrameBgActive, colors.line);
  set(ImGuiCol_ScrollbarBg, colors.window, 0.0F);
  set(ImGuiCol_ScrollbarGrab, colors.line);
  set(ImGuiCol_ScrollbarGrabHovered, colors.dim_text, 0.6F);
  set(ImGuiCol_ScrollbarGrabActive, colors.dim_text);
  set(ImGuiCol_CheckMark, colors.accent);
  set(ImGuiCol_SliderGrab, colors.accent);
  set(ImGuiCol_SliderGrabActive, colors.accent);
  set(ImGuiCol_Button, colors.raised);
  set(ImGuiCol_ButtonHovered, colors.line);
  set(ImGuiCol_ButtonActive, colors.accent, 0.35F);
  set(ImGuiCol_Header, colors.accent, 0.22F);
  set(ImGuiCol_HeaderHovered, colors.accent, 0.16F);
  set(ImGuiCol_HeaderActive, colors.accent, 0.30F);
  set(ImGuiCol_Separator, colors.line);
  set(ImGuiCol_SeparatorHovered, colors.accent);
  set(ImGuiCol_SeparatorActive, colors.accent);
  set(ImGuiCol_TableHeaderBg, colors.raised);
  set(ImGuiCol_TableBorderStrong, colors.line);
  set(ImGuiCol_TableBorderLight, colors.line);
  set(ImGuiCol_TableRowBg, colors.panel, 0.0F);
  set(ImGuiCol_TableRowBgAlt, colors.raised, 0.5F);
  set(ImGuiCol_TextSelectedBg, colors.accent, 0.35F);
  set(ImGuiCol_PlotHistogram, colors.accent);
  set(ImGuiCol_ModalWindowDimBg, colors.window, 0.6F);
}

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
