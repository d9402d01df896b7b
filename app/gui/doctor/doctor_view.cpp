#include "app/gui/doctor/doctor_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "app/doctor/report_words.h"
#include "app/gui/cards/card.h"
#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/doctor/replay_board.h"
#include "app/gui/plot/plot_text.h"
#include "app/gui/theme/text.h"
#include "profiling/hazards/model/names.h"
#include "profiling/trace/statistics.h"

namespace app {
namespace {

constexpr float kNarrow = 620;               // grid pixels
constexpr double kStallNoticeSeconds = 1.0;  // without a node finishing

const std::vector<plot::Column> kExperimentColumns = {
    {"#", 24, true, "In the order they were run"},
    {"experiment", 0, false, "What was changed about the captured graph"},
    {"finding", 54, true, "Number of the finding it was made for; none = for the visit as a whole"},
    {"outcome", 150, false, "Against the outputs of eager launches, bit for bit"},
    {"replays", 54, true, "Number of requested replays"},
    {"median", 66, true, "Median duration of a replay, by CUDA events"},
    {"took", 58, true, "Wall time of its process, including its start"}};

/// For a graph that has not been examined yet.
std::string by_rules(std::size_t findings) {
  if (findings == 0) {
    return "By the rules alone: no fault. Only replays of a live graph can say more.";
  }
  return fmt::format("By the rules alone: {} fault{}. Prove shows by experiment which are real.",
                     findings, findings == 1 ? "" : "s");
}

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

/// Lists every check of every experiment; null without one.
std::function<std::string()> checks_text(const profiling::DoctorReport* report, char separator) {
  if (report == nullptr || report->experiments.empty()) return {};
  return [report, separator] {
    std::string text =
        fmt::format("experiment{0}replay{0}output{0}parts{0}wrong_parts\n", separator);
    for (const profiling::ExperimentRecord& record : report->experiments) {
      for (const profiling::OutputCheck& check : record.outcome.checks) {
        text +=
            fmt::format("\"{1}\"{0}{2}{0}\"{3}\"{0}{4}{0}{5}\n", separator, record.title,
                        check.replay, check.output, check.parts, fmt::join(check.wrong_parts, " "));
      }
    }
    return text;
  };
}

void wrapped(const std::string& text, ImU32 color) {
  const TextColorScope scope(color);
  show_wrapped(text);
}

/// Everything that is known of an examined subject; returns its conclusion.
std::string draw_report(const PanelContext& context, const profiling::DoctorReport& report,
                        const profiling::GraphSnapshot* graph) {
  const Theme& theme = context.theme;
  const std::string conclusion =
      report.conclusion.empty() ? by_rules(report.findings.size()) : report.conclusion;
  wrapped(conclusion, theme.colors.text);
  if (const std::string cost = marker_cost_text(report); !cost.empty()) {
    const ImVec2 cost_at = ImGui::GetCursorScreenPos();
    wrapped(cost, theme.colors.dim_text);
    controls::record(context, "doctor.marker_cost", "cost of the markers", "text", cost, cost_at,
                     ImGui::GetItemRectMax());
  }
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
    draw_board(context, "##doctor.stalled", ImVec2(ImGui::GetContentRegionAvail().x, theme.px(40)),
               record.outcome.stall.front().nodes, graph);
    break;
  }
  if (!report.smallest_cure.empty()) {
    std::string cure = "Smallest cure, memory that must move:";
    for (const profiling::MovedMemory& moved : report.smallest_cure) {
      cure += fmt::format(" {} of node {};", moved.owner, moved.node.node);
    }
    cure.back() = '.';
    wrapped(cure, theme.colors.text);
  }
  return conclusion;
}

}  // namespace

void DoctorView::follow(const PanelContext& context, const GraphScene& scene) {
  if (shown_ == scene.report_generation()) return;
  shown_ = scene.report_generation();
  rows_.clear();
  table_.selected = -1;
  if (scene.report() == nullptr) return;
  for (std::size_t i = 0; i < scene.report()->experiments.size(); ++i) {
    const profiling::ExperimentRecord& record = scene.report()->experiments[i];
    const std::vector<double>& times = record.outcome.replay_us;
    const double median = times.empty() ? 0.0 : profiling::quantile(times, 0.5);
    const std::string outcome = verdict_text(record.outcome);
    rows_.push_back(
        {.cells = {{.text = std::to_string(i + 1), .key = static_cast<double>(i)},
                   {.text = record.title},
                   {.text = record.finding < 0 ? "" : std::to_string(record.finding + 1),
                    .key = static_cast<double>(record.finding)},
                   {.text = outcome, .color = verdict_color(context.theme, record.outcome.verdict)},
                   {.text = std::to_string(record.experiment.replays),
                    .key = static_cast<double>(record.experiment.replays)},
                   {.text = median > 0.0 ? plot::duration_text(1e3 * median) : "", .key = median},
                   {.text = fmt::format("{:.1f} s", record.outcome.seconds),
                    .key = record.outcome.seconds}},
         .chip = verdict_color(context.theme, record.outcome.verdict),
         .tooltip = record.outcome.message.empty() ? record.title
                                                   : record.title + ": " + record.outcome.message});
  }
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
  show_text(plot::fitted(theme.fonts.body, line, room.x));
  controls::record(context, "doctor.progress", "visit in progress", "text", line, at,
                   ImGui::GetItemRectMax());
  const bool fits =
      scene.graph() != nullptr && scene.graph()->nodes.size() == progress.board.size();
  const profiling::GraphSnapshot* graph = fits ? scene.graph() : nullptr;
  std::string state = board_text(graph, progress.replay, progress.board);
  const double still = ImGui::GetTime() - moved_at_;
  const bool stands = !progress.board.empty() && count.running > 0 && still > kStallNoticeSeconds;
  if (stands) state += fmt::format("; nothing has finished for {:.0f} s", still);
  wrapped(state, stands ? theme.colors.warn : theme.colors.dim_text);
  if (progress.board.empty()) return;
  const int clicked =
      draw_board(context, "##doctor.board", ImGui::GetContentRegionAvail(), progress.board, graph);
  if (clicked >= 0 && graph != nullptr) scene.choose_node(clicked);
}

void DoctorView::draw_state(const PanelContext& context, const Area& area, GraphScene& scene) {
  const Theme& theme = context.theme;
  ImGui::SetCursorScreenPos(area.at);
  const DoctorState& news = context.view.doctor;
  const profiling::DoctorReport* report = scene.report();
  const std::string note = report == nullptr ? "" : report->snapshot.subject;
  Card card(
      context,
      {.id = "doctor.state_card",
       .title = news.busy ? "In progress" : "Conclusion",
       .question = "What was the outcome, or what is happening now?",
       .note = news.busy ? "" : note,
       .measured = "Every experiment runs in its own process, which ends with it; a "
                   "marker after every node shows how far a replay got.",
       .text =
           report == nullptr
               ? std::function<std::string()>()
               : [report] { return report->snapshot.subject + "\n" + report->conclusion + "\n"; }},
      area.size);
  if (news.busy) {
    draw_visit_progress(context, card.room(), scene);
    return;
  }
  ImGui::BeginChild("##doctor.state", card.room(), false);
  if (!news.error.empty()) wrapped(news.error, theme.colors.bad);
  if (!news.file_error.empty()) wrapped("Not opened: " + news.file_error, theme.colors.bad);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  std::string conclusion;
  if (report != nullptr) {
    conclusion = draw_report(context, *report, scene.graph());
  } else {
    const std::string why =
        visit_refusal(context.view.doctor, context.view.link, context.view.hello);
    wrapped(why.empty() ? "Nothing examined yet." : why, theme.colors.dim_text);
    conclusion = why;
  }
  controls::record(context, "doctor.conclusion", "conclusion", "text", conclusion, at,
                   ImGui::GetItemRectMax());
  ImGui::EndChild();
}

void DoctorView::draw_experiments(const PanelContext& context, const Area& area,
                                  GraphScene& scene) {
  follow(context, scene);
  ImGui::SetCursorScreenPos(area.at);
  Card card(context,
            {.id = "doctor.experiments_card",
             .title = "Experiments",
             .question = "What was tried, and what was the outcome?",
             .note = rows_.empty() ? "" : fmt::format("n {}", rows_.size()),
             .measured = "Outputs of every replay against three eager launches, as checksums of "
                         "their bits, output by output and expert by expert.",
             .text = [this] { return plot::table_text(kExperimentColumns, rows_); },
             .csv = [this] { return plot::table_csv(kExperimentColumns, rows_); }},
            area.size);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 room = card.room();
  if (rows_.empty()) {
    draw_empty(context, room, "Rules only",
               "Prove runs the experiments that show a fault and remove it again.", "", nullptr);
  } else {
    plot::draw_table(context, "##doctor.experiments", kExperimentColumns, rows_, shown_, room,
                     table_);
  }
  controls::record(context, "doctor.experiments_made", "experiments made", "text",
                   fmt::format("n={};selected={}", rows_.size(), table_.selected), at,
                   ImVec2(at.x + room.x, at.y + room.y));
}

void DoctorView::draw_proof_grids(const PanelContext& context, const Area& area,
                                  GraphScene& scene) {
  ImGui::SetCursorScreenPos(area.at);
  const profiling::DoctorReport* report = scene.report();
  Card card(context,
            {.id = "doctor.proof_card",
             .title = "Before and after",
             .question = "Which replays and experts are wrong, and does the cure fix them?",
             .note = "",
             .measured = "Green: equal to the eager launches bit for bit. Red: not.",
             .text = checks_text(report, '\t'),
             .csv = checks_text(report, ',')},
            area.size);
  ProofRecords shown;
  if (report != nullptr) {
    shown = records_of(*report, scene.finding());
    if (table_.selected >= 0) shown = {.shows = table_.selected, .cures = -1};
  }
  std::vector<std::pair<std::string, int>> parts;
  if (shown.shows >= 0) parts.emplace_back(shown.cures >= 0 ? "before: " : "", shown.shows);
  if (shown.cures >= 0) parts.emplace_back("after: ", shown.cures);
  const ImVec2 room = card.room();
  if (parts.empty()) {
    draw_empty(context, room, "Nothing to compare",
               "Choose a finding with experiments, or an experiment.", "", nullptr);
    return;
  }
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float each = room.y / static_cast<float>(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto record = static_cast<std::size_t>(parts[i].second);
    if (record >= report->experiments.size()) continue;
    const profiling::ExperimentRecord& made = report->experiments[record];
    ImGui::SetCursorScreenPos(ImVec2(at.x, at.y + each * static_cast<float>(i)));
    const std::string text = parts[i].first + made.title + ": " + verdict_text(made.outcome);
    const ImFont* font = context.theme.fonts.label;
    plot::draw_text(ImGui::GetWindowDrawList(), font, ImGui::GetCursorScreenPos(),
                    verdict_color(context.theme, made.outcome.verdict),
                    plot::fitted(font, text, room.x));
    const float line = font->FontSize + context.theme.px(kGapSmall);
    ImGui::SetCursorScreenPos(ImVec2(at.x, at.y + each * static_cast<float>(i) + line));
    draw_checks_grid(context, fmt::format("##doctor.grid{}", i).c_str(),
                     ImVec2(room.x, each - line - context.theme.px(kGapSmall)), made.outcome);
  }
}

void DoctorView::draw_cards(const PanelContext& context, const Area& cards, GraphScene& scene,
                            bool narrow) {
  const float gap = context.theme.px(kGap);
  std::vector<Area> places;  // state, findings, chosen, experiments, before and after
  if (narrow) {
    places = rows_of(cards, gap, {0.13F, 0.2F, 0.3F, 0.18F, 0.19F});
  } else {
    const std::vector<Area> rows = rows_of(cards, gap, {0.62F, 0.38F});
    const std::vector<Area> upper = columns_of(rows[0], gap, {0.42F, 0.58F});
    places = rows_of(upper[0], gap, {0.4F, 0.6F});
    places.push_back(upper[1]);
    for (const Area& area : columns_of(rows[1], gap, {0.62F, 0.38F})) places.push_back(area);
  }
  draw_state(context, places[0], scene);
  findings_.draw_list(context, places[1], scene);
  const profiling::HazardCase* one = bar_.gallery_case();
  if (one != nullptr && scene.finding() < 0) {
    findings_.draw_case(context, places[2], *one, bar_.healthy());
  } else {
    findings_.draw_chosen(context, places[2], scene, bar_);
  }
  draw_experiments(context, places[3], scene);
  draw_proof_grids(context, places[4], scene);
}

void DoctorView::draw(const PanelContext& context, const Area& area, GraphScene& scene) {
  const Theme& theme = context.theme;
  const bool narrow = area.size.x < theme.px(kNarrow);
  const profiling::HazardCase* explained = bar_.gallery_case();
  const float used = bar_.draw(context, area.at, area.size.x, scene, narrow) + theme.px(kGapSmall);
  // After choosing another case the user wants to read about it.
  if (bar_.gallery_case() != explained) scene.choose_finding(-1);
  const Area cards{ImVec2(area.at.x, area.at.y + used), ImVec2(area.size.x, area.size.y - used)};
  const CardGround ground(context, "##doctor.cards", cards,
                          {.width = kNarrow, .height = 460, .stacked_height = 900});
  draw_cards(context, ground.area(), scene, ground.stacked());
}

}  // namespace app
