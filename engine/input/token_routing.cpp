#include "engine/input/token_routing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "engine/input/synthetic.h"
#include "engine/model/path_text.h"
#include "engine/model/projections.h"

namespace engine {
namespace {

// What is drawn from the seed for different purposes must differ.
constexpr std::uint64_t kOrderSalt = 0x544F4B;
constexpr std::uint64_t kLogitSalt = 0x4C4F47;

/// The tokens in an order that depends on the seed and on the place: an expert's rows are not
/// neighbours in X, and those that choose it do not choose another one together.
std::vector<std::int64_t> shuffled(std::int64_t tokens, int place, std::uint64_t seed) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(tokens));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::size_t i = order.size(); i > 1; --i) {
    const std::uint64_t draw =
        mix64((mix64(seed ^ kOrderSalt) + static_cast<std::uint64_t>(place)) ^ i);
    std::swap(order[i - 1], order[draw % i]);
  }
  return order;
}

}  // namespace

TokenRouting::TokenRouting(std::int64_t tokens, int top_k, std::uint64_t seed,
                           std::vector<Step> recorded)
    : tokens_(tokens), top_k_(top_k), recorded_(std::move(recorded)) {
  for (int place = 0; place < top_k; ++place) orders_.push_back(shuffled(tokens, place, seed));
  std::vector<double> weights(static_cast<std::size_t>(top_k));
  for (std::int64_t token = 0; token < tokens; ++token) {
    double sum = 0.0;
    for (int place = 0; place < top_k; ++place) {
      const auto copy = static_cast<std::uint64_t>(token * top_k + place);
      const std::uint64_t draw = mix64(mix64(seed ^ kLogitSalt) ^ copy);
      double& weight = weights[static_cast<std::size_t>(place)];
      weight = std::exp(4.0 * static_cast<double>(draw >> 11) * 0x1p-53 - 2.0);
      sum += weight;
    }
    for (const double weight : weights) probabilities_.push_back(static_cast<float>(weight / sum));
  }
}

std::vector<std::int32_t> TokenRouting::experts_of(std::span<const std::int64_t> splits,
                                                   std::size_t step) const {
  if (step >= recorded_.size() || !std::ranges::equal(recorded_[step].splits, splits)) {
    return deal(splits);
  }
  std::vector<std::int32_t> experts = recorded_[step].experts;
  experts.resize(copies(), -1);
  return experts;
}

/// One copy after the other, expert by expert, to the tokens in the order of the first place, then
/// of the second, and so on. An expert whose copies go on in the next place gets those tokens first
/// that do not have it yet: a token gets two copies of an expert only where that has more copies
/// than there are tokens.
std::vector<std::int32_t> TokenRouting::deal(std::span<const std::int64_t> splits) const {
  std::vector<std::int32_t> experts(copies(), -1);
  std::vector<std::int64_t> order;
  std::int64_t copy = 0;
  for (std::size_t expert = 0; expert < splits.size(); ++expert) {
    for (std::int64_t row = 0; row < splits[expert] && copy < std::ssize(experts); ++row, ++copy) {
      const std::int64_t place = copy / tokens_;
      if (copy % tokens_ == 0) {
        order = orders_[static_cast<std::size_t>(place)];
        if (row > 0) {
          std::stable_partition(order.begin(), order.end(), [&](std::int64_t token) {
            const std::int32_t before =
                experts[static_cast<std::size_t>(token * top_k_ + place - 1)];
            return before != static_cast<std::int32_t>(expert);
          });
        }
      }
      const std::int64_t token = order[static_cast<std::size_t>(copy % tokens_)];
      experts[static_cast<std::size_t>(token * top_k_ + place)] = static_cast<std::int32_t>(expert);
    }
  }
  return experts;
}

Result<std::shared_ptr<const TokenRouting>> make_token_routing(const RunRequest& request,
                                                               RoutingSteps* recorded) {
  using Made = std::shared_ptr<const TokenRouting>;
  const int top_k = request.expert_layer.top_k;
  if (!is_expert_layer(request) || top_k == 0) return Made();
  const std::int64_t tokens = tokens_of(request);
  std::vector<TokenRouting::Step> steps;
  if (recorded != nullptr) {
    const auto refuse = [&](std::string why) {
      return Error{ErrorCode::InvalidArgument, shown_path(request.routing.path) + ": " + why};
    };
    if (recorded->top_k != 0 && recorded->top_k != top_k) {
      return refuse(
          fmt::format("its tokens choose {} experts each, but expert_layer.top_k is {}: "
                      "set it to {}, or to 0 for rows that arrive permuted",
                      recorded->top_k, top_k, recorded->top_k));
    }
    const auto replayed = static_cast<std::int64_t>(recorded->steps.size());
    const std::int64_t choices = tokens * top_k;  // of a step; 0 where the step has no tokens
    if (replayed > 1 && replayed * choices > kMaxRecordedChoices) {
      return refuse(fmt::format(
          "{} steps with room for {} choices each are more than {}: set routing.steps to at most "
          "{}, or shape.rows to fewer",
          replayed, choices, kMaxRecordedChoices, kMaxRecordedChoices / choices));
    }
    for (std::size_t i = 0; i < recorded->token_experts.size(); ++i) {
      std::vector<std::int32_t>& experts = recorded->token_experts[i];
      const std::int64_t own = std::ssize(experts) / top_k;
      if (own > tokens) {
        return refuse(
            fmt::format("step {} has {} tokens, but the shape has room for {}: set "
                        "shape.rows to {} or more",
                        recorded->steps[i].step, own, tokens, own * top_k));
      }
      steps.push_back({.splits = recorded->steps[i].splits, .experts = std::move(experts)});
    }
  }
  return Made(std::make_shared<TokenRouting>(tokens, top_k, request.seed, std::move(steps)));
}

}  // namespace engine
