// The collector: gives CUPTI the step's position (external correlation ids while launching, node
// ids while capturing) and turns its records into Activity after the run.
#include "profiling/cupti/cupti_collector.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <utility>

#include "engine/device/allocation_ledger.h"
#include "profiling/cupti/attribution.h"
#include "profiling/cupti/captured_graph.h"
#include "profiling/cupti/record_buffers.h"
#include "profiling/hazards/snapshot/foreign_memory.h"
#include "profiling/hazards/snapshot/graph_reader.h"

namespace profiling {
namespace {

// RUNTIME and DRIVER are needed because an external id is attached to the API record of a launch:
// without API records there are no external ids.
constexpr std::array kRunKinds = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                  CUPTI_ACTIVITY_KIND_MEMCPY,
                                  CUPTI_ACTIVITY_KIND_MEMSET,
                                  CUPTI_ACTIVITY_KIND_RUNTIME,
                                  CUPTI_ACTIVITY_KIND_DRIVER,
                                  CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                  CUPTI_ACTIVITY_KIND_GRAPH_TRACE};
/// Non-kernel events. A run is useful without them, so a driver that refuses one is not a failure.
struct EventKind {
  CUpti_ActivityKind kind;
  const char* what;
};
constexpr std::array kEventKinds = {EventKind{CUPTI_ACTIVITY_KIND_MEMORY2, "allocations"},
                                    EventKind{CUPTI_ACTIVITY_KIND_MEMORY_POOL, "memory pools"},
                                    EventKind{CUPTI_ACTIVITY_KIND_OVERHEAD, "overheads"},
                                    EventKind{CUPTI_ACTIVITY_KIND_MARKER, "NVTX ranges"}};
constexpr std::array kGraphCallbacks = {CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
                                        CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED};
constexpr CUpti_ExternalCorrelationKind kIdKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
constexpr const char* kNodesMethod =
    "CUPTI activity records of every kernel, copy and memset; graph nodes one by one";
constexpr const char* kGraphsMethod =
    "CUPTI activity records; one per graph launch, none for its nodes";
constexpr const char* kOffMethod = "none: tracing was off, as requested";

std::atomic<bool> collector_lives{false};

class CuptiCollector final : public ActivityCollector {
 public:
  explicit CuptiCollector(CuptiProcess& process)
      : process_(process), cupti_(process.library), buffers_(process.buffers) {}

  ~CuptiCollector() override {
    stop_recording();
    if (subscriber_ != nullptr) (void)cupti_.unsubscribe(subscriber_);
    collector_lives.store(false);
  }

  engine::Status subscribe() {
    const CUptiResult subscribed = cupti_.subscribe(&subscriber_, &on_callback, this);
    if (subscribed != CUPTI_SUCCESS) {
      subscriber_ = nullptr;
      return cupti_.error(subscribed, "Subscribing to CUPTI");
    }
    return process_.exchange_buffers();
  }

  void begin_run() override {
    (void)buffers_.drain();
    // Reading the count resets it.
    std::size_t old_drops = 0;
    (void)cupti_.get_num_dropped_records(nullptr, 0, &old_drops);
    lost_before_ = buffers_.lost();
    (void)buffers_.take_read_error();
    dropped_ = 0;
    origin_ns_.reset();
    failure_.clear();
    timed_level_ = engine::TraceLevel::Nodes;
    refused_events_.clear();
    raw_ = {};
    {
      const std::lock_guard lock(graph_mutex_);
      graphs_ = {};
      snapshot_ = {};
      works_.clear();
    }
    for (const auto callback : kGraphCallbacks) {
      check(cupti_.enable_callback(1, subscriber_, CUPTI_CB_DOMAIN_RESOURCE, callback),
            "Watching graph nodes");
    }
    run_began_ = engine::AllocationLedger::of_process().clock();
    watching_ = true;
    set_trace(engine::TraceLevel::Nodes);
  }

  void set_trace(engine::TraceLevel level) override {
    if (!watching_ || level == level_) return;
    // Records so far must not be lost when their kind is disabled.
    if (level_ != engine::TraceLevel::Off) check(cupti_.flush_all(0), "Flushing CUPTI's records");
    enable(level);
  }

  void begin_work(const engine::WorkTag& tag) override {
    {
      const std::lock_guard lock(graph_mutex_);
      works_.push_back(tag);
    }
    push({.tag = tag, .iteration = iteration_});
  }

  void end_work() override {
    pop();
    const std::lock_guard lock(graph_mutex_);
    if (!works_.empty()) works_.pop_back();
  }

  void begin_iteration(int iteration) override {
    if (!origin_ns_.has_value()) {
      std::uint64_t now = 0;
      if (cupti_.get_timestamp(&now) == CUPTI_SUCCESS) origin_ns_ = now;
    }
    if (iteration == 0) timed_level_ = level_;
    iteration_ = iteration;
    push({.tag = {}, .iteration = iteration});
  }

  void end_iteration() override {
    pop();
    iteration_ = -1;
  }

  void graph_captured(const engine::GraphCapture& capture) override {
    if (!driver_.has_value()) {
      engine::Result<engine::DriverApi> driver = engine::load_driver_api();
      if (!driver.ok()) return fail(driver.error().message);
      driver_ = driver.value();
    }
    // CUgraph and cudaGraph_t are the same handle.
    auto* const handle = static_cast<CUgraph>(capture.graph);
    std::unordered_map<std::uint64_t, engine::WorkTag> tags;
    {
      const std::lock_guard lock(graph_mutex_);
      tags = graphs_.tags;
    }
    // Without the lock: a driver call may trigger a callback.
    engine::Result<GraphSnapshot> read = read_graph(*driver_, cupti_, handle, tags);
    if (!read.ok()) return fail(read.error().message);
    GraphSnapshot captured = std::move(read).value();
    captured.name = capture.name;
    // The engine allocates nothing under capture, and what comes from a pool of the graphs is in
    // the ledger now, so one timestamp covers the whole capture.
    const engine::AllocationLedger& ledger = engine::AllocationLedger::of_process();
    captured.capture_began = captured.capture_ended = ledger.clock();
    const std::lock_guard lock(graph_mutex_);
    for (GraphNode& node : nodes_of(captured)) graphs_.nodes.push_back(std::move(node));
    std::vector<GraphSnapshot> graphs = std::exchange(snapshot_, {}).graphs;
    graphs.push_back(std::move(captured));
    snapshot_.graphs = std::move(graphs);
    snapshot_.pools = capture.pools;
    snapshot_.ledger = ledger.read();
    snapshot_.ledger_clock = ledger.clock();
    leave_out_earlier_allocations(snapshot_, run_began_);
    add_driver_memory(*driver_, snapshot_);
  }

  void end_run() override {
    // First the complete buffers, then everything CUPTI still holds.
    check(cupti_.flush_all(0), "Flushing CUPTI's records");
    check(cupti_.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "Flushing CUPTI's records");
    std::size_t dropped = 0;
    check(cupti_.get_num_dropped_records(nullptr, 0, &dropped), "Counting dropped records");
    stop_recording();
    raw_ = buffers_.drain();
    {
      const std::lock_guard lock(graph_mutex_);
      add_recorded_memory(raw_.events.memory, snapshot_);
    }
    check(buffers_.take_read_error(), "Reading CUPTI's records");
    dropped_ = dropped + buffers_.lost() - lost_before_ + raw_.events.left_out;
    if (raw_.records.empty() && timed_level_ != engine::TraceLevel::Off) {
      fail(
          "CUPTI delivered no records although the run launched work; another tool may be in "
          "use, or the library does not match the driver");
    }
  }

  std::string method() const override {
    if (!failure_.empty()) return fmt::format("error: {}", failure_);
    switch (timed_level_) {
      case engine::TraceLevel::Nodes:
        return kNodesMethod + refused_events_;
      case engine::TraceLevel::Graphs:
        return kGraphsMethod + refused_events_;
      case engine::TraceLevel::Off:
        break;
    }
    return kOffMethod;
  }

  std::uint64_t dropped() const override { return dropped_; }

  Activity take() override {
    const std::lock_guard lock(graph_mutex_);
    std::uint64_t origin = origin_ns_.value_or(0);
    if (!origin_ns_.has_value() && !raw_.records.empty()) origin = raw_.records.front().start_ns;
    return attribute(std::exchange(raw_, {}), std::exchange(graphs_, {}), origin);
  }

  Snapshot take_snapshot() override {
    const std::lock_guard lock(graph_mutex_);
    return std::exchange(snapshot_, {});
  }

 private:
  static void CUPTIAPI on_callback(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                   const void* raw) {
    if (domain != CUPTI_CB_DOMAIN_RESOURCE || raw == nullptr) return;
    const auto& resource = *static_cast<const CUpti_ResourceData*>(raw);
    if (resource.resourceDescriptor == nullptr) return;
    static_cast<CuptiCollector*>(self)->on_node(
        id, *static_cast<const CUpti_GraphData*>(resource.resourceDescriptor));
  }

  /// Runs inside the launch being captured, or inside the instantiation.
  void on_node(CUpti_CallbackId id, const CUpti_GraphData& graph) {
    std::uint64_t node = 0;
    if (cupti_.get_graph_node_id(graph.node, &node) != CUPTI_SUCCESS) return;
    const std::lock_guard lock(graph_mutex_);
    if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED) {
      if (!works_.empty()) graphs_.tags.emplace(node, works_.back());
      return;
    }
    std::uint64_t original = 0;
    if (cupti_.get_graph_node_id(graph.originalNode, &original) == CUPTI_SUCCESS &&
        original != node) {
      graphs_.clone_of[node] = original;
    }
  }

  /// Switches from the current level to this one.
  void enable(engine::TraceLevel level) {
    const auto recorded = [](engine::TraceLevel at, CUpti_ActivityKind kind) {
      if (kind != CUPTI_ACTIVITY_KIND_GRAPH_TRACE) return at != engine::TraceLevel::Off;
      return at == engine::TraceLevel::Graphs;
    };
    for (const auto kind : kRunKinds) {
      const bool now = recorded(level_, kind);
      const bool then = recorded(level, kind);
      if (then && !now) check(cupti_.enable(kind), "Enabling CUPTI records");
      if (now && !then) check(cupti_.disable(kind), "Disabling CUPTI records");
    }
    const bool now = level_ != engine::TraceLevel::Off;
    const bool then = level != engine::TraceLevel::Off;
    for (const EventKind& event : kEventKinds) {
      if (now && !then) (void)cupti_.disable(event.kind);
      if (!then || now || cupti_.enable(event.kind) == CUPTI_SUCCESS) continue;
      const std::string refused = fmt::format("; no {}: CUPTI refused them", event.what);
      if (refused_events_.find(refused) == std::string::npos) refused_events_ += refused;
    }
    level_ = level;
  }

  void stop_recording() {
    if (!watching_) return;
    enable(engine::TraceLevel::Off);
    watching_ = false;
    for (const auto callback : kGraphCallbacks) {
      (void)cupti_.enable_callback(0, subscriber_, CUPTI_CB_DOMAIN_RESOURCE, callback);
    }
  }

  void push(const WorkPlace& place) {
    if (watching_) check(cupti_.push_external_id(kIdKind, pack(place)), "Tagging launches");
  }

  void pop() {
    std::uint64_t last = 0;
    if (watching_) (void)cupti_.pop_external_id(kIdKind, &last);
  }

  /// Keeps the first failure, which is the informative one.
  void fail(const std::string& sentence) {
    if (failure_.empty()) failure_ = sentence;
  }
  void check(CUptiResult result, const char* doing) {
    if (result != CUPTI_SUCCESS) fail(cupti_.error(result, doing).message);
  }

  CuptiProcess& process_;
  CuptiLibrary& cupti_;
  RecordBuffers& buffers_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::optional<engine::DriverApi> driver_;
  bool watching_ = false;                                       // within a run
  engine::TraceLevel level_ = engine::TraceLevel::Off;          // what is recorded now
  engine::TraceLevel timed_level_ = engine::TraceLevel::Nodes;  // when the first iteration began
  int iteration_ = -1;
  std::optional<std::uint64_t> origin_ns_;
  std::string failure_;
  std::string refused_events_;  // for method(): "; no NVTX ranges: ..."
  std::uint64_t dropped_ = 0;
  std::uint64_t lost_before_ = 0;
  RawActivity raw_;

  std::mutex graph_mutex_;              // callbacks run on any thread that touches a graph
  std::vector<engine::WorkTag> works_;  // open brackets, innermost last
  GraphKnowledge graphs_;
  Snapshot snapshot_;
  std::uint64_t run_began_ = 0;  // position on the ledger's clock
};

}  // namespace

engine::Result<std::unique_ptr<ActivityCollector>> make_cupti_collector() {
  if (collector_lives.exchange(true)) {
    return engine::Error{engine::ErrorCode::Unsupported,
                         "This process already has a CUPTI collector; one is the limit"};
  }
  const engine::Result<CuptiProcess*> process = cupti_process();
  if (!process.ok()) {
    collector_lives.store(false);
    return process.error();
  }
  auto collector = std::make_unique<CuptiCollector>(*process.value());
  // A failed collector releases its slot in its destructor.
  ENGINE_TRY(collector->subscribe());
  return std::unique_ptr<ActivityCollector>(std::move(collector));
}

}  // namespace profiling
