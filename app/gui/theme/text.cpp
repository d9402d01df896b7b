#include "app/gui/theme/text.h"

#include <cfloat>
#include <string>

#include "engine/model/text.h"

namespace app {
namespace {

/// A text in drawable form; only one that is not drawable as it is gets copied.
class Shown {
 public:
  explicit Shown(std::string_view text) {
    if (!engine::is_shown_text(text)) text = copy_ = engine::shown_text(text);
    begin = text.data();
    end = text.data() + text.size();
  }
  Shown(const Shown&) = delete;
  Shown& operator=(const Shown&) = delete;

  const char* begin;
  const char* end;

 private:
  std::string copy_;
};

}  // namespace

void show_text(std::string_view text) {
  const Shown shown(text);
  ImGui::TextUnformatted(shown.begin, shown.end);
}

void show_wrapped(std::string_view text) {
  const Shown shown(text);
  // ImGui's own function keeps an existing wrap position; with a precision it formats, and cuts at
  // 3 KiB.
  ImGui::TextWrapped("%s", std::string(shown.begin, shown.end).c_str());
}

void show_dimmed(std::string_view text) {
  const Shown shown(text);
  ImGui::PushStyleColor(ImGuiCol_Text, ImGui::GetStyle().Colors[ImGuiCol_TextDisabled]);
  ImGui::TextUnformatted(shown.begin, shown.end);
  ImGui::PopStyleColor();
}

ImVec2 shown_size(const ImFont* font, std::string_view text, float wrap) {
  const Shown shown(text);
  return font->CalcTextSizeA(font->FontSize, FLT_MAX, wrap, shown.begin, shown.end);
}

ImVec2 shown_size(std::string_view text, float wrap) {
  const Shown shown(text);
  return ImGui::CalcTextSize(shown.begin, shown.end, false, wrap > 0 ? wrap : -1.0F);
}

void draw_shown(ImDrawList* draw, const ImFont* font, ImVec2 at, ImU32 color, std::string_view text,
                float wrap) {
  const Shown shown(text);
  draw->AddText(font, font->FontSize, at, color, shown.begin, shown.end, wrap);
}

void draw_scaled(ImDrawList* draw, const ImFont* font, float size, ImVec2 at, ImU32 color,
                 std::string_view text) {
  const Shown shown(text);
  draw->AddText(font, size, at, color, shown.begin, shown.end);
}

std::string fitted(const ImFont* font, std::string_view outside, float width) {
  const std::string text = engine::shown_text(outside);
  if (shown_size(font, text).x <= width) return text;
  const float room = width - shown_size(font, "...").x;
  if (room <= 0.0F) return {};
  // Stops before the first character that does not fit.
  const char* rest = nullptr;
  font->CalcTextSizeA(font->FontSize, room, 0.0F, text.data(), text.data() + text.size(), &rest);
  const auto kept = static_cast<std::size_t>(rest - text.data());
  return kept == 0 ? std::string() : text.substr(0, kept) + "...";
}

}  // namespace app
