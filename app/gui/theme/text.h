// The one place that draws text. ImGui ends the program when a wrapped text has more than 16 383
// characters: each takes four vertices, they are counted in 16 bits, and the count can restart only
// between two texts (ImGuiBackendFlags_RendererHasVtxOffset, which the OpenGL 3.3 backend sets),
// not inside one. So nothing is drawn that engine::shown_text() has not cut; a test forbids ImGui's
// own calls elsewhere. Labels of widgets are never wrapped, and clipped text costs no vertices.
#pragma once

#include <imgui.h>

#include <string>
#include <string_view>

#include "engine/model/text.h"

namespace app {

/// Line breaks where a wrapped text needs them, at spaces only: ImGui also breaks after a dot, and
/// a version would break across two lines. A word that is wider than a line is left to ImGui.
std::string broken_at_spaces(const ImFont* font, std::string_view text, float wrap);

/// In the current font and colour, wrapped if a wrap position is set.
void show_text(std::string_view text);
/// Wrapped at the end of the window if no wrap position is set.
void show_wrapped(std::string_view text);
void show_dimmed(std::string_view text);

/// The size that the text will take; `wrap` in pixels, 0 = no wrapping.
ImVec2 shown_size(const ImFont* font, std::string_view text, float wrap = 0);
ImVec2 shown_size(std::string_view text, float wrap = 0);
/// At an exact position.
void draw_shown(ImDrawList* draw, const ImFont* font, ImVec2 at, ImU32 color, std::string_view text,
                float wrap = 0);

/// In a size other than the font's own, in one line: for what the user can zoom.
void draw_scaled(ImDrawList* draw, const ImFont* font, float size, ImVec2 at, ImU32 color,
                 std::string_view text);

/// The longest end of `text` that fits `width`, after "..." if something was cut: of a path the end
/// says most.
std::string fitted_end(const ImFont* font, std::string_view text, float width);

/// Both ends of `text` that fit `width`, with "..." between them if something was cut: names of
/// kernels begin alike, and differ at their ends.
std::string fitted_middle(const ImFont* font, std::string_view text, float width);

/// The whole words at the beginning of `text` that fit `width`, with "..." if something was cut. If
/// not even the first one fits, both ends as above.
std::string fitted_words(const ImFont* font, std::string_view text, float width);

/// A label of a piece of work, "quantize Wup, rowwise and columnwise": what follows its comma goes
/// first, because the others of its kind share that; then its middle.
std::string fitted_label(const ImFont* font, std::string_view text, float width);

/// A name of work and of its kernel, two spaces apart, "wgrad up  nvjet_tst_128x256_TNT": the
/// kernel loses its middle first, and is left out before the work loses a letter.
std::string fitted_work(const ImFont* font, std::string_view text, float width);

/// The longest prefix of `text` that fits `width`, with "..." if something was cut.
std::string fitted(const ImFont* font, std::string_view text, float width);

}  // namespace app
