// Every round times all candidates, so that clock changes affect them equally.
#include "engine/gemm/cublaslt_products.h"

#include <chrono>
#include <map>
#include <mutex>
#include <vector>

#include "engine/device/batch_clock.h"
#include "engine/model/measurement.h"

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

Result<AlgorithmTrial> time_candidates(int candidates, cudaStream_t stream,
                                       const std::function<Status(int)>& launch) {
  ENGINE_ASSIGN(const BatchClock clock, BatchClock::create());
  std::vector<std::vector<double>> times_us(static_cast<std::size_t>(candidates));
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
      const Result<double> elapsed =
          clock.time(1, stream, [&] { return refusals[index] = launch(i); });
      if (!refusals[index].ok()) continue;
      if (!elapsed.ok()) return elapsed.error();
      if (round > 0) times_us[index].push_back(elapsed.value() * 1e-3);
    }
  }
  AlgorithmTrial trial{.chosen = -1};
  for (int i = 0; i < candidates; ++i) {
    const auto index = static_cast<std::size_t>(i);
    if (times_us[index].empty()) continue;
    const auto time = static_cast<float>(quantile_of(times_us[index], 0.5));
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
