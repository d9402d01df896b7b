// Writes a recording with visits to the graph doctor, for the window tests: a shared workspace that
// was proved, a stall, and, if a number is given, a graph with that many nodes. With "gallery"
// instead of a number: a proved visit to every case of the gallery but those named after it.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "profiling/hazards/model/gallery_catalogue.h"
#include "profiling/hazards/rules/diagnosis.h"
#include "profiling/session/session_file.h"

namespace {

using namespace profiling;

constexpr std::uint64_t kWorkspace = 0x7f0000100000;
constexpr std::uint64_t kOutput = 0x7f0000200000;
constexpr std::uint64_t kCounter = 0x7f0000400000;

SnapshotNode kernel(const char* name, engine::Stage stage, int layer,
                    const std::vector<std::uint64_t>& addresses) {
  KernelNode launch{.function = name, .grid = {132, 1, 1}, .block = {384, 1, 1}};
  launch.parameters.resize(8 * addresses.size());
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    std::memcpy(launch.parameters.data() + 8 * i, &addresses[i], 8);
    launch.slots.push_back({.offset = static_cast<std::uint32_t>(8 * i), .bytes = 8});
  }
  return {.type = NodeType::Kernel,
          .id = 0,
          .name = name,
          .stage = stage,
          .layer = layer,
          .parent = -1,
          .parameters = std::move(launch)};
}

/// A quantization and a product per expert, forked to `streams` and joined at every 16th.
GraphSnapshot step_graph(int nodes, int streams) {
  GraphSnapshot graph{.name = "step", .capture_began = 3, .capture_ended = 4};
  graph.nodes.push_back({.type = NodeType::Memset,
                         .name = "memset",
                         .stage = engine::Stage::Offsets,
                         .parameters = MemsetNode{.address = kCounter, .width = 256}});
  for (int i = 1; i < nodes; ++i) {
    const bool product = i % 2 == 0;
    const auto part = static_cast<std::uint64_t>(i % 64) * 4096;
    graph.nodes.push_back(
        product ? kernel("grouped_gemm_kernel", engine::Stage::Fprop, i % 3,
                         {kOutput + part, kWorkspace})
                : kernel("quantize_rows", engine::Stage::Quantize, i % 3, {kOutput + part}));
    graph.nodes.back().id = static_cast<std::uint64_t>(100 + i);
    graph.edges.push_back({.from = i > streams ? i - streams : 0, .to = i});
    if (i % 16 == 0) {
      for (int k = 1; k < streams && i - k > 0; ++k)
        graph.edges.push_back({.from = i - k, .to = i});
    }
  }
  if (nodes > 4) graph.edges.push_back({.from = 1, .to = 4, .kind = EdgeKind::Programmatic});
  return graph;
}

Snapshot snapshot_of(const char* subject, int nodes, int streams) {
  Snapshot snapshot{.subject = subject, .cublaslt_version = "13.5.1.27", .device = "NVIDIA H200"};
  snapshot.compute_capability = "9.0";
  snapshot.graphs.push_back(step_graph(nodes, streams));
  snapshot.ledger_clock = 6;
  const auto add = [&snapshot](std::uint64_t address, std::uint64_t bytes,
                               engine::AllocationRole role, const char* owner,
                               std::uint64_t freed) {
    const std::uint64_t id = snapshot.ledger.size() + 1;
    snapshot.ledger.push_back({.id = id,
                               .address = address,
                               .bytes = bytes,
                               .role = role,
                               .owner = owner,
                               .allocated_at = id,
                               .freed_at = freed});
  };
  add(kWorkspace, 1 << 20, engine::AllocationRole::Workspace, "workspace of fprop", 0);
  add(kOutput, 1 << 20, engine::AllocationRole::Output, "Y, layer 0", 0);
  add(kCounter, 4096, engine::AllocationRole::Counter, "arrivals", 0);
  add(0x7f0000500000, 65536, engine::AllocationRole::Input, "X", 5);
  return snapshot;
}

ExperimentRecord experiment(const char* title, int finding, Experiment made, bool wrong) {
  ExperimentRecord record{.title = title, .finding = finding, .experiment = std::move(made)};
  record.outcome.verdict = wrong ? Verdict::Wrong : Verdict::Right;
  record.outcome.seconds = 2.5;
  for (int replay = 1; replay <= record.experiment.replays; ++replay) {
    OutputCheck check{.replay = replay, .output = "Y, layer 0", .parts = 8, .wrong_parts = {}};
    if (wrong && replay > 1) check.wrong_parts = {1, 5};
    record.outcome.checks.push_back(check);
    record.outcome.replay_us.push_back(41.5 + replay);
    record.outcome.marker_cost = {.samples = 16, .with_us = 53.75, .without_us = 50.0};
  }
  return record;
}

RecordedVisit proved_visit() {
  RecordedVisit visit;
  visit.wall_clock_ms = 1'790'000'000'000;
  visit.request.shape.rows = 3200;  // unlike the rail's initial request
  DoctorReport& report = visit.report;
  report.snapshot = snapshot_of("a step of 3200 tokens", 24, 3);
  Finding finding{.rule = "shared-workspace", .hazard = 1, .confidence = Confidence::Proved};
  finding.title = "Nodes 2 and 4 share the workspace of fprop";
  finding.explanation = "A grouped product keeps state in its workspace between kernels.";
  finding.nodes = {{.graph = 0, .node = 2}, {.graph = 0, .node = 4}};
  finding.accesses = {{.node = {.graph = 0, .node = 2},
                       .place = "parameter byte 8",
                       .word = kWorkspace,
                       .owner = "workspace of fprop",
                       .offset = 0}};
  finding.evidence = {"two grouped products hold the same address"};
  finding.fix = {.words = "Give each product a workspace of its own.",
                 .cublaslt = "cublasLtMatmul(..., workspace[i], bytes, stream);",
                 .pytorch = "CUBLASLT_WORKSPACE_SIZE per graph",
                 .transformer_engine = ""};
  finding.proof.words = "One product's workspace is moved.";
  finding.proof.cures.moved = {{.node = {.graph = 0, .node = 4}, .owner = "workspace of fprop"}};
  report.findings = {finding};
  report.experiments = {experiment("replayed", 0, finding.proof.shows, true),
                        experiment("fprop, layer 1 moved", 0, finding.proof.cures, false)};
  report.smallest_cure = finding.proof.cures.moved;
  report.conclusion = "Proved: products that share a workspace; moving one sets it right.";
  return visit;
}

RecordedVisit stalled_visit() {
  RecordedVisit visit;
  visit.wall_clock_ms = 1'790'000'100'000;
  DoctorReport& report = visit.report;
  report.snapshot = snapshot_of("flag-not-reset", 6, 1);
  report.conclusion = "Replay 2 hangs.";
  ExperimentRecord record{.title = "replayed"};
  record.outcome.verdict = Verdict::Hung;
  record.outcome.stall = {
      {.replay = 2,
       .graph = 0,
       .waited_seconds = 2.0,
       .deadline_seconds = 1.0,
       .nodes = {NodeState::Done, NodeState::Done, NodeState::Running, NodeState::NotReached,
                 NodeState::NotReached, NodeState::NotReached},
       .last_finished = 1,
       .kind = StallKind::KernelSpins,
       .evidence = "a probe kernel on another stream finished in 12 us",
       .core_dump = "dumps/run-7.core",
       .core = {.kernel = "grouped_gemm_kernel",
                .launch = "<<<(132,1,1),(384,1,1)>>>",
                .block = "(5,0,0)",
                .thread = "(96,0,0)",
                .sm = 14,
                .warp = 3,
                .lane = 0,
                .pc = 0x7fffd5257030,
                .instruction = "BAR.SYNC.DEFER_BLOCKING 0x0",
                .source = "grouped_gemm.cu:120"}}};
  report.experiments = {record};
  return visit;
}

std::vector<RecordedVisit> gallery_visits(const std::vector<std::string>& without) {
  std::vector<RecordedVisit> visits;
  for (const HazardCase& one : hazard_cases()) {
    if (std::ranges::find(without, one.id) != without.end()) continue;
    RecordedVisit& visit = visits.emplace_back(proved_visit());
    visit.request = {};
    visit.report.snapshot.subject = subject_title({.id = one.id});
    visit.report.findings[0].rule = one.rule;
    visit.report.conclusion = "Proved: " + one.mistake;
  }
  return visits;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  auto writer = SessionWriter::create(argv[1]);
  if (!writer.ok()) {
    fmt::print(stderr, "{}\n", writer.error().message);
    return 1;
  }
  std::vector<RecordedVisit> visits = {proved_visit(), stalled_visit()};
  if (argc > 2 && std::string_view(argv[2]) == "gallery") {
    visits = gallery_visits({argv + 3, argv + argc});
  } else if (argc > 2) {
    visits.emplace_back();
    visits.back().wall_clock_ms = 1'790'000'200'000;
    visits.back().report.snapshot = snapshot_of("large", std::atoi(argv[2]), 8);
    visits.back().report.conclusion = "Large.";
  }
  for (const RecordedVisit& visit : visits) {
    const engine::Status status = writer.value()->append(visit);
    if (status.ok()) continue;
    fmt::print(stderr, "{}\n", status.error().message);
    return 1;
  }
  return 0;
}
