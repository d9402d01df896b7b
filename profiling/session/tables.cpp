// Exceptions to the rules of layout.h: names for people who query the file, and lists that are
// stored differently.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "profiling/session/former_history.h"
#include "profiling/session/former_run.h"
#include "profiling/session/layout.h"
#include "profiling/session/session_file.h"

namespace profiling {
namespace {

using How = MemberLayout::How;
using engine::kType;

std::int64_t bin_of(const void* histogram, std::int64_t position) {
  return static_cast<const engine::MagnitudeHistogram*>(histogram)->first_bin + position;
}

constexpr DerivedColumn kBinColumns[] = {
    {.name = "bin",
     .value = [](const void* histogram,
                 std::int64_t at) { return static_cast<double>(bin_of(histogram, at)); }},
    // The smallest magnitude that falls into the bin.
    {.name = "lower_edge",
     .value =
         [](const void* histogram, std::int64_t at) {
           const auto bits = static_cast<std::uint32_t>(bin_of(histogram, at)) << 21U;
           const auto edge = static_cast<double>(std::bit_cast<float>(bits));
           // No finite magnitude falls into the last bins.
           return std::isnan(edge) ? std::numeric_limits<double>::infinity() : edge;
         },
     .integer = false}};

constexpr MemberLayout histogram(std::string_view member) {
  return {.type = &kType<engine::OperandStatistics>,
          .member = member,
          .how = How::Rows,
          .table = "histograms",
          .key = "kind"};
}

constexpr MemberLayout channel_profile(std::string_view member) {
  return {.type = &kType<engine::ChannelStatistics>,
          .member = member,
          .how = How::Rows,
          .table = "channel_profiles",
          .key = "axis"};
}

constexpr MemberLayout former_operand(std::string_view member) {
  return {.type = &kType<FormerRun>,
          .member = member,
          .how = How::Rows,
          .table = "operands",
          .key = "operand"};
}

constexpr MemberLayout experiment(std::string_view member) {
  return {.type = &kType<Proof>,
          .member = member,
          .how = How::Rows,
          .table = "proof_experiments",
          .key = "purpose"};
}

constexpr MemberLayout former_step(std::string_view member, std::string_view column) {
  return {.type = &kType<FormerHistory>,
          .member = member,
          .table = "steps",
          .key = "cell",
          .column = column};
}

template <class T>
constexpr MemberLayout flat(std::string_view member) {
  return {.type = &kType<T>, .member = member, .how = How::Flat};
}

template <class T>
constexpr MemberLayout column(std::string_view member, std::string_view name) {
  return {.type = &kType<T>, .member = member, .column = name};
}

template <class T>
constexpr MemberLayout list(std::string_view member, std::string_view table, std::string_view key,
                            std::string_view column = {}) {
  return {.type = &kType<T>, .member = member, .table = table, .key = key, .column = column};
}

constexpr MemberLayout kMembers[] = {
    // Runs.
    flat<RecordedRun>("result"),
    flat<RecordedRun>("activity"),
    {.type = &kType<RecordedRun>, .member = "snapshot", .how = How::Apart},
    list<RecordedRun>("notes", "time_notes", "position"),
    {.type = &kType<TimeNote>, .member = "text", .how = How::Exact},
    list<PowerTrace>("samples", "power_samples", "position"),
    column<engine::RunResult>("id", "order_id"),
    list<engine::RunResult>("deviations", "deviations", "position"),
    list<engine::RunResult>("splits", "splits", "expert", "tokens"),
    list<engine::RunResult>("recorded_routing", "recorded_routing", ""),
    list<engine::RecordedRouting>("steps", "recorded_steps", "position"),
    column<engine::RecordedStep>("rows", "tokens"),
    list<engine::RecordedStep>("splits", "recorded_splits", "expert", "tokens"),
    list<engine::RunResult>("experts", "experts", "expert"),
    column<engine::ExpertResult>("rows", "tokens"),
    list<engine::RunResult>("algorithms", "algorithms", "position"),
    flat<engine::RunResult>("measurements"),
    list<engine::Measurements>("experts", "expert_timings", "position"),
    list<engine::Measurements>("observer", "observer_timings", "position"),
    list<engine::Measurements>("tiled_launches", "tiled_launches", "launch"),
    list<engine::TiledLaunch>("kept", "launch_tiles", "position"),
    list<engine::RunResult>("iterations", "iterations", "iteration"),
    list<engine::RunResult>("replay_checks", "replay_checks", "position"),
    list<engine::RunResult>("graphs", "step_graphs", "position"),
    list<engine::ReplayCheck>("wrong_experts", "replay_wrong_experts", "wrong", "expert"),
    {.type = &kType<engine::RunResult>,
     .member = "tensors",
     .table = "tensors",
     .prefix = "tensor_",
     .key = "tensor_id"},
    list<engine::TensorResult>("quantization", "operands", ""),
    list<engine::TensorResult>("unquantized_y", "error_sources", ""),
    list<Activity>("names", "names", "name_id", "name"),
    {.type = &kType<Activity>, .member = "records", .how = How::Bulk, .table = "records"},
    column<ActivityRecord>("name", "name_id"),
    list<Activity>("nodes", "graph_nodes", "node"),
    column<GraphNode>("id", "node_id"),
    list<GraphNode>("dependencies", "graph_edges", "position", "depends_on"),
    list<Activity>("host_events", "host_events", "position"),
    column<HostEvent>("name", "name_id"),
    list<Activity>("memory_events", "memory_events", "position"),
    list<Activity>("shapes", "launch_shapes", "position"),
    list<Activity>("calls", "host_calls", "position"),
    column<HostCall>("name", "name_id"),

    // The same before `tensors`.
    former_operand("activations"),
    former_operand("weights"),
    former_operand("gradients"),
    former_operand("activated"),
    former_operand("down_weights"),
    former_operand("inner_gradients"),

    // Operands, of runs and of comparisons.
    histogram("before"),
    histogram("after"),
    histogram("amax"),
    histogram("scale"),
    {.type = &kType<engine::MagnitudeHistogram>,
     .member = "counts",
     .how = How::Sparse,
     .table = "histogram_bins",
     .column = "count",
     .derived = kBinColumns},
    list<engine::OperandStatistics>("experts", "operand_experts", "expert"),
    column<engine::OperandExpert>("rows", "tokens"),
    list<engine::OperandStatistics>("channels", "channels", ""),
    channel_profile("columns"),
    channel_profile("rows"),
    list<engine::ChannelProfile>("largest", "largest_channels", "position"),
    list<engine::ChannelProfile>("noisiest", "noisiest_channels", "position"),
    list<engine::ChannelProfile>("lowest_snr", "lowest_snr_channels", "position"),
    column<engine::Channel>("index", "channel"),
    list<engine::ScaleMap>("expert_first_row", "scale_map_experts", "position", "first_row"),

    // Comparisons.
    flat<RecordedComparison>("comparison"),
    column<engine::RecipeComparison>("id", "order_id"),
    flat<engine::RecipeComparison>("request"),
    list<engine::RecipeComparison>("splits", "splits", "expert", "tokens"),
    list<engine::RecipeComparison>("copy_times_ns", "copies", "launch", "duration_ns"),
    list<engine::ComparisonRequest>("recipes", "recipes", "position"),
    list<engine::ComparisonRequest>("series", "series", ""),
    list<engine::StepSeries>("idle", "series_idle", "position"),
    list<engine::RecipeComparison>("reports", "reports", "report"),
    flat<engine::QuantizationReport>("recipe"),
    flat<engine::QuantizationReport>("statistics"),
    list<engine::QuantizationReport>("times_ns", "times", "launch", "duration_ns"),
    {.type = &kType<engine::QuantizationReport>,
     .member = "code_counts",
     .how = How::Sparse,
     .table = "codes",
     .key = "code",
     .column = "count"},
    list<engine::QuantizationReport>("experts", "experts", "expert"),
    column<engine::ExpertQuantization>("rows", "tokens"),
    list<engine::ExpertQuantization>("delayed", "delayed_scales", ""),

    // Series before they were comparisons. The columns of one table are lists of one length.
    flat<FormerHistory>("request"),
    list<FormerHistoryRequest>("idle", "idle", "position"),
    former_step("tokens", "tokens"),
    former_step("amax", "amax"),
    former_step("history_amax", "history_amax"),
    former_step("scale_used", "scale_used"),
    former_step("scale_wanted", "scale_wanted"),
    former_step("saturated", "saturated"),
    former_step("underflowed", "underflowed"),
    former_step("snr_db", "snr_db"),
    former_step("left_out", "left_out"),

    // Visits.
    flat<RecordedVisit>("report"),
    {.type = &kType<DoctorReport>, .member = "snapshot", .how = How::Apart},
    list<DoctorReport>("findings", "findings", "finding"),
    list<Finding>("nodes", "finding_nodes", "position"),
    list<Finding>("accesses", "finding_accesses", "position"),
    flat<Access>("node"),
    list<Finding>("evidence", "finding_evidence", "position", "evidence"),
    experiment("shows"),
    experiment("cures"),
    list<DoctorReport>("experiments", "experiments", "experiment"),
    column<ExperimentRecord>("finding", "of_finding"),
    flat<ExperimentRecord>("experiment"),
    flat<ExperimentRecord>("outcome"),
    list<Outcome>("checks", "experiment_checks", "check_position"),
    list<OutputCheck>("wrong_parts", "experiment_wrong_parts", "position", "part"),
    list<Outcome>("stall", "experiment_stalls", "stall"),
    list<Stall>("nodes", "experiment_stall_nodes", "node", "state"),
    list<Outcome>("replay_us", "experiment_replays", "position", "replay_us"),
    list<DoctorReport>("smallest_cure", "smallest_cures", "position"),
    flat<MovedMemory>("node"),

    // Snapshots.
    flat<RecordedSnapshot>("snapshot"),
    list<Snapshot>("graphs", "snapshot_graphs", "graph"),
    list<Snapshot>("ledger", "snapshot_allocations", "position"),
    column<engine::Allocation>("id", "allocation_id"),
    list<Snapshot>("launches", "snapshot_launches", "position"),
    list<Snapshot>("pools", "snapshot_pools", "position"),
    list<GraphSnapshot>("events", "snapshot_events", "position"),
    list<GraphSnapshot>("nodes", "snapshot_nodes", "node"),
    column<SnapshotNode>("id", "node_id"),
    {.type = &kType<SnapshotNode>, .member = "parameters", .table = "snapshot"},
    {.type = &kType<KernelNode>, .member = "slots", .how = How::Packed},
    list<KernelNode>("tensor_maps", "snapshot_tensor_maps", "position"),
    list<GraphSnapshot>("edges", "snapshot_edges", "position"),
    column<SnapshotEdge>("from", "from_node"),
    column<SnapshotEdge>("to", "to_node"),
};

}  // namespace

std::span<const MemberLayout> member_layouts() { return kMembers; }

std::vector<TableDefinition> session_tables() {
  std::vector<TableDefinition> all = {{"notes",
                                       "CREATE TABLE notes(\n  key TEXT PRIMARY KEY,\n  value TEXT "
                                       "NOT NULL\n) STRICT, WITHOUT ROWID"},
                                      {"stages",
                                       "CREATE TABLE stages(\n  stage INTEGER PRIMARY KEY,\n  name "
                                       "TEXT NOT NULL\n) STRICT"},
                                      {"written_values",
                                       "CREATE TABLE written_values(\n  writes INTEGER PRIMARY "
                                       "KEY,\n  name TEXT NOT NULL\n) STRICT"},
                                      {"activity_kinds",
                                       "CREATE TABLE activity_kinds(\n  kind INTEGER PRIMARY "
                                       "KEY,\n  name TEXT NOT NULL\n) STRICT"}};
  const auto add = [&](const Layout& layout) {
    for (const auto& table : layout.tables) all.push_back({table->name, definition_of(*table)});
  };
  for_each_kind(Session(), [&]<class Recorded>(const auto&) { add(layout_of<Recorded>()); });
  add(layout_of<RecordedSnapshot>());
  return all;
}

}  // namespace profiling
