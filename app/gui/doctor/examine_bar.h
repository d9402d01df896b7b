// What to examine and how: subject, deadline, and the buttons that start and end a visit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/gui/controls/panel_context.h"
#include "app/gui/graph/graph_scene.h"
#include "app/gui/graph/graph_words.h"
#include "profiling/hazards/model/gallery_catalogue.h"

namespace app {

/// Why no report can be exported.
inline constexpr char kNoReport[] = "There is no report yet";

enum class DeadlineMode { Automatic, Percentile, Seconds };
/// 0 = from the times of eager launches. `p99_seconds` of 0: not known.
double deadline_of(DeadlineMode mode, double factor, double seconds, double p99_seconds);

class ExamineBar {
 public:
  /// Draws two rows of controls, three or four where they have no room; returns the height used.
  float draw(const PanelContext& context, ImVec2 at, float width, const GraphScene& scene);
  /// Chooses the gallery and the case, and shows the recorded visit to it.
  void show_gallery(const PanelContext& context, const profiling::HazardCase& one);
  /// Null: none, the questions lead to one.
  void choose_case(const profiling::HazardCase* one);
  /// Chooses what was examined: a case of the gallery or its twin, else the request in the rail.
  void follow(const std::string& subject);
  /// The recorded visit to the chosen case, if one of the gallery is chosen.
  void show_recorded(const PanelContext& context) const;
  /// The subject as currently chosen, with experiments for findings of these rules (empty = all).
  VisitOrder order(const PanelContext& context, bool prove, std::vector<std::string> rules) const;
  /// Order that examines findings of one rule in the report on screen, whatever is currently
  /// chosen: of its own case if it is from the gallery, else of the request that its graph was
  /// captured for; if neither is known (an opened dot file), of the rail's request.
  VisitOrder order_for(const PanelContext& context, const GraphScene& scene,
                       const std::string& rule) const;
  bool in_gallery() const { return kind_ == 1; }
  /// Null outside the gallery, and until a case is chosen.
  const profiling::HazardCase* gallery_case() const;
  /// That case or its healthy twin.
  std::optional<profiling::GallerySubject> gallery_subject() const;
  /// Whether a report with this subject is about what is chosen. Outside the gallery any report is:
  /// the request in the rail is what would be examined next.
  bool is_about(const std::string& subject) const;
  bool healthy() const { return healthy_; }

 private:
  void draw_subject(const PanelContext& context, float row, bool narrow);
  void draw_deadline(const PanelContext& context);
  void draw_buttons(const PanelContext& context, const GraphScene& scene);
  /// Drawn after the previous control.
  void draw_markers(const PanelContext& context);
  /// 99th percentile of the run on screen; computed once per run.
  double p99_seconds(const PanelContext& context) const;

  int kind_ = 0;   // 0 the request in the rail, 1 a case of the gallery
  int case_ = -1;  // index into hazard_cases(); -1 = none
  bool healthy_ = false;
  bool markers_ = true;
  int deadline_ = 0;
  float factor_ = 20.0F;
  float seconds_ = 5.0F;
  mutable std::uint64_t p99_generation_ = 0;
  mutable double p99_seconds_ = 0.0;
};

}  // namespace app
