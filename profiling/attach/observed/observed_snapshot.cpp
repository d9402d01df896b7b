#include <algorithm>
#include <utility>

#include "engine/model/path_text.h"
#include "profiling/attach/observed/observed_process.h"
#include "profiling/hazards/snapshot/foreign_memory.h"

namespace profiling {

Snapshot ObservedProcess::snapshot() const {
  Snapshot made;
  made.subject = title();
  made.device = device_;
  made.compute_capability = compute_capability_;
  made.driver = driver_;
  for (const ObservedLibrary& library : libraries_) {
    const std::string_view file = engine::file_name(library.path);
    if (file.starts_with("libcublasLt.so")) made.cublaslt_version = library.version;
    if (file.starts_with("libnccl.so")) made.nccl_version = library.version;
  }
  made.ledger = ledger_;
  made.ledger_clock = clock_;
  made.ended = ended_;
  made.eager = eager_;
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
