// Every round times all candidates, so that clock changes affect them equally.
#include "engine/gemm/cublaslt_products.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <vector>

#include "engine/device/handles.h"

namespace engine {
namespace {

constexpr int kFewestRounds = 5;
constexpr int kMaxRounds = 25;
constexpr double kSeconds = 0.25;  // of counted rounds; the user waits for them
// With less gain than this the heuristic's first candidate is kept.
constexpr float kWorthIt = 0.99F;

struct Memory {
  std::mutex mutex;
  std::map<std::string, AlgorithmTrial> trials;
};

Memory& memory() {
  static Memory made;
  return made;
}

float median(std::vector<float> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Result<AlgorithmTrial> time_candidates(int candidates, cudaStream_t stream,
                                       const std::function<Status(int)>& launch) {
  ENGINE_ASSIGN(Event start, make_timing_event());
  ENGINE_ASSIGN(Event end, make_timing_event());
  std::vector<std::vector<float>> times(static_cast<std::size_t>(candidates));
  std::vector<Status> refusals(static_cast<std::size_t>(candidates));
  // The first round loads the kernels and is not counted.
  auto begin = std::chrono::steady_clock::now();
  for (int round = 0; round <= kMaxRounds; ++round) {
    if (round == 1) begin = std::chrono::steady_clock::now();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    if (round > kFewestRounds && taken.count() > kSeconds) break;
    for (int i = 0; i < candidates; ++i) {
      const auto index = static_cast<std::size_t>(i);
      if (!refusals[index].ok()) continue;
      ENGINE_CUDA_TRY(cudaEventRecord(start.get(), stream), "Timing a candidate");
      refusals[index] = launch(i);
      if (!refusals[index].ok()) continue;
      ENGINE_CUDA_TRY(cudaEventRecord(end.get(), stream), "Timing a candidate");
      ENGINE_CUDA_TRY(cudaEventSynchronize(end.get()), "Timing a candidate");
      float milliseconds = 0;
      ENGINE_CUDA_TRY(cudaEventElapsedTime(&milliseconds, start.get(), end.get()),
                      "Timing a candidate");
      if (round > 0) times[index].push_back(milliseconds * 1000.0F);
    }
  }
  AlgorithmTrial trial{.chosen = -1};
  for (int i = 0; i < candidates; ++i) {
    const auto index = static_cast<std::size_t>(i);
    if (times[index].empty()) continue;
    const float time = median(times[index]);
    ++trial.candidates;
    if (trial.chosen < 0) {
      trial.first_us = time;
    } else if (time >= trial.chosen_us || time >= kWorthIt * trial.first_us) {
      continue;
    }
    trial.chosen = i;
    trial.chosen_us = time;
  }
  if (trial.chosen < 0) return refusals.front().error();
  return trial;
}

}  // namespace

Result<AlgorithmTrial> remembered_trial(const std::string& key, int candidates, cudaStream_t stream,
                                        const std::function<Status(int)>& launch) {
  {
    const std::lock_guard lock(memory().mutex);
    const auto known = memory().trials.find(key);
    if (known != memory().trials.end()) return known->second;
  }
  const Result<AlgorithmTrial> trial = time_candidates(candidates, stream, launch);
  if (!trial.ok()) return trial;
  const std::lock_guard lock(memory().mutex);
  memory().trials.emplace(key, trial.value());
  return trial;
}

}  // namespace engine
