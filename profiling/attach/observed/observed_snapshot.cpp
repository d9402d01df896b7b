#include <algorithm>
#include <utility>

#include "profiling/attach/observed/observed_process.h"
#include "profiling/hazards/rules/diagnosis.h"
#include "profiling/hazards/snapshot/foreign_memory.h"

namespace profiling {

namespace {

constexpr std::size_t kMostKnown = 1000;  // Snapshot::libraries

}  // namespace

Snapshot ObservedProcess::snapshot() const {
  Snapshot made;
  made.subject = title();
  made.device = device_;
  made.compute_capability = compute_capability_;
  made.driver = driver_;
  if (!cuda_version_.empty()) made.libraries = {{.name = "CUDA driver", .version = cuda_version_}};
  for (const ObservedLibrary& library : libraries_) {
    const std::optional<LoadedLibrary> known = known_library(library);
    if (!known) continue;
    if (known->name == kCublasLt) made.cublaslt_version = known->version;
    if (known->name == "NCCL") made.nccl_version = known->version;
    // FlashInfer is many files.
    if (made.libraries.size() < kMostKnown &&
        std::ranges::find(made.libraries, *known) == made.libraries.end())
      made.libraries.push_back(*known);
  }
  made.ledger = ledger_;
  made.ledger_clock = clock_;
  made.ended = ended_;
  made.eager = eager_;
  made.not_compared = not_compared_;
  for (const auto& [number, graph] : graphs_) {
    if (graph.complete) made.graphs.push_back(graph.graph);
  }
  for (const GraphSnapshot& failed : failed_captures_) {
    if (made.graphs.size() >= kMaxSnapshotGraphs) break;
    made.graphs.push_back(failed);
  }
  // A program that has run for days has released much that no graph of it ever used.
  leave_out_earlier_allocations(made, clock_);
  return made;
}

}  // namespace profiling
