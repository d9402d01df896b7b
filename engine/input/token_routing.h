// Which experts every token of an expert layer chooses, and with which probabilities: what the step
// permutes by when it begins at tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/input/recorded_routing.h"
#include "engine/model/error.h"
#include "engine/model/run_request.h"

namespace engine {

class TokenRouting {
 public:
  /// Choices of a recorded step, [up to `tokens`, top_k]; -1 = dropped.
  struct Step {
    std::vector<std::int64_t> splits;  // [num_experts]
    std::vector<std::int32_t> experts;
  };

  TokenRouting(std::int64_t tokens, int top_k, std::uint64_t seed, std::vector<Step> recorded = {});

  std::int64_t tokens() const { return tokens_; }
  int top_k() const { return top_k_; }

  /// Experts of every token, [tokens, top_k], with exactly these splits: those of recorded step
  /// `step`, in the order of replay, if the file has choices; otherwise they are dealt out. A
  /// token's experts are then distinct, unless a split exceeds the number of tokens: only that
  /// expert is chosen by a token more than once. The sum of the splits is at most tokens * top_k;
  /// choices beyond it are -1, as if dropped.
  std::vector<std::int32_t> experts_of(std::span<const std::int64_t> splits,
                                       std::size_t step = 0) const;

  /// Probabilities [tokens, top_k] of the places of a token's experts, whichever experts these are:
  /// the softmax of uniform logits in [-2, 2) that depend only on (seed, token, place).
  const std::vector<float>& probabilities() const { return probabilities_; }

 private:
  std::vector<std::int32_t> deal(std::span<const std::int64_t> splits) const;
  std::size_t copies() const { return static_cast<std::size_t>(tokens_ * top_k_); }

  std::int64_t tokens_;
  int top_k_;
  std::vector<std::vector<std::int64_t>> orders_;  // of the tokens, by place, for choices dealt out
  std::vector<Step> recorded_;
  std::vector<float> probabilities_;
};

/// 1 GiB: they are page-locked, so that a replay finds them.
inline constexpr std::int64_t kMaxRecordedChoices = std::int64_t{1} << 28;

/// Token routing of a request's step; null if the step begins at rows. `recorded` has the choices
/// that were read together with the request's splits; it is null if no file gives the routing. The
/// tokens of a routing file must choose top_k experts each, its steps must have at most the
/// request's tokens, and the room for all its steps together is limited to kMaxRecordedChoices.
Result<std::shared_ptr<const TokenRouting>> make_token_routing(const RunRequest& request,
                                                               RoutingSteps* recorded);

}  // namespace engine
