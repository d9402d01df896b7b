#include "app/gui/doctor/core_view.h"

#include <fmt/format.h>

#include <string>

#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/theme/text.h"

namespace app {
namespace {

constexpr float kLabels = 72;  // grid pixels

void line(const PanelContext& context, const char* id, const char* label,
          const std::string& value) {
  if (value.empty()) return;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  {
    const TextColorScope color(context.theme.colors.dim_text);
    show_text(label);
  }
  ImGui::SameLine(context.theme.px(kLabels));
  show_wrapped(value);
  controls::record(context, id, label, "text", value, at, ImGui::GetItemRectMax());
}

std::string warp_text(const profiling::CorePlace& place) {
  std::string text = place.warp >= 0 ? fmt::format("{}", place.warp) : "";
  if (place.sm >= 0) text += fmt::format("{}on SM {}", text.empty() ? "" : " ", place.sm);
  if (place.lane >= 0) text += fmt::format("{}lane {}", text.empty() ? "" : ", ", place.lane);
  return text;
}

void draw_core(const PanelContext& context, const Area& room, const profiling::Stall& stall) {
  const profiling::CorePlace& place = stall.core;
  ImGui::BeginChild("##doctor.core", room.size, false);
  line(context, "doctor.core.kernel", "kernel", place.kernel + place.launch);
  line(context, "doctor.core.waits", "waits for",
       std::string(profiling::wait_words(place.instruction)));
  line(context, "doctor.core.block", "block", place.block);
  line(context, "doctor.core.warp", "warp", warp_text(place));
  line(context, "doctor.core.thread", "thread", place.thread);
  line(context, "doctor.core.instruction", "instruction", place.instruction);
  line(context, "doctor.core.pc", "PC", place.pc == 0 ? "" : fmt::format("{:#x}", place.pc));
  line(context, "doctor.core.source", "source", place.source);
  if (place.kernel.empty()) {
    line(
        context, "doctor.core.missing", "not read",
        place.missing.empty() ? "The recording does not hold what was read in it." : place.missing);
  }
  line(context, "doctor.core.file", "file", stall.core_dump);
  ImGui::EndChild();
}

}  // namespace

CardSpec core_card(const PanelContext& context, const profiling::Stall& stall) {
  return {.id = "doctor.core_card",
          .title = "Core dump",
          .question = "Where was the kernel that hangs?",
          .measured =
              "The driver wrote a core dump of the device after the hang was detected; "
              "cuda-gdb says where its current thread was. Other blocks may be elsewhere.",
          .text =
              [&stall] {
                return fmt::format("{}\n{}\n", profiling::core_place_text(stall.core),
                                   stall.core_dump);
              },
          .draw = [&context, &stall](const Area& room) { draw_core(context, room, stall); },
          .words = true};
}

}  // namespace app
