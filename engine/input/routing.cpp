// Splits from a distribution: integer shares, then largest remainders, so that the sum is exact and
// the result is the same on every machine.
#include "engine/input/routing.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>

#include "engine/input/json_text.h"
#include "engine/input/regular_file.h"
#include "engine/input/synthetic.h"
#include "engine/input/tensor_file.h"
#include "engine/model/run_request.h"

namespace engine {

// At most kMaxExperts numbers are ever kept, whatever the file claims.
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxJsonBytes = 1 << 20;

Error refuse(const std::string& path, const std::string& why) {
  return {ErrorCode::InvalidArgument, fmt::format("{}: {}", path, why)};
}

Error too_many(const std::string& path, std::size_t count) {
  return refuse(
      path, fmt::format("it holds {} splits; at most {} experts are possible", count, kMaxExperts));
}

Result<std::vector<std::int64_t>> read_json(const std::string& path) {
  ENGINE_ASSIGN(const std::string text, read_file(path, kMaxJsonBytes));
  const Result<Json> document = parse_json(text, {.max_depth = 2});
  if (!document.ok() || !document.value().is_array()) {
    return refuse(path, "not a JSON list of integers such as [128, 0, 256]");
  }
  const Json& list = document.value();
  if (list.size() > static_cast<std::size_t>(kMaxExperts)) return too_many(path, list.size());
  std::vector<std::int64_t> splits;
  for (const Json& item : list) {
    if (!item.is_number_integer() ||
        (item.is_number_unsigned() && item.get<std::uint64_t>() > INT64_MAX)) {
      return refuse(path, fmt::format("entry {} is not an integer of 64 bits", splits.size()));
    }
    splits.push_back(item.get<std::int64_t>());
  }
  return splits;
}

Result<std::vector<std::int64_t>> read_npy(const std::string& path) {
  ENGINE_ASSIGN(const TensorFile file, open_tensor_file(path));
  const StoredTensor& tensor = file.tensors.front();
  if (tensor.type != StoredType::I32 && tensor.type != StoredType::I64) {
    return refuse(path, fmt::format("its type '{}' is not int32 or int64; save splits as "
                                    "np.save(path, np.asarray(splits, np.int64))",
                                    tensor.dtype));
  }
  if (tensor.shape.size() != 1) {
    return refuse(
        path, fmt::format("its shape is {}; splits are one-dimensional", shape_text(tensor.shape)));
  }
  const auto count = static_cast<std::size_t>(tensor.shape[0]);
  if (count > static_cast<std::size_t>(kMaxExperts)) return too_many(path, count);
  // Not memcpy: an empty list has no address.
  std::vector<std::int64_t> splits(count);
  if (tensor.type == StoredType::I64) {
    std::ranges::copy(tensor.bytes, std::as_writable_bytes(std::span(splits)).begin());
  } else {
    std::vector<std::int32_t> narrow(count);
    std::ranges::copy(tensor.bytes, std::as_writable_bytes(std::span(narrow)).begin());
    splits.assign(narrow.begin(), narrow.end());
  }
  return splits;
}

}  // namespace

Result<std::vector<std::int64_t>> read_splits_file(const std::string& path) {
  if (path.ends_with(".npy")) return read_npy(path);
  if (path.ends_with(".json")) return read_json(path);
  return refuse(path, "splits are read from .json or .npy files");
}

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
    ENGINE_ASSIGN(std::vector<std::int64_t> splits, read_splits_file(request.routing.path));
    ENGINE_TRY(check_file_splits(splits, request));
    shape.splits = std::move(splits);
  } else {
    shape.splits = distribute(request);
  }
  return shape;
}

}  // namespace engine
