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

Table findings_table(const DoctorReport& report) {
  return {.name = "findings",
          .columns = {for_files("finding"), column("rule"), column("hazard"), column("confidence"),
                      column("title"), for_files("nodes"), for_files("missing_order"),
                      for_files("explanation"), for_files("evidence"), for_files("fix")},
          .rows = [&report](const RowSink& sink) {
            for (std::size_t i = 0; i < report.findings.size(); ++i) {
              const Finding& finding = report.findings[i];
              sink({.cells = cells_of(
                        i, finding.rule, finding.hazard, name_of(finding.confidence), finding.title,
                        places(finding.nodes), finding.missing_order, finding.explanation,
                        fmt::format("{}", fmt::join(finding.evidence, "\n")),
                        finding.confidence == Confidence::Disproved ? std::string()
                                                                    : finding.fix.words)});
            }
          }};
}

Table findings_table(const RecordedVisit& visit) {
  Table table = findings_table(visit.report);
  table.columns.insert(table.columns.begin(), for_files("wall_clock_ms"));
  table.rows = [findings = std::move(table.rows), &visit](const RowSink& sink) {
    findings([&](const Row& row) {
      Row timed = row;
      timed.cells.insert(timed.cells.begin(), Cell(visit.wall_clock_ms));
      sink(timed);
    });
  };
  return table;
}

Table output_checks_table(const DoctorReport& report) {
  return {.name = "output_checks",
          .columns = {column("experiment"), column("replay", Measure::Count), column("output"),
                      column("parts", Measure::Count),
                      column("wrong_parts", Measure::Words, "wrong parts")},
          .rows = [&report](const RowSink& sink) {
            for (const ExperimentRecord& record : report.experiments) {
              for (const OutputCheck& check : record.outcome.checks) {
                sink({.cells = cells_of(record.title, check.replay, check.output, check.parts,
                                        fmt::format("{}", fmt::join(check.wrong_parts, " ")))});
              }
            }
          }};
}

Table snapshot_nodes_table(const Snapshot& snapshot, std::optional<std::size_t> only) {
  return {.name = "snapshot_nodes",
          .columns = {for_files("graph", Measure::Count), for_files("graph_name"),
                      column("node", Measure::Count), for_files("type"), column("name"),
                      column("stage"), column("operation"), column("layer", Measure::Count),
                      for_files("parent", Measure::Count),
                      column("waits_for", Measure::Words, "waits for"), for_files("function"),
                      for_files("grid"), for_files("block"), for_files("target"),
                      for_files("source"), for_files("bytes", Measure::Bytes)},
          .rows = [&snapshot, only](const RowSink& sink) {
            for (std::size_t g = 0; g < snapshot.graphs.size(); ++g) {
              if (only && *only != g) continue;
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
