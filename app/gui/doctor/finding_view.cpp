#include "app/gui/doctor/finding_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/doctor/opened_report.h"
#include "app/doctor/report_words.h"
#include "app/gui/cards/card.h"
#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/graph/graph_words.h"
#include "app/gui/graph/node_details.h"
#include "app/gui/plot/plot_text.h"
#include "app/gui/theme/fitted_lines.h"
#include "app/gui/theme/text.h"
#include "engine/model/text.h"
#include "profiling/document/doctor_tables.h"
#include "profiling/hazards/model/names.h"

namespace app {
namespace {

constexpr std::size_t kNodesShown = 12;

void heading(const PanelContext& context, const char* text) {
  ImGui::Dummy(ImVec2(0, context.theme.px(2)));
  const FontScope font(context.theme.fonts.label);
  const TextColorScope color(context.theme.colors.dim_text);
  show_text(text);
}

}  // namespace

void confidence_chip(const PanelContext& context, profiling::Confidence confidence) {
  const Theme& theme = context.theme;
  const std::string word(profiling::name_of(confidence));
  const ImVec2 text = plot::text_size(theme.fonts.label, word);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 size(text.x + theme.px(12), text.y + theme.px(4));
  const ImU32 color = confidence_color(theme, confidence);
  ImDrawList* draw = ImGui::GetWindowDrawList();
  // Proved is filled, the others outlined: certainty is shown without hue, too.
  if (confidence == profiling::Confidence::Proved) {
    draw->AddRectFilled(at, ImVec2(at.x + size.x, at.y + size.y), color, theme.px(kRounding));
  }
  draw->AddRect(at, ImVec2(at.x + size.x, at.y + size.y), color, theme.px(kRounding));
  plot::draw_text(draw, theme.fonts.label, ImVec2(at.x + theme.px(6), at.y + theme.px(2)),
                  confidence == profiling::Confidence::Proved ? theme.colors.panel : color, word);
  ImGui::Dummy(size);
}

CardSpec FindingView::list_card(const PanelContext& context, GraphScene& scene) {
  const profiling::DoctorReport* report = scene.report();
  const std::size_t count = report == nullptr ? 0 : report->findings.size();
  CardSpec spec{.id = "doctor.findings_card",
                .title = "Findings",
                .question = "What may make replays of this graph wrong or hang?",
                .note = count == 0 ? "" : fmt::format("{}, most certain first", count),
                .measured =
                    "Possible and likely come from rules over the snapshot; proved and "
                    "disproved only from experiments that show the fault and remove it.",
                .empty = [report, count]() -> EmptyState {
                  if (count > 0) return {};
                  if (report != nullptr) {
                    return {"No finding",
                            "No rule sees anything in this graph that could break its replays."};
                  }
                  return {"Not examined",
                          "Examine captures the subject and applies the rules to its graph."};
                },
                .draw =
                    [this, &context, &scene, count](const Area& room) {
                      ImGui::BeginChild("##doctor.findings", room.size, false);
                      for (std::size_t i = 0; i < count; ++i)
                        draw_entry(context, scene, static_cast<int>(i));
                      if (scene.finding() >= 0 &&
                          controls::button(context, "doctor.no_finding", "Choose none",
                                           {.tooltip = "Topology and Memory mark nothing then; in "
                                                       "the gallery the case is described"})) {
                        scene.choose_finding(-1);
                      }
                      ImGui::EndChild();
                    },
                .words = true};
  if (count > 0) spec.list = [report] { return profiling::findings_table(*report); };
  return spec;
}

void FindingView::draw_entry(const PanelContext& context, GraphScene& scene, int index) {
  const Theme& theme = context.theme;
  const float width = ImGui::GetContentRegionAvail().x;
  const profiling::Finding& finding = scene.report()->findings[static_cast<std::size_t>(index)];
  const bool chosen = scene.finding() == index;
  const ImFont* body = theme.fonts.body;
  const float wrap = width - theme.px(16);
  // The beginning only: the next finding must stay reachable. The finding itself has the full
  // text.
  const std::string words = engine::shown_text(finding.title, 400);
  const float chip = theme.fonts.label->FontSize + theme.px(8);
  const Area entry{ImGui::GetCursorScreenPos(),
                   ImVec2(width, chip + shown_size(body, words, wrap).y + theme.px(12))};
  const ImVec2 at = entry.at;
  ImGui::PushID(index);
  if (ImGui::InvisibleButton("##finding", entry.size)) scene.choose_finding(index);
  const bool hovered = ImGui::IsItemHovered();
  ImGui::PopID();
  const ImVec2 after = ImGui::GetCursorScreenPos();
  ImDrawList* draw = ImGui::GetWindowDrawList();
  if (chosen || hovered) {
    draw->AddRectFilled(at, entry.end(), theme.colors.raised, theme.px(kRounding));
  }
  if (chosen) {
    draw->AddRectFilled(at, ImVec2(at.x + theme.px(3), entry.end().y), theme.colors.accent);
  }
  ImGui::SetCursorScreenPos(ImVec2(at.x + theme.px(8), at.y + theme.px(4)));
  confidence_chip(context, finding.confidence);
  const float chip_end = ImGui::GetItemRectMax().x;
  const ImFont* label = theme.fonts.label;
  const ImVec2 end(at.x + width - theme.px(4), at.y + theme.px(6));
  const std::string rule = plot::fitted(label, finding.rule, end.x - chip_end - theme.px(8));
  plot::draw_text_right(draw, label, end, theme.colors.dim_text, rule);
  plot::explain_cut(context, rule, finding.rule, ImVec2(chip_end, end.y),
                    ImVec2(end.x, end.y + label->FontSize));
  draw_shown(draw, body, ImVec2(at.x + theme.px(8), at.y + chip + theme.px(4)), theme.colors.text,
             words, wrap);
  controls::record(
      context, fmt::format("doctor.finding.{}", index).c_str(), finding.title.c_str(), "option",
      std::string(profiling::name_of(finding.confidence)) + " " + finding.rule, at, entry.end());
  ImGui::SetCursorScreenPos(after);
}

void FindingView::draw_nodes(const PanelContext& context, GraphScene& scene,
                             const profiling::Finding& finding) {
  heading(context, "Nodes (a click shows one in the topology)");
  const profiling::Snapshot& snapshot = scene.report()->snapshot;
  float x = 0.0F;
  const float room = ImGui::GetContentRegionAvail().x;
  const float gap = context.theme.px(kGapSmall);
  // Side by side as far as a name can still be told from others: what follows should stay in sight.
  const std::size_t beside = std::min<std::size_t>(finding.nodes.size(), 3);
  const float widest =
      std::min(room, std::max(room / static_cast<float>(beside) - gap, context.theme.px(150)));
  for (std::size_t i = 0; i < std::min(finding.nodes.size(), kNodesShown); ++i) {
    const profiling::NodeRef node = finding.nodes[i];
    const auto index = static_cast<std::size_t>(node.graph);
    const std::string label =
        node.graph >= 0 && index < snapshot.graphs.size()
            ? node_title(snapshot.step, snapshot.graphs[index], node.node,
                         node.graph == scene.graph_index() ? scene.facts() : nullptr)
            : fmt::format("node {}", node.node);
    const std::string cut =
        fitted_middle(context.theme.fonts.body, label, widest - context.theme.px(20));
    const float width = plot::text_size(context.theme.fonts.body, cut).x + context.theme.px(16);
    if (i > 0 && x + width < room) ImGui::SameLine(0, context.theme.px(kGapSmall));
    x = i > 0 && x + width < room ? x + width + context.theme.px(kGapSmall) : width;
    if (controls::button(context, fmt::format("doctor.node.{}", i).c_str(), cut.c_str(),
                         {.tooltip = with_whole(cut, label)})) {
      show_node(context, scene, node);
    }
  }
  if (finding.nodes.size() > kNodesShown) {
    show_wrapped(fmt::format("and {} more", finding.nodes.size() - kNodesShown));
  }
}

CardSpec FindingView::chosen_card(const PanelContext& context, GraphScene& scene,
                                  const ExamineBar& bar) {
  const profiling::DoctorReport* report = scene.report();
  const bool any = report != nullptr && !report->findings.empty();
  const profiling::Finding* finding = scene.chosen_finding();
  CardSpec spec{.id = "doctor.finding_card",
                .title = "Evidence",
                .question = "Why is it suspected, where is it, and what would prove it?",
                .note = finding != nullptr
                            ? fmt::format("{}, hazard {}", finding->rule, finding->hazard)
                            : "",
                .measured =
                    "The rule that made it and the facts it relies on; facts carry their source "
                    "and date.",
                .empty = [report, any, finding]() -> EmptyState {
                  if (finding != nullptr) return {};
                  if (report == nullptr) return {"Not examined", "A finding is explained here."};
                  if (any) return {"No finding chosen", "Click one in the list of findings."};
                  return {"No finding", "There is nothing to explain."};
                },
                .draw =
                    [this, &context, &scene, &bar, finding](const Area& room) {
                      ImGui::BeginChild("##doctor.finding", room.size, false);
                      draw_finding(context, scene, *finding, bar);
                      ImGui::EndChild();
                    },
                .words = true};
  if (finding != nullptr) {
    spec.text = [finding] { return finding->title + "\n" + finding->explanation + "\n"; };
  }
  return spec;
}

void FindingView::draw_gallery_case(const PanelContext& context,
                                    const profiling::Finding& finding) {
  const auto& cases = profiling::hazard_cases();
  const auto same = std::ranges::find(cases, finding.rule, &profiling::HazardCase::rule);
  if (same == cases.end()) {
    controls::button(context, "doctor.prove_this", "Prove this",
                     {.enabled = false,
                      .reason = "Only experiments on our own steps prove; findings of other "
                                "programs are by rules"});
    return;
  }
  if (controls::button(
          context, "doctor.case_of_rule", "See the gallery case of this rule",
          {.tooltip = "Findings of other programs are by rules: only experiments on our own "
                      "steps prove. This shows the recorded visit to a small program with "
                      "the same mistake, and its proof"})) {
    context.commands.push_back(ShowRecordedCase{same->id});
  }
}

void FindingView::draw_prove(const PanelContext& context, const GraphScene& scene,
                             const profiling::Finding& finding, const ExamineBar& bar) {
  if (examines_attached(scene.report()->snapshot)) return draw_gallery_case(context, finding);
  const std::string why = visit_refusal(context.view.doctor, context.view.link, context.view.hello);
  const bool of_gallery = profiling::gallery_subject(scene.report()->snapshot.subject).has_value();
  if (controls::button(
          context, "doctor.prove_this", "Prove this",
          {.enabled = why.empty(),
           .reason = why,
           .tooltip =
               of_gallery ? "Examines this case of the gallery again and runs the "
                            "experiments for findings of this rule only"
               : scene.request() != nullptr
                   ? "Examines the step that this graph was captured from again, whatever "
                     "the rail says, and runs the experiments for findings of this rule "
                     "only"
                   : "It is not known what this graph was captured from: examines the request "
                     "in the rail and runs the experiments for findings of this rule only"})) {
    context.commands.push_back(bar.order_for(context, scene, finding.rule));
  }
}

void FindingView::draw_finding(const PanelContext& context, GraphScene& scene,
                               const profiling::Finding& finding, const ExamineBar& bar) {
  confidence_chip(context, finding.confidence);
  ImGui::SameLine(0, context.theme.px(kGap));
  draw_prove(context, scene, finding, bar);
  show_wrapped(finding.title);
  if (!finding.nodes.empty()) draw_nodes(context, scene, finding);
  const std::string disproved = disproved_text(finding);
  if (!disproved.empty()) show_wrapped(disproved);
  heading(context, disproved.empty() ? "Why that breaks replays" : "Why it was suspected");
  show_wrapped(finding.explanation);
  if (!finding.missing_order.empty()) show_wrapped(finding.missing_order);
  if (!finding.accesses.empty()) {
    heading(context, "Memory");
    for (std::size_t i = 0; i < std::min(finding.accesses.size(), kNodesShown); ++i) {
      const profiling::Access& access = finding.accesses[i];
      const std::string owner = access.owner.empty() ? "unknown memory" : access.owner;
      show_wrapped(fmt::format("{}, {}: {} + {} B",
                               node_title(scene.report()->snapshot, access.node),
                               place_words(access.place), owner, plot::count_text(access.offset)));
    }
  }
  if (!finding.evidence.empty()) {
    heading(context, "Evidence");
    for (const std::string& line : finding.evidence) show_wrapped("- " + line);
  }
  heading(context, "Proof");
  if (!finding.proof.words.empty()) show_wrapped(finding.proof.words);
}

void FindingView::draw_fetch(const PanelContext& context, const std::string& version) {
  const std::string command = "expertscope doctor fetch " + version;
  const LibraryFetch& fetch = context.view.library;
  heading(context, "Where it comes from");
  show_wrapped("cuBLASLt " + version + " from PyPI, 400 MB, once; on another machine: " + command);
  if (fetch.busy) {
    if (controls::button(context, "doctor.cancel_fetch", "Cancel fetching",
                         {.tooltip = "Stops the download; nothing is kept of it"})) {
      context.commands.push_back(CancelFetch{});
    }
  } else if (controls::button(context, "doctor.fetch", ("Fetch " + version).c_str(),
                              {.tooltip = "To this machine's cache, where workers look"})) {
    context.commands.push_back(FetchLibrary{version});
  }
  ImGui::SameLine(0, context.theme.px(kGap));
  if (controls::button(context, "doctor.copy_fetch", "Copy command")) {
    ImGui::SetClipboardText(command.c_str());
  }
  if (fetch.version.empty()) return;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  std::string said = fetch.path.empty() ? fetch.error : "It is here: " + fetch.path;
  if (fetch.busy) said = fetch.line;
  show_wrapped(said);
  controls::record(context, "doctor.fetch_state", fetch.busy ? "fetching" : "fetched", "text",
                   (fetch.busy            ? "busy: "
                    : fetch.error.empty() ? "done: "
                                          : "failed: ") +
                       said,
                   at, ImGui::GetItemRectMax());
  if (!fetch.path.empty() &&
      controls::button(context, "doctor.use_library", "Use it",
                       {.tooltip = "Restarts the worker with this library, as the rail's "
                                   "Engine, cuBLASLt does"})) {
    context.commands.push_back(UseLibrary{fetch.path});
  }
}

CardSpec FindingView::case_card(const PanelContext& context, const profiling::HazardCase& one,
                                bool healthy) {
  const auto explain = [this, &context, &one, healthy](const Area& room) {
    ImGui::BeginChild("##doctor.case", room.size, false);
    heading(context, healthy ? "The mistake that the twin does not make" : "The mistake");
    show_wrapped(one.mistake);
    heading(context, "What the user sees");
    show_wrapped(one.symptom);
    heading(context, "Questions that lead to it");
    for (const profiling::HazardSign& sign : one.signs) {
      show_wrapped(fmt::format("- {}: {}", profiling::name_of(sign.symptom), sign.question));
    }
    heading(context, "What the healthy twin does instead");
    show_wrapped(one.cure);
    heading(context, "Expected");
    show_wrapped(fmt::format("Plain replays: {}. Found by: {}.{}", profiling::name_of(one.plain),
                             one.rule,
                             one.library.empty() ? "" : " Needs cuBLASLt " + one.library + "."));
    // The versions are given as "13.5.1.27 or 13.6.0.2": any of them will do.
    if (!one.library.empty()) draw_fetch(context, one.library.substr(0, one.library.find(' ')));
    ImGui::EndChild();
  };
  return {.id = "doctor.case_card",
          .title = one.title,
          .question = "What does this case of the gallery show?",
          .note = fmt::format("hazard {}", one.hazard),
          .measured = "The gallery's own words; Prove runs the program.",
          .text =
              [&one] {
                return fmt::format("{}\n{}\n{}\n{}\n", one.title, one.mistake, one.symptom,
                                   one.cure);
              },
          .draw = explain,
          .words = true,
          .read_out = {.id = "doctor.case_text",
                       .label = one.title.c_str(),
                       .value = [&one] { return one.id; },
                       .kind = "text"}};
}

}  // namespace app
