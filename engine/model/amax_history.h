// Delayed scaling step by step: how the amax history and the scale of every expert follow X, with
// an outlier injected on request and experts left without tokens. Plain values, no CUDA.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model/run_request.h"

namespace engine {

inline constexpr int kMaxHistorySteps = 256;
/// Maximum number of floats in AmaxHistory::ring.
inline constexpr std::int64_t kMaxRingFloats = std::int64_t{4} << 20;

/// In this step the routing leaves the expert without tokens.
struct IdleExpert {
  int step = 0;
  int expert = 0;
  bool operator==(const IdleExpert&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&IdleExpert::step>({.low = 0, .high = kMaxHistorySteps - 1}),
                      engine::field<&IdleExpert::expert>({.low = 0, .high = kMaxExperts - 1})};
  }
};

/// Step s routes and fills X as `request` does with seed + s. Format, pow-2 scales and delayed
/// scaling are the request's recipe's, whatever its scaling.
struct AmaxHistoryRequest {
  RunRequest request;
  std::int64_t tokens = 0;  // per step; 0 = the request's
  int steps = 32;           // 1..kMaxHistorySteps
  int outlier_step = -1;    // -1 = none; the expert's largest element of this step ...
  int outlier_expert = 0;
  double outlier_factor = 64.0;  // ... is multiplied by this; > 0
  std::vector<IdleExpert> idle = {};
  bool operator==(const AmaxHistoryRequest&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&AmaxHistoryRequest::request>(),
        engine::field<&AmaxHistoryRequest::tokens>({.low = 0, .high = kMaxDimension}),
        engine::field<&AmaxHistoryRequest::steps>({.low = 1, .high = kMaxHistorySteps}),
        engine::field<&AmaxHistoryRequest::outlier_step>({.low = -1, .high = kMaxHistorySteps - 1}),
        engine::field<&AmaxHistoryRequest::outlier_expert>({.low = 0, .high = kMaxExperts - 1}),
        engine::field<&AmaxHistoryRequest::outlier_factor>(),
        engine::field<&AmaxHistoryRequest::idle>({.most = kMaxHistorySteps * kMaxExperts})};
  }
  Flaw flaw() const;
};

/// Rows of the history that a step can have filled.
int kept_ring_rows(const AmaxHistoryRequest& request);

struct AmaxHistory {
  std::uint64_t id = 0;  // of the order it answers
  AmaxHistoryRequest request;
  int steps = 0;
  int experts = 0;
  std::vector<std::int64_t> rows;  // [steps, experts] tokens
  std::vector<float> amax;         // [steps, experts] of the step; 0 without tokens
  /// [steps, experts] what the scale was made from; 0 before the first amax.
  std::vector<float> history_amax;
  std::vector<float> scale_used;  // [steps, experts]
  /// [steps, experts] scale required by this step's own amax; NaN without tokens.
  std::vector<float> scale_wanted;
  std::vector<std::uint64_t> saturated;  // [steps, experts] elements
  std::vector<std::uint64_t> underflowed;
  std::vector<double> snr_db;  // [steps, experts]; NaN without tokens
  /// [steps, experts] elements that the SNR leaves out, because they or their codes are inf or NaN.
  std::vector<std::uint64_t> left_out;
  /// [steps, ring_rows, experts] after the step's cast: row 0 holds the step's own amax, the last
  /// row the newest of earlier steps. Rows that no step can have filled are left out before row 1.
  int ring_rows = 0;
  std::vector<float> ring;
  std::int64_t wall_ns = 0;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&AmaxHistory::id>(),
        engine::field<&AmaxHistory::request>(),
        engine::field<&AmaxHistory::steps>({.low = 0, .high = kMaxHistorySteps}),
        engine::field<&AmaxHistory::experts>({.low = 0, .high = kMaxExperts}),
        engine::field<&AmaxHistory::rows>(
            {.low = 0, .high = kMaxDimension, .most = kMaxHistorySteps * kMaxExperts}),
        engine::field<&AmaxHistory::amax>({.most = kMaxHistorySteps * kMaxExperts}),
        engine::field<&AmaxHistory::history_amax>({.most = kMaxHistorySteps * kMaxExperts}),
        engine::field<&AmaxHistory::scale_used>({.most = kMaxHistorySteps * kMaxExperts}),
        engine::field<&AmaxHistory::scale_wanted>({.most = kMaxHistorySteps * kMaxExperts}),
        engine::field<&AmaxHistory::saturated>(
            {.low = 0, .high = kMaxCount, .most = kMaxHistorySteps * kMaxExperts}),
        engine::field<&AmaxHistory::underflowed>(
            {.low = 0, .high = kMaxCount, .most = kMaxHistorySteps * kMaxExperts}),
        engine::field<&AmaxHistory::snr_db>({.most = kMaxHistorySteps * kMaxExperts}),
        engine::field<&AmaxHistory::left_out>(
            {.low = 0, .high = kMaxCount, .most = kMaxHistorySteps * kMaxExperts}),
        engine::field<&AmaxHistory::ring_rows>({.low = 0, .high = kMaxHistorySteps}),
        engine::field<&AmaxHistory::ring>({.most = kMaxRingFloats}),
        engine::field<&AmaxHistory::wall_ns>(kDuration_ns)};
  }
  Flaw flaw() const;
};

}  // namespace engine
