#include "app/gui/theme/text.h"

#include <imgui_internal.h>  // the wrap position of the current window

#include <algorithm>
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

  std::string_view view() const { return {begin, end}; }

  const char* begin;
  const char* end;

 private:
  std::string copy_;
};

/// A text that ImGui would break after the dot of a number: "13." and "10.0".
bool has_dotted_number(std::string_view text) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] == '.' && digit(text[i - 1]) && digit(text[i + 1])) return true;
  }
  return false;
}

/// The width at which the current window wraps; 0 = it does not.
float current_wrap() {
  const float position = ImGui::GetCurrentWindow()->DC.TextWrapPos;
  return position < 0 ? 0 : ImGui::CalcWrapWidthForPos(ImGui::GetCursorScreenPos(), position);
}

/// The longest prefix of a shown text that fits.
std::string_view begin_in(const ImFont* font, std::string_view text, float width) {
  if (width <= 0.0F) return {};
  // Stops before the first character that does not fit.
  const char* rest = nullptr;
  font->CalcTextSizeA(font->FontSize, width, 0.0F, text.data(), text.data() + text.size(), &rest);
  return text.substr(0, static_cast<std::size_t>(rest - text.data()));
}

/// The longest end of a shown text that fits.
std::string_view end_in(const ImFont* font, std::string_view text, float width) {
  const auto in_character = [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;  // of UTF-8, after its first byte
  };
  constexpr float kRounding = 0.01F;  // of widths that are added up
  std::size_t begin = text.size();
  float used = 0;
  while (begin > 0) {
    std::size_t next = begin - 1;
    while (next > 0 && in_character(text[next])) --next;
    used += shown_size(font, text.substr(next, begin - next)).x;
    if (used > width + kRounding) break;
    begin = next;
  }
  return text.substr(begin);
}

}  // namespace

std::string broken_at_spaces(const ImFont* font, std::string_view text, float wrap) {
  std::string lines;
  float used = 0;
  const auto width_of = [font](std::string_view part) {
    return font->CalcTextSizeA(font->FontSize, FLT_MAX, 0, part.data(), part.data() + part.size())
        .x;
  };
  const float space = width_of(" ");
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    const std::string_view word = text.substr(0, end);
    const float width = width_of(word);
    if (used > 0 && used + width > wrap) {
      // The space before it becomes the end of the line.
      if (lines.back() == ' ') lines.pop_back();
      lines += '\n';
      used = 0;
    }
    lines += word;
    used += width;
    text.remove_prefix(end);
    if (text.empty()) break;
    lines += text.front();
    used = text.front() == '\n' ? 0 : used + space;
    text.remove_prefix(1);
  }
  return lines;
}

void show_text(std::string_view text) {
  const Shown shown(text);
  const float wrap = has_dotted_number(shown.view()) ? current_wrap() : 0;
  if (wrap <= 0) return ImGui::TextUnformatted(shown.begin, shown.end);
  const std::string lines = broken_at_spaces(ImGui::GetFont(), shown.view(), wrap);
  ImGui::TextUnformatted(lines.data(), lines.data() + lines.size());
}

void show_wrapped(std::string_view text) {
  const bool wraps = ImGui::GetCurrentWindow()->DC.TextWrapPos >= 0;
  if (!wraps) ImGui::PushTextWrapPos(0);
  show_text(text);
  if (!wraps) ImGui::PopTextWrapPos();
}

void show_dimmed(std::string_view text) {
  const Shown shown(text);
  ImGui::PushStyleColor(ImGuiCol_Text, ImGui::GetStyle().Colors[ImGuiCol_TextDisabled]);
  ImGui::TextUnformatted(shown.begin, shown.end);
  ImGui::PopStyleColor();
}

ImVec2 shown_size(const ImFont* font, std::string_view text, float wrap) {
  const Shown shown(text);
  if (wrap > 0 && has_dotted_number(shown.view())) {
    const std::string lines = broken_at_spaces(font, shown.view(), wrap);
    return font->CalcTextSizeA(font->FontSize, FLT_MAX, wrap, lines.data(),
                               lines.data() + lines.size());
  }
  return font->CalcTextSizeA(font->FontSize, FLT_MAX, wrap, shown.begin, shown.end);
}

ImVec2 shown_size(std::string_view text, float wrap) {
  const Shown shown(text);
  if (wrap > 0 && has_dotted_number(shown.view())) {
    const std::string lines = broken_at_spaces(ImGui::GetFont(), shown.view(), wrap);
    return ImGui::CalcTextSize(lines.data(), lines.data() + lines.size(), false, wrap);
  }
  return ImGui::CalcTextSize(shown.begin, shown.end, false, wrap > 0 ? wrap : -1.0F);
}

void draw_shown(ImDrawList* draw, const ImFont* font, ImVec2 at, ImU32 color, std::string_view text,
                float wrap) {
  const Shown shown(text);
  if (wrap > 0 && has_dotted_number(shown.view())) {
    const std::string lines = broken_at_spaces(font, shown.view(), wrap);
    return draw->AddText(font, font->FontSize, at, color, lines.data(), lines.data() + lines.size(),
                         wrap);
  }
  draw->AddText(font, font->FontSize, at, color, shown.begin, shown.end, wrap);
}

void draw_scaled(ImDrawList* draw, const ImFont* font, float size, ImVec2 at, ImU32 color,
                 std::string_view text) {
  const Shown shown(text);
  draw->AddText(font, size, at, color, shown.begin, shown.end);
}

std::string fitted_end(const ImFont* font, std::string_view outside, float width) {
  const std::string text = engine::shown_text(outside);
  if (shown_size(font, text).x <= width) return text;
  const std::string_view rest = end_in(font, text, width - shown_size(font, "...").x);
  return rest.empty() ? std::string() : "..." + std::string(rest);
}

std::string fitted_middle(const ImFont* font, std::string_view outside, float width) {
  const std::string text = engine::shown_text(outside);
  if (shown_size(font, text).x <= width) return text;
  const float room = width - shown_size(font, "...").x;
  const std::string_view begin = begin_in(font, text, room / 2);
  if (begin.empty()) return fitted(font, text, width);
  return std::string(begin) + "..." +
         std::string(end_in(font, text, room - shown_size(font, begin).x));
}

std::string fitted_words(const ImFont* font, std::string_view outside, float width) {
  const std::string text = engine::shown_text(outside);
  if (shown_size(font, text).x <= width) return text;
  const std::string_view begin = begin_in(font, text, width - shown_size(font, "...").x);
  // What is left out may begin with the space itself.
  const bool between = begin.size() < text.size() && text[begin.size()] == ' ';
  const std::size_t space = between ? begin.size() : begin.find_last_of(' ');
  const std::string_view words =
      space == std::string_view::npos ? std::string_view() : begin.substr(0, space);
  const std::size_t last = words.find_last_not_of(' ');
  if (last == std::string_view::npos) return fitted_middle(font, text, width);
  return std::string(words.substr(0, last + 1)) + "...";
}

std::string fitted_label(const ImFont* font, std::string_view text, float width) {
  const std::size_t comma = text.find(", ");
  if (comma != text.npos && shown_size(font, text).x > width) {
    const std::string front = std::string(text.substr(0, comma)) + "...";
    if (shown_size(font, front).x <= width) return front;
    text = text.substr(0, comma);
  }
  return fitted_middle(font, text, width);
}

std::string fitted_work(const ImFont* font, std::string_view outside, float width) {
  const std::string text = engine::shown_text(outside);
  const std::size_t gap = text.find("  ");
  if (gap == text.npos || shown_size(font, text).x <= width) {
    // Of a few letters at both ends nobody reads which work it is.
    const bool short_ends = width < shown_size(font, "quantize...columnwise").x;
    return short_ends ? fitted_label(font, text, width) : fitted_middle(font, text, width);
  }
  const std::string_view kernel = std::string_view(text).substr(gap + 2);
  const std::string work = text.substr(0, gap);
  // Less than a few letters of it says nothing.
  const float least = shown_size(font, "abc...abc").x;
  const float room = width - shown_size(font, work + "  ").x;
  if (room >= least) return work + "  " + fitted_middle(font, kernel, room);
  if (shown_size(font, work + "...").x <= width) return work + "...";
  return fitted_middle(font, work, width);
}

std::string fitted(const ImFont* font, std::string_view outside, float width) {
  const std::string text = engine::shown_text(outside);
  if (shown_size(font, text).x <= width) return text;
  const std::string_view begin = begin_in(font, text, width - shown_size(font, "...").x);
  return begin.empty() ? std::string() : std::string(begin) + "...";
}

}  // namespace app
