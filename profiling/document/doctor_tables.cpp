#include "profiling/document/doctor_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <variant>
#include <vector>

#include "engine/program/operation_words.h"
#include "profiling/document/columns.h"
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

std::string text_of(const Extent& extent) {
  return fmt::format("{}x{}x{}", extent.x, extent.y, extent.z);
}

Cell address_cell(std::uint64_t address) {
  return address == 0 ? Cell() : Cell(fmt::format("0x{:x}", address));
}

/// Six cells: function, grid, block, target address, source address, bytes.
std::vector<Cell> parameter_cells(const NodeParameters& parameters) {
  if (const auto* kernel = std::get_if<KernelNode>(&parameters)) {
    return {kernel->function, text_of(kernel->grid), text_of(kernel->block), {}, {}, {}};
  }
  std::vector<Cell> cells(6);
  if (const auto* memset = std::get_if<MemsetNode>(&parameters)) {
    cells[3] = address_cell(memset->address);
    cells[5] = Cell(memset->bytes());
  } else if (const auto* copy = std::get_if<MemcpyNode>(&parameters)) {
    cells[3] = address_cell(copy->target);
    cells[4] = address_cell(copy->source);
    cells[5] = Cell(copy->bytes);
  } else if (const auto* allocation = std::get_if<MemAllocNode>(&parameters)) {
    cells[3] = address_cell(allocation->address);
    cells[5] = Cell(allocation->bytes);
  } else if (const auto* release = std::get_if<MemFreeNode>(&parameters)) {
    cells[3] = address_cell(release->address);
  }
  return cells;
}

/// What each node waits for: "2 5 (programmatic)". Only full edges order memory.
std::vector<std::string> waits_of(const GraphSnapshot& graph) {
  std::vector<std::string> waits(graph.nodes.size());
  for (const SnapshotEdge& edge : graph.edges) {
    std::string& text = waits.at(static_cast<std::size_t>(edge.to));
    if (!text.empty()) text += ' ';
    text += fmt::format("{}", edge.from);
    if (edge.kind != EdgeKind::Full) text += fmt::format(" ({})", name_of(edge.kind));
  }
  return waits;
}

}  // namespace

Table findings_table(const RecordedVisit& visit) {
  return {.name = "findings",
          .columns = {for_files("wall_clock_ms"), for_files("finding"), for_files("rule"),
                      for_files("hazard"), for_files("confidence"), for_files("title"),
                      for_files("nodes"), for_files("missing_order"), for_files("explanation"),
                      for_files("evidence"), for_files("fix")},
          .rows = [&visit](const RowSink& sink) {
            for (std::size_t i = 0; i < visit.report.findings.size(); ++i) {
              const Finding& finding = visit.report.findings[i];
              sink({.cells = cells_of(
                        visit.wall_clock_ms, i, finding.rule, finding.hazard,
                        name_of(finding.confidence), finding.title, places(finding.nodes),
                        finding.missing_order, finding.explanation,
                        fmt::format("{}", fmt::join(finding.evidence, "\n")), finding.fix.words)});
            }
          }};
}

Table snapshot_nodes_table(const Snapshot& snapshot) {
  std::vector<Column> columns;
  for (const char* const key :
       {"graph", "graph_name", "node", "type", "name", "stage", "operation", "layer", "parent",
        "waits_for", "function", "grid", "block", "target", "source", "bytes"}) {
    columns.push_back(for_files(key));
  }
  return {.name = "snapshot_nodes",
          .columns = std::move(columns),
          .rows = [&snapshot](const RowSink& sink) {
            for (std::size_t g = 0; g < snapshot.graphs.size(); ++g) {
              const GraphSnapshot& graph = snapshot.graphs[g];
              const std::vector<std::string> waits = waits_of(graph);
              for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
                const SnapshotNode& node = graph.nodes[n];
                Row row{.cells = cells_of(
                            g, graph.name, n, name_of(node.type), node.name,
                            engine::stage_name(node.stage),
                            engine::operation_name(snapshot.step, node.stage, node.writes),
                            node.layer, node.parent < 0 ? Cell() : Cell(node.parent), waits[n])};
                for (Cell& cell : parameter_cells(node.parameters)) {
                  row.cells.push_back(std::move(cell));
                }
                sink(row);
              }
            }
          }};
}

}  // namespace profiling
