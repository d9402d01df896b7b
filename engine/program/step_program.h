// What a step does, decided once from the request: its operations in the order of their launches,
// part by part. Built on the host without a device. The executors, the memory plan, the roofline
// and the explanation that a person reads all follow from it.
//
//   expert layer, forward      fill arrays · permute · quantize X · for every layer:
//                              quantize Wup · H · A · quantize A, Wdown · Y · unpermute
//   expert layer, backward     permute dY · quantize dY · for every layer, last first:
//                              dA · dH · quantize dH · dX · unpermute · dWdown · dWup
#pragma once

#include <string>
#include <vector>

#include "engine/model/error.h"
#include "engine/model/run_request.h"
#include "engine/program/operations.h"

namespace engine {

enum class ProgramPass : std::uint8_t { Forward, Backward };

/// A pass of one micro-batch.
struct ProgramPart {
  ProgramPass pass = ProgramPass::Forward;
  int micro_batch = 0;
  /// The graph that it is captured in; parts of the same name are one graph.
  std::string graph = "step";
  std::vector<Operation> operations = {};
};

struct StepProgram {
  RunRequest request = {};  // that it was made of
  /// What a step of StepPasses::Backward alone reads of the forward pass before it; empty for
  /// others. Run `prepare_times` times before the first step: an amax history begins empty.
  std::vector<Operation> prepare = {};
  int prepare_times = 1;
  std::vector<ProgramPart> parts = {};  // in the order of their launches

  /// Names in the order of captures and launches.
  std::vector<std::string> graph_names() const;

  /// Calls `run` with every operation of `prepare`, prepare_times times, until one fails.
  template <class Run>
  Status run_prepare(Run&& run) const {
    for (int time = 0; !prepare.empty() && time < prepare_times; ++time) {
      for (const Operation& operation : prepare) ENGINE_TRY(run(operation));
    }
    return {};
  }
};

/// Whether the forward and the backward pass are captured as separate graphs.
bool captured_apart(const RunRequest& request);

/// `request`: effective settings.
StepProgram program_of(const RunRequest& request);

}  // namespace engine
