#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "profiling/hazards/model/names.h"
#include "profiling/hazards/report/report.h"
#include "profiling/hazards/snapshot/compared_memory.h"

namespace profiling {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// Null = the snapshot has no such node.
const SnapshotNode* find_node(const Snapshot& snapshot, NodeRef node) {
  const auto graph = static_cast<std::size_t>(node.graph);
  const auto index = static_cast<std::size_t>(node.node);
  const bool known = node.graph >= 0 && node.node >= 0 && graph < snapshot.graphs.size() &&
                     index < snapshot.graphs[graph].nodes.size();
  return known ? &snapshot.graphs[graph].nodes[index] : nullptr;
}

OrderedJson text_or_null(const std::string& text) {
  return text.empty() ? OrderedJson(nullptr) : OrderedJson(text);
}

OrderedJson json_of(NodeRef node) { return OrderedJson::array({node.graph, node.node}); }

OrderedJson json_of(const MeasuredMemory& measured) {
  return {{"replays", measured.replays},
          {"hashed_bytes", measured.hashed_bytes},
          {"partial", measured.partial},
          {"written_places", measured.written_places},
          {"written_bytes", measured.written_bytes},
          {"inputs", measured.inputs},
          {"input_bytes", measured.input_bytes},
          {"refreshed", measured.refreshed}};
}

OrderedJson json_of(const Snapshot& snapshot, const GraphSnapshot& graph) {
  return {
      {"name", graph.name},
      {"nodes", graph.nodes.size()},
      {"edges", graph.edges.size()},
      {"variant_of", graph.variant_of},
      {"changed", graph.changed},
      {"degraded", graph.degraded},
      {"launches", graph.launches < 0 ? OrderedJson(nullptr) : OrderedJson(graph.launches)},
      {"compared",
       graph.compared.empty() ? OrderedJson(nullptr) : json_of(measured_memory(snapshot, graph))},
      {"failure",
       {{"code", graph.failure.code}, {"name", graph.failure.name}, {"call", graph.failure.call}}}};
}

OrderedJson json_of(const Snapshot& snapshot) {
  OrderedJson graphs = OrderedJson::array();
  for (const GraphSnapshot& graph : snapshot.graphs) graphs.push_back(json_of(snapshot, graph));
  return {{"subject", snapshot.subject},
          {"cublaslt_version", snapshot.cublaslt_version},
          {"device", snapshot.device},
          {"compute_capability", snapshot.compute_capability},
          {"driver", snapshot.driver},
          {"allocations", snapshot.ledger.size()},
          {"not_compared", snapshot.not_compared.empty() ? OrderedJson(nullptr)
                                                         : OrderedJson(snapshot.not_compared)},
          {"graphs", std::move(graphs)}};
}

OrderedJson json_of(const Access& access) {
  return {{"node", json_of(access.node)},
          {"place", access.place},
          {"word", fmt::format("{:#x}", access.word)},
          {"owner", access.owner},
          {"offset", access.offset}};
}

OrderedJson json_of(const Snapshot& snapshot, const Finding& finding) {
  OrderedJson nodes = OrderedJson::array();
  OrderedJson places = OrderedJson::array();
  for (const NodeRef& node : finding.nodes) {
    nodes.push_back(json_of(node));
    const std::string place = capture_place(snapshot, node);
    places.push_back(text_or_null(place));
  }
  OrderedJson accesses = OrderedJson::array();
  for (const Access& access : finding.accesses) accesses.push_back(json_of(access));
  return {{"rule", finding.rule},
          {"hazard", finding.hazard},
          {"confidence", name_of(finding.confidence)},
          {"title", finding.title},
          {"explanation", finding.explanation},
          {"nodes", std::move(nodes)},
          {"captured_at", std::move(places)},
          {"accesses", std::move(accesses)},
          {"missing_order", finding.missing_order},
          {"evidence", finding.evidence},
          {"fix",
           {{"words", finding.fix.words},
            {"cublaslt", finding.fix.cublaslt},
            {"pytorch", finding.fix.pytorch},
            {"transformer_engine", finding.fix.transformer_engine}}},
          {"proof", finding.proof.words}};
}

OrderedJson json_of(const std::string& path, const CorePlace& core) {
  if (path.empty()) return nullptr;
  return {{"path", path},          {"kernel", core.kernel},
          {"launch", core.launch}, {"block", core.block},
          {"thread", core.thread}, {"sm", core.sm},
          {"warp", core.warp},     {"lane", core.lane},
          {"pc", core.pc},         {"instruction", core.instruction},
          {"source", core.source}, {"missing", core.missing}};
}

OrderedJson json_of(const Snapshot& snapshot, const std::vector<Stall>& stalls) {
  if (stalls.empty()) return nullptr;
  const Stall& stall = stalls.front();
  OrderedJson nodes = OrderedJson::array();
  OrderedJson running = OrderedJson::array();
  for (std::size_t n = 0; n < stall.nodes.size(); ++n) {
    nodes.push_back(name_of(stall.nodes[n]));
    if (stall.nodes[n] != NodeState::Running) continue;
    const NodeRef node = {.graph = stall.graph, .node = static_cast<int>(n)};
    const SnapshotNode* known = find_node(snapshot, node);
    if (known == nullptr) continue;
    running.push_back({{"node", json_of(node)},
                       {"name", known->name},
                       {"captured_at", text_or_null(known->captured_at)}});
  }
  return {{"replay", stall.replay},
          {"graph", stall.graph},
          {"waited_seconds", stall.waited_seconds},
          {"deadline_seconds", stall.deadline_seconds},
          {"p99_seconds", stall.p99_seconds},
          {"nodes", std::move(nodes)},
          {"running", std::move(running)},
          {"last_finished", stall.last_finished},
          {"kind", name_of(stall.kind)},
          {"evidence", stall.evidence},
          {"core_dump", json_of(stall.core_dump, stall.core)}};
}

OrderedJson json_of(const MarkerCost& cost) {
  if (cost.samples == 0) return nullptr;
  return {{"samples", cost.samples}, {"with_us", cost.with_us}, {"without_us", cost.without_us}};
}

OrderedJson json_of(const Snapshot& snapshot, const ExperimentRecord& record) {
  OrderedJson checks = OrderedJson::array();
  for (const OutputCheck& check : record.outcome.checks) {
    checks.push_back({{"replay", check.replay},
                      {"output", check.output},
                      {"parts", check.parts},
                      {"wrong_parts", check.wrong_parts}});
  }
  return {{"title", record.title},
          {"finding", record.finding},
          {"verdict", name_of(record.outcome.verdict)},
          {"message", record.outcome.message},
          {"seconds", record.outcome.seconds},
          {"first_wrong_replay", first_wrong_replay(record.outcome)},
          {"replay_us", record.outcome.replay_us},
          {"marker_cost", json_of(record.outcome.marker_cost)},
          {"checks", std::move(checks)},
          {"stall", json_of(snapshot, record.outcome.stall)}};
}

}  // namespace

std::string capture_place(const Snapshot& snapshot, NodeRef node) {
  const SnapshotNode* known = find_node(snapshot, node);
  return known == nullptr ? "" : known->captured_at;
}

std::string to_json(const DoctorReport& report) {
  OrderedJson findings = OrderedJson::array();
  for (const Finding& finding : report.findings) {
    findings.push_back(json_of(report.snapshot, finding));
  }
  OrderedJson experiments = OrderedJson::array();
  for (const ExperimentRecord& record : report.experiments) {
    experiments.push_back(json_of(report.snapshot, record));
  }
  OrderedJson cure = OrderedJson::array();
  for (const MovedMemory& moved : report.smallest_cure) {
    cure.push_back({{"node", json_of(moved.node)}, {"owner", moved.owner}});
  }
  const OrderedJson json = {{"schema", "expertscope.doctor.1"},
                            {"conclusion", report.conclusion},
                            {"snapshot", json_of(report.snapshot)},
                            {"findings", std::move(findings)},
                            {"experiments", std::move(experiments)},
                            {"smallest_cure", std::move(cure)},
                            {"known", report.known}};
  // Names come from files and drivers: invalid UTF-8 is replaced instead of throwing.
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace profiling
