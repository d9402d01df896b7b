// The tables of the graph doctor, since version 4 of the schema: snapshots of captured graphs with
// their memory, and visits with findings, experiments and outcomes.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "profiling/session/schema.h"

namespace profiling {

inline constexpr TableDefinition kDoctorTables[] = {
    {"doctor_words", R"(CREATE TABLE doctor_words(
  enumeration TEXT NOT NULL,
  number INTEGER NOT NULL,
  name TEXT NOT NULL,
  PRIMARY KEY(enumeration, number)
) STRICT, WITHOUT ROWID)"},
    {"visits", R"(CREATE TABLE visits(
  visit_id INTEGER PRIMARY KEY,
  wall_clock_ms INTEGER NOT NULL,
  request_json TEXT NOT NULL,
  conclusion TEXT NOT NULL
) STRICT)"},
    {"snapshots", R"(CREATE TABLE snapshots(
  snapshot_id INTEGER PRIMARY KEY,
  owner TEXT NOT NULL,
  owner_id INTEGER NOT NULL,
  subject TEXT NOT NULL,
  cublaslt_version TEXT NOT NULL,
  device TEXT NOT NULL,
  compute_capability TEXT NOT NULL,
  driver TEXT NOT NULL,
  ledger_clock INTEGER NOT NULL
) STRICT)"},
    {"snapshot_graphs", R"(CREATE TABLE snapshot_graphs(
  snapshot_id INTEGER NOT NULL,
  graph INTEGER NOT NULL,
  name TEXT NOT NULL,
  variant_of INTEGER NOT NULL,
  changed TEXT NOT NULL,
  degraded INTEGER NOT NULL,
  capture_began INTEGER NOT NULL,
  capture_ended INTEGER NOT NULL,
  failure_code INTEGER NOT NULL,
  failure_name TEXT NOT NULL,
  failure_call TEXT NOT NULL,
  PRIMARY KEY(snapshot_id, graph)
) STRICT, WITHOUT ROWID)"},
    {"snapshot_nodes", R"(CREATE TABLE snapshot_nodes(
  snapshot_id INTEGER NOT NULL,
  graph INTEGER NOT NULL,
  node INTEGER NOT NULL,
  type INTEGER NOT NULL,
  node_id INTEGER NOT NULL,
  name TEXT NOT NULL,
  stage INTEGER NOT NULL,
  layer INTEGER NOT NULL,
  parent INTEGER NOT NULL,
  PRIMARY KEY(snapshot_id, graph, node)
) STRICT, WITHOUT ROWID)"},
    {"snapshot_kernels", R"(CREATE TABLE snapshot_kernels(
  snapshot_id INTEGER NOT NULL,
  graph INTEGER NOT NULL,
  node INTEGER NOT NULL,
  function TEXT NOT NULL,
  grid_x INTEGER NOT NULL,
  grid_y INTEGER NOT NULL,
  grid_z INTEGER NOT NULL,
  block_x INTEGER NOT NULL,
  block_y INTEGER NOT NULL,
  block_z INTEGER NOT NULL,
  cluster_x INTEGER NOT NULL,
  cluster_y INTEGER NOT NULL,
  cluster_z INTEGER NOT NULL,
  dynamic_shared_bytes INTEGER NOT NULL,
  cooperative INTEGER NOT NULL,
  waits_for_programmatic INTEGER NOT NULL,
  parameter_bytes INTEGER NOT NULL,
  slot_count INTEGER NOT NULL,
  parameters BLOB NOT NULL,
  slots BLOB NOT NULL,
  PRIMARY KEY(snapshot_id, graph, node)
) STRICT, WITHOUT ROWID)"},
    {"snapshot_memsets", R"(CREATE TABLE snapshot_memsets(
  snapshot_id INTEGER NOT NULL,
  graph INTEGER NOT NULL,
  node INTEGER NOT NULL,
  address INTEGER NOT NULL,
  value INTEGER NOT NULL,
  element_bytes INTEGER NOT NULL,
  width INTEGER NOT NULL,
  height INTEGER NOT NULL,
  pitch INTEGER NOT NULL,
  PRIMARY KEY(snapshot_id, graph, node)
) STRICT, WITHOUT ROWID)"},
    {"snapshot_copies", R"(CREATE TABLE snapshot_copies(
  snapshot_id INTEGER NOT NULL,
  graph INTEGER NOT NULL,
  node INTEGER NOT NULL,
  source_space INTEGER NOT NULL,
  target_space INTEGER NOT NULL,
  source INTEGER NOT NULL,
  target INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  PRIMARY KEY(snapshot_id, graph, node)
) STRICT, WITHOUT ROWID)"},
    {"snapshot_memory", R"(CREATE TABLE snapshot_memory(
  snapshot_id INTEGER NOT NULL,
  graph INTEGER NOT NULL,
  node INTEGER NOT NULL,
  operation TEXT NOT NULL,
  address INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  PRIMARY KEY(snapshot_id, graph, node)
) STRICT, WITHOUT ROWID)"},
    {"snapshot_edges", R"(CREATE TABLE snapshot_edges(
  snapshot_id INTEGER NOT NULL,
  graph INTEGER NOT NULL,
  position INTEGER NOT NULL,
  from_node INTEGER NOT NULL,
  to_node INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  PRIMARY KEY(snapshot_id, graph, position)
) STRICT, WITHOUT ROWID)"},
    {"snapshot_events", R"(CREATE TABLE snapshot_events(
  snapshot_id INTEGER NOT NULL,
  graph INTEGER NOT NULL,
  position INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  what TEXT NOT NULL,
  PRIMARY KEY(snapshot_id, graph, position)
) STRICT, WITHOUT ROWID)"},
    {"allocations", R"(CREATE TABLE allocations(
  snapshot_id INTEGER NOT NULL,
  position INTEGER NOT NULL,
  allocation_id INTEGER NOT NULL,
  address INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  space INTEGER NOT NULL,
  role INTEGER NOT NULL,
  owner TEXT NOT NULL,
  allocated_at INTEGER NOT NULL,
  freed_at INTEGER NOT NULL,
  PRIMARY KEY(snapshot_id, position)
) STRICT, WITHOUT ROWID)"},
    {"findings", R"(CREATE TABLE findings(
  visit_id INTEGER NOT NULL,
  finding INTEGER NOT NULL,
  rule TEXT NOT NULL,
  hazard INTEGER NOT NULL,
  confidence INTEGER NOT NULL,
  title TEXT NOT NULL,
  explanation TEXT NOT NULL,
  missing_order TEXT NOT NULL,
  fix_words TEXT NOT NULL,
  fix_cublaslt TEXT NOT NULL,
  fix_pytorch TEXT NOT NULL,
  fix_transformer_engine TEXT NOT NULL,
  proof_words TEXT NOT NULL,
  needs_cure INTEGER NOT NULL,
  PRIMARY KEY(visit_id, finding)
) STRICT, WITHOUT ROWID)"},
    {"finding_nodes", R"(CREATE TABLE finding_nodes(
  visit_id INTEGER NOT NULL,
  finding INTEGER NOT NULL,
  position INTEGER NOT NULL,
  graph INTEGER NOT NULL,
  node INTEGER NOT NULL,
  PRIMARY KEY(visit_id, finding, position)
) STRICT, WITHOUT ROWID)"},
    {"finding_accesses", R"(CREATE TABLE finding_accesses(
  visit_id INTEGER NOT NULL,
  finding INTEGER NOT NULL,
  position INTEGER NOT NULL,
  graph INTEGER NOT NULL,
  node INTEGER NOT NULL,
  place TEXT NOT NULL,
  word INTEGER NOT NULL,
  owner TEXT NOT NULL,
  "offset" INTEGER NOT NULL,
  PRIMARY KEY(visit_id, finding, position)
) STRICT, WITHOUT ROWID)"},
    {"finding_evidence", R"(CREATE TABLE finding_evidence(
  visit_id INTEGER NOT NULL,
  finding INTEGER NOT NULL,
  position INTEGER NOT NULL,
  evidence TEXT NOT NULL,
  PRIMARY KEY(visit_id, finding, position)
) STRICT, WITHOUT ROWID)"},
    {"experiments", R"(CREATE TABLE experiments(
  visit_id INTEGER NOT NULL,
  purpose TEXT NOT NULL,
  position INTEGER NOT NULL,
  title TEXT NOT NULL,
  finding INTEGER NOT NULL,
  graph INTEGER NOT NULL,
  replays INTEGER NOT NULL,
  poisoned_workspaces INTEGER NOT NULL,
  red_zones INTEGER NOT NULL,
  changed_inputs INTEGER NOT NULL,
  recaptured INTEGER NOT NULL,
  scribbled_host INTEGER NOT NULL,
  free_on_launch INTEGER NOT NULL,
  eager_loading INTEGER NOT NULL,
  markers INTEGER NOT NULL,
  deadline_seconds REAL NOT NULL,
  PRIMARY KEY(visit_id, purpose, position)
) STRICT, WITHOUT ROWID)"},
    {"experiment_changes", R"(CREATE TABLE experiment_changes(
  visit_id INTEGER NOT NULL,
  purpose TEXT NOT NULL,
  experiment INTEGER NOT NULL,
  change TEXT NOT NULL,
  position INTEGER NOT NULL,
  graph INTEGER NOT NULL,
  node INTEGER NOT NULL,
  to_graph INTEGER NOT NULL,
  to_node INTEGER NOT NULL,
  owner TEXT NOT NULL,
  value INTEGER NOT NULL,
  PRIMARY KEY(visit_id, purpose, experiment, change, position)
) STRICT, WITHOUT ROWID)"},
    {"experiment_outcomes", R"(CREATE TABLE experiment_outcomes(
  visit_id INTEGER NOT NULL,
  experiment INTEGER NOT NULL,
  verdict INTEGER NOT NULL,
  message TEXT NOT NULL,
  seconds REAL NOT NULL,
  PRIMARY KEY(visit_id, experiment)
) STRICT, WITHOUT ROWID)"},
    {"experiment_replays", R"(CREATE TABLE experiment_replays(
  visit_id INTEGER NOT NULL,
  experiment INTEGER NOT NULL,
  position INTEGER NOT NULL,
  replay_us REAL NOT NULL,
  PRIMARY KEY(visit_id, experiment, position)
) STRICT, WITHOUT ROWID)"},
    {"experiment_checks", R"(CREATE TABLE experiment_checks(
  visit_id INTEGER NOT NULL,
  experiment INTEGER NOT NULL,
  position INTEGER NOT NULL,
  replay INTEGER NOT NULL,
  output TEXT NOT NULL,
  parts INTEGER NOT NULL,
  PRIMARY KEY(visit_id, experiment, position)
) STRICT, WITHOUT ROWID)"},
    {"experiment_wrong_parts", R"(CREATE TABLE experiment_wrong_parts(
  visit_id INTEGER NOT NULL,
  experiment INTEGER NOT NULL,
  check_position INTEGER NOT NULL,
  position INTEGER NOT NULL,
  part INTEGER NOT NULL,
  PRIMARY KEY(visit_id, experiment, check_position, position)
) STRICT, WITHOUT ROWID)"},
    {"experiment_stalls", R"(CREATE TABLE experiment_stalls(
  visit_id INTEGER NOT NULL,
  experiment INTEGER NOT NULL,
  replay INTEGER NOT NULL,
  graph INTEGER NOT NULL,
  waited_seconds REAL NOT NULL,
  deadline_seconds REAL NOT NULL,
  last_finished INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  evidence TEXT NOT NULL,
  core_dump TEXT NOT NULL,
  PRIMARY KEY(visit_id, experiment)
) STRICT, WITHOUT ROWID)"},
    {"experiment_stall_nodes", R"(CREATE TABLE experiment_stall_nodes(
  visit_id INTEGER NOT NULL,
  experiment INTEGER NOT NULL,
  node INTEGER NOT NULL,
  state INTEGER NOT NULL,
  PRIMARY KEY(visit_id, experiment, node)
) STRICT, WITHOUT ROWID)"},
    {"smallest_cures", R"(CREATE TABLE smallest_cures(
  visit_id INTEGER NOT NULL,
  position INTEGER NOT NULL,
  graph INTEGER NOT NULL,
  node INTEGER NOT NULL,
  owner TEXT NOT NULL,
  PRIMARY KEY(visit_id, position)
) STRICT, WITHOUT ROWID)"},
};

inline constexpr std::array<std::string_view, 2> kSnapshotOwners = {"run", "visit"};
inline constexpr std::array<std::string_view, 2> kMemoryOperations = {"allocate", "free"};
/// Of an experiment: it was made, or a finding's proof asks for it.
inline constexpr std::array<std::string_view, 3> kPurposes = {"made", "shows", "cures"};
/// The last two, since version 8, have one row with value 1 where they are made.
inline constexpr std::array<std::string_view, 6> kChanges = {
    "moved", "filled", "delayed", "ordered", "moved inputs", "patched host"};

inline constexpr std::int64_t kMaxSnapshotGraphs = 1000;     // of one snapshot
inline constexpr std::int64_t kMaxCaptureEvents = 100'000;   // of one graph
inline constexpr std::int64_t kMaxParameterBytes = 1 << 16;  // of one kernel node
inline constexpr std::int64_t kMaxSlots = 1 << 14;           // of one kernel node
inline constexpr std::int64_t kMaxAllocations = 1 << 20;     // of one snapshot
inline constexpr std::int64_t kMaxFindings = 10'000;         // of one visit
inline constexpr std::int64_t kMaxFindingParts = 1 << 20;    // nodes, accesses, ... of one finding
inline constexpr std::int64_t kMaxExperiments = 10'000;      // of one visit
inline constexpr std::int64_t kMaxExperimentParts =
    1 << 20;  // changes, checks, ... of one experiment

}  // namespace profiling
