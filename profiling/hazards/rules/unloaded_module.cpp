// Hazard 20: the code of a captured kernel was unloaded while the graph still launches it.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "profiling/hazards/rules/rules.h"

namespace profiling {

void find_unloaded_modules(RuleContext& context, std::vector<Finding>& findings) {
  for (int g = 0; g < context.graphs(); ++g) {
    if (context.left_out(g)) continue;
    const GraphSnapshot& graph = context.graph(g);
    Finding finding{.rule = "unloaded-module", .hazard = 20, .confidence = Confidence::Likely};
    std::uint64_t first = 0;
    for (int n = 0; n < static_cast<int>(graph.nodes.size()); ++n) {
      const auto* kernel =
          std::get_if<KernelNode>(&graph.nodes[static_cast<std::size_t>(n)].parameters);
      if (kernel == nullptr || kernel->unloaded_at == 0 || graph.unused_since(kernel->unloaded_at))
        continue;
      add_node(finding.nodes, {g, n});
      first = first == 0 ? kernel->unloaded_at : std::min(first, kernel->unloaded_at);
    }
    if (finding.nodes.empty()) continue;
    finding.title =
        fmt::format("The module with the code of {} was unloaded; the graph still launches it",
                    context.text(finding.nodes));
    finding.explanation =
        "A graph keeps the addresses of its kernels' code, not the code. After the module was "
        "unloaded that memory is "
        "free: a replay executes whatever is there now, or faults with an illegal instruction or "
        "address.";
    finding.evidence.push_back(
        fmt::format("Unloaded at {}; the capture ended at {}.", first, graph.capture_ended));
    if (graph.launches > 0) {
      finding.evidence.push_back(fmt::format("The graph was launched {} times in all, last at {}.",
                                             graph.launches, graph.last_launch));
    }
    finding.fix = fix_of(finding.rule);
    finding.proof.words =
        "The launch after the unload is the fault itself; no experiment repeats it.";
    finding.proof.needs_cure = false;
    findings.push_back(std::move(finding));
  }
}

}  // namespace profiling
