// The time of every expert.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/gui/controls/widgets.h"
#include "app/gui/panels/performance_panel.h"
#include "app/gui/plot/plot_text.h"
#include "engine/gemm/support.h"
#include "engine/model/backend_traits.h"
#include "engine/model/counted.h"
#include "engine/program/operation_words.h"
#include "profiling/document/columns.h"

namespace app {

profiling::Table PerformancePanel::experts_list() const {
  std::vector<profiling::Column> columns = {profiling::column("expert", profiling::Measure::Count),
                                            profiling::column("rows", profiling::Measure::Count)};
  profiling::add_time_columns(columns);
  const std::vector<std::int64_t> splits = engine::mean_splits(model_.run().result);
  std::vector<profiling::Row> rows;
  for (const profiling::ExpertTime& expert : model_.experts()) {
    const auto index = static_cast<std::size_t>(expert.expert);
    profiling::Row& row = rows.emplace_back();
    row.cells =
        profiling::cells_of(expert.expert, index < splits.size() ? splits[index] : std::int64_t{0});
    profiling::add_time_cells(row.cells, expert.time);
  }
  return profiling::table_of("expert_times", std::move(columns), std::move(rows));
}

namespace {

const char* method_name(engine::ExpertMethod method) {
  switch (method) {
    case engine::ExpertMethod::Trace:
      return "records";
    case engine::ExpertMethod::Stamps:
      return "stamps";
    case engine::ExpertMethod::Isolated:
      break;
  }
  return "isolated";
}

/// How the shown times were measured.
std::string how_measured(engine::ExpertMethod method, const engine::RunResult& result) {
  switch (method) {
    case engine::ExpertMethod::Trace:
      return "Sum of an expert's records of one stage in one iteration; bar = median, whiskers = "
             "p5 to p95 over iterations. Of an iteration that a selection cuts, the part inside it "
             "counts. Records: " +
             result.activity_method +
             ". A launch that serves all experts is not attributed to any of them.";
    case engine::ExpertMethod::Stamps:
      return "From the start of an expert's first tile to the end of its last in one "
             "launch for all experts, by the device's global timer, which every tile of the kernel "
             "records, in launches apart from the timed ones. Tiles of other experts run "
             "concurrently, so the times add up to more "
             "than the launch.";
    case engine::ExpertMethod::Isolated:
      break;
  }
  return "A launch in which only this expert has rows, four in a row between two CUDA events. It "
         "has the whole device, so the experts' times do not add up to the launch for all. dW is "
         "written for every expert, with or without rows.";
}

/// A step has a quantize launch for each of its operands; apart from its records, that of X is
/// timed.
std::string source_name(const PerformanceModel::ExpertSource& source, engine::StepKind step) {
  const std::string stage(engine::stage_name(source.stage));
  if (source.method == engine::ExpertMethod::Trace) return stage;
  // The quantize kernel of X writes copies that its name would list.
  const std::string operation = source.stage == engine::Stage::Quantize
                                    ? std::string()
                                    : engine::operation_name(step, source.stage, source.writes);
  if (!operation.empty()) return operation + ", " + method_name(source.method);
  const std::string operand =
      source.stage == engine::Stage::Quantize
          ? fmt::format(" {}", engine::tensor_symbol(step, engine::StepTensor::X))
          : "";
  return stage + operand + ", " + method_name(source.method);
}

}  // namespace

std::string PerformancePanel::selected_note(int expert) const {
  const std::vector<plot::Bar>& bars = model_.expert_bars();
  if (expert < 0 || std::cmp_greater_equal(expert, bars.size())) return {};
  const plot::Bar& bar = bars[static_cast<std::size_t>(expert)];
  return fmt::format("expert {}: {}, {} rows \u00b7 ", expert,
                     std::isfinite(bar.value) ? plot::duration_text(bar.value) : "no time",
                     plot::count_text(static_cast<std::uint64_t>(bar.companion)));
}

std::string PerformancePanel::experts_note() const {
  std::size_t samples = 0;
  for (const profiling::ExpertTime& expert : model_.experts()) {
    samples = std::max(samples, expert.time.n);
  }
  const PerformanceModel::ExpertSource source = model_.source(model_.source_index());
  std::string note =
      source.method == engine::ExpertMethod::Trace
          ? fmt::format("n {} \u00b7 {}", engine::counted(samples, "iteration"), range_note())
          : fmt::format("n {}", engine::counted(samples, "launch", "launches"));
  for (const PerformanceModel::Agreement& agreement : model_.agreements()) {
    note += fmt::format(" \u00b7 {:.2f} of {}", agreement.ratio.median,
                        method_name(agreement.other.method));
  }
  return note;
}

std::string PerformancePanel::agreement_text() const {
  std::string text;
  for (const PerformanceModel::Agreement& agreement : model_.agreements()) {
    text += fmt::format(
        "\nAgainst {}: {:.2f} of its time, median over {} experts (p5 {:.2f}, p95 "
        "{:.2f}).",
        method_name(agreement.other.method), agreement.ratio.median, agreement.ratio.n,
        agreement.ratio.p5, agreement.ratio.p95);
  }
  return text;
}

/// No record names an expert: says what can be done about it, with the button that does it.
EmptyState PerformancePanel::no_experts(const PanelContext& context) const {
  const engine::RunResult& result = model_.run().result;
  if (!engine::traits_of(result.effective.backend).one_launch) {
    return {"No time per expert", "No record in " + range_note() +
                                      " names an expert. Method: " + result.activity_method + "."};
  }
  EmptyState one_launch{
      "One launch, all experts",
      "The grouped kernel computes every expert in one launch, so no record belongs to a single "
      "expert, and a share by FLOP would be a guess. Each expert can be launched alone, and the "
      "tiles of the quantize kernel and of our own products can record when they ran."};
  if (context.view.from_file) {
    one_launch.sentence += " This recording has neither.";
    return one_launch;
  }
  one_launch.button_id = "performance.measure_experts";
  one_launch.button_label = "Measure each expert";
  one_launch.act = [&context] {
    engine::RunRequest request = context.view.requested;
    request.measure.isolated = true;
    request.measure.stamps = engine::inapplicable_reason("measure.stamps", request).empty();
    context.commands.push_back(EditRequest{.request = request, .run = true});
  };
  return one_launch;
}

CardSpec PerformancePanel::experts_card(const PanelContext& context, const Area& area) {
  const Theme& theme = context.theme;
  const engine::RunResult& result = model_.run().result;
  const std::size_t sources = model_.source_count();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < sources; ++i) {
    names.push_back(source_name(model_.source(i), result.effective.step));
  }
  // Side by side if a title fits next to them; a step with a backward pass has too many.
  const float row = theme.px(74) * static_cast<float>(sources);
  const bool listed = row > area.size.x - theme.px(200) || !picture_names_only_stages();
  const float widgets = sources <= 1 ? 0.0F : listed ? theme.px(130) : row;
  const auto method =
      sources == 0 ? engine::ExpertMethod::Trace : model_.source(model_.source_index()).method;
  const auto choose_source = [this, &context, names, listed, widgets] {
    if (names.size() <= 1) return;
    int index = static_cast<int>(model_.source_index());
    const controls::Options options{.width = widgets - context.theme.px(kGap)};
    constexpr const char* kId = "performance.expert_stage";
    if (listed ? controls::combo(context, kId, "", index, names, options)
               : controls::segmented(context, kId, index, names, options)) {
      model_.set_source(static_cast<std::size_t>(index));
      model_.lay_out(context.theme);
    }
  };
  return {
      .id = "performance.experts_card",
      .title = sources == 0 ? "Per expert" : "Per expert: " + names[model_.source_index()],
      .question =
          method == engine::ExpertMethod::Trace
              ? "How long does each expert take in one iteration, and does that follow its rows? "
                "A click selects an expert, here and in Numerics."
              : "How long does each expert take in one launch, and does that follow its rows? A "
                "click selects an expert, here and in Numerics.",
      .note = sources == 0 ? ""
                           : context.view.absent_note() + selected_note(context.view.expert) +
                                 experts_note(),
      .measured = how_measured(method, result) + agreement_text(),
      .list = [this] { return experts_list(); },
      .header_widgets = widgets,
      .header = choose_source,
      .empty = [this,
                &context] { return model_.experts().empty() ? no_experts(context) : EmptyState{}; },
      .draw = [this, &context](const Area& room) { draw_experts(context, room.size); },
      .read_out = {"performance.experts", "time per expert",
                   [this, &context] { return experts_value(context.view.expert); }}};
}

std::string PerformancePanel::experts_value(int selected) const {
  if (model_.experts().empty()) return "none";
  const PerformanceModel::ExpertSource source = model_.source(model_.source_index());
  std::string value = fmt::format("experts={};stage={};method={}", model_.experts().size(),
                                  engine::stage_name(source.stage), method_name(source.method));
  for (const PerformanceModel::Agreement& agreement : model_.agreements()) {
    value +=
        fmt::format(";of_{}={:.3f}", method_name(agreement.other.method), agreement.ratio.median);
  }
  return value + fmt::format(";selected={}", selected);
}

void PerformancePanel::draw_experts(const PanelContext& context, ImVec2 size) {
  double highest = 0.0;
  for (const plot::Bar& bar : model_.expert_bars()) {
    if (std::isfinite(bar.value)) highest = std::max(highest, bar.high);
  }
  const bool traced = model_.source(model_.source_index()).method == engine::ExpertMethod::Trace;
  const plot::MarkHit hit =
      plot::draw_bars(context,
                      {.id = "##performance.experts",
                       .size = size,
                       .y = {.kind = plot::AxisKind::Nanoseconds,
                             .label = fmt::format("{} / {}", plot::time_unit(highest).name,
                                                  traced ? "iteration" : "launch"),
                             .limits = {0.0, std::max(highest * 1.1, 1.0)}},
                       .x_label = "expert",
                       .companion_label = "rows",
                       .selected = context.view.expert},
                      model_.expert_bars(), expert_view_);
  if (hit.index >= 0) draw_expert_read_out(context, hit.index);
  if (hit.clicked) select_expert(context, hit.index);
}

bool PerformancePanel::picture_names_only_stages() const {
  return model_.picture().measured_experts.empty();
}

void PerformancePanel::draw_expert_read_out(const PanelContext& context, int expert) const {
  const plot::Bar& bar = model_.expert_bars()[static_cast<std::size_t>(expert)];
  std::vector<plot::ReadOutLine> lines = {
      {"rows", plot::count_text(static_cast<std::uint64_t>(bar.companion)),
       context.theme.colors.warn},
      {"median", plot::duration_text(bar.value), bar.color},
      {"p5 \u2013 p95", plot::duration_text(bar.low) + " \u2013 " + plot::duration_text(bar.high)}};
  if (bar.companion > 0.0 && std::isfinite(bar.value)) {
    lines.push_back({"per row", plot::duration_text(bar.value / bar.companion)});
  }
  plot::read_out(context, fmt::format("expert {}", expert), lines);
}

}  // namespace app
