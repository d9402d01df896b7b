// Splits from a distribution: integer shares, then largest remainders, so that the sum is exact and
// the result is the same on every machine.
#include "engine/input/routing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/input/splits_file.h"
#include "engine/input/synthetic.h"

namespace engine {
namespace {

/// Shares as integers: pow() may differ in the last bit between libm versions, the rounded share
/// does not.
constexpr double kShareUnit = 0x1p32;

std::uint64_t power_share(int expert, double exponent) {
  return static_cast<std::uint64_t>(std::llround(kShareUnit * std::pow(expert + 1, -exponent)));
}

std::uint64_t mild_share(int expert, std::uint64_t seed) {
  const std::uint64_t draw = mix64(mix64(seed ^ 0x524FU) ^ static_cast<std::uint64_t>(expert));
  const double unit = static_cast<double>(draw >> 11) * 0x1p-53;
  return static_cast<std::uint64_t>(std::llround(kShareUnit * (0.8 + 0.4 * unit)));
}

std::uint64_t share(RoutingDistribution distribution, int expert, std::uint64_t seed) {
  constexpr auto kOne = static_cast<std::uint64_t>(kShareUnit);
  switch (distribution) {
    case RoutingDistribution::Mild:
      return mild_share(expert, seed);
    case RoutingDistribution::Zipf:
      return power_share(expert, 0.7);
    case RoutingDistribution::Heavy:
      return power_share(expert, 1.5);
    case RoutingDistribution::OneHot:
      return expert == 0 ? kOne : 0;
    case RoutingDistribution::HalfEmpty:
      return expert % 2 == 0 ? kOne : 0;
    case RoutingDistribution::Uniform:
    case RoutingDistribution::File:
      break;
  }
  return kOne;
}

/// Distributes `units` over the shares; ties go to the lower expert, a share of 0 gets nothing.
std::vector<std::int64_t> apportion(std::int64_t units, const std::vector<std::uint64_t>& shares) {
  const std::uint64_t total = std::accumulate(shares.begin(), shares.end(), std::uint64_t{0});
  std::vector<std::int64_t> parts(shares.size());
  std::vector<std::uint64_t> remainders(shares.size());
  std::int64_t left = units;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    // shares < 2^33 and units <= 2^24: the product fits.
    const std::uint64_t scaled = static_cast<std::uint64_t>(units) * shares[i];
    parts[i] = static_cast<std::int64_t>(scaled / total);
    remainders[i] = scaled % total;
    left -= parts[i];
  }
  std::vector<std::size_t> order(shares.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return remainders[a] > remainders[b]; });
  for (std::size_t i = 0; i < static_cast<std::size_t>(left); ++i) ++parts[order[i]];
  return parts;
}

/// Every split is a multiple of the alignment but the last non-empty one, which takes the rest.
std::vector<std::int64_t> distribute(const RunRequest& request) {
  std::vector<std::uint64_t> shares(static_cast<std::size_t>(request.shape.num_experts));
  for (int expert = 0; expert < request.shape.num_experts; ++expert) {
    shares[static_cast<std::size_t>(expert)] =
        share(request.routing.distribution, expert, request.seed);
  }
  const std::int64_t alignment = request.routing.alignment;
  std::vector<std::int64_t> splits = apportion(request.shape.tokens / alignment, shares);
  for (std::int64_t& split : splits) split *= alignment;
  const auto last = std::find_if(splits.rbegin(), splits.rend(), [](auto s) { return s > 0; });
  // Fewer tokens than one aligned unit: the largest share takes them all.
  auto& rest = last != splits.rend()
                   ? *last
                   : splits[static_cast<std::size_t>(
                         std::max_element(shares.begin(), shares.end()) - shares.begin())];
  rest += request.shape.tokens % alignment;
  return splits;
}

Status check_file_splits(const std::vector<std::int64_t>& splits, const RunRequest& request) {
  const std::string& path = request.routing.path;
  const auto refuse = [](std::string message) {
    return Error{ErrorCode::InvalidArgument, std::move(message)};
  };
  if (static_cast<int>(splits.size()) != request.shape.num_experts) {
    return refuse(
        fmt::format("{} holds {} splits but the shape has {} experts; set the experts to {}", path,
                    splits.size(), request.shape.num_experts, splits.size()));
  }
  std::int64_t sum = 0;
  std::size_t last = 0;
  for (std::size_t expert = 0; expert < splits.size(); ++expert) {
    if (splits[expert] < 0 || splits[expert] > kMaxDimension) {
      return refuse(fmt::format("{}: the split of expert {} is {}; it must be between 0 and {}",
                                path, expert, splits[expert], kMaxDimension));
    }
    sum += splits[expert];
    if (splits[expert] > 0) last = expert;
  }
  if (sum != request.shape.tokens) {
    return refuse(
        fmt::format("{}: the splits sum to {} but the shape has {} tokens; set the "
                    "tokens to {} or correct the file",
                    path, sum, request.shape.tokens, sum));
  }
  for (std::size_t expert = 0; expert < last; ++expert) {
    if (splits[expert] % request.routing.alignment != 0) {
      return refuse(fmt::format(
          "{}: the split of expert {} is {}, not a multiple of the alignment {}; set the alignment "
          "to 1 or correct the file",
          path, expert, splits[expert], request.routing.alignment));
    }
  }
  return {};
}

}  // namespace

Result<GroupedShape> resolve_shape(const RunRequest& request) {
  GroupedShape shape{.splits = {}, .n = request.shape.n, .k = request.shape.k};
  if (request.routing.distribution == RoutingDistribution::File) {
    Result<std::vector<std::int64_t>> splits = read_splits_file(request.routing.path);
    if (!splits.ok()) return splits.error();
    const Status status = check_file_splits(splits.value(), request);
    if (!status.ok()) return status.error();
    shape.splits = std::move(splits).value();
  } else {
    shape.splits = distribute(request);
  }
  return shape;
}

}  // namespace engine
