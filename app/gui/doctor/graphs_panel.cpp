// Graphs: replay against replay, the captured graph itself, the memory its nodes hold, and the
// graph doctor.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <utility>

#include "app/gui/cards/card_board.h"
#include "app/gui/cards/page.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/doctor/doctor_view.h"
#include "app/gui/doctor/replay_board.h"
#include "app/gui/doctor/report_sources.h"
#include "app/gui/graph/graph_scene.h"
#include "app/gui/graph/memory_view.h"
#include "app/gui/graph/node_details.h"
#include "app/gui/graph/topology_view.h"
#include "app/gui/panels/replays_view.h"

namespace app {
namespace {

/// Names of its views, in their order on screen.
constexpr std::array<std::string_view, 4> kReplayViews = {"replays", "topology", "memory",
                                                          "doctor"};

class GraphsPanel : public PagePanel {
 public:
  explicit GraphsPanel(const std::function<void()>& wake)
      : PagePanel(kReplayViews), scene_(wake), replays_(wake) {}
  void draw(const PanelContext& context, ImVec2 size) override;
  bool close_front() override;
  std::optional<PageSubject> subject() const override;
  std::string refusal(const SessionView& view, std::string_view /*button*/) override {
    sources_.follow(view);
    const ReportSource* const source = sources_.chosen();
    return source == nullptr || source->report == nullptr ? kNoReport : "";
  }
  bool tick() override {
    const bool replays = replays_.tick();
    const bool live = live_.tick();
    return scene_.tick() || replays || live;
  }

 private:
  void draw_tabs(const PanelContext& context, float width);
  void draw_scene(const PanelContext& context, const Area& area);
  void draw_replays(const PanelContext& context, const Area& area);
  void draw_no_scene(const PanelContext& context, ImVec2 size);
  void share_node(const PanelContext& context);

  std::string session_path_;
  int files_opened_ = 0;
  int followed_changes_ = 0;
  ReportSources sources_;
  GraphScene scene_;
  ReplaysView replays_;
  LiveReplay live_;
  TopologyView topology_;
  NodeDetails details_;
  MemoryView memory_;
  // Ids of the nodes that were chosen in the table of replays and in the graph; 0 = none.
  std::uint64_t node_in_table_ = 0;
  std::shared_ptr<const profiling::RecordedRun> shared_run_;  // whose nodes these are
  std::uint64_t node_in_graph_ = 0;
  CardBoard topology_board_;
  CardBoard memory_board_;
  DoctorView doctor_;
};

void GraphsPanel::draw_tabs(const PanelContext& context, float width) {
  const Theme& theme = context.theme;
  const float start = ImGui::GetCursorPosX();
  controls::segmented(context, "graphs.view", view_, {"Replays", "Topology", "Memory", "Doctor"},
                      {.width = std::min(theme.px(340), 0.6F * width)},
                      {{.tooltip = "Durations of the nodes, replay against replay"},
                       {.tooltip = "Which node waits for which"},
                       {.tooltip = "Which node holds addresses of which memory"},
                       {.tooltip = "What may make replays wrong or hang, and the proof"}});
  if (view_ == 0 || sources_.all().empty()) return;
  std::vector<std::string> labels;
  for (const ReportSource& source : sources_.all()) labels.push_back(source.label);
  int index = sources_.index();
  // The doctor does not show a report about another subject than the chosen case.
  const std::string unexamined = view_ == 3 ? doctor_.unexamined(scene_) : "";
  if (!unexamined.empty()) {
    index = static_cast<int>(labels.size());
    labels.push_back(unexamined);
  }
  const ReportSource* source = unexamined.empty() ? sources_.chosen() : nullptr;
  const std::vector<profiling::GraphSnapshot> none;
  const auto& graphs = source == nullptr ? none : source->report->snapshot.graphs;
  ImGui::SameLine(0, theme.px(kGapSection));
  const float left = width - (ImGui::GetCursorPosX() - start) - theme.px(kGap);
  const float graph_width = graphs.size() > 1 ? std::min(theme.px(140), 0.45F * left) : 0.0F;
  if (controls::combo(context, "graphs.source", "##source", index, labels,
                      {.tooltip = "Which captured graph topology, memory and doctor show",
                       .width = std::min(left - graph_width, theme.px(420))})) {
    sources_.choose(index);
  }
  if (graphs.size() < 2) return;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    names.push_back(graphs[i].variant_of < 0
                        ? fmt::format("{}  {}", i, graphs[i].name)
                        : fmt::format("{}  {}, other {}", i, graphs[i].name, graphs[i].changed));
  }
  int graph = scene_.graph_index();
  ImGui::SameLine(0, theme.px(kGap));
  if (controls::combo(context, "graphs.graph", "##graph", graph, names,
                      {.tooltip = "One of the captured graphs", .width = graph_width})) {
    scene_.show_graph(graph);
  }
}

void GraphsPanel::draw_no_scene(const PanelContext& context, ImVec2 size) {
  if (context.view.doctor.examines_run) {
    draw_empty(context, size, "Examining the graph", "The rules are applied to the run's graph.");
    return;
  }
  std::string sentence =
      "A run with graph replay on a GPU captures one, and so does a visit to the doctor. Without a "
      "GPU a file of cudaGraphDebugDotPrint(), a recording, and the recorded visits to the gallery "
      "can be opened: choose Doctor.";
  if (context.view.run != nullptr && !context.view.run->activity.nodes.empty()) {
    sentence = "This recording was made before snapshots were recorded. " + sentence;
  }
  if (draw_empty(context, size, "No captured graph", sentence, "graphs.recorded",
                 "See a recorded visit")) {
    doctor_.show_gallery(context);
    view_ = 3;
  }
}

void GraphsPanel::draw_scene(const PanelContext& context, const Area& area) {
  if (view_ == 3) {
    doctor_.draw(context, area, scene_, sources_);
    return;
  }
  ImGui::SetCursorScreenPos(area.at);
  if (scene_.report() == nullptr) {
    draw_no_scene(context, area.size);
    return;
  }
  // Large text leaves no room for two cards side by side.
  const Theme& theme = context.theme;
  const bool narrow = area.size.x < theme.px(620);
  const auto plan = [&](const char* id) {
    return CardPlan{
        .id = id,
        .columns = !narrow,
        .parts = {{narrow ? 0.6F : 0.65F, theme.px(200)}, {narrow ? 0.4F : 0.35F, theme.px(140)}},
        .caption = [this] { return scene_.caption(); }};
  };
  const auto details = [&](const Area&) { return details_.card(context, scene_); };
  if (view_ == 2) {
    return memory_board_.draw(
        context, area, plan("memory.cards"),
        {[&](const Area& room) { return memory_.card(context, room, scene_); }, details});
  }
  const ReportSource* source = sources_.chosen();
  const bool live = source != nullptr && source->key == "now";
  const std::vector<profiling::NodeState> none;
  const auto& board = live ? context.view.doctor.progress.board : none;
  topology_board_.draw(
      context, area, plan("topology.cards"),
      {[&](const Area& room) { return topology_.card(context, room, scene_, board); }, details});
}

std::optional<PageSubject> GraphsPanel::subject() const {
  if (view_ == 0) return std::nullopt;
  if (const std::string none = view_ == 3 ? doctor_.unexamined(scene_) : ""; !none.empty()) {
    return PageSubject{.words = "Graph doctor · " + none, .answers_request = false};
  }
  const ReportSource* const source = sources_.chosen();
  if (source == nullptr ? view() != "doctor" : source->run != nullptr) return std::nullopt;
  return PageSubject{
      .words = "Graph doctor · " + (source == nullptr ? "nothing examined yet" : source->label),
      .answers_request = false};
}

bool GraphsPanel::close_front() {
  switch (view_) {
    case 1:
      return topology_board_.restore();
    case 2:
      return memory_board_.restore();
    case 3:
      return doctor_.close_front();
    default:
      return replays_.close_front();
  }
}

void GraphsPanel::draw_replays(const PanelContext& context, const Area& area) {
  Area rest = area;
  if (live_.follow(context.view.link)) {
    const float height = std::min(context.theme.px(150), 0.5F * area.size.y);
    live_.draw(context, {area.at, ImVec2(area.size.x, height)}, scene_);
    const float taken = height + context.theme.px(kGap);
    rest = {ImVec2(area.at.x, area.at.y + taken), ImVec2(area.size.x, area.size.y - taken)};
  }
  ImGui::SetCursorScreenPos(rest.at);
  replays_.draw(context, rest.size);
}

/// A node is chosen once, whichever view it was chosen in: the newer choice counts for both.
void GraphsPanel::share_node(const PanelContext& context) {
  if (context.view.run == nullptr || scene_.run() != context.view.run) return;
  // What was chosen in the graph waits for the table of this run: another run's has other nodes.
  if (!replays_.shows(*context.view.run)) return;
  const bool other_table = std::exchange(shared_run_, context.view.run) != context.view.run;
  const bool in_graph = scene_.node_id() != node_in_graph_;
  // In another run's table the same row is another node, which nobody has chosen.
  if (replays_.chosen_node() != node_in_table_ && !(other_table && in_graph)) {
    scene_.choose_node_by_id(replays_.chosen_node());
  } else if (in_graph) {
    replays_.choose_node(scene_.node_id());
  }
  node_in_table_ = replays_.chosen_node();
  node_in_graph_ = scene_.node_id();
}

void GraphsPanel::draw(const PanelContext& context, ImVec2 size) {
  sources_.follow(context.view);
  if (std::exchange(files_opened_, context.view.doctor.files_opened) !=
          context.view.doctor.files_opened &&
      view_ == 0) {
    view_ = 3;
  }
  // A recording that has only visits has nothing else to show.
  const std::string path = context.view.path_on_screen();
  if (std::exchange(session_path_, path) != path && context.view.run == nullptr &&
      !context.view.visits.empty()) {
    view_ = 3;
  }
  if (view_ == 3) sources_.prefer_visit(context.view);
  const ReportSource* source = sources_.chosen();
  scene_.show(source == nullptr ? nullptr : source->report,
              source == nullptr ? nullptr : source->run,
              source == nullptr ? nullptr : source->request);
  scene_.tick();
  if (followed_changes_ != sources_.changes() && scene_.report() != nullptr) {
    followed_changes_ = sources_.changes();
    doctor_.follow(*scene_.report());
  }
  const Theme& theme = context.theme;
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  draw_tabs(context, size.x);
  const float top = origin.y + theme.px(kRowHeight + kGap);
  const Area area{ImVec2(origin.x, top), ImVec2(size.x, origin.y + size.y - top)};
  if (view_ == 0) {
    draw_replays(context, area);
  } else {
    draw_scene(context, area);
  }
  share_node(context);
}

}  // namespace

std::unique_ptr<PagePanel> make_graphs_panel(const std::function<void()>& wake) {
  return std::make_unique<GraphsPanel>(wake);
}

}  // namespace app
