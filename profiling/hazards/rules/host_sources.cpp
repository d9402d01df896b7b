// Hazards 6 and 7: copy nodes from host memory. A replay reads the host's current bytes again;
// if these are addresses, kernels may access any memory.
#include <fmt/format.h>

#include <utility>

#include "profiling/hazards/model/names.h"
#include "profiling/hazards/rules/rules.h"

namespace profiling {
namespace {

using engine::Allocation;
using engine::AllocationRole;
using engine::MemorySpace;

bool on_host(MemorySpace space) {
  return space == MemorySpace::PinnedHost || space == MemorySpace::PageableHost;
}

struct Source {
  std::string text;
  bool certain = false;  // freed, or never meant to persist
};

Source source_of(const Allocation* allocation, MemorySpace space, std::uint64_t address) {
  if (allocation == nullptr) {
    return {
        .text = fmt::format("{} memory at {:#x} that is not in the ledger",
                            space == MemorySpace::PageableHost ? "pageable host" : "host", address),
        .certain = space == MemorySpace::PageableHost};
  }
  if (!allocation->live()) {
    return {.text = fmt::format("{}, which was released at {}", text(*allocation),
                                allocation->freed_at),
            .certain = true};
  }
  return {.text = fmt::format("{} in {} memory", text(*allocation), name_of(allocation->space))};
}

Finding finding_of(const RuleContext& context, NodeRef node, const MemcpyNode& copy,
                   const Touch* from, const Touch* to) {
  const Allocation* target = context.allocation(to == nullptr ? -1 : to->allocation);
  const Source source = source_of(context.allocation(from == nullptr ? -1 : from->allocation),
                                  copy.source_space, copy.source);
  const bool pointers = target != nullptr && target->role == AllocationRole::PointerArray;
  Finding finding{.rule = pointers ? "host-array" : "dead-host-source",
                  .hazard = pointers ? 6 : 7,
                  .confidence = source.certain ? Confidence::Likely : Confidence::Possible,
                  .nodes = {node}};
  for (const Touch* touch : {from, to}) {
    if (touch != nullptr) add_access(finding.accesses, context.access(node.graph, *touch));
  }
  finding.title = fmt::format("{} copies {}{} from {}", context.text(node), size_text(copy.bytes),
                              pointers ? " of addresses" : "", source.text);
  finding.explanation =
      pointers ? fmt::format(
                     "The array of addresses {} is copied from the host in every replay, not just "
                     "at capture. Once the program has written other addresses to its array, or "
                     "freed it, the kernels after the copy follow those.",
                     text(*target))
               : "The copy runs in every replay and reads the current contents of the host's "
                 "memory. Whatever the program writes there after the capture ends up in the "
                 "graph's results.";
  finding.fix = fix_of(finding.rule);
  finding.proof.words =
      "Replays are compared with eager launches while the host memory that the program believes to "
      "be free is overwritten; plain replays, without that, should be correct.";
  finding.proof.shows.scribbled_host = true;
  if (pointers) {
    // Addresses are also wrong once what they point to has moved.
    finding.proof.words =
        "Replays are compared with eager launches while the host memory that the program believes "
        "to be free is overwritten and every input is in other memory, with all addresses "
        "in the graph patched; with those in the host's array patched too, replays should be "
        "right.";
    finding.proof.shows.moved_inputs = true;
    finding.proof.cures.moved_inputs = true;
    finding.proof.cures.patched_host = true;
  }
  return finding;
}

}  // namespace

void find_host_sources(RuleContext& context, std::vector<Finding>& findings) {
  for (int g = 0; g < context.graphs(); ++g) {
    if (context.left_out(g)) continue;
    const std::vector<Touch>& touches = context.touches(g);
    std::size_t t = 0;
    for (int n = 0; n < static_cast<int>(context.graph(g).nodes.size()); ++n) {
      const Touch* from = nullptr;
      const Touch* to = nullptr;
      for (; t < touches.size() && touches[t].node <= n; ++t) {
        if (touches[t].place == Touch::Place::CopySource) from = &touches[t];
        if (touches[t].place == Touch::Place::CopyTarget) to = &touches[t];
      }
      const NodeRef node{g, n};
      const auto* copy = std::get_if<MemcpyNode>(&context.node(node).parameters);
      if (copy == nullptr) continue;
      const Allocation* source = context.allocation(from == nullptr ? -1 : from->allocation);
      if (!on_host(copy->source_space) && (source == nullptr || !on_host(source->space))) continue;
      if (on_host(copy->target_space)) continue;  // from host to host: does not affect kernels
      findings.push_back(finding_of(context, node, *copy, from, to));
    }
  }
}

}  // namespace profiling
