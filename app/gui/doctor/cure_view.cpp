#include "app/gui/doctor/cure_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "app/attach/hang_watch.h"
#include "app/doctor/opened_report.h"
#include "app/doctor/proof_records.h"
#include "app/doctor/report_words.h"
#include "app/gui/cards/card.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/plot/plot_text.h"
#include "app/gui/theme/text.h"

namespace app {
namespace {

bool is_disproved(const profiling::Finding& finding) {
  return finding.confidence == profiling::Confidence::Disproved;
}

constexpr float kCopyRoom = 64.0F;  // grid pixels, for the button after the libraries

// Places in the choice of libraries.
constexpr int kCublasLt = 0;
constexpr int kPyTorch = 1;

/// A hang that no finding explains: what is known of it, and what would show more. Empty = there is
/// none.
EmptyState uncured_hang(const profiling::DoctorReport& report) {
  const auto hung = std::ranges::find_if(
      report.experiments,
      [](const profiling::ExperimentRecord& record) { return !record.outcome.stall.empty(); });
  if (hung == report.experiments.end()) return {};
  const profiling::Stall& stall = hung->outcome.stall.front();
  std::string words = "No rule explains it. What was seen of it is in Conclusion";
  if (!examines_attached(report.snapshot)) return {"A hang without a cure", words + "."};
  std::vector<std::string> more;
  for (const profiling::HangDetail detail : stall.not_asked_for)
    more.push_back(fmt::format("{} can show {}", words_of(detail).control, words_of(detail).shows));
  if (!more.empty()) words += fmt::format(". Attach again: {}", fmt::join(more, "; "));
  return {"A hang without a cure", words + "."};
}

EmptyState without_cure(const profiling::DoctorReport* report) {
  if (report == nullptr) return {"Not examined", "What cures a finding is shown here."};
  const bool none = std::ranges::all_of(report->findings, is_disproved);
  if (EmptyState hang = uncured_hang(*report); none && !hang.title.empty()) return hang;
  if (report->findings.empty()) return {"No finding", "There is nothing to cure."};
  if (none) return {"Nothing to cure", "Experiments disproved what the rules suspected."};
  return {"No finding chosen", "Click one in the list of findings."};
}

/// The search found it for this finding, or for wrong replays that no finding explains.
std::string smallest_of(const profiling::DoctorReport& report, const profiling::Finding* finding) {
  if (finding != nullptr && !explains_smallest_cure(report, *finding)) return "";
  return smallest_cure_text(report);
}

void show_recorded(const PanelContext& context, const char* id, const char* label,
                   const std::string& text) {
  if (text.empty()) return;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  show_wrapped(text);
  controls::record(context, id, label, "text", text, at, ImGui::GetItemRectMax());
}

/// A disproved finding has none: in its place are words that say so.
profiling::Fix fix_of(const profiling::Finding* finding) {
  if (finding == nullptr) return {};
  const std::string disproved = disproved_text(*finding);
  return disproved.empty() ? finding->fix : profiling::Fix{.words = disproved};
}

}  // namespace

void CureView::draw_code(const PanelContext& context, const profiling::Fix& fix, int usual) {
  const float room = ImGui::GetContentRegionAvail().x;
  const float libraries = context.theme.px(330);
  int library = library_.value_or(usual);
  if (controls::segmented(context, "doctor.library", library,
                          {"cuBLASLt", "PyTorch", "Transformer Engine"},
                          {.width = std::min(libraries, room)})) {
    library_ = library;
  }
  const std::string& code = library == kCublasLt  ? fix.cublaslt
                            : library == kPyTorch ? fix.pytorch
                                                  : fix.transformer_engine;
  if (code.empty()) return show_wrapped("There is nothing specific to this library.");
  if (room >= libraries + context.theme.px(kCopyRoom)) ImGui::SameLine(0, context.theme.px(kGap));
  if (controls::button(context, "doctor.copy_fix", "Copy")) ImGui::SetClipboardText(code.c_str());
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float pad = context.theme.px(6);
  const ImFont* mono = context.theme.fonts.mono;
  const float wrap = ImGui::GetContentRegionAvail().x - 2.0F * pad;
  const ImVec2 size = shown_size(mono, code, wrap);
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const ImVec2 end(at.x + wrap + 2.0F * pad, at.y + size.y + 2.0F * pad);
  draw->AddRectFilled(at, end, context.theme.colors.raised, context.theme.px(kRounding));
  draw_shown(draw, mono, ImVec2(at.x + pad, at.y + pad), context.theme.colors.text, code, wrap);
  ImGui::Dummy(ImVec2(end.x - at.x, end.y - at.y));
  controls::record(context, "doctor.code", "the cure as code", "text", code, at, end);
}

CardSpec CureView::card(const PanelContext& context, const GraphScene& scene) {
  const profiling::DoctorReport* report = scene.report();
  const profiling::Finding* finding = scene.chosen_finding();
  const std::string smallest = report == nullptr ? "" : smallest_of(*report, finding);
  const EmptyState empty =
      finding != nullptr || !smallest.empty() ? EmptyState() : without_cure(report);
  CardSpec spec{
      .id = "doctor.cure_card",
      .title = "Cure",
      .question = "What fixes the replays, and how is the fix written for each library?",
      .note = finding != nullptr ? finding->rule : "",
      .measured =
          "Text and code come from the rule. The smallest cure was found by experiment: with "
          "exactly this memory moved, replays were right.",
      .empty = [empty] { return empty; },
      .draw =
          [this, &context, &scene, finding, smallest](const Area& room) {
            ImGui::BeginChild("##doctor.cure", room.size, false);
            const profiling::Fix fix = fix_of(finding);
            show_recorded(context, "doctor.fix", "the cure in words", fix.words);
            show_recorded(context, "doctor.smallest_cure", "smallest cure", smallest);
            if (finding != nullptr && !is_disproved(*finding)) {
              draw_code(context, fix, scene.cached_memory() ? kPyTorch : kCublasLt);
            }
            ImGui::EndChild();
          },
      .words = true};
  if (!empty.title.empty()) {
    spec.read_out = {.id = "doctor.no_cure",
                     .label = "Why there is no cure",
                     .value = [empty] { return empty.title + ": " + empty.sentence; },
                     .kind = "text"};
  }
  if (finding != nullptr) {
    spec.text = [finding, smallest] {
      const profiling::Fix fix = fix_of(finding);
      std::string text;
      for (const std::string* part :
           {&fix.words, &smallest, &fix.cublaslt, &fix.pytorch, &fix.transformer_engine}) {
        if (!part->empty()) text += *part + "\n";
      }
      return text;
    };
  }
  return spec;
}

}  // namespace app
