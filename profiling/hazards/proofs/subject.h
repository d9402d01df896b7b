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

namespace profiling {

struct SubjectOutput {
  std::string name;  // "Y, layer 0"
  int parts = 1;     // experts; 1 = no experts
};

/// All calls from one thread, in this order: set_inputs, then launches, each of them reset() and
/// enqueue() of every graph in turn, then checksums(). Memory is allocated through engine/device,
/// with owners that are the same in every process.
class Subject {
 public:
  virtual ~Subject() = default;

  virtual std::string title() const = 0;
  /// What WorkTag::layer of its work counts.
  virtual engine::StepKind step() const { return engine::StepKind::Linear; }
  /// Graphs that one step consists of, launched in this order ("forward", "backward").
  virtual std::vector<std::string> graph_names() const { return {"step"}; }
  virtual std::vector<SubjectOutput> outputs() const = 0;

  /// Sets the first inputs, or others: other splits, values and scalars. In device memory if the
  /// program keeps them there, in host memory if it reads them from the host. Synchronises.
  virtual engine::Status set_inputs(bool changed, cudaStream_t stream) = 0;
  /// Before a launch: fills outputs with a pattern that no launch writes. Enqueues only.
  virtual engine::Status reset(cudaStream_t stream) = 0;
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
