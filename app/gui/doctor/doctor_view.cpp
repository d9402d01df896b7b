#include "app/gui/doctor/doctor_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/doctor/opened_report.h"
#include "app/doctor/proof_records.h"
#include "app/doctor/report_document.h"
#include "app/doctor/report_words.h"
#include "app/gui/cards/card.h"
#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/doctor/core_view.h"
#include "app/gui/doctor/replay_board.h"
#include "app/gui/doctor/stall_timeline.h"
#include "app/gui/graph/node_details.h"
#include "app/gui/plot/plot_text.h"
#include "app/gui/theme/fitted_lines.h"
#include "app/gui/theme/text.h"
#include "engine/model/counted.h"
#include "profiling/document/doctor_tables.h"
#include "profiling/hazards/model/names.h"
#include "profiling/trace/statistics.h"

namespace app {
namespace {

constexpr float kNarrow = 620;               // grid pixels
constexpr double kStallNoticeSeconds = 1.0;  // without a node finishing

ImU32 verdict_color(const Theme& theme, profiling::Verdict verdict) {
  switch (verdict) {
    case profiling::Verdict::Right:
      return theme.colors.good;
    case profiling::Verdict::NotRun:
      return theme.colors.dim_text;
    default:
      return theme.colors.bad;
  }
}

void wrapped(const std::string& text, ImU32 color) {
  const TextColorScope scope(color);
  show_wrapped(text);
}

/// Everything that is known of an examined subject; returns its conclusion.
std::string draw_report(const PanelContext& context, const profiling::DoctorReport& report) {
  const Theme& theme = context.theme;
  const std::string conclusion = report.conclusion;
  wrapped(conclusion, theme.colors.text);
  if (const int code =
          report.snapshot.graphs.empty() ? 0 : report.snapshot.graphs.front().failure.code;
      code != 0) {
    const profiling::CaptureFailure& failure = report.snapshot.graphs.front().failure;
    wrapped(fmt::format("The capture was refused: {} ({}) {}", failure.name, failure.code,
                        failure.call),
            theme.colors.warn);
  }
  for (const profiling::ExperimentRecord& record : report.experiments) {
    if (record.outcome.stall.empty()) continue;
    const std::string text = stall_text(report.snapshot, record.outcome.stall.front());
    wrapped(record.title + ": " + text, theme.colors.warn);
    controls::record(context, "doctor.stall", "why it stalled", "text", text,
                     ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
    break;
  }
  for (const std::string& known : report.known) wrapped(known, theme.colors.dim_text);
  if (const std::string cost = marker_cost_text(report); !cost.empty()) {
    const ImVec2 cost_at = ImGui::GetCursorScreenPos();
    wrapped(cost, theme.colors.dim_text);
    controls::record(context, "doctor.marker_cost", "cost of the markers", "text", cost, cost_at,
                     ImGui::GetItemRectMax());
  }
  return conclusion;
}

/// "1 other visit above · ", while a visit is on screen: first, because a long subject is cut.
/// Where they are chosen is not there when one card is presented.
std::string other_visits(const PanelContext& context, const profiling::DoctorReport& shown) {
  if (context.presenting != nullptr) return {};
  const SessionView& view = context.view;
  const auto others = std::ranges::count_if(
      view.visits, [&shown](const auto& visit) { return &visit->report != &shown; });
  const bool is_visit = std::cmp_not_equal(others, view.visits.size());
  if (!is_visit || others == 0) return {};
  return engine::counted(others, "other visit") + " above \u00b7 ";
}

/// An experiment whose checks are drawn.
struct ShownProof {
  const char* when;  // before its title
  const profiling::ExperimentRecord* made;
};

/// One under the other, with the key of their colours below.
void draw_proofs(const PanelContext& context, const Area& card,
                 const std::vector<ShownProof>& proofs) {
  const Theme& theme = context.theme;
  const ImFont* font = theme.fonts.label;
  const float line = font->FontSize + theme.px(kGapSmall);
  const std::vector<KeyEntry> key = checks_key(theme);
  const float below = key_height(theme, card.size.x, key);
  const Area room{card.at, ImVec2(card.size.x, std::max(1.0F, card.size.y - below))};
  draw_key(context, "doctor.proof_key", ImVec2(card.at.x, room.end().y), card.size.x, key);
  const std::vector<Area> areas = rows_of(room, 0.0F, std::vector(proofs.size(), 1.0F));
  for (std::size_t i = 0; i < proofs.size(); ++i) {
    const profiling::ExperimentRecord& made = *proofs[i].made;
    const std::string text = proofs[i].when + made.title + ": " + verdict_text(made.outcome);
    // An outcome comes last in its line: cut, the line would not say it.
    const std::string lines = broken_at_spaces(font, text, room.size.x);
    const float high = shown_size(font, lines, room.size.x).y;
    draw_shown(ImGui::GetWindowDrawList(), font, areas[i].at,
               verdict_color(theme, made.outcome.verdict), lines, room.size.x);
    controls::record(context, fmt::format("doctor.proof.{}", i).c_str(), proofs[i].when, "text",
                     text, areas[i].at, areas[i].end());
    const Area grid = areas[i].below(high + line - font->FontSize);
    ImGui::SetCursorScreenPos(grid.at);
    draw_checks_grid(context, fmt::format("##doctor.grid{}", i).c_str(),
                     ImVec2(grid.size.x, grid.size.y - theme.px(kGapSmall)), made.outcome);
  }
}

}  // namespace

void DoctorView::follow(const PanelContext& context, const GraphScene& scene) {
  if (shown_ == scene.report_generation() && theme_ == context.theme.kind) return;
  shown_ = scene.report_generation();
  theme_ = context.theme.kind;
  // A report that has grown keeps the rows that it had.
  const std::string subject = scene.report() == nullptr ? "" : scene.report()->snapshot.subject;
  const std::size_t rows = experiments_.rows.size();
  const bool grown = std::exchange(shown_subject_, subject) == subject;
  experiments_ = scene.report() == nullptr
                     ? plot::DrawnTable()
                     : plot::drawn(experiments_table(*scene.report()), context.theme);
  if (!grown || experiments_.rows.size() < rows) table_.selected = -1;
}

void DoctorView::draw_visit_progress(const PanelContext& context, ImVec2 room, GraphScene& scene) {
  const Theme& theme = context.theme;
  const DoctorState& news = context.view.doctor;
  const VisitProgress& progress = news.progress;
  const BoardCount count = count_board(progress.board);
  if (count.done != done_ || progress.replay != replay_) {
    done_ = count.done;
    replay_ = progress.replay;
    moved_at_ = ImGui::GetTime();
  }
  const float part = progress.experiments == 0 ? 0.0F
                                               : static_cast<float>(progress.experiment - 1) /
                                                     static_cast<float>(progress.experiments);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const float bar = theme.px(4);
  draw->AddRectFilled(at, ImVec2(at.x + room.x, at.y + bar), theme.colors.raised);
  draw->AddRectFilled(at, ImVec2(at.x + room.x * std::max(0.0F, part), at.y + bar),
                      theme.colors.accent);
  ImGui::Dummy(ImVec2(room.x, bar));
  const std::string line =
      progress.doing.empty()
          ? fmt::format("{}: starting", news.subject)
          : fmt::format("{}: {} ({} of {})", news.subject, progress.doing, progress.experiment,
                        std::max(progress.experiment, progress.experiments));
  const std::string shown = plot::fitted(theme.fonts.body, line, room.x);
  show_text(shown);
  if (ImGui::IsItemHovered()) controls::tooltip(context, with_whole(shown, line));
  controls::record(context, "doctor.progress", "visit in progress", "text", line, at,
                   ImGui::GetItemRectMax());
  const bool fits =
      scene.graph() != nullptr && scene.graph()->nodes.size() == progress.board.size();
  const profiling::GraphSnapshot* graph = fits ? scene.graph() : nullptr;
  std::string state = board_text(scene.step(), graph, progress.replay, progress.board);
  const double still = ImGui::GetTime() - moved_at_;
  const bool stalled = !progress.board.empty() && count.running > 0 && still > kStallNoticeSeconds;
  if (stalled) state += fmt::format("; nothing has finished for {:.0f} s", still);
  wrapped(state, stalled ? theme.colors.warn : theme.colors.dim_text);
  if (progress.board.empty()) return;
  const int clicked = draw_board(context, "##doctor.board", ImGui::GetContentRegionAvail(),
                                 progress.board, graph == nullptr ? nullptr : &scene);
  if (clicked >= 0 && graph != nullptr) {
    show_node(context, scene, {.graph = scene.graph_index(), .node = clicked});
  }
}

CardSpec DoctorView::state_card(const PanelContext& context, GraphScene& scene) {
  const bool busy = context.view.doctor.busy;
  const profiling::DoctorReport* report = scene.report();
  CardSpec spec{.id = "doctor.state_card",
                .title = busy ? "In progress" : "Conclusion",
                .question = "What was the outcome, or what is happening now?",
                .note = busy || report == nullptr
                            ? ""
                            : other_visits(context, *report) + report->snapshot.subject,
                .measured =
                    "Every experiment runs in its own process, which ends with it; a "
                    "marker after every node shows how far a replay got.",
                .draw =
                    [this, busy, &context, &scene](const Area& room) {
                      if (busy) return draw_visit_progress(context, room.size, scene);
                      draw_conclusion(context, room.size, scene);
                    },
                .words = !busy};
  if (report != nullptr) {
    spec.text = [report] { return report->snapshot.subject + "\n" + report->conclusion + "\n"; };
  }
  return spec;
}

void DoctorView::draw_conclusion(const PanelContext& context, ImVec2 room,
                                 const GraphScene& scene) {
  const Theme& theme = context.theme;
  const DoctorState& news = context.view.doctor;
  ImGui::BeginChild("##doctor.state", room, false);
  if (!news.error.empty()) wrapped(news.error, theme.colors.bad);
  if (!news.file_error.empty()) wrapped("Not opened: " + news.file_error, theme.colors.bad);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  std::string conclusion;
  if (scene.report() != nullptr) {
    conclusion = draw_report(context, *scene.report());
  } else {
    conclusion = visit_refusal(news, context.view.link, context.view.hello);
    draw_nothing_examined(context, conclusion);
  }
  controls::record(context, "doctor.conclusion", "conclusion", "text", conclusion, at,
                   ImGui::GetItemRectMax());
  ImGui::EndChild();
}

void DoctorView::draw_nothing_examined(const PanelContext& context, const std::string& why) {
  const profiling::HazardCase* one = bar_.gallery_case();
  std::string said = one == nullptr ? "Nothing examined yet." : "This case is not examined yet.";
  if (!why.empty()) said = one == nullptr ? why : said + " " + why;
  wrapped(said, context.theme.colors.dim_text);
  if (accent_button(
          context, "doctor.see_recorded", "See a recorded visit",
          {.tooltip = "A visit to a gallery program, recorded on a GPU: conclusion, cure, "
                      "evidence, graph and memory"})) {
    show_gallery(context);
  }
}

CardSpec DoctorView::experiments_card(const PanelContext& context, const GraphScene& scene) {
  follow(context, scene);
  return {
      .id = "doctor.experiments_card",
      .title = "Experiments",
      .question = "What was tried, and what was the outcome?",
      .note = experiments_.rows.empty()
                  ? ""
                  : fmt::format("n {} · {}", experiments_.rows.size(), experiments_.source.note),
      .measured =
          "Outputs of every replay against three eager launches, as checksums of "
          "their bits, output by output and expert by expert.",
      .table = {.id = "##doctor.experiments",
                .drawn = &experiments_,
                .generation = shown_,
                .state = &table_},
      .empty = [this, report = scene.report()]() -> EmptyState {
        if (!experiments_.rows.empty()) return {};
        if (report == nullptr) {
          return {"Not examined", "What was tried on a subject is listed here."};
        }
        if (examines_attached(report->snapshot)) {
          return {"Rules only", "Experiments are made on our own steps, not on other programs."};
        }
        return {"Rules only", "Prove runs the experiments that show a fault and remove it again."};
      },
      .read_out = {.id = "doctor.experiments_made",
                   .label = "experiments made",
                   .value =
                       [this] {
                         return fmt::format("n={};selected={}", experiments_.rows.size(),
                                            table_.selected);
                       },
                   .kind = "text"}};
}

CardSpec DoctorView::proof_card(const PanelContext& context, const GraphScene& scene) {
  const profiling::DoctorReport* report = scene.report();
  std::vector<ShownProof> proofs;
  if (report != nullptr) {
    ProofRecords shown = records_of(*report, scene.finding());
    if (table_.selected >= 0) shown = {.shows = table_.selected, .cures = -1};
    const auto add = [&](const char* when, int record) {
      const auto index = static_cast<std::size_t>(record);
      if (record < 0 || index >= report->experiments.size()) return;
      proofs.push_back({when, &report->experiments[index]});
    };
    add(shown.cures >= 0 ? "before: " : "", shown.shows);
    add("after: ", shown.cures);
  }
  CardSpec spec{
      .id = "doctor.proof_card",
      .title = "Before and after",
      .question = "Which replays and experts are wrong, and does the cure fix them?",
      .measured = "Checksums of every output after every replay, against three eager launches.",
      .empty = [none = proofs.empty()]() -> EmptyState {
        if (!none) return {};
        return {"Nothing to compare", "Choose a finding with experiments, or an experiment."};
      },
      .draw = [&context, proofs](const Area& room) { draw_proofs(context, room, proofs); }};
  if (report != nullptr && !report->experiments.empty()) {
    spec.list = [report] { return profiling::output_checks_table(*report); };
  }
  return spec;
}

void DoctorView::draw_cards(const PanelContext& context, const Area& cards, GraphScene& scene) {
  const Theme& theme = context.theme;
  const float width = theme.px(160);
  const auto high = [&theme](float height) { return CardPart{theme.px(height), theme.px(height)}; };
  // Names of experiments are long; squares are as good when they are small.
  const CardPart last{0.32F, theme.px(180), {{0.72F, width}, {0.28F, width}}};
  // The order of presented cards does not depend on the size of their text.
  const bool narrow = context.presenting == nullptr && cards.size.x < theme.px(kNarrow);
  const auto state = [&](const Area&) { return state_card(context, scene); };
  const auto findings = [&](const Area&) { return findings_.list_card(context, scene); };
  const auto experiments = [&](const Area&) { return experiments_card(context, scene); };
  const auto proof = [&](const Area&) { return proof_card(context, scene); };
  const auto caption = [&scene] { return scene.caption(); };
  const profiling::HazardCase* one = bar_.gallery_case();
  case_drawn_ = bar_.in_gallery() && scene.finding() < 0;
  if (case_drawn_) {
    // The case beside conclusion and findings, as high as both.
    CardPlan plan{.id = "doctor.stacked_case",
                  .parts = {high(126), high(147), high(462), high(157), high(157)}};
    if (!narrow) {
      plan = {.id = "doctor.case",
              .parts = {{0.64F,
                         theme.px(320) + theme.px(kGap),
                         {{0.42F, width, {{0.31F, theme.px(155)}, {0.33F, theme.px(165)}}},
                          {0.58F, width}}},
                        last}};
    }
    plan.caption = caption;
    return case_board_.draw(context, cards, plan,
                            {state, findings,
                             [&](const Area&) {
                               return one == nullptr
                                          ? symptoms_.card(context, bar_)
                                          : findings_.case_card(context, *one, bar_.healthy());
                             },
                             experiments, proof});
  }
  const profiling::ExperimentRecord* hung =
      scene.report() == nullptr ? nullptr : hung_experiment(*scene.report(), table_.selected);
  hung_drawn_ = hung != nullptr;
  const auto cure = [&](const Area&) { return cure_.card(context, scene); };
  const auto evidence = [&](const Area&) { return findings_.chosen_card(context, scene, bar_); };
  if (!hung_drawn_ && !narrow) {
    // What is a sentence or two stands in a narrow column; cure and evidence are read.
    const CardPlan wide{
        .id = "doctor.columns",
        .parts = {{0.68F,
                   theme.px(320) + theme.px(kGap),
                   {{0.32F, width, {{0.38F, theme.px(126)}, {0.62F, theme.px(147)}}},
                    {0.68F, width, {{0.47F, theme.px(150)}, {0.53F, theme.px(165)}}}}},
                  last},
        .caption = caption};
    return board_.draw(context, cards, wide, {state, findings, cure, evidence, experiments, proof});
  }
  // Conclusion, cure, findings, evidence, experiments, before and after: from left to right and
  // from top to bottom.
  CardPlan plan{.id = "doctor.stacked",
                .parts = {high(126), high(210), high(147), high(252), high(157), high(157)}};
  if (!narrow) {
    const std::vector<CardPart> halves = {{0.42F, width}, {0.58F, width}};
    plan = {.id = "doctor.cards",
            .parts = {{0.31F, theme.px(155), halves}, {0.33F, theme.px(165), halves}, last}};
  }
  plan.caption = caption;
  std::vector<CardBoard::MakeCard> made = {state, cure, findings, evidence, experiments, proof};
  if (!hung_drawn_) return board_.draw(context, cards, plan, made);
  // A hung replay comes right after the conclusion, in the full width, which a core dump shares.
  const profiling::Stall& stall = hung->outcome.stall.front();
  std::vector<CardBoard::MakeCard> cards_of_hang;
  if (!stall.nodes.empty()) {
    cards_of_hang.push_back([&](const Area&) { return stall_card(context, scene, *hung); });
  }
  if (!stall.core_dump.empty()) {
    cards_of_hang.push_back([&](const Area&) { return core_card(context, stall); });
  }
  const bool both = cards_of_hang.size() == 2;
  const float board = stall_card_height(theme, *hung);
  const float height = stall.core_dump.empty() ? board : std::max(board, theme.px(190));
  // Next to shares of the height it gets what it needs, and more only if it folds nodes.
  const float share = narrow ? height : stall.nodes.size() > 8 ? 0.3F : 0.0F;
  CardPart row{share, height};
  if (narrow && both) {
    plan.parts.insert(plan.parts.begin() + 1, row);
  } else if (both) {
    row.parts = {{0.64F, width}, {0.36F, width}};
  }
  plan.id = narrow ? (both ? "doctor.stacked_core" : "doctor.stacked_hung")
                   : (both ? "doctor.hung_core" : "doctor.hung");
  plan.parts.insert(plan.parts.begin() + 1, row);
  made.insert(made.begin() + (narrow ? 1 : 2), cards_of_hang.begin(), cards_of_hang.end());
  hung_board_.draw(context, cards, plan, made);
}

void DoctorView::draw(const PanelContext& context, const Area& area, GraphScene& scene,
                      ReportSources& sources) {
  const Theme& theme = context.theme;
  const std::optional<profiling::GallerySubject> explained = bar_.gallery_subject();
  const profiling::DoctorReport* shown = examined(scene).report();
  const float used =
      bar_.draw(context, area.at, area.size.x, examined(scene)) + theme.px(kGapSmall);
  const std::optional<profiling::GallerySubject> chosen = bar_.gallery_subject();
  if (chosen && chosen != explained && !sources.choose_about(*chosen)) {
    // After choosing another case the user wants to read about it, or goes through the recorded
    // ones.
    const auto& recorded = context.view.doctor.recorded_case;
    const bool shows_recorded = recorded != nullptr && shown == &recorded->report;
    if (shows_recorded && !chosen->healthy) bar_.show_recorded(context);
  }
  draw_cards(context, area.below(used), examined(scene));
}

bool DoctorView::close_front() {
  CardBoard& front = case_drawn_ ? case_board_ : hung_drawn_ ? hung_board_ : board_;
  return front.restore();
}

GraphScene& DoctorView::examined(GraphScene& scene) {
  return unexamined(scene).empty() ? scene : unexamined_;
}

std::string DoctorView::unexamined(const GraphScene& scene) const {
  const profiling::DoctorReport* report = scene.report();
  if (report == nullptr || bar_.is_about(report->snapshot.subject)) return {};
  const auto subject = bar_.gallery_subject();
  return subject ? "not examined: " + profiling::subject_title(*subject) : "no case is chosen";
}

void DoctorView::show_gallery(const PanelContext& context) {
  const profiling::HazardCase* one = bar_.gallery_case();
  bar_.show_gallery(context, one == nullptr ? profiling::hazard_cases().front() : *one);
}

void DoctorView::follow(const profiling::DoctorReport& report) {
  // That of a visit which has just begun does not know its subject yet.
  if (!report.snapshot.subject.empty()) bar_.follow(report.snapshot.subject);
}

}  // namespace app
