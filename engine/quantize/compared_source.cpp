// Every row is read from its token when it is asked for: the copies of all rows may be larger than
// memory.
#include "engine/quantize/compared_source.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "engine/input/element_rounding.h"
#include "engine/input/routing.h"
#include "engine/input/token_routing.h"
#include "engine/model/projections.h"
#include "kernels/permute/routing_map.h"

namespace engine {
namespace {

class CopiedTokens final : public TensorSource {
 public:
  struct Copy {
    std::int32_t token = 0;
    float factor = 1.0F;
  };

  CopiedTokens(std::unique_ptr<TensorSource> tokens, std::vector<Copy> copies, ElementType type)
      : tokens_(std::move(tokens)), copies_(std::move(copies)), type_(type) {}

  ElementType element() const override { return type_; }
  std::int64_t rows() const override { return std::ssize(copies_); }
  std::int64_t columns() const override { return tokens_->columns(); }

  void read_f32(std::int64_t first_row, std::int64_t count, std::span<float> out) const override {
    const auto width = static_cast<std::size_t>(columns());
    for (std::int64_t row = 0; row < count; ++row) {
      const Copy& copy = copies_[static_cast<std::size_t>(first_row + row)];
      const std::span<float> values = out.subspan(static_cast<std::size_t>(row) * width, width);
      tokens_->read_f32(copy.token, 1, values);
      // The step reads tokens in its own type, and rounds the product to it again.
      for (float& value : values) value = rounded(copy.factor * rounded(value));
    }
  }

  void read_bf16(std::int64_t first_row, std::int64_t count,
                 std::span<std::uint16_t> out) const override {
    std::vector<float> row(static_cast<std::size_t>(columns()));
    std::uint16_t* target = out.data();
    for (std::int64_t i = 0; i < count; ++i) {
      read_f32(first_row + i, 1, row);
      target = std::transform(row.begin(), row.end(), target, bf16_bits);
    }
  }

 private:
  float rounded(float value) const {
    return type_ == ElementType::Fp16 ? fp16_value(fp16_bits(value)) : bf16_value(bf16_bits(value));
  }

  std::unique_ptr<TensorSource> tokens_;
  std::vector<Copy> copies_;  // [rows]
  ElementType type_;
};

std::vector<CopiedTokens::Copy> copies_of(const TokenRouting& routing,
                                          std::span<const std::int64_t> splits, bool gradients) {
  const std::vector<std::int32_t> experts = routing.experts_of(splits);
  const auto groups = splits.size();
  std::vector<std::int64_t> row_offsets(groups + 1);
  std::vector<std::int32_t> copy_rows(experts.size());
  kernels::routing_map_cpu({.experts = experts.data(),
                            .tokens = routing.tokens(),
                            .top_k = routing.top_k(),
                            .num_groups = static_cast<int>(groups),
                            .row_offsets = row_offsets.data(),
                            .copy_rows = copy_rows.data()});
  std::vector<CopiedTokens::Copy> copies(static_cast<std::size_t>(row_offsets.back()));
  for (std::size_t copy = 0; copy < copy_rows.size(); ++copy) {
    if (copy_rows[copy] < 0) continue;
    copies[static_cast<std::size_t>(copy_rows[copy])] = {
        .token = static_cast<std::int32_t>(copy / static_cast<std::size_t>(routing.top_k())),
        .factor = gradients ? routing.probabilities()[copy] : 1.0F};
  }
  return copies;
}

}  // namespace

Result<std::unique_ptr<TensorSource>> open_compared_source(const RunRequest& request,
                                                           OperandRole role,
                                                           std::span<const std::int64_t> splits) {
  const bool from_tokens = is_expert_layer(request) && request.expert_layer.top_k > 0;
  if (!from_tokens || role == OperandRole::Weights) return open_source(request, role, 0);
  ENGINE_ASSIGN(const std::shared_ptr<const TokenRouting> routing, resolve_token_routing(request));
  RunRequest tokens = request;
  tokens.shape.rows = tokens_of(request);
  ENGINE_ASSIGN(std::unique_ptr<TensorSource> source, open_source(tokens, role, 0));
  return std::unique_ptr<TensorSource>(std::make_unique<CopiedTokens>(
      std::move(source), copies_of(*routing, splits, role == OperandRole::Gradients),
      request.recipe.high_precision));
}

}  // namespace engine
