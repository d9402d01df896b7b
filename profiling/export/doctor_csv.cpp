#include "profiling/export/csv_table.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/program/operation_words.h"
#include "profiling/hazards/model/names.h"

namespace profiling {
namespace {

/// "0:3 0:7": graph and node.
std::string places(const std::vector<NodeRef>& nodes) {
  std::string text;
  for (const NodeRef& node : nodes) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", node.graph, node.node);
  }
  return text;
}

void write_findings(const Session& session, CsvTable& table) {
  for (std::size_t v = 0; v < session.visits.size(); ++v) {
    const DoctorReport& report = session.visits[v].report;
    for (std::size_t f = 0; f < report.findings.size(); ++f) {
      const Finding& finding = report.findings[f];
      table.cell(v + 1).cell(session.visits[v].wall_clock_ms).cell(f).cell(finding.rule);
      table.cell(finding.hazard).cell(name_of(finding.confidence)).cell(finding.title);
      table.cell(places(finding.nodes)).cell(finding.missing_order).cell(finding.explanation);
      table.cell(fmt::format("{}", fmt::join(finding.evidence, "\n"))).cell(finding.fix.words);
      table.end_row();
    }
  }
}

std::string text_of(const Extent& extent) {
  return fmt::format("{}x{}x{}", extent.x, extent.y, extent.z);
}

std::string text_of(std::uint64_t address) {
  return address == 0 ? std::string() : fmt::format("0x{:x}", address);
}

/// Six cells: function, grid, block, target address, source address, bytes.
void write_parameters(const NodeParameters& parameters, CsvTable& table) {
  if (const auto* kernel = std::get_if<KernelNode>(&parameters)) {
    table.cell(kernel->function).cell(text_of(kernel->grid)).cell(text_of(kernel->block));
    table.empty(3);
    return;
  }
  table.empty(3);
  if (const auto* memset = std::get_if<MemsetNode>(&parameters)) {
    table.cell(text_of(memset->address)).empty().cell(memset->bytes());
  } else if (const auto* copy = std::get_if<MemcpyNode>(&parameters)) {
    table.cell(text_of(copy->target)).cell(text_of(copy->source)).cell(copy->bytes);
  } else if (const auto* allocation = std::get_if<MemAllocNode>(&parameters)) {
    table.cell(text_of(allocation->address)).empty().cell(allocation->bytes);
  } else if (const auto* release = std::get_if<MemFreeNode>(&parameters)) {
    table.cell(text_of(release->address)).empty().empty();
  } else {
    table.empty(3);
  }
}

void write_nodes(std::string_view owner, std::size_t number, const Snapshot& snapshot,
                 CsvTable& table) {
  for (std::size_t g = 0; g < snapshot.graphs.size(); ++g) {
    const GraphSnapshot& graph = snapshot.graphs[g];
    std::vector<std::string> waits_for(graph.nodes.size());
    for (const SnapshotEdge& edge : graph.edges) {
      std::string& text = waits_for.at(static_cast<std::size_t>(edge.to));
      if (!text.empty()) text += ' ';
      text += fmt::format("{}", edge.from);
      // Only full edges order memory.
      if (edge.kind != EdgeKind::Full) text += fmt::format(" ({})", name_of(edge.kind));
    }
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      const SnapshotNode& node = graph.nodes[n];
      table.cell(owner).cell(number).cell(g).cell(graph.name).cell(n).cell(name_of(node.type));
      table.cell(node.name).cell(engine::stage_name(node.stage));
      table.cell(engine::operation_name(snapshot.step, node.stage, node.writes)).cell(node.layer);
      node.parent < 0 ? table.empty() : table.cell(node.parent);
      table.cell(waits_for[n]);
      write_parameters(node.parameters, table);
      table.end_row();
    }
  }
}

void write_snapshots(const Session& session, CsvTable& table) {
  for (std::size_t i = 0; i < session.runs.size(); ++i) {
    write_nodes("run", i + 1, session.runs[i].snapshot, table);
  }
  for (std::size_t i = 0; i < session.visits.size(); ++i) {
    write_nodes("visit", i + 1, session.visits[i].report.snapshot, table);
  }
}

}  // namespace

engine::Status export_doctor_csv(const Session& session, const std::filesystem::path& folder) {
  if (!session.visits.empty()) {
    ENGINE_TRY(write_csv(
        folder / "findings.csv",
        "visit,wall_clock_ms,finding,rule,hazard,confidence,title,nodes,missing_order,explanation,"
        "evidence,fix",
        session, write_findings));
  }
  const bool graphs =
      std::ranges::any_of(session.runs,
                          [](const RecordedRun& run) { return !run.snapshot.graphs.empty(); }) ||
      std::ranges::any_of(session.visits, [](const RecordedVisit& visit) {
        return !visit.report.snapshot.graphs.empty();
      });
  if (!graphs) return {};
  return write_csv(
      folder / "snapshot_nodes.csv",
      "owner,number,graph,graph_name,node,type,name,stage,operation,layer,parent,waits_for,"
      "function,grid,block,target,source,bytes",
      session, write_snapshots);
}

}  // namespace profiling
