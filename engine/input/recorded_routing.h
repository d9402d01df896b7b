// Reads a routing file: rows per expert, step by step, of one layer. Detects which of these forms
// the file has, and reports it:
//
//   rows per expert
//     [experts]                              one step
//     [steps, experts]
//     [steps, layers, experts]               SGLang's logical_count
//   experts of tokens
//     [tokens, top_k]
//     [tokens, layers, top_k]                vLLM's routed_experts
//     [sequences, tokens, layers, top_k]
//   experts of tokens, by layer              Megatron's RouterReplay
//     [layers, tokens, top_k]
//     [steps, layers, tokens, top_k]
//     a tensor [tokens, top_k] for each layer, or each step and layer, numbered in its name
//
// The formats are .npy and .safetensors files of uint8, int16, int32 or int64, and JSON lists, also
// as members of an object. Layers are counted from 0, whatever numbers the file gives them. Tokens
// of a step are adjacent: RoutingSpec::tokens_per_step of them form a step.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/error.h"
#include "engine/model/recorded_steps.h"
#include "engine/model/run_request.h"

namespace engine {

struct RoutingSteps {
  std::string source;                               // "vLLM routed_experts, int16 [4096, 27, 8]"
  RoutingNumbers numbers = RoutingNumbers::Counts;  // as detected or requested, never Detect
  int experts = 0;              // number of counts in a step, or the highest id + 1
  int layers = 1;               // of the file
  std::int64_t file_steps = 0;  // of the file, with this many tokens per step
  /// The steps that the specification chooses, in the order of replay, without times and errors.
  std::vector<RecordedStep> steps;
  /// Experts per token, and the choices of every step [tokens, top_k]; -1 = dropped. Filled only if
  /// the file names experts of tokens and ReadOptions::with_choices is set.
  int top_k = 0;
  std::vector<std::vector<std::int32_t>> token_experts = {};

  std::int64_t largest_step() const;     // rows
  std::int64_t largest_choices() const;  // of a step, dropped ones included
  std::int64_t dropped() const;
};

struct ReadOptions {
  bool with_choices = false;  // also RoutingSteps::token_experts
  /// Another thread sets it to stop reading; the error is then Cancelled.
  const std::atomic<bool>* cancel = nullptr;
};

/// `num_experts` is that of the shape: every id must be below it, and every list of counts must
/// have that many entries; 0 = as many as the file has. Only `spec.path` and the settings of a
/// routing file are read.
Result<RoutingSteps> read_recorded_routing(const RoutingSpec& spec, int num_experts,
                                           const ReadOptions& options = {});

/// What a routing file means for the sizes of a step: a worker reports it before the file is run.
struct RoutingFacts {
  std::string source;
  RoutingNumbers numbers = RoutingNumbers::Counts;
  int experts = 0;
  int layers = 1;
  std::int64_t file_steps = 0;
  int steps = 0;                  // that would be replayed
  std::int64_t largest_step = 0;  // rows
  std::int64_t dropped = 0;
  std::int64_t largest_choices = 0;  // of a step, dropped ones included
  bool operator==(const RoutingFacts&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&RoutingFacts::source>(),
        engine::field<&RoutingFacts::numbers>(),
        engine::field<&RoutingFacts::experts>({.low = 0, .high = kMaxExperts}),
        engine::field<&RoutingFacts::layers>(kCount),
        engine::field<&RoutingFacts::file_steps>(kCount),
        engine::field<&RoutingFacts::steps>({.low = 0, .high = kMaxRecordedSteps}),
        engine::field<&RoutingFacts::largest_step>({.low = 0, .high = kMaxDimension}),
        engine::field<&RoutingFacts::dropped>(kCount),
        engine::field<&RoutingFacts::largest_choices>({.low = 0, .high = kMaxDimension})};
  }
};
Result<RoutingFacts> inspect_routing(const RoutingSpec& spec,
                                     const std::atomic<bool>* cancel = nullptr);

/// The shape.rows that a request needs for a routing file: rows of the largest step or, if the
/// step begins at tokens, room for every choice of the largest step, dropped ones included.
std::int64_t needed_rows(const RunRequest& request, std::int64_t largest_step,
                         std::int64_t largest_choices);

/// `request` with the sizes that follow from the routing file: experts, tokens, and the iterations
/// that replay every step once with each of the weights' micro-batches.
RunRequest fitted_to_routing(RunRequest request, const RoutingFacts& facts);

}  // namespace engine
