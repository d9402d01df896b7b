// Hazard 21: a communicator of NCCL ends while a graph that captured its collectives exists.
#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "profiling/hazards/rules/rules.h"

namespace profiling {
namespace {

/// Since this version the end of a communicator waits for the graphs.
constexpr std::string_view kFirstToWait = "2.14.3";

/// NCCL's kernels of the graph: "ncclDevKernel_AllReduce_Sum_f32_RING_LL".
std::vector<NodeRef> collectives_of(const RuleContext& context, int graph) {
  std::vector<NodeRef> nodes;
  const GraphSnapshot& of = context.graph(graph);
  for (int n = 0; n < static_cast<int>(of.nodes.size()); ++n) {
    const SnapshotNode& node = of.nodes[static_cast<std::size_t>(n)];
    if (node.type == NodeType::Kernel && node.name.starts_with("nccl")) add_node(nodes, {graph, n});
  }
  return nodes;
}

std::string loaded_version(const std::string& version) {
  if (!is_version(version)) return {};
  return compare_versions(version, kFirstToWait) >= 0
             ? fmt::format("NCCL {} is loaded, which waits.", version)
             : fmt::format("NCCL {} is loaded, which does not wait.", version);
}

Finding finding_of(const RuleContext& context, int g,
                   const std::vector<const CapturedCommunicator*>& ended, bool launched) {
  const GraphSnapshot& graph = context.graph(g);
  const CapturedCommunicator& first = *ended.front();
  Finding finding{.rule = "destroyed-communicator",
                  .hazard = 21,
                  .confidence = launched ? Confidence::Likely : Confidence::Possible};
  finding.nodes = collectives_of(context, g);
  finding.title =
      launched
          ? fmt::format("\"{}\" was launched after {} of {}, whose collectives it captured",
                        graph.name, first.ended_by, first.name)
          : fmt::format("{} of {} was called while \"{}\" exists, which captured its collectives",
                        first.ended_by, first.name, graph.name);
  finding.explanation =
      "A graph that captured a collective uses the communicator's memory and connections in every "
      "replay, so the communicator must outlive the graph. Some versions of NCCL release them at "
      "once: a replay then accesses memory of others, or hangs. Others wait until all graphs that "
      "captured the communicator are gone: for ever, if the thread that waits would have destroyed "
      "them.";
  for (const CapturedCommunicator* one : ended) {
    finding.evidence.push_back(fmt::format("{} of {} at {}; the capture ended at {}.",
                                           one->ended_by, one->name, one->ended_at,
                                           graph.capture_ended));
  }
  if (graph.launches > 0) {
    finding.evidence.push_back(fmt::format("The graph was launched {} times in all, last at {}.",
                                           graph.launches, graph.last_launch));
  }
  if (std::string loaded = loaded_version(context.snapshot.nccl_version); !loaded.empty())
    finding.evidence.push_back(std::move(loaded));
  finding.evidence.push_back(fmt::format(
      "From {} on ncclCommFinalize, ncclCommDestroy and ncclCommAbort wait for the graphs "
      "(https://github.com/NVIDIA/nccl/blob/v2.14.3-1/src/init.cc, 2026-11-26); NVIDIA describes "
      "the hang (https://docs.nvidia.com/dl-cuda-graph/troubleshooting/process-hang.html, "
      "2026-11-26).",
      kFirstToWait));
  finding.fix = fix_of(finding.rule);
  finding.proof.words = launched
                            ? "The launch without its communicator is the fault itself; no "
                              "experiment repeats it."
                            : "No experiment ends a communicator: other ranks would have to take "
                              "part.";
  finding.proof.needs_cure = false;
  return finding;
}

}  // namespace

void find_destroyed_communicators(RuleContext& context, std::vector<Finding>& findings) {
  for (int g = 0; g < context.graphs(); ++g) {
    if (context.left_out(g)) continue;
    const GraphSnapshot& graph = context.graph(g);
    std::vector<const CapturedCommunicator*> launched;
    std::vector<const CapturedCommunicator*> waiting;
    for (const CapturedCommunicator& one : graph.communicators) {
      if (one.ended_at == 0) continue;
      (graph.last_launch > one.ended_at ? launched : waiting).push_back(&one);
    }
    if (!launched.empty()) {
      findings.push_back(finding_of(context, g, launched, true));
    } else if (!waiting.empty() && !context.snapshot.ended) {
      // A program that has ended by itself cannot have been waiting.
      findings.push_back(finding_of(context, g, waiting, false));
    }
  }
}

}  // namespace profiling
