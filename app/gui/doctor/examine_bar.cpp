#include "app/gui/doctor/examine_bar.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/theme/text.h"
#include "profiling/hazards/model/gallery_catalogue.h"
#include "profiling/power/step_times.h"
#include "profiling/trace/statistics.h"

namespace app {
namespace {

constexpr float kTwoRows = 900.0F;  // grid pixels that the longer row takes
constexpr const char* kNoCase = "Choose a case of the gallery first";

}  // namespace

double deadline_of(DeadlineMode mode, double factor, double seconds, double p99_seconds) {
  switch (mode) {
    case DeadlineMode::Automatic:
      return 0.0;
    case DeadlineMode::Percentile:
      return factor * p99_seconds;
    case DeadlineMode::Seconds:
      return seconds;
  }
  return 0.0;
}

const profiling::HazardCase* ExamineBar::gallery_case() const {
  const std::vector<profiling::HazardCase>& cases = profiling::hazard_cases();
  const auto index = static_cast<std::size_t>(case_);
  return in_gallery() && case_ >= 0 && index < cases.size() ? &cases[index] : nullptr;
}

std::optional<profiling::GallerySubject> ExamineBar::gallery_subject() const {
  const profiling::HazardCase* one = gallery_case();
  if (one == nullptr) return std::nullopt;
  return profiling::GallerySubject{.id = one->id, .healthy = healthy_};
}

bool ExamineBar::is_about(const std::string& subject) const {
  if (!in_gallery()) return true;
  const std::optional<profiling::GallerySubject> chosen = gallery_subject();
  return chosen && profiling::gallery_subject(subject) == chosen;
}

void ExamineBar::choose_case(const profiling::HazardCase* one) {
  kind_ = 1;
  case_ = one == nullptr ? -1 : static_cast<int>(one - profiling::hazard_cases().data());
}

void ExamineBar::follow(const std::string& subject) {
  const auto examined = profiling::gallery_subject(subject);
  kind_ = examined ? 1 : 0;
  if (!examined) return;
  choose_case(profiling::find_hazard_case(examined->id));
  healthy_ = examined->healthy;
}

double ExamineBar::p99_seconds(const PanelContext& context) const {
  if (context.view.run == nullptr) return 0.0;
  if (p99_generation_ != context.view.run_generation) {
    p99_generation_ = context.view.run_generation;
    const std::vector<double> times_ns =
        profiling::durations_ns(context.view.run->result.iterations);
    p99_seconds_ = times_ns.empty() ? 0.0 : profiling::quantile(times_ns, 0.99) / 1e9;
  }
  return p99_seconds_;
}

VisitOrder ExamineBar::order(const PanelContext& context, bool prove,
                             std::vector<std::string> rules) const {
  VisitOrder order;
  order.subject.request = context.view.requested;
  if (const profiling::HazardCase* one = gallery_case()) {
    order.subject.gallery_case = one->id;
    order.subject.healthy = healthy_;
  }
  order.options.prove = prove;
  order.options.rules = std::move(rules);
  order.options.markers = markers_;
  order.options.deadline_seconds =
      deadline_of(static_cast<DeadlineMode>(deadline_), static_cast<double>(factor_),
                  static_cast<double>(seconds_), p99_seconds(context));
  return order;
}

VisitOrder ExamineBar::order_for(const PanelContext& context, const GraphScene& scene,
                                 const std::string& rule) const {
  VisitOrder made = order(context, true, {rule});
  if (const auto subject = profiling::gallery_subject(scene.report()->snapshot.subject)) {
    made.subject.gallery_case = subject->id;
    made.subject.healthy = subject->healthy;
  } else {
    made.subject.gallery_case.clear();
    made.uses_current_request = scene.request() == nullptr;
    if (!made.uses_current_request) made.subject.request = *scene.request();
  }
  return made;
}

void ExamineBar::draw_subject(const PanelContext& context, float row, bool narrow) {
  const Theme& theme = context.theme;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  controls::segmented(context, "doctor.subject", kind_, {"request in the rail", "gallery"},
                      {.tooltip = "What is captured and examined", .width = theme.px(230)});
  if (kind_ != 1 || narrow) draw_markers(context);
  if (kind_ != 1) return;
  std::vector<std::string> titles = {"Which case? By what you see"};
  for (const profiling::HazardCase& one : profiling::hazard_cases()) titles.push_back(one.title);
  int choice = case_ + 1;
  if (narrow) {
    ImGui::SetCursorScreenPos(ImVec2(at.x, at.y + row));
  } else {
    ImGui::SameLine(0, theme.px(kGap));
  }
  const float kept = theme.px(narrow ? 250 : 350);
  controls::combo(
      context, "doctor.case", "##case", choice, titles,
      {.tooltip = "Small programs with one known mistake each",
       .width = std::clamp(ImGui::GetContentRegionAvail().x - kept, theme.px(120), theme.px(380))});
  case_ = choice - 1;
  ImGui::SameLine(0, theme.px(kGap));
  controls::checkbox(context, "doctor.healthy", "healthy twin", healthy_,
                     {.tooltip = "The same program without the mistake"});
  ImGui::SameLine(0, theme.px(kGap));
  if (controls::button(
          context, "doctor.show_recorded", "Recorded visit",
          {.enabled = case_ >= 0 && !healthy_,
           .reason = case_ < 0 ? kNoCase : "Only visits to the faulty programs are recorded",
           .tooltip = "Shows the visit to this case that ships with the program; it was made on a "
                      "GPU, and showing it needs none"})) {
    show_recorded(context);
  }
  if (!narrow) draw_markers(context);
}

void ExamineBar::show_gallery(const PanelContext& context, const profiling::HazardCase& one) {
  choose_case(&one);
  healthy_ = false;
  show_recorded(context);
}

void ExamineBar::show_recorded(const PanelContext& context) const {
  if (const profiling::HazardCase* one = gallery_case()) {
    context.commands.push_back(ShowRecordedCase{one->id});
  }
}

void ExamineBar::draw_markers(const PanelContext& context) {
  ImGui::SameLine(0, context.theme.px(kGap));
  controls::checkbox(
      context, "doctor.markers", "markers", markers_,
      {.tooltip = "Every node writes a marker word when it is done, which shows how far a replay "
                  "got. The conclusion reports the measured cost"});
}

void ExamineBar::draw_deadline(const PanelContext& context) {
  const Theme& theme = context.theme;
  const double p99 = p99_seconds(context);
  {
    const TextColorScope color(theme.colors.dim_text);
    ImGui::AlignTextToFramePadding();
    show_text("Replay deadline");
  }
  controls::record(context, "doctor.deadline_label", "Replay deadline", "text", "",
                   ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
  ImGui::SameLine(0, theme.px(kGap));
  controls::segmented(
      context, "doctor.deadline", deadline_, {"automatic", "k x p99", "seconds"},
      {.tooltip = "How long one replay may take before it counts as hung", .width = theme.px(230)},
      {{.tooltip = "From the times of the eager launches"},
       {.enabled = p99 > 0.0,
        .reason = "There is no run with timed iterations to take the p99 from"},
       {}});
  if (deadline_ == 0) return;
  ImGui::SameLine(0, theme.px(kGap));
  if (deadline_ == 1) {
    controls::drag_float(
        context, "doctor.deadline_factor", "##k", factor_, 1.0F, 10000.0F, 20.0F,
        {.tooltip = fmt::format("Multiple of the 99th percentile of the run on screen: "
                                "{:.3g} s",
                                static_cast<double>(factor_) * p99),
         .width = theme.px(90)});
  } else {
    controls::drag_float(context, "doctor.deadline_seconds", "##s", seconds_, 0.01F, 3600.0F, 5.0F,
                         {.tooltip = "Seconds for one replay", .width = theme.px(90)});
  }
}

void ExamineBar::draw_buttons(const PanelContext& context, const GraphScene& scene) {
  std::string why = visit_refusal(context.view.doctor, context.view.link, context.view.hello);
  if (why.empty() && in_gallery() && case_ < 0) why = kNoCase;
  const auto next = [&] { ImGui::SameLine(0, context.theme.px(kGap)); };
  const auto starter = [&](const char* id, const char* label, const char* tooltip, bool prove) {
    if (controls::button(context, id, label,
                         {.enabled = why.empty(), .reason = why, .tooltip = tooltip})) {
      context.commands.push_back(order(context, prove, {}));
    }
  };
  if (context.view.doctor.busy) {
    if (controls::button(context, "doctor.cancel", "Cancel",
                         {.tooltip = "Ends the visit and the process of its experiment"})) {
      context.commands.push_back(CancelVisit{});
    }
  } else {
    starter("doctor.examine", "Examine", "Captures it and applies the rules; takes seconds", false);
    next();
    starter("doctor.prove", "Prove",
            "Examines it, then runs the experiments that prove or disprove findings", true);
  }
  next();
  if (controls::button(
          context, "doctor.open", "Open graph",
          {.tooltip = "Opens a file of cudaGraphDebugDotPrint() or of PyTorch's debug_dump(), "
                      "or a recording, and runs the rules on it"})) {
    context.commands.push_back(AskPath{FilePurpose::OpenGraph});
  }
  next();
  if (controls::button(context, "doctor.attach", "Attach",
                       {.tooltip = "Runs any program, or reads the record of one, and examines the "
                                   "graphs of its processes"})) {
    context.commands.push_back(Action::AttachToProgram);
  }
  next();
  if (controls::button(context, "doctor.export", "Export report",
                       {.enabled = scene.report() != nullptr,
                        .reason = kNoReport,
                        .tooltip = "As Markdown or JSON, depending on the file name"})) {
    context.commands.push_back(ExportReport{scene.shared_report()});
  }
}

float ExamineBar::draw(const PanelContext& context, ImVec2 at, float width,
                       const GraphScene& scene) {
  const Theme& theme = context.theme;
  const bool narrow = width < theme.px(kTwoRows);
  const float row = theme.px(kRowHeight + kGapSmall);
  const float gallery = kind_ == 1 ? 1.0F : 0.0F;
  const float rows = narrow ? 3.0F + gallery : 2.0F;
  ImGui::SetCursorScreenPos(at);
  ImGui::BeginChild("##doctor.bar", ImVec2(width, rows * row), false,
                    ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
  draw_subject(context, row, narrow);
  ImGui::SetCursorScreenPos(ImVec2(at.x, at.y + (narrow ? 1.0F + gallery : 1.0F) * row));
  draw_deadline(context);
  if (narrow) {
    ImGui::SetCursorScreenPos(ImVec2(at.x, at.y + (2.0F + gallery) * row));
  } else {
    ImGui::SameLine(0, theme.px(kGapSection));
  }
  draw_buttons(context, scene);
  ImGui::EndChild();
  return rows * row;
}

}  // namespace app
