#include "app/page/visit_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "app/doctor/proof_records.h"
#include "app/doctor/report_words.h"
#include "app/plot/graph_facts.h"
#include "app/plot/pointer_arrays.h"
#include "engine/model/stage.h"
#include "profiling/document/quantity.h"
#include "profiling/hazards/model/names.h"

namespace app {
namespace {

using profiling::DoctorReport;
using profiling::Finding;
using profiling::GraphSnapshot;
using profiling::NodeRef;

constexpr std::size_t kMostNodes = 600;      // of a graph that is drawn
constexpr std::size_t kMostMemoryRows = 24;  // of memory that is listed
constexpr double kWidestPicture = 920;       // of the page
constexpr const char* kPageColor = "var(--page)";

/// What the pictures are about.
struct Subject {
  const DoctorReport& report;
  int graph = 0;
  const Finding* finding = nullptr;

  const GraphSnapshot& snapshot() const {
    return report.snapshot.graphs[static_cast<std::size_t>(graph)];
  }
  bool names(int node) const {
    return finding != nullptr &&
           std::ranges::find(finding->nodes, NodeRef{.graph = graph, .node = node}) !=
               finding->nodes.end();
  }
  /// Whether the finding names an address in this memory, held by this node; -1 = by any.
  bool names_memory(const engine::Allocation& memory, int node) const {
    if (finding == nullptr) return false;
    return std::ranges::any_of(finding->accesses, [&](const profiling::Access& access) {
      return access.node.graph == graph && (node < 0 || access.node.node == node) &&
             memory.holds(access.word);
    });
  }
};

// ---- Replays before and after ------------------------------------------------------------------

constexpr double kPanelWidth = 352;
constexpr double kCheckRow = 26;
constexpr double kOutputNames = 96;

/// Its outputs in the order in which they were checked.
std::vector<std::string> outputs_of(const profiling::Outcome& outcome) {
  std::vector<std::string> outputs;
  for (const profiling::OutputCheck& check : outcome.checks) {
    if (std::ranges::find(outputs, check.output) == outputs.end()) outputs.push_back(check.output);
  }
  return outputs;
}

void add_checks(SvgPicture& picture, double left, const char* when,
                const profiling::ExperimentRecord& record) {
  const std::vector<std::string> outputs = outputs_of(record.outcome);
  picture.text({left, kSvgTextSize}, when + record.title,
               {.room = kPanelWidth - 8, .strong = true});
  picture.text({left, kSvgTextSize + kSvgLineHeight}, symptom_of(record.experiment, record.outcome),
               {.color = failed(record.outcome) ? kSvgBad : kSvgGood, .room = kPanelWidth - 8});
  int replays = 1;
  for (const profiling::OutputCheck& check : record.outcome.checks) {
    replays = std::max(replays, check.replay);
  }
  const double top = 3 * kSvgLineHeight;
  const double width = std::min((kPanelWidth - 8 - kOutputNames) / replays, 40.0);
  for (const profiling::OutputCheck& check : record.outcome.checks) {
    const auto row = std::ranges::find(outputs, check.output) - outputs.begin();
    const double y = top + static_cast<double>(row) * kCheckRow;
    if (check.replay < 1) continue;
    const double x = left + kOutputNames + width * (check.replay - 1);
    const int parts = std::max(check.parts, 1);
    const double part_height = (kCheckRow - 4) / parts;
    picture.box({.x = x, .y = y, .width = std::max(width - 2, 0.5), .height = kCheckRow - 4},
                {.fill = kSvgGood},
                check.wrong_parts.empty()
                    ? fmt::format("{}, replay {}: equal", check.output, check.replay)
                    : fmt::format("{}, replay {}: {} of {} parts differ", check.output,
                                  check.replay, check.wrong_parts.size(), parts));
    for (const int part : check.wrong_parts) {
      if (part < 0 || part >= parts) continue;
      picture.box({.x = x,
                   .y = y + part_height * part,
                   .width = std::max(width - 2, 0.5),
                   .height = part_height},
                  {.fill = kSvgBad});
    }
  }
  for (std::size_t row = 0; row < outputs.size(); ++row) {
    picture.text({left, top + static_cast<double>(row) * kCheckRow + 15}, outputs[row],
                 {.color = kSvgDim, .room = kOutputNames - 6});
  }
  if (outputs.empty()) return;
  const double foot = top + static_cast<double>(outputs.size()) * kCheckRow + kSvgTextSize;
  picture.text({left + kOutputNames, foot},
               replays == 1 ? std::string("replay 1") : fmt::format("replay 1 to {}", replays),
               {.color = kSvgDim});
}

/// Those that show the first finding's fault, and beside them those of its cure, if it was tried.
void write_checks(const DoctorReport& report, HtmlPage& page) {
  const ProofRecords proof = records_of(report, 0);
  if (proof.shows < 0) return;
  const auto& before = report.experiments[static_cast<std::size_t>(proof.shows)];
  const auto* after =
      proof.cures < 0 ? nullptr : &report.experiments[static_cast<std::size_t>(proof.cures)];
  std::size_t rows = outputs_of(before.outcome).size();
  if (after != nullptr) rows = std::max(rows, outputs_of(after->outcome).size());
  if (rows == 0) return;
  const std::string title = after == nullptr ? "Replays" : "Replays before and after the cure";
  SvgPicture picture(2 * kPanelWidth, 4 * kSvgLineHeight + static_cast<double>(rows) * kCheckRow,
                     title);
  add_checks(picture, 4, after == nullptr ? "" : "before: ", before);
  if (after != nullptr) add_checks(picture, kPanelWidth + 4, "after: ", *after);
  page.picture(picture, title,
               "Each column is a replay, each row an output, compared bit for bit with eager "
               "launches. Green: equal; red: the parts that differ");
}

// ---- The graph ---------------------------------------------------------------------------------

class TopologyDrawing {
 public:
  explicit TopologyDrawing(const Subject& subject)
      : subject_(subject), layout_(lay_out(subject.snapshot())) {
    constexpr double kTallest = 20.0;  // of a box
    constexpr double kAcross = 32.0;   // a title of 35 characters fits into a box
    across_ = std::min(kAcross, (kWidestPicture - 2 * kMargin) /
                                    std::max(static_cast<double>(layout_.width), 1.0));
    scale_ = std::min(kTallest, across_);
  }

  SvgPicture draw() {
    SvgPicture picture(
        std::max(across_ * static_cast<double>(layout_.width) + 2 * kMargin, kSvgWidth),
        scale_ * static_cast<double>(layout_.height) + 2 * kMargin + kLegend, "The captured graph");
    for (const profiling::SnapshotEdge& edge : subject_.snapshot().edges) add_edge(picture, edge);
    for (std::size_t node = 0; node < layout_.places.size(); ++node) {
      add_node(picture, static_cast<int>(node));
    }
    add_legend(picture);
    return picture;
  }

 private:
  static constexpr double kMargin = 6;
  static constexpr double kLegend = kSvgLineHeight + 4;

  SvgBox box_of(int node) const {
    const GraphLayout::Place& place = layout_.places[static_cast<std::size_t>(node)];
    const double width = across_ * static_cast<double>(GraphLayout::kBoxWidth);
    return {.x = kMargin + across_ * static_cast<double>(place.x) - 0.5 * width,
            .y = kMargin + kLegend + scale_ * (static_cast<double>(place.y) - 0.5),
            .width = width,
            .height = scale_};
  }

  void add_edge(SvgPicture& picture, const profiling::SnapshotEdge& edge) const {
    const auto count = static_cast<int>(layout_.places.size());
    if (edge.from < 0 || edge.to < 0 || edge.from >= count || edge.to >= count) return;
    const SvgBox from = box_of(edge.from);
    const SvgBox to = box_of(edge.to);
    const bool full = edge.kind == profiling::EdgeKind::Full;
    const bool down = layout_.places[static_cast<std::size_t>(edge.from)].band <
                      layout_.places[static_cast<std::size_t>(edge.to)].band;
    const SvgPoint start = down ? SvgPoint{from.x + 0.5 * from.width, from.bottom()}
                                : SvgPoint{from.right(), from.y + 0.5 * from.height};
    const SvgPoint tip =
        down ? SvgPoint{to.x + 0.5 * to.width, to.y} : SvgPoint{to.x, to.y + 0.5 * to.height};
    picture.arrow(start, tip, {.stroke = full ? kSvgDim : kSvgWarn, .dashes = full ? "" : "6 4"});
  }

  void add_node(SvgPicture& picture, int node) const {
    const profiling::SnapshotNode& one = subject_.snapshot().nodes[static_cast<std::size_t>(node)];
    const SvgBox box = box_of(node);
    const std::string title =
        node_title(subject_.report.snapshot, {.graph = subject_.graph, .node = node});
    const bool named = subject_.names(node);
    picture.box(box,
                {.fill = kSvgRaised,
                 .stroke = named ? SvgColor(kSvgBad) : svg_stage_color(one.stage),
                 .width = named ? 2.5 : 1.0},
                fmt::format("node {}: {}  {}", node, title, one.name), 3);
    picture.box({.x = box.x, .y = box.y, .width = 0.25 * scale_, .height = scale_},
                {.fill = svg_stage_color(one.stage)});
    constexpr double kReadable = 14.0;
    if (scale_ < kReadable) return;
    picture.text({box.x + 0.25 * scale_ + 4, box.y + 0.5 * scale_ + 0.35 * kSvgTextSize}, title,
                 {.room = box.width - 0.25 * scale_ - 8});
  }

  void add_legend(SvgPicture& picture) const {
    std::set<engine::Stage> stages;
    for (const profiling::SnapshotNode& node : subject_.snapshot().nodes) stages.insert(node.stage);
    double x = kMargin;
    const auto add = [&](const std::string& name, const SvgPaint& paint) {
      const double width = svg_text_width(name) + 26;
      if (x + width > picture.width()) return;
      picture.box({.x = x + 1, .y = 4, .width = 9, .height = 9}, paint);
      picture.text({x + 14, 4 + 9}, name);
      x += width;
    };
    if (subject_.finding != nullptr && !subject_.finding->nodes.empty()) {
      add("named by " + subject_.finding->rule,
          {.fill = kPageColor, .stroke = kSvgBad, .width = 2});
    }
    for (const engine::Stage stage : stages) {
      add(std::string(engine::stage_name(stage)), {.fill = svg_stage_color(stage)});
    }
  }

  const Subject& subject_;
  GraphLayout layout_;
  double across_ = 1.0;  // pixels of a unit of the layout
  double scale_ = 1.0;   // the same from top to bottom
};

// ---- Memory ------------------------------------------------------------------------------------

constexpr double kMemoryRow = 18;
constexpr double kMemoryNames = 250;
constexpr double kMemoryBytes = 320;      // right end
constexpr double kMemoryByReplays = 440;  // right ends, where replays were compared
constexpr double kMemoryByProgram = 510;
constexpr double kMemoryCells = 332;

struct MemoryPicture {
  SvgPicture picture{};
  std::string note{};
};

MemoryPicture memory_picture(const Subject& subject) {
  const profiling::Snapshot& snapshot = subject.report.snapshot;
  const GraphSnapshot& graph = subject.snapshot();
  const auto nodes = static_cast<double>(graph.nodes.size());
  MemoryMap map = map_memory(snapshot, subject.graph, subject.report.findings);
  std::erase_if(map.rows, [](const MemoryRow& row) { return row.cells.empty(); });
  if (map.rows.empty()) return {};
  const auto memory_of = [&](const MemoryRow& row) -> const engine::Allocation& {
    return snapshot.ledger[static_cast<std::size_t>(row.allocation)];
  };
  std::ranges::stable_partition(map.rows, [&](const MemoryRow& row) {
    return subject.names_memory(memory_of(row), -1) || row.red;
  });
  const std::size_t shown = std::min(map.rows.size(), kMostMemoryRows);
  SvgPicture picture(kSvgWidth, static_cast<double>(shown + 1) * kMemoryRow + 6,
                     "Memory that the nodes hold addresses of");
  const bool compared = !graph.compared.empty();
  const double cells = compared ? kMemoryByProgram + 12 : kMemoryCells;
  const double step = (kSvgWidth - cells - 6) / nodes;
  picture.text({4, kSvgTextSize}, "memory (role)", {.color = kSvgDim});
  picture.text({kMemoryBytes, kSvgTextSize}, "size",
               {.anchor = SvgWords::Anchor::End, .color = kSvgDim});
  const auto right = [&picture](double x, double y, const std::string& text) {
    picture.text({x, y}, text, {.anchor = SvgWords::Anchor::End, .color = kSvgDim});
  };
  if (compared) {
    right(kMemoryByReplays, kSvgTextSize, "changed by replays");
    right(kMemoryByProgram, kSvgTextSize, "by program");
  }
  picture.text({cells, kSvgTextSize}, "node 0", {.color = kSvgDim});
  if (graph.nodes.size() > 1) {
    picture.text({kSvgWidth - 6, kSvgTextSize}, fmt::format("{:.0f}", nodes - 1),
                 {.anchor = SvgWords::Anchor::End, .color = kSvgDim});
  }
  for (std::size_t i = 0; i < shown; ++i) {
    const MemoryRow& row = map.rows[i];
    const engine::Allocation& memory = memory_of(row);
    const double y = static_cast<double>(i + 1) * kMemoryRow;
    const std::string owner = profiling::allocation_name(memory);
    picture.text({4, y + 12}, fmt::format("{} ({})", owner, profiling::name_of(memory.role)),
                 {.color = row.red ? kSvgBad : kSvgText, .room = kMemoryNames});
    picture.text({kMemoryBytes, y + 12}, profiling::bytes_text(memory.bytes),
                 {.anchor = SvgWords::Anchor::End, .color = kSvgDim});
    if (compared) {
      right(kMemoryByReplays, y + 12, by_replays_text(row.changes));
      right(kMemoryByProgram, y + 12, by_program_text(row.changes));
    }
    picture.box({.x = cells, .y = y, .width = kSvgWidth - cells - 6, .height = kMemoryRow - 2},
                {.fill = kSvgRaised});
    for (const MemoryCell& cell : row.cells) {
      const bool red = cell.unordered_with >= 0;
      const bool named = subject.names_memory(memory, cell.node);
      picture.box({.x = cells + step * cell.node + (named ? 0.5 : 0.0),
                   .y = y + 1,
                   .width = std::max(step - 1, 1.0),
                   .height = kMemoryRow - 4},
                  {.fill = red ? kSvgBad : kSvgAccent,
                   .stroke = named ? kSvgText : "none",
                   .opacity = red || cell.writes ? 1.0 : 0.55,
                   .width = 1.5},
                  fmt::format("{}, {}", owner,
                              node_title(snapshot, {.graph = subject.graph, .node = cell.node})));
    }
  }
  const std::size_t others = map.rows.size() - shown;
  const std::string arrays = arrays_sentence(pointer_arrays(snapshot, graph, map));
  std::string note = "Blue: the node holds an address of it; full blue: it certainly writes there";
  if (map.clashes > 0) note += "; red: no order between two nodes that may touch it";
  if (subject.finding != nullptr && !subject.finding->accesses.empty()) {
    note += "; outlined: the address that the finding names";
  }
  if (others > 0) note += fmt::format(". {} more are not shown", others);
  const std::string measured = profiling::compared_sentences(snapshot, graph);
  if (!measured.empty()) note += ". " + measured.substr(0, measured.size() - 1);
  if (!arrays.empty()) note += ". " + arrays.substr(0, arrays.size() - 1);
  return {.picture = std::move(picture), .note = std::move(note)};
}

}  // namespace

void write_visit_pictures(const DoctorReport& report, HtmlPage& page) {
  write_checks(report, page);
  if (report.snapshot.graphs.empty()) return;
  Subject subject{.report = report,
                  .graph = 0,
                  .finding = report.findings.empty() ? nullptr : &report.findings.front()};
  if (subject.finding != nullptr && !subject.finding->nodes.empty()) {
    const int graph = subject.finding->nodes.front().graph;
    if (graph >= 0 && graph < std::ssize(report.snapshot.graphs)) subject.graph = graph;
  }
  const GraphSnapshot& graph = subject.snapshot();
  if (graph.nodes.empty()) return;
  if (graph.nodes.size() > kMostNodes) {
    return page.paragraph(
        fmt::format("The graph \"{}\" has {} nodes, too many for a picture on a page.", graph.name,
                    profiling::count_text(graph.nodes.size())));
  }
  page.picture(TopologyDrawing(subject).draw(),
               fmt::format("The captured graph \"{}\"", graph.name),
               "A node waits for those that point to it; dashed edges order no memory");
  const MemoryPicture memory = memory_picture(subject);
  page.picture(memory.picture, "Memory that the nodes hold addresses of", memory.note);
}

}  // namespace app
