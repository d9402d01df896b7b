// Performance: where the time of the step goes. Everything below the timeline follows its selected
// range.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "app/gui/cards/card_board.h"
#include "app/gui/cards/page.h"
#include "app/gui/panels/performance_model.h"
#include "app/gui/panels/recorded_steps_cards.h"
#include "app/gui/panels/time_notes.h"
#include "app/gui/panels/timeline_details.h"
#include "app/gui/panels/timeline_find.h"
#include "app/gui/plot/launch_plot.h"

namespace app {

class PerformancePanel : public PagePanel {
 public:
  explicit PerformancePanel(const std::function<void()>& wake) : model_(wake), find_(wake) {}
  bool tick() override;
  void draw(const PanelContext& context, ImVec2 size) override;
  void select(const Selection& selection) override { wanted_ = selection; }
  Selection selected() const override;
  bool close_front() override { return board_.restore(); }
  std::string refusal(const SessionView& view, std::string_view button) override;

 private:
  /// The pixels between which the time axis lies.
  struct PixelSpan {
    float left = 0.0F;
    float right = 0.0F;
  };
  void follow_run(const PanelContext& context);
  void draw_figures(const PanelContext& context, float width);
  void draw_cards(const PanelContext& context, const Area& area);
  /// With rows of `lane` grid pixels, of which at most `most` count.
  float timeline_height(const Theme& theme, float lane, std::size_t most) const;
  CardPlan stacked_plan(const Theme& theme) const;
  CardPlan wide_plan(const Theme& theme, float height) const;
  CardSpec replays_card(const PanelContext& context);
  std::string range_note() const;
  // performance_timeline_card.cpp
  void draw_heading_button(const PanelContext& context, const plot::LaneLabel& label);
  void collapse_by_keys(const PanelContext& context, const plot::TimelineResult& shown);
  void draw_lane_menus(const PanelContext& context, const plot::TimelineResult& shown);
  void order_export(const PanelContext& context, bool csv) const;
  CardSpec timeline_card(const PanelContext& context, const Area& area);
  void draw_timeline_widgets(const PanelContext& context, float width);
  std::string no_expert_lanes() const;  // why there are none
  void draw_timeline_content(const PanelContext& context, const Area& whole);
  PixelSpan draw_timeline(const PanelContext& context, ImVec2 size);
  /// The line that says what spans of stamped launches are; 0 = there are none, or other lanes.
  float stamped_caption_height(const Theme& theme) const;
  /// `launches`: with such spans in view.
  std::string stamped_caption(std::size_t launches) const;
  void draw_stamped_caption(const PanelContext& context, const Area& line,
                            std::size_t launches) const;
  /// Where the sum of a stage is drawn: on the next line where its own has no room.
  struct SumPlace {
    engine::Stage stage = engine::Stage::Other;
    std::string name{};
    std::string figure{};
    float name_width = 0.0F;  // with the gap before the figure
    float x = 0.0F;           // relative to the card's content
    int line = 0;
  };
  std::vector<SumPlace> place_stage_sums(const Theme& theme, float width) const;
  float stage_sums_height(const Theme& theme, float width) const;
  float sums_width_ = 1e6F;  // of the card that was drawn last: the plan comes before the card
  void draw_stage_sums(const PanelContext& context, float width);
  /// What the timeline alone shows: gaps between kernels, and where the time goes.
  std::string timeline_sentence() const;
  void choose(const std::optional<plot::TimelineEvent>& event);
  /// True if there are details to be shown of the event that was chosen last.
  bool follow_event();
  std::optional<plot::LaunchArrow> launch_arrow() const;
  // performance_experts_card.cpp
  CardSpec experts_card(const PanelContext& context, const Area& area);
  void draw_experts(const PanelContext& context, ImVec2 size);
  profiling::Table experts_list() const;
  std::string experts_value(int selected) const;
  std::string experts_note() const;
  std::string selected_note(int expert) const;
  std::string agreement_text() const;
  bool picture_names_only_stages() const;
  EmptyState no_experts(const PanelContext& context) const;
  void draw_expert_read_out(const PanelContext& context, int expert) const;
  /// Moves the timeline's view to the record, and shows a lane that has it.
  void bring_into_view(std::uint32_t record, bool legible);
  // performance_launch_card.cpp; only if the run has launches whose tiles left stamps
  static constexpr float kLaunchChoice = 210;
  CardSpec launch_card(const PanelContext& context);
  void draw_launch(const PanelContext& context, const Area& room);
  std::string launch_value(int selected) const;
  /// The chosen launch if this run has it, else the longest.
  std::size_t launch_index() const;
  // performance_power_strip.cpp
  float power_strip_height(const Theme& theme) const;
  /// Width of the clock's axis, right of the strip and so of the timeline; 0 = no axis.
  float power_axis_width(const Theme& theme) const;
  void save_power(const PanelContext& context) const;
  void draw_power_strip(const PanelContext& context, ImVec2 size, PixelSpan time_axis);
  // performance_roofline_card.cpp
  CardSpec roofline_card(const PanelContext& context);
  void draw_roofline(const PanelContext& context, ImVec2 size);
  CardSpec kernels_card(const PanelContext& context);
  CardSpec operations_card(const PanelContext& context);
  /// What the card beside the experts shows: what ran, or what the step consists of.
  void choose_work(const PanelContext& context);
  CardSpec durations_card(const PanelContext& context);

  PerformanceModel model_;
  CardBoard board_;
  RecordedStepsCards steps_;
  bool has_steps_ = false;  // the run's routing was recorded, so that its steps have cards
  bool has_run_ = false;
  WorkPulse pulse_;
  TimelineFind find_;
  plot::PlotView timeline_view_;
  std::optional<Selection> wanted_;           // until the run's records are sorted out
  std::optional<plot::TimelineEvent> event_;  // clicked, if it is no record: find_ has those
  std::optional<EventDetails> details_;
  std::optional<plot::TimelineEvent> detailed_;  // what they are of
  std::uint64_t detailed_generation_ = 0;        // of the model's run that event_ belongs to
  bool show_details_ = true;  // until they are closed, or another event is chosen
  TimeNotes notes_;
  plot::PlotView strip_view_;
  plot::TimelineBlocks timeline_blocks_;
  plot::TimelineMinimap minimap_;
  plot::LaneOrder lane_order_;
  plot::PlotView expert_view_;
  plot::PlotView iteration_view_;
  plot::PlotView row_view_;
  plot::PlotView roofline_view_;
  bool has_launches_ = false;
  std::optional<std::pair<engine::Stage, engine::WrittenValue>> launch_;  // kept from run to run
  plot::LaunchPlotState launch_plot_;
  int launch_every_ = 1;  // multiprocessors from one row of its picture to the next
  plot::TableState table_;
  plot::TableState operations_table_;
  bool shows_operations_ = false;
  StaleVeil veil_;
};

}  // namespace app
