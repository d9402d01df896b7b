// Layout, pickers and figures of the Compare page; its cards are in separate files.
#include "app/gui/compare/compare_panel.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/controllers/field_words.h"
#include "app/controllers/request_actions.h"
#include "app/gui/cards/card_caption.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/plot/format.h"
#include "app/gui/plot/plot_text.h"
#include "app/gui/theme/text.h"
#include "app/protocol/shipped_recordings.h"

namespace app {
namespace {

constexpr float kPickerWidth = 150;
/// Names of its views, in their order on screen.
constexpr std::array<std::string_view, 2> kCompareViews = {"pair", "frontier"};

std::string worker_refusal(const SessionView& view) {
  return view.link.state == LinkState::Lost || !view.hello ? "There is no worker to measure with"
                                                           : "";
}

/// Large text in a small window: one card at a time instead of four unreadable ones.
bool is_small(const PanelContext& context, ImVec2 size) {
  // One that is presented has the whole page anyway.
  if (context.presenting != nullptr) return false;
  return size.y < context.theme.px(400) || size.x < context.theme.px(560);
}

}  // namespace

ComparePanel::ComparePanel(const std::function<void()>& wake)
    : PagePanel(kCompareViews), model_(wake) {}

bool ComparePanel::draw_picker(const PanelContext& context, const char* id, const char* label,
                               const CompareSide& side, float width, CompareSide& chosen) {
  std::vector<std::string> titles = sides_.titles();
  int index = sides_.index_of(side);
  if (index < 0 && !side.runs.empty()) {
    // Its run is no longer in the list; it is kept as long as it is being compared.
    index = static_cast<int>(titles.size());
    titles.push_back(side.title);
  }
  const float name = shown_size(label).x + ImGui::GetStyle().ItemSpacing.x;
  if (!controls::filtered_combo(context, id, label, index, {titles, {}, filter_},
                                {.tooltip = side.title, .width = std::max(width - name, 1.0F)})) {
    return false;
  }
  if (index >= static_cast<int>(sides_.offered().size())) return false;
  chosen = sides_.offered()[static_cast<std::size_t>(index)];
  return true;
}

void ComparePanel::draw_pickers(const PanelContext& context, const Area& area) {
  const Theme& theme = context.theme;
  const float gap = theme.px(kGap);
  const float swap = theme.px(56);
  const float open = theme.px(76);
  const float picker = 0.5F * (area.size.x - swap - open - 3.0F * gap);
  ImGui::SetCursorScreenPos(area.at);
  CompareSide chosen;
  if (draw_picker(context, "compare.a", "A", sides_.a(), picker, chosen)) sides_.choose_a(chosen);
  ImGui::SameLine(0, gap);
  if (controls::button(context, "compare.swap", "Swap",
                       {.enabled = sides_.ready(),
                        .reason = "Choose A and B first",
                        .tooltip = "A becomes B and B becomes A",
                        .width = swap})) {
    sides_.swap();
  }
  ImGui::SameLine(0, gap);
  if (draw_picker(context, "compare.b", "B", sides_.b(), picker, chosen)) sides_.choose_b(chosen);
  ImGui::SameLine(0, gap);
  const std::string& second = context.view.second_path;
  if (controls::button(context, "compare.open", "Open B...",
                       {.tooltip = second.empty() ? "A second recording to choose from"
                                                  : "Second recording: " + second,
                        .width = open})) {
    context.commands.push_back(AskPath{FilePurpose::OpenSecond});
  }
}

void ComparePanel::draw_again(const PanelContext& context, float width) {
  const Theme& theme = context.theme;
  const BatchStatus& batch = context.view.batch;
  const bool interleaved = batch.kind == profiling::GroupKind::Interleaved;
  const bool running = batch.id != 0 && batch.state == BatchState::Running;
  const float button = theme.px(110);
  if (running) {
    const BatchProgress& progress = batch.progress;
    return draw_batch_progress(
        context, "compare", button, width,
        fmt::format("{}: run {} of {}", interleaved ? "A against B" : "Sweep",
                    progress.measured + progress.failed + 1, progress.total));
  }
  const std::string why = again_refusal(context.view);
  if (controls::button(
          context, "compare.again", "Measure again",
          {.enabled = why.empty(),
           .reason = why,
           .tooltip = fmt::format(
               "Run both on this worker in {} blocks of {} iterations, in random order: "
               "drift then affects both equally",
               blocks_, iterations_),
           .width = button})) {
    asked_a_ = sides_.a();
    asked_b_ = sides_.b();
    context.commands.push_back(InterleavedOrder{.a = sides_.a().runs.front()->request,
                                                .b = sides_.b().runs.front()->request,
                                                .blocks = static_cast<int>(blocks_),
                                                .iterations = static_cast<int>(iterations_)});
  }
  ImGui::SameLine(0, theme.px(kGap));
  controls::drag_int(
      context, "compare.blocks", "blocks", blocks_, kMinBlocks, kMaxBlocks, kDefaultBlocks,
      {.tooltip = fmt::format("A and B together; fewer than {} give no verdict on the step. Stages "
                              "and kernels need more: their rows say how many",
                              profiling::fewest_blocks()),
       .width = theme.px(44)});
  blocks_ += blocks_ % 2;
  ImGui::SameLine(0, theme.px(kGap));
  controls::drag_int(context, "compare.iterations", "iterations each", iterations_, 1,
                     engine::kMaxIterations, 20,
                     {.tooltip = "Iterations per block", .width = theme.px(52)});
}

std::string ComparePanel::again_refusal(const SessionView& view) const {
  std::string why = worker_refusal(view);
  return why.empty() ? sides_refusal() : why;
}

std::string ComparePanel::sides_refusal() const {
  if (sides_.ready()) return {};
  return sides_.offered().size() < 2 ? "Two runs are needed, to be A and B"
                                     : "Choose A and B first";
}

std::string ComparePanel::refusal(const SessionView& view, std::string_view button) {
  if (button == "compare.swap") {
    sides_.follow(view);
    return sides_refusal();
  }
  if (view.batch.id != 0 && view.batch.state == BatchState::Running) {
    return "A and B, or a sweep, are being measured";
  }
  if (button == "frontier.start") return worker_refusal(view);
  sides_.follow(view);
  return again_refusal(view);
}

std::string ComparePanel::error_of(const BatchStatus& batch) const {
  if (batch.kind != profiling::GroupKind::Interleaved || batch.error.empty()) return {};
  // Another pair may not be refused.
  const bool refused = batch.id == 0;
  if (refused && !(sides_.a() == asked_a_ && sides_.b() == asked_b_)) return {};
  return fmt::format("A and B were not measured: {}", batch.error);
}

float ComparePanel::draw_refusal(const PanelContext& context, const Area& area) const {
  const std::string text = error_of(context.view.batch);
  if (text.empty()) return 0.0F;
  const Theme& theme = context.theme;
  const ImFont* font = theme.fonts.body;
  const std::string lines = broken_at_spaces(font, text, area.size.x);
  const float height = shown_size(font, lines, area.size.x).y;
  draw_shown(ImGui::GetWindowDrawList(), font, area.at, theme.colors.bad, lines, area.size.x);
  controls::record(context, "compare.error", "error", "text", text, area.at,
                   ImVec2(area.end().x, area.at.y + height));
  return height + theme.px(kGap);
}

void ComparePanel::draw_nothing(const PanelContext& context, const Area& area) {
  ImGui::SetCursorScreenPos(area.at);
  const bool one = context.view.runs.size() == 1;
  if (context.view.link.state == LinkState::Lost || context.view.from_file) {
    if (draw_empty(context, area.size, "Two runs are needed",
                   "Open a recording with two or more runs, or one to compare with the current "
                   "run. A recording ships with the program.",
                   "compare.sample", "Open the shipped recording")) {
      context.commands.push_back(OpenShipped{kExampleRecording});
    }
    return;
  }
  if (draw_empty(context, area.size, one ? "One run so far" : "Nothing to compare yet",
                 one ? "Change something in the rail and run again, or run the same again: "
                       "the two then appear here side by side."
                     : "Run twice with different settings, or open a recording: the last two runs "
                       "appear here side by side.",
                 "compare.run_now", one ? "Run once more" : "Run now")) {
    context.commands.push_back(Action::Run);
  }
}

void ComparePanel::draw_figures(const PanelContext& context, const Area& area) {
  const Theme& theme = context.theme;
  ImGui::SetCursorScreenPos(area.at);
  const profiling::TimeDifference& step = model_.comparison()->step;
  const std::string reason = in_rail_words(step.reason);
  // If the work differs, a difference is not an effect of a setting.
  const bool known = step.comparable() && std::isfinite(step.ratio);
  std::vector<Figure> figures;
  figures.push_back(
      {.id = "compare.verdict",
       .label = step.verdict == profiling::TimeVerdict::SameStep ? "A and B ran the"
                : step.comparable()                              ? "B is"
                                                                 : "no verdict",
       .value = {std::string(engine::name_of(step.verdict)), ""},
       .note = !step.unmet.empty()                 ? step.unmet
               : std::isfinite(step.control_ratio) ? fmt::format("p {:.2g}", step.block_p)
                                                   : std::string(),
       .tooltip =
           reason + (std::isfinite(step.control_ratio)
                         ? "\np: how probable it is that equal settings order the blocks of A "
                           "and B like this, or more clearly (rank-sum test)"
                         : ""),
       .color = verdict_color(step.verdict, theme)});
  figures.push_back(
      {.id = "compare.difference",
       .label = "step of B against A",
       .value = {known ? plot::percent_change(step.ratio) : "n/a", known ? "%" : ""},
       .note = !known || std::isnan(step.interval.low)
                   ? ""
                   : fmt::format("{} to {} %", plot::percent_change(step.interval.low),
                                 plot::percent_change(step.interval.high)),
       .tooltip =
           step.comparable() ? "Difference of the medians, with its 95 % interval" : reason});
  const auto side = [&](const char* id, const char* name, double median, std::size_t n,
                        std::size_t color) {
    figures.push_back({.id = id,
                       .label = name,
                       .value = plot::duration(n == 0 ? std::nan("") : median),
                       .note = fmt::format("n {}", n),
                       .tooltip = "Median of the timed iterations",
                       .color = theme.series(color)});
  };
  side("compare.median_a", "A, median step", step.median_a, step.n_a, 0);
  side("compare.median_b", "B, median step", step.median_b, step.n_b, 1);
  if (std::isfinite(step.control_ratio)) {
    figures.push_back({.id = "compare.control",
                       .label = "A against itself",
                       .value = {plot::percent_change(step.control_ratio), "%"},
                       .tooltip = "Even blocks of A against odd ones; a difference must be "
                                  "larger"});
  }
  draw_headline(context, figures, area.size.x);
  // In words, under the figures: the reason, then what kept weights change.
  const float line = theme.fonts.label->FontSize;
  const Area below = area.below(headline_height(theme) + theme.px(2));
  draw_text_line(
      context, {below.at, ImVec2(area.size.x, line)},
      {.id = "compare.reason", .label = "why", .text = reason, .color = theme.colors.dim_text});
  if (model_.kept_weights().empty()) return;
  draw_text_line(context, {below.below(line + theme.px(2)).at, ImVec2(area.size.x, line)},
                 {.id = "compare.kept_weights",
                  .label = "break-even count of micro-batches",
                  .text = model_.kept_weights(),
                  .color = theme.colors.text});
}

void ComparePanel::draw_pair(const PanelContext& context, const Area& area) {
  const Theme& theme = context.theme;
  const float gap = theme.px(kGap);
  if (!sides_.ready()) return draw_nothing(context, area);
  const bool backward =
      sides_.a().runs.front()->result.backward && sides_.b().runs.front()->result.backward;
  const auto product = backward ? static_cast<engine::Product>(product_) : engine::Product::Fprop;
  model_.follow(sides_.a(), sides_.b(), product);
  model_.tick();  // a small pair is ready immediately
  if (model_.comparison() == nullptr) {
    ImGui::SetCursorScreenPos(area.at);
    draw_empty(context, area.size, "Comparing", "Statistics of both runs are being computed.");
    return;
  }
  if (rows_for_ != model_.generation() || theme_kind_ != context.theme.kind) {
    rows_for_ = model_.generation();
    theme_kind_ = context.theme.kind;
    model_.make_rows(theme);
    times_table_.selected = -1;
  }
  const float line = theme.fonts.label->FontSize + theme.px(2);
  const float lines = model_.kept_weights().empty() ? 1.0F : 2.0F;
  const float figures = headline_height(theme) + lines * line + theme.px(4);
  draw_figures(context, {area.at, ImVec2(area.size.x, figures)});
  const Area cards = area.below(figures + gap);
  if (is_small(context, room_)) return draw_page(context, cards);
  const float width = theme.px(200);
  const float height = theme.px(110);
  board_.draw(context, cards,
              {.id = "compare.cards",
               .columns = true,
               .parts = {{0.42F, width, {{0.42F, height}, {0.58F, height}}},
                         {0.58F, width, {{0.48F, height}, {0.52F, height}}}},
               .caption =
                   [this] {
                     const auto side = [](const char* name, const CompareSide& one) {
                       const engine::RunResult& result = one.runs.front()->result;
                       return name + request_caption(result.effective, result.device);
                     };
                     return side("A: ", sides_.a()) + "\n" + side("B: ", sides_.b());
                   }},
              {[&](const Area&) { return settings_card(); },
               [&](const Area& room) { return overlay_card(context, room); },
               [&](const Area&) { return experts_card(context); },
               [&](const Area&) { return times_card(); }});
}

std::optional<PageSubject> ComparePanel::subject() const {
  if (view_ == 1) return frontier_.subject();
  std::string words = "Two runs side by side";
  if (view_ == 0 && sides_.ready()) {
    const auto& [a, b] = names_.of(sides_.a(), sides_.b());
    words = fmt::format("{}   against   {}", a, b);
  }
  return PageSubject{.words = std::move(words), .answers_request = false};
}

const SideNames::Pair& SideNames::of(const CompareSide& a, const CompareSide& b) {
  if (a_ == a.runs && b_ == b.runs) return names_;
  a_ = a.runs;
  b_ = b.runs;
  const std::vector<std::string> names = summaries_of(
      std::array<const engine::RunRequest*, 2>{&a.runs.front()->request, &b.runs.front()->request});
  const auto name = [](const std::string& summary, const CompareSide& side) {
    const std::size_t blocks = side.runs.size();
    return blocks == 1 ? summary : fmt::format("{}, {} blocks", summary, blocks);
  };
  names_ = {.a = "A: " + name(names[0], a), .b = "B: " + name(names[1], b)};
  return names_;
}

std::optional<PageComparison> ComparePanel::compared() const {
  if (view_ != 0 || !sides_.ready()) return std::nullopt;
  const CompareSide& a = sides_.a();
  const CompareSide& b = sides_.b();
  return PageComparison{.a = a.title, .b = b.title, .runs_a = a.runs, .runs_b = b.runs};
}

void ComparePanel::draw_page(const PanelContext& context, const Area& area) {
  switch (page_) {
    case 0:
      return draw_card(context, area, times_card());
    case 1:
      return draw_card(context, area, overlay_card(context, area));
    case 2:
      return draw_card(context, area, experts_card(context));
    case 3:
      return draw_card(context, area, settings_card());
    default:
      ImGui::SetCursorScreenPos(area.at);
      return draw_again(context, area.size.x);
  }
}

void ComparePanel::draw(const PanelContext& context, ImVec2 size) {
  const Theme& theme = context.theme;
  const float gap = theme.px(kGap);
  const float row = theme.px(kRowHeight);
  const Area area{ImGui::GetCursorScreenPos(), size};
  sides_.follow(context.view);
  controls::segmented(context, "compare.part", view_, {"A and B", "Frontier"},
                      {.tooltip = "Two runs side by side, or accuracy against time over a sweep",
                       .width = theme.px(kPickerWidth)});
  const float taken = theme.px(kPickerWidth) + 2.0F * gap;
  const Area first{ImVec2(area.at.x + taken, area.at.y), ImVec2(area.size.x - taken, row)};
  const float below = row + gap;
  if (view_ == 1) {
    const std::optional<FrontierWish> wish = frontier_.draw(context, area, taken);
    if (!wish) return;
    CompareSide side = SideChoice::side_of(wish->run);
    wish->make_a ? sides_.choose_a(std::move(side)) : sides_.choose_b(std::move(side));
    return;
  }
  ImGui::SetCursorScreenPos(first.at);
  room_ = size;
  if (is_small(context, size)) {
    controls::combo(context, "compare.page", "", page_,
                    {"Times", "Both", "Per expert", "Settings", "Measure again"},
                    {.tooltip = "There is room for only one at a time", .width = first.size.x});
  } else {
    draw_again(context, first.size.x);
  }
  const float said = draw_refusal(context, area.below(below));
  draw_pickers(context, {ImVec2(area.at.x, area.at.y + below + said), ImVec2(area.size.x, row)});
  draw_pair(context, area.below(2.0F * below + said));
}

std::unique_ptr<PagePanel> make_compare_panel(const std::function<void()>& wake) {
  return std::make_unique<ComparePanel>(wake);
}

}  // namespace app
