// The sweep's axes and progress, and the points that are derived from its runs when they change.
#include "app/gui/compare/frontier_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <utility>

#include "app/controllers/background.h"
#include "app/controllers/batch_controller.h"
#include "app/controllers/request_actions.h"
#include "app/controllers/run_names.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/plot/format.h"
#include "app/gui/plot/plot_text.h"
#include "app/gui/theme/text.h"
#include "profiling/compare/comparison_tables.h"
#include "profiling/document/columns.h"

namespace app {
namespace {

using profiling::SweepPoint;

bool is_running(const BatchStatus& batch) {
  return batch.id != 0 && batch.state == BatchState::Running;
}

bool is_sweeping(const BatchStatus& batch) {
  return is_running(batch) && batch.kind == profiling::GroupKind::Sweep;
}

}  // namespace

std::string refused_text(const std::vector<Refusal>& refusals) {
  const std::string& first = refusals.front().reason;
  const auto same = std::ranges::count(refusals, first, &Refusal::reason);
  if (std::cmp_equal(same, refusals.size())) return fmt::format("{} refused: {}", same, first);
  return fmt::format("{} refused, {} of them: {}", refusals.size(), same, first);
}

SweepAxes FrontierView::axes(const engine::RunRequest& request, const WorkerHello& hello) const {
  SweepAxes axes{.numbers = numbers_.axes(request)};
  axes.pow2 = pow2_;
  if (recipe_) axes.recipes = all_scalings();
  if (backend_) axes.backends = backends_of(hello);
  if (workspace_) axes.workspaces = all_workspaces();
  if (routing_) {
    axes.routings = {engine::RoutingDistribution::Uniform, engine::RoutingDistribution::Zipf,
                     engine::RoutingDistribution::OneHot};
  }
  return axes;
}

void FrontierView::plan(const PanelContext& context) {
  const SessionView& view = context.view;
  if (!view.hello) {
    planned_ = false;
    return;
  }
  SweepAxes wanted = axes(view.requested, *view.hello);
  if (planned_ && planned_for_ == view.requested && planned_axes_ == wanted) return;
  planned_ = true;
  planned_for_ = view.requested;
  planned_axes_ = std::move(wanted);
  iterations_ = {};
  refusals_.clear();
  plan_error_.clear();
  auto plan = plan_in_window({.base = planned_for_, .axes = planned_axes_}, *view.hello);
  if (!plan.ok()) {
    plan_error_ = plan.error().message;
    return;
  }
  const std::vector<PlannedRun> runs = std::move(plan).value();
  iterations_ = iterations_of(runs);
  std::vector<const engine::RunRequest*> requests;
  for (const PlannedRun& run : runs) requests.push_back(&run.request);
  planned_names_ = sweep_names(requests);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].refused.empty()) continue;
    refusals_.push_back({.run = planned_names_[i], .reason = runs[i].refused});
  }
}

std::string FrontierView::recording_of(const profiling::RunGroupMembers& sweep,
                                       const SessionView& view) {
  if (sweep.runs.front() < view.live_runs) return {};
  return std::filesystem::path(view.session_path).filename().string();
}

FrontierView::Sweeps FrontierView::sweeps_of(const SessionView& view) {
  Sweeps sweeps;
  for (profiling::RunGroupMembers& group : profiling::groups_of(view.runs)) {
    if (group.kind != profiling::GroupKind::Sweep) continue;
    const std::string file = recording_of(group, view);
    sweeps.titles.push_back(fmt::format("sweep of {}, {} runs{}{}", group_time(group.id),
                                        group.runs.size(), file.empty() ? "" : ", ", file));
    sweeps.groups.push_back(std::move(group));
  }
  return sweeps;
}

void FrontierView::follow(const PanelContext& context) {
  const profiling::RunList& runs = context.view.runs;
  const void* last = runs.empty() ? nullptr : runs.back().get();
  const void* rows = context.view.batch.rows.get();
  const bool same = count_ == runs.size() && last_run_ == last && batch_rows_ == rows;
  if (!same) {
    count_ = runs.size();
    last_run_ = last;
    batch_rows_ = rows;
    changed_at_once(sweeps_, [&](Sweeps& sweeps) { sweeps = sweeps_of(context.view); });
    // The user wants to see a sweep that has just been started.
    if (is_sweeping(context.view.batch)) shown_ = 0;
  }
  const bool file = context.view.from_file;
  if (same && made_for_ == shown_ && made_for_median_ == median_snr_ && made_for_file_ == file &&
      made_for_theme_ == context.theme.kind) {
    return;
  }
  made_for_ = shown_;
  made_for_file_ = file;
  made_for_theme_ = context.theme.kind;
  made_for_median_ = median_snr_;
  ++generation_;
  const std::int64_t shown = std::exchange(drawn_, 0);
  const Points before = std::exchange(made_, {});
  make_points(context);
  keep_selection(shown, before);
}

void FrontierView::keep_selection(std::int64_t shown, const Points& before) {
  const auto row = plot::selected_row(table_, before.runs.size());
  const bool same = shown != 0 && shown == drawn_;
  const bool stays =
      same && row && *row < made_.runs.size() && made_.runs[*row] == before.runs[*row];
  if (!stays) table_.selected = -1;
  if (!same) {
    view_ = {};
    menu_point_ = -1;
  }
}

void FrontierView::make_points(const PanelContext& context) {
  const bool file = context.view.from_file;
  const std::vector<profiling::RunGroupMembers>& groups = sweeps_.groups;
  if (groups.empty()) return;
  auto sweep = std::ranges::find(groups, shown_, &profiling::RunGroupMembers::id);
  if (sweep == groups.end()) {
    // The newest of those that the other pages belong to: this window's, or the recording's.
    const auto newest = std::find_if(groups.rbegin(), groups.rend(), [&](const auto& group) {
      return (group.runs.front() >= context.view.live_runs) == file;
    });
    if (newest == groups.rend()) return;
    sweep = std::prev(newest.base());
  }
  drawn_ = sweep->id;
  changed_at_once(made_, [&](Points& made) { made = points_of(*sweep, context); });
}

PageSubject FrontierView::subject() const {
  if (made_.runs.empty()) {
    return {.words = "Sweeps: accuracy against time", .answers_request = false};
  }
  const std::string from = made_.recording.empty() ? "" : " \u00b7 " + made_.recording;
  const engine::RunResult& first = made_.runs.front()->result;
  // Of the first point: what varies is named at the points.
  const engine::ShapeSpec& shape = made_.runs.front()->request.shape;
  return {.words = fmt::format("Sweep of {} point{}, {}, {}{}", made_.runs.size(),
                               made_.runs.size() == 1 ? "" : "s", shape_words(shape),
                               first.device.name, from),
          .answers_request = false,
          .shape = shape};
}

void FrontierView::tell_works_apart(Points& made, const Theme& theme) {
  std::vector<std::string_view> works;
  std::vector<const engine::RunRequest*> requests;
  for (const SweepPoint& point : made.points) {
    const auto found = std::ranges::find(works, point.work);
    made.work_of.push_back(static_cast<std::size_t>(found - works.begin()));
    if (found == works.end()) works.push_back(point.work);
    requests.push_back(&point.request);
  }
  const std::vector<std::string> names = group_names(requests, made.work_of);
  for (std::size_t i = 0; i < works.size(); ++i) {
    made.works.push_back(
        {names[i], works.size() == 1 ? theme.colors.good : theme.group(i, works.size())});
  }
  if (works.size() < 2) return;
  for (std::size_t i = 0; i < made.points.size(); ++i) {
    made.table.rows[i].chip = made.works[made.work_of[i]].color;
  }
}

FrontierView::Points FrontierView::points_of(const profiling::RunGroupMembers& sweep,
                                             const PanelContext& context) const {
  Points made;
  made.recording = recording_of(sweep, context.view);
  for (const std::size_t index : sweep.runs) {
    const auto& run = made.runs.emplace_back(context.view.runs[index]);
    made.points.push_back(profiling::sweep_point(*run, engine::Product::Fprop));
  }
  profiling::mark_frontier(
      made.points, median_snr_ ? profiling::SnrChoice::Median : profiling::SnrChoice::Worst);
  // The table has what was refused or failed, too; a recording does not keep it.
  std::vector<SweepPoint> listed = made.points;
  const BatchStatus& batch = context.view.batch;
  if (batch.id == sweep.id && batch.rows != nullptr) {
    for (const BatchRow& row : *batch.rows) {
      if (row.outcome != Outcome::Refused && row.outcome != Outcome::Failed) continue;
      listed.push_back(
          profiling::unmeasured_point(row.planned.request, row.planned.label, row.unmeasured()));
    }
  }
  std::vector<const engine::RunRequest*> requests;
  for (const SweepPoint& point : listed) requests.push_back(&point.request);
  made.names = sweep_names(requests);
  // The names leave out what all points share; files have the whole label.
  profiling::Table table = profiling::sweep_table(listed);
  std::vector<profiling::Row> rows = profiling::all_rows(table);
  table.columns.insert(table.columns.begin() + 1,
                       profiling::for_people("#", profiling::Measure::Count,
                                             "Stands for the name in the plot, where that has no "
                                             "room"));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const SweepPoint& point = listed[i];
    rows[i].cells.front().words = made.names[i];
    rows[i].cells.insert(rows[i].cells.begin() + 1,
                         i < made.points.size() ? profiling::Cell(i + 1) : profiling::Cell());
    rows[i].full_name = made.names[i];
    if (!point.unmeasured.empty()) rows[i].full_name += "\n" + point.unmeasured;
    if (point.doubt) {
      rows[i].full_name += "\n" + profiling::doubt_words(made.points, i, made.names[i],
                                                         made.names[point.doubt->other]);
    }
  }
  made.table =
      plot::drawn(profiling::table_of("sweep", table.columns, std::move(rows)), context.theme);
  tell_works_apart(made, context.theme);
  return made;
}

std::string FrontierView::refusal(const engine::RunRequest& request) const {
  if (!planned_) return "The worker has not reported yet what it can do";
  if (std::string unread = numbers_.error(request); !unread.empty()) return unread;
  if (!plan_error_.empty()) return plan_error_;
  if (iterations_.points > 0) return {};
  return refusals_.empty() ? "There is nothing to run"
                           : refusals_.front().run + ": " + refusals_.front().reason;
}

void FrontierView::draw_start(const PanelContext& context) {
  const std::string reason = refusal(context.view.requested);
  if (controls::button(
          context, "frontier.start", "Start",
          {.enabled = reason.empty(),
           .reason = reason,
           .tooltip =
               "Measure every combination, one after another, with the rail's other settings",
           .width = context.theme.px(80)})) {
    start(context);
  }
}

void FrontierView::start(const PanelContext& context) {
  context.commands.push_back(SweepOrder{.base = planned_for_, .axes = planned_axes_});
}

const std::string& FrontierView::running_name(const BatchStatus& batch) {
  if (!is_sweeping(batch) || batch.rows == nullptr) return batch.progress.label;
  if (named_sweep_ != batch.id) {
    named_sweep_ = batch.id;
    std::vector<const engine::RunRequest*> requests;
    for (const BatchRow& row : *batch.rows) requests.push_back(&row.planned.request);
    running_names_ = sweep_names(requests);
  }
  return running_names_[batch.progress.row];
}

void FrontierView::draw_axes(const PanelContext& context, controls::Flow& flow) {
  struct AxisBox {
    const char* id;
    const char* label;
    bool* value;
    const char* tooltip;
  };
  const AxisBox boxes[] = {
      {"frontier.recipe", "recipes", &recipe_, "Every scaling recipe"},
      {"frontier.pow2", "scales", &pow2_, "Power-of-two and FP32 scales, where a recipe has both"},
      {"frontier.backend", "backends", &backend_, "Every backend that the worker has"},
      {"frontier.workspace", "workspaces", &workspace_, "Every workspace strategy (CUDA)"},
      {"frontier.routing", "routing", &routing_, "Uniform, Zipf and one-hot"}};
  for (const AxisBox& box : boxes) {
    flow.next(shown_size(box.label).x + context.theme.px(kRowHeight + kGapLarge));
    controls::checkbox(context, box.id, box.label, *box.value, {.tooltip = box.tooltip});
  }
}

TextLine FrontierView::plan_line(const PanelContext& context) const {
  const Theme& theme = context.theme;
  const BatchStatus& batch = context.view.batch;
  const std::string unread = numbers_.error(context.view.requested);
  TextLine line{.id = "frontier.plan",
                .label = "what Start will do",
                .text = {},
                .color = theme.colors.bad,
                .tooltip = {}};
  if (!unread.empty() || !plan_error_.empty()) {
    line.text = unread.empty() ? plan_error_ : unread;
  } else if (batch.kind == profiling::GroupKind::Sweep && !batch.error.empty()) {
    line.text = batch.error;
  } else if (planned_) {
    const bool few = iterations_.too_few();
    line.color = few ? theme.colors.warn : theme.colors.dim_text;
    line.text = fmt::format("{} runs", iterations_.points);
    if (few) {
      line.text += fmt::format(" of {} iterations: too few to decide, set {}", iterations_.fewest,
                               iterations_.needed);
    } else if (iterations_.points > 0) {
      line.text += fmt::format(" of {} iterations", iterations_.fewest);
    }
    if (!refusals_.empty()) line.text += ", " + refused_text(refusals_);
    for (const Refusal& refusal : refusals_) {
      line.tooltip += refusal.run + ": " + refusal.reason + "\n";
    }
    if (iterations_.points > 1) line.tooltip += iterations_.words() + "\n";
  }
  return line;
}

float FrontierView::draw_controls(const PanelContext& context, const Area& area, float taken_left) {
  const Theme& theme = context.theme;
  const float row = theme.px(kRowHeight);
  const float step = row + theme.px(kGapSmall);
  // With large text they take separate rows.
  const bool beside = area.size.x - taken_left > theme.px(520);
  const ImVec2 at =
      beside ? ImVec2(area.at.x + taken_left, area.at.y) : ImVec2(area.at.x, area.at.y + step);
  ImGui::SetCursorScreenPos(at);
  if (is_running(context.view.batch)) {
    const BatchProgress& progress = context.view.batch.progress;
    draw_batch_progress(context, "frontier", theme.px(80), area.end().x - at.x,
                        fmt::format("{} of {}: {}", progress.measured + progress.failed + 1,
                                    progress.total, running_name(context.view.batch)));
    return at.y + step;
  }
  // The rail has the request of a recorded run: nothing can be started with it.
  if (context.view.from_file && !made_.points.empty()) {
    draw_text_line(context, {at, ImVec2(area.end().x - at.x, row)},
                   {.id = "frontier.recorded",
                    .label = "whose sweep this is",
                    .text = "A sweep of the recording. One of your own starts from your runs: Back "
                            "to my runs.",
                    .color = theme.colors.dim_text,
                    .tooltip = {}});
    return at.y + step;
  }
  controls::Flow axes(theme, at.x, area.end().x);
  draw_axes(context, axes);
  axes.next(theme.px(80));
  draw_start(context);
  // A reason that does not fit beside the button gets a row.
  const TextLine line = plan_line(context);
  const float wide = plot::text_size(theme.fonts.body, line.text).x;
  axes.next(std::clamp(wide, theme.px(120), area.size.x));
  const ImVec2 words = ImGui::GetCursorScreenPos();
  draw_text_line(context, {words, ImVec2(std::max(area.end().x - words.x, 1.0F), row)}, line);
  // The further rows begin at the left edge of the page.
  ImGui::SetCursorScreenPos(ImVec2(area.at.x, axes.bottom()));
  controls::Flow numbers(theme, area.at.x, area.end().x);
  numbers_.draw(context, numbers);
  return numbers.bottom();
}

std::optional<FrontierWish> FrontierView::draw(const PanelContext& context, const Area& area,
                                               float taken_left) {
  const Theme& theme = context.theme;
  plan(context);
  follow(context);
  const float bottom = draw_controls(context, area, taken_left);
  const Area cards = area.below(bottom - area.at.y + theme.px(kGapSmall));
  if (made_.points.empty()) {
    ImGui::SetCursorScreenPos(cards.at);
    const bool running = is_running(context.view.batch);
    if (draw_empty(
            context, cards.size, running ? "Measuring" : "No sweep yet",
            is_sweeping(context.view.batch) ? "The first point is being measured."
            : running ? "A against B is being measured; a sweep can start after it."
                      : "Choose above what to vary and list values of numbers, then start: every "
                        "combination becomes a "
                        "point of accuracy against time, with the rail's other settings.",
            "frontier.start_now",
            running || !refusal(context.view.requested).empty() ? nullptr : "Start the sweep")) {
      start(context);
    }
    return std::nullopt;
  }
  board_.draw(context, cards,
              {.id = "frontier.cards", .parts = {{0.64F, theme.px(180)}, {0.36F, theme.px(110)}}},
              {[&](const Area& room) { return points_card(context, room); },
               [&](const Area&) { return table_card(); }});
  return draw_menu(context);
}

}  // namespace app
