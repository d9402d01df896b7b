#include "app/gui/doctor/symptom_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/plot/plot_text.h"
#include "app/gui/theme/text.h"
#include "profiling/hazards/model/gallery_catalogue.h"
#include "profiling/hazards/model/names.h"

namespace app {
namespace {

constexpr float kChoices = 320;  // grid pixels

/// The question, and below it the case that it leads to; true if it was clicked.
bool draw_question(const PanelContext& context, std::size_t number,
                   const profiling::SymptomLead& lead) {
  const Theme& theme = context.theme;
  const ImFont* body = theme.fonts.body;
  const ImFont* label = theme.fonts.label;
  const float pad = theme.px(kGapSmall);
  const float width = ImGui::GetContentRegionAvail().x;
  const float wrap = width - 2.0F * pad;
  const float words = shown_size(body, *lead.question, wrap).y;
  const Area entry{ImGui::GetCursorScreenPos(),
                   ImVec2(width, words + label->FontSize + 2.0F * pad)};
  ImGui::PushID(static_cast<int>(number));
  const bool clicked = ImGui::InvisibleButton("##question", entry.size);
  ImGui::PopID();
  ImDrawList* draw = ImGui::GetWindowDrawList();
  if (ImGui::IsItemHovered()) {
    draw->AddRectFilled(entry.at, entry.end(), theme.colors.raised, theme.px(kRounding));
  }
  const ImVec2 at(entry.at.x + pad, entry.at.y + pad);
  draw_shown(draw, body, at, theme.colors.text, *lead.question, wrap);
  plot::draw_fitted(context, label, ImVec2(at.x, at.y + words), theme.colors.accent, title_of(lead),
                    wrap);
  controls::record(context, fmt::format("doctor.question.{}", number).c_str(),
                   lead.question->c_str(), "option", lead.hazard->id, entry.at, entry.end());
  return clicked;
}

}  // namespace

void SymptomView::draw(const PanelContext& context, const Area& room, ExamineBar& bar) {
  ImGui::BeginChild("##doctor.symptoms", room.size, false);
  std::vector<std::string> names;
  std::vector<controls::Options> meanings;
  for (const std::string_view name : enum_names(profiling::Symptom{})) {
    meanings.push_back(
        {.tooltip = std::string(words_of(static_cast<profiling::Symptom>(names.size())))});
    names.emplace_back(name);
  }
  controls::segmented(context, "doctor.symptom", symptom_, names,
                      {.width = std::min(context.theme.px(kChoices), room.size.x)}, meanings);
  const auto symptom = static_cast<profiling::Symptom>(symptom_);
  {
    const TextColorScope color(context.theme.colors.dim_text);
    show_wrapped(fmt::format("{}. Which answer is yes?", words_of(symptom)));
  }
  const std::vector<profiling::SymptomLead> leads = profiling::leads_of(symptom);
  for (std::size_t i = 0; i < leads.size(); ++i) {
    if (draw_question(context, i, leads[i])) bar.choose_case(leads[i].hazard);
  }
  ImGui::EndChild();
}

CardSpec SymptomView::card(const PanelContext& context, ExamineBar& bar) {
  const auto symptom = static_cast<profiling::Symptom>(symptom_);
  return {.id = "doctor.case_card",
          .title = "What do you see?",
          .question = "Which case of the gallery looks like this?",
          .measured =
              "The questions are the gallery's own; every case has the symptom in its "
              "replays or captures.",
          .text =
              [symptom] {
                std::string text = fmt::format("{}\n", words_of(symptom));
                for (const profiling::SymptomLead& lead : profiling::leads_of(symptom)) {
                  text += fmt::format("{} {}\n", *lead.question, title_of(lead));
                }
                return text;
              },
          .draw = [this, &context, &bar](const Area& room) { draw(context, room, bar); },
          .read_out = {.id = "doctor.symptom_shown",
                       .label = "symptom",
                       .value = [symptom] { return std::string(profiling::name_of(symptom)); },
                       .kind = "text"}};
}

}  // namespace app
