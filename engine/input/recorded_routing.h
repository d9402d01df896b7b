// A routing file as a recording: rows per expert, step by step, of one layer. Detects which of
// these the file holds, and reports it:
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
// Read from .npy and .safetensors files of uint8, int16, int32 or int64, and from JSON lists, also
// as members of an object. Layers are counted from 0, whatever numbers the file gives them. Tokens
// of one step stand together: RoutingSpec::tokens_per_step of them form a step.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/error.h"
#include "engine/model/recorded_steps.h"
#include "engine/model/run_request.h"

namespace engine {

struct RoutingRecording {
  std::string source;                               // "vLLM routed_experts, int16 [4096, 27, 8]"
  RoutingNumbers numbers = RoutingNumbers::Counts;  // what they were taken for, never Detect
  int experts = 0;              // of rows per expert as many, of ids the highest + 1
  int layers = 1;               // of the file
  std::int64_t file_steps = 0;  // of the file, with this many tokens per step
  /// The steps that the specification chooses, in the order of replay, without times and errors.
  std::vector<RecordedStep> steps;
  /// Where the file names experts of tokens, and only if asked for: experts of a token, and of
  /// every step [tokens, top_k]; -1 = dropped.
  int top_k = 0;
  std::vector<std::vector<std::int32_t>> token_experts = {};

  std::int64_t largest_step() const;     // rows
  std::int64_t largest_choices() const;  // of a step, dropped ones included
  std::int64_t dropped() const;
};

struct HowToRead {
  bool with_choices = false;  // also RoutingRecording::token_experts
  /// Once another thread sets it, what is left is not read, and the error is Cancelled.
  const std::atomic<bool>* cancel = nullptr;
};

/// `num_experts`: of the shape, which every id must be below and every list of counts as long as; 0
/// = as many as the file has. Only `spec.path` and what is only for a file are read.
Result<RoutingRecording> read_recording(const RoutingSpec& spec, int num_experts,
                                        const HowToRead& how = {});

/// What a recording means for a step's sizes: what a worker tells of a file before it is run.
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

/// The shape.rows that a request needs for a recording: rows of the largest step or, where the
/// step begins at tokens, room for every choice of the largest, dropped ones included.
std::int64_t needed_rows(const RunRequest& request, std::int64_t largest_step,
                         std::int64_t largest_choices);

/// `request` with the sizes that follow from the recording: experts, tokens, and as many iterations
/// as it takes to replay every step once with each of the weights' micro-batches.
RunRequest fitted_to_recording(RunRequest request, const RoutingFacts& facts);

}  // namespace engine
