// Every text field of the window: ImGui's own over a string, bounded where it is typed or pasted,
// so that no search and no layout ever gets a megabyte of it.
#pragma once

#include <imgui.h>

#include <string>

#include "engine/model/text.h"

namespace app::controls {

inline constexpr int kMaxTypedBytes = int{engine::kMaxNameBytes};  // it may be a path
inline constexpr int kMaxSearchedBytes = 200;  // of what a list is searched for, as it is typed

/// Whether not one more character may be kept: what is entered then is left out.
bool is_full(const std::string& text, int most_bytes);

/// Keeps the first `most_bytes` of what was entered, whole characters only. Returns what
/// ImGui::InputTextWithHint() returns.
bool text_field(const char* label, const char* hint, std::string& text,
                ImGuiInputTextFlags flags = 0, int most_bytes = kMaxTypedBytes);

/// Overwrites what ImGui remembers of the field that was typed into last, and ends its editing: its
/// copies of the text, for undo and for Escape.
void forget_typed_text();

}  // namespace app::controls
