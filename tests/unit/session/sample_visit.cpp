#include "tests/unit/session/sample_visit.h"

#include <fmt/format.h>

#include <random>

namespace profiling {
namespace {

class Dice {
 public:
  explicit Dice(int seed) : random_(static_cast<std::uint64_t>(seed) + 1) {}

  std::uint64_t word() { return random_(); }
  int number(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  std::uint32_t small() { return static_cast<std::uint32_t>(number(1, 1 << 20)); }
  bool flag() { return number(0, 1) == 1; }
  double real() { return number(0, 1 << 20) / 64.0; }
  std::string text(const char* what) { return fmt::format("{} 'ü\" {}", what, random_()); }
  template <class Enum>
  Enum pick(Enum last) {
    return static_cast<Enum>(number(0, static_cast<int>(last)));
  }

 private:
  std::mt19937_64 random_;
};

KernelNode kernel_of(Dice& dice) {
  KernelNode kernel;
  kernel.function = dice.text("_Z");
  for (Extent* extent : {&kernel.grid, &kernel.block, &kernel.cluster}) {
    *extent = {dice.small(), dice.small(), dice.small()};
  }
  kernel.dynamic_shared_bytes = dice.small();
  kernel.cooperative = dice.flag();
  kernel.waits_for_programmatic = dice.pick(Known::Yes);
  const int slots = dice.number(0, 5);
  for (int i = 0; i < slots; ++i) {
    kernel.slots.push_back(
        {.offset = static_cast<std::uint32_t>(kernel.parameters.size()), .bytes = 8});
    const std::uint64_t value = dice.word();
    for (int byte = 0; byte < 8; ++byte) {
      kernel.parameters.push_back(static_cast<std::byte>(value >> (8 * byte)));
    }
  }
  if (dice.number(0, 3) == 0) kernel.slots.clear();
  for (int maps = dice.number(0, 2); maps > 0; --maps) {
    const auto offset = static_cast<std::uint32_t>(kernel.parameters.size());
    kernel.parameters.resize(offset + kTensorMapBytes, std::byte{0x5A});
    kernel.tensor_maps.push_back(
        {.offset = offset, .address = dice.word() >> 1U, .bytes = dice.small()});
  }
  return kernel;
}

NodeParameters parameters_of(Dice& dice, int kind) {
  switch (kind) {
    case 0:
      return kernel_of(dice);
    case 1:
      return MemsetNode{.address = dice.word(),
                        .value = dice.small(),
                        .element_bytes = dice.small(),
                        .width = dice.word(),
                        .height = dice.word(),
                        .pitch = dice.word()};
    case 2:
      return MemcpyNode{.source_space = dice.pick(engine::MemorySpace::Managed),
                        .target_space = dice.pick(engine::MemorySpace::Managed),
                        .source = dice.word(),
                        .target = dice.word(),
                        .bytes = dice.word()};
    case 3:
      return MemAllocNode{.address = dice.word(), .bytes = dice.word()};
    case 4:
      return MemFreeNode{.address = dice.word()};
    default:
      return {};
  }
}

GraphSnapshot graph_of(Dice& dice, int index) {
  GraphSnapshot graph;
  graph.name = dice.text("graph");
  graph.variant_of = dice.number(-1, index - 1);
  graph.changed = dice.text("changed");
  graph.degraded = dice.flag();
  graph.capture_began = dice.word();
  graph.capture_ended = dice.word();
  graph.failure = {
      .code = dice.number(0, 999), .name = dice.text("failure"), .call = dice.text("call")};
  for (int i = dice.number(1, 3); i > 0; --i) {
    graph.events.push_back(
        {.kind = dice.pick(CaptureEvent::Kind::HostSync), .what = dice.text("event")});
  }
  for (int i = dice.number(0, 3); i > 0; --i) {
    graph.compared.push_back({.replay = dice.word(),
                              .hashed_bytes = dice.word(),
                              .partial = dice.flag(),
                              .changed = {{.address = dice.word(),
                                           .bytes = dice.word(),
                                           .by_program = dice.flag(),
                                           .by_replay = dice.flag()}},
                              .at = dice.word()});
  }
  const int nodes = dice.number(6, 20);
  for (int n = 0; n < nodes; ++n) {
    SnapshotNode node;
    const bool unknown = dice.number(0, 9) == 0;
    node.type = unknown ? NodeType::Unknown : dice.pick(NodeType::Conditional);
    node.id = dice.word();
    node.name = dice.text("node");
    node.stage = dice.pick(engine::Stage::Dequantize);
    node.layer = dice.number(0, 9);
    node.parent = dice.number(0, 2) == 0 ? dice.number(-1, n - 1) : -1;
    node.parameters = parameters_of(dice, n % 6);
    for (int from = 0; from < n; ++from) {
      if (graph.nodes[static_cast<std::size_t>(from)].parent != node.parent || dice.flag())
        continue;
      graph.edges.push_back({.from = from, .to = n, .kind = dice.pick(EdgeKind::LaunchOrder)});
    }
    graph.nodes.push_back(std::move(node));
  }
  return graph;
}

NodeRef node_in(Dice& dice, const Snapshot& snapshot) {
  const int graph = dice.number(0, static_cast<int>(snapshot.graphs.size()) - 1);
  const auto& nodes = snapshot.graphs[static_cast<std::size_t>(graph)].nodes;
  return {.graph = graph, .node = dice.number(0, static_cast<int>(nodes.size()) - 1)};
}

Experiment experiment_of(Dice& dice, const Snapshot& snapshot) {
  Experiment made;
  made.graph = dice.flag();
  made.replays = dice.number(1, 20);
  for (int i = dice.number(0, 3); i > 0; --i) {
    made.moved.push_back({.node = node_in(dice, snapshot), .owner = dice.text("moved")});
    made.filled.push_back(
        {.owner = dice.text("filled"), .value = static_cast<std::uint8_t>(dice.number(0, 255))});
    made.delayed.push_back(node_in(dice, snapshot));
    made.ordered.push_back({node_in(dice, snapshot), node_in(dice, snapshot)});
    made.fresh.push_back({.owner = dice.text("fresh"), .graph = node_in(dice, snapshot).graph});
    made.filled_between.push_back({.owner = dice.text("filled"), .value = 255});
    made.launches.push_back({.graph = node_in(dice, snapshot).graph, .overlaps = dice.flag()});
  }
  made.poisoned_workspaces = dice.number(-1, 255);
  for (bool* flag : {&made.red_zones, &made.changed_inputs, &made.recaptured, &made.scribbled_host,
                     &made.moved_inputs, &made.patched_host, &made.free_on_launch,
                     &made.captured_per_launch, &made.eager_loading, &made.markers}) {
    *flag = dice.flag();
  }
  made.deadline_seconds = dice.real();
  return made;
}

Finding finding_of(Dice& dice, const Snapshot& snapshot) {
  Finding finding;
  finding.rule = dice.text("rule");
  finding.hazard = dice.number(1, 16);
  finding.confidence = dice.pick(Confidence::Disproved);
  for (std::string* text : {&finding.title, &finding.explanation, &finding.missing_order,
                            &finding.fix.words, &finding.fix.cublaslt, &finding.fix.pytorch,
                            &finding.fix.transformer_engine, &finding.proof.words}) {
    *text = dice.text("text");
  }
  for (int i = dice.number(0, 4); i > 0; --i) {
    finding.nodes.push_back(node_in(dice, snapshot));
    finding.accesses.push_back({.node = node_in(dice, snapshot),
                                .place = dice.text("place"),
                                .word = dice.word(),
                                .owner = dice.text("owner"),
                                .offset = dice.word()});
    finding.evidence.push_back(dice.text("evidence"));
  }
  finding.proof.shows = experiment_of(dice, snapshot);
  finding.proof.cures = experiment_of(dice, snapshot);
  finding.proof.needs_cure = dice.flag();
  return finding;
}

Outcome outcome_of(Dice& dice, const Snapshot& snapshot) {
  Outcome outcome;
  outcome.verdict = dice.pick(Verdict::NotRun);
  outcome.message = dice.text("message");
  outcome.seconds = dice.real();
  if (dice.flag()) {
    outcome.marker_cost = {
        .samples = dice.number(1, 16), .with_us = dice.real(), .without_us = dice.real()};
  }
  for (int i = dice.number(0, 4); i > 0; --i) {
    outcome.replay_us.push_back(dice.real());
    OutputCheck check{
        .replay = dice.number(1, 6), .output = dice.text("output"), .parts = dice.number(1, 9)};
    for (int part = 0; part < check.parts; ++part) {
      if (dice.flag()) check.wrong_parts.push_back(part);
    }
    outcome.checks.push_back(std::move(check));
  }
  if (dice.flag()) return outcome;
  Stall stall;
  stall.replay = dice.number(0, 6);
  stall.graph = dice.number(0, static_cast<int>(snapshot.graphs.size()) - 1);
  stall.waited_seconds = dice.real();
  stall.deadline_seconds = dice.real();
  stall.p99_seconds = dice.flag() ? dice.real() : 0.0;
  const auto& nodes = snapshot.graphs[static_cast<std::size_t>(stall.graph)].nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    stall.nodes.push_back(dice.pick(NodeState::Unmarked));
  }
  stall.last_finished = dice.number(-1, static_cast<int>(nodes.size()) - 1);
  stall.kind = dice.pick(StallKind::Unknown);
  stall.evidence = dice.text("evidence");
  stall.core_dump = dice.text("core dump");
  stall.core = {.kernel = dice.text("kernel"),
                .launch = "<<<(1,1,1),(32,1,1)>>>",
                .block = "(0,1,0)",
                .thread = "(31,0,0)",
                .sm = dice.number(-1, 131),
                .warp = dice.number(-1, 63),
                .lane = dice.number(-1, 31),
                .pc = 0x7f'd525'7030,
                .instruction = dice.text("instruction"),
                .source = dice.text("source"),
                .missing = dice.text("missing")};
  outcome.stall.push_back(std::move(stall));
  return outcome;
}

}  // namespace

Snapshot sample_snapshot(int seed) {
  Dice dice(seed);
  Snapshot snapshot;
  for (std::string* text :
       {&snapshot.subject, &snapshot.cublaslt_version, &snapshot.device,
        &snapshot.compute_capability, &snapshot.driver, &snapshot.not_compared}) {
    *text = dice.text("snapshot");
  }
  snapshot.ledger_clock = dice.word();
  snapshot.step = engine::StepKind::ExpertLayer;
  const int graphs = dice.number(2, 3);
  for (int i = 0; i < graphs; ++i) snapshot.graphs.push_back(graph_of(dice, i));
  for (int i = 0; i < graphs; ++i) {
    if (snapshot.graphs[static_cast<std::size_t>(i)].variant_of >= 0) continue;
    snapshot.launches.push_back({.graph = i, .overlaps = dice.flag()});
  }
  snapshot.pools.push_back({.address = dice.word() >> 1, .bytes = dice.word() >> 1});
  std::uint64_t id = 0;
  for (int i = dice.number(1, 9); i > 0; --i) {
    engine::Allocation allocation;
    allocation.id = id += dice.small();
    allocation.address = dice.word() >> 1;
    allocation.bytes = dice.word() >> 1;
    allocation.space = dice.pick(engine::MemorySpace::Managed);
    allocation.role = dice.pick(engine::AllocationRole::RecordKnown);
    allocation.owner = dice.text("owner");
    allocation.allocated_at = dice.word();
    allocation.freed_at = dice.word();
    snapshot.ledger.push_back(std::move(allocation));
  }
  return snapshot;
}

RecordedVisit sample_visit(int seed) {
  Dice dice(seed + 1000);
  RecordedVisit visit;
  visit.wall_clock_ms = 1'700'000'000'000 + seed;
  visit.request.seed = dice.small();
  DoctorReport& report = visit.report;
  report.snapshot = sample_snapshot(seed);
  report.conclusion = dice.text("conclusion");
  for (int i = dice.number(1, 4); i > 0; --i) {
    report.findings.push_back(finding_of(dice, report.snapshot));
  }
  for (int i = dice.number(1, 5); i > 0; --i) {
    ExperimentRecord record;
    record.title = dice.text("title");
    record.finding = dice.number(-1, static_cast<int>(report.findings.size()) - 1);
    record.experiment = experiment_of(dice, report.snapshot);
    record.outcome = outcome_of(dice, report.snapshot);
    report.experiments.push_back(std::move(record));
  }
  for (int i = dice.number(0, 2); i > 0; --i) {
    report.smallest_cure.push_back(
        {.node = node_in(dice, report.snapshot), .owner = dice.text("cure")});
  }
  return visit;
}

}  // namespace profiling
