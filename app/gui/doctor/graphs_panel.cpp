// Graphs: replay against replay, the captured graph itself, the memory its nodes hold, and the
// graph doctor.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <utility>

#include "app/doctor/opened_report.h"
#include "app/gui/cards/card_board.h"
#include "app/gui/cards/page.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/doctor/doctor_view.h"
#include "app/gui/doctor/replay_board.h"
#include "app/gui/graph/graph_scene.h"
#include "app/gui/graph/memory_view.h"
#include "app/gui/graph/node_details.h"
#include "app/gui/graph/topology_view.h"
#include "app/gui/panels/replays_view.h"

namespace app {
namespace {

struct ReportSource {
  std::string key;    // "run", "file", "recorded", "now", "visit 3": stable as long as it exists
  std::string label;  // as displayed
  GraphScene::Report report;
  GraphScene::Run run;          // supplies node durations; null = not known
  GraphScene::Request request;  // the step's request; null = not known
};

/// Which captured graph the views show: the run's, an opened file's, or a visit's. A new one is
/// shown at once; after that the user chooses.
class ReportSources {
 public:
  void follow(const SessionView& view);
  const std::vector<ReportSource>& all() const { return all_; }
  /// Null if there is none.
  const ReportSource* chosen() const;
  int index() const;
  void choose(int index);
  /// How often another one was put on screen, by the user or because it is new.
  int changes() const { return changes_; }

 private:
  void put_on_screen(std::string key);

  std::vector<ReportSource> all_;
  std::string key_;
  int changes_ = 0;
  std::size_t visits_ = 0;
  std::string session_path_;
  int files_opened_ = 0;
  int recorded_shown_ = 0;
  bool busy_ = false;
};

void ReportSources::follow(const SessionView& view) {
  all_.clear();
  const DoctorState& news = view.doctor;
  if (news.run_report != nullptr) {
    all_.push_back(
        {"run", "graph of the run on screen", news.run_report, view.run,
         view.run == nullptr ? nullptr : GraphScene::Request(view.run, &view.run->request)});
  }
  for (std::size_t i = 0; i < view.visits.size(); ++i) {
    const auto& visit = view.visits[i];
    // The report lives as long as the visit it is part of.
    all_.push_back({fmt::format("visit {}", i + 1),
                    fmt::format("visit {}: {}", i + 1, visit->report.snapshot.subject),
                    GraphScene::Report(visit, &visit->report), nullptr,
                    GraphScene::Request(visit, examined_request(*visit))});
  }
  if (news.file_report != nullptr) {
    all_.push_back({"file", "file: " + news.file_report->snapshot.subject, news.file_report,
                    nullptr, nullptr});
  }
  if (news.recorded_case != nullptr) {
    const profiling::DoctorReport& report = news.recorded_case->report;
    all_.push_back(
        {"recorded",
         fmt::format("recorded on {}: {}", report.snapshot.device, report.snapshot.subject),
         GraphScene::Report(news.recorded_case, &report), nullptr, nullptr});
  }
  if (news.busy && news.so_far != nullptr) {
    all_.push_back({"now", "in progress: " + news.subject, news.so_far, nullptr, nullptr});
  }
  const std::string path = view.path_on_screen();
  const bool another_session = std::exchange(session_path_, path) != path;
  const std::size_t visits = std::exchange(visits_, view.visits.size());
  if (view.visits.size() > visits && !another_session) {
    put_on_screen(fmt::format("visit {}", view.visits.size()));
  } else if (another_session && !view.visits.empty()) {
    // A proof says more than the rules can about any run's graph.
    const std::size_t first = most_certain(view.visits);
    if (news.run_report == nullptr || holds_proof(view.visits[first]->report)) {
      put_on_screen(fmt::format("visit {}", first + 1));
    }
  }
  if (std::exchange(files_opened_, news.files_opened) != news.files_opened) put_on_screen("file");
  if (std::exchange(recorded_shown_, news.recorded_shown) != news.recorded_shown) {
    put_on_screen("recorded");
  }
  if (!std::exchange(busy_, news.busy && news.so_far != nullptr) && busy_) put_on_screen("now");
}

void ReportSources::put_on_screen(std::string key) {
  key_ = std::move(key);
  ++changes_;
}

const ReportSource* ReportSources::chosen() const {
  const int at = index();
  return at < 0 ? nullptr : &all_[static_cast<std::size_t>(at)];
}

int ReportSources::index() const {
  const auto found = std::find_if(all_.begin(), all_.end(),
                                  [this](const ReportSource& one) { return one.key == key_; });
  if (found != all_.end()) return static_cast<int>(found - all_.begin());
  return all_.empty() ? -1 : 0;
}

void ReportSources::choose(int index) {
  const auto at = static_cast<std::size_t>(index);
  if (index >= 0 && at < all_.size()) put_on_screen(all_[at].key);
}

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
  const std::vector<profiling::GraphSnapshot>& graphs = sources_.chosen()->report->snapshot.graphs;
  ImGui::SameLine(0, theme.px(kGapSection));
  const float left = width - (ImGui::GetCursorPosX() - start) - theme.px(kGap);
  const float graph_width = graphs.size() > 1 ? std::min(theme.px(140), 0.45F * left) : 0.0F;
  if (controls::combo(context, "graphs.source", "##source", index, labels,
                      {.tooltip = "Which captured graph is shown",
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
    doctor_.draw(context, area, scene_);
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
  const ReportSource* source = sources_.chosen();
  scene_.show(source == nullptr ? nullptr : source->report,
              source == nullptr ? nullptr : source->run,
              source == nullptr ? nullptr : source->request);
  scene_.tick();
  if (std::exchange(followed_changes_, sources_.changes()) != sources_.changes() &&
      scene_.report() != nullptr) {
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
}

}  // namespace

std::unique_ptr<PagePanel> make_graphs_panel(const std::function<void()>& wake) {
  return std::make_unique<GraphsPanel>(wake);
}

}  // namespace app
