// A visit to the doctor as JSON, for scripts. Equal reports give equal text.
#pragma once

#include <string>

#include "profiling/hazards/model/doctor_report.h"

namespace profiling {

/// {"schema": "expertscope.doctor.1", "conclusion", "snapshot": {"subject", "cublaslt_version",
/// "device", "compute_capability", "driver", "allocations", "graphs": [{"name", "nodes", "edges",
/// "variant_of", "changed", "degraded", "launches" (null = not known), "failure": {"code", "name",
/// "call"}}]}, "findings": [{"rule", "hazard", "confidence", "title", "explanation", "nodes":
/// [[graph, node]], "captured_at" (one per node, null = not known), "accesses": [{"node", "place",
/// "word" (hexadecimal), "owner", "offset"}], "missing_order", "evidence", "fix": {"words",
/// "cublaslt", "pytorch", "transformer_engine"}, "proof"}], "experiments": [{"title", "finding",
/// "verdict", "message", "seconds", "first_wrong_replay", "replay_us", "checks": [{"replay",
/// "output", "parts", "wrong_parts"}], "stall": null or
/// {"replay", "graph", "waited_seconds", "deadline_seconds", "p99_seconds", "nodes": [NodeState of
/// each, none = not known], "running": [{"node", "name", "captured_at"}], "last_finished",
/// "kind", "evidence"}}], "smallest_cure": [{"node", "owner"}]}. Keys are only ever added.
std::string to_json(const DoctorReport& report);

/// Where the program captured the node, "train.py:42 step"; empty = not known, or no such node.
std::string capture_place(const Snapshot& snapshot, NodeRef node);

}  // namespace profiling
