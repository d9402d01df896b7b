// What the doctor examines: a program that can be launched, captured and checked. The step and
// every case of the hazard gallery are subjects.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/error.h"
#include "engine/model/expert_layer.h"
#include "engine/observe/step_observer.h"
#include "profiling/hazards/model/snapshot.h"

namespace profiling {

struct SubjectOutput {
  std::string name;  // "Y, layer 0"
  int parts = 1;     // experts; 1 = no experts
};

/// All calls from one thread, in this order: set_inputs, then steps, each of them reset() and, for
/// every launch in turn, before_launch(), enqueue() or a replay, after_launch(); then checksums().
/// Memory is allocated through engine/device, with owners that are the same in every process.
class Subject {
 public:
  virtual ~Subject() = default;

  virtual std::string title() const = 0;
  /// What WorkTag::layer of its work counts.
  virtual engine::StepKind step() const { return engine::StepKind::Linear; }
  /// Graphs that one step consists of, captured in this order ("forward", "backward").
  virtual std::vector<std::string> graph_names() const { return {"step"}; }
  /// Launches of one step; empty = every graph once, in the order of their captures, each after the
  /// one before. Eager launches have the same order, all on one stream.
  virtual std::vector<GraphLaunch> launches() const { return {}; }
  /// Memory that only the captured graphs use, known after their captures.
  virtual std::vector<GraphPool> graph_pools() const { return {}; }
  virtual std::vector<SubjectOutput> outputs() const = 0;

  /// Sets the first inputs, or others: other splits, values and scalars. In device memory if the
  /// program keeps them there, in host memory if it reads them from the host. Synchronises.
  virtual engine::Status set_inputs(bool changed, cudaStream_t stream) = 0;
  /// Before a step: fills outputs with a pattern that no launch writes. Enqueues only.
  virtual engine::Status reset(cudaStream_t stream) = 0;
  /// The program's own eager work around launch `number` of every step, such as static inputs of a
  /// graph or a loss. before_launch() is also called right before the capture for that launch. Only
  /// enqueues, and touches no inputs (is_input()): experiments move them.
  virtual engine::Status before_launch(int /*number*/, cudaStream_t /*stream*/) { return {}; }
  virtual engine::Status after_launch(int /*number*/, cudaStream_t /*stream*/) { return {}; }
  /// One graph's work, eager or under capture.
  virtual engine::Status enqueue(int graph, cudaStream_t stream,
                                 engine::StepObserver& observer) = 0;
  /// What the program does after the graph was captured and before the next one is.
  virtual engine::Status captured(int /*graph*/, cudaStream_t /*stream*/) { return {}; }
  /// Overwrites host memory that the program believes it no longer needs.
  virtual engine::Status scribble_host() { return {}; }
  /// The parts of all outputs in sequence. Synchronises.
  virtual engine::Result<std::vector<std::uint64_t>> checksums(cudaStream_t stream) = 0;
  /// Errors recorded on the device by the program's own kernels. Synchronises.
  virtual engine::Status noted_errors(cudaStream_t /*stream*/) { return {}; }
};

}  // namespace profiling
