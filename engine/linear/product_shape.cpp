#include "engine/linear/product_shape.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

#include "engine/gemm/cublaslt_products.h"
#include "engine/gemm/expertscope_products.h"

namespace engine {
namespace {

/// One dimension of the groups' matrices.
struct Extent {
  const std::int32_t* device = nullptr;
  std::int64_t average = 0;
  bool tokens = false;  // differs between groups, rounded up to `unit`
  std::int64_t unit = 1;

  std::int64_t of(std::int64_t rows) const {
    return tokens ? kernels::round_up(rows, unit) : average;
  }
};

struct Extents {
  Extent n;
  Extent k;
  Extent m;
  Extent padded_m;
};

Extents extents_of(const StepConfig& config, const StepArrays& arrays) {
  const std::int64_t average = config.capacity_rows() / config.num_groups();
  return {.n = {.device = arrays.n_dims.as<std::int32_t>(), .average = config.n()},
          .k = {.device = arrays.k_dims.as<std::int32_t>(), .average = config.k()},
          .m = {.device = arrays.rows.as<std::int32_t>(), .average = average, .tokens = true},
          .padded_m = {.device = config.row_unit() > 1 ? arrays.padded_rows.as<std::int32_t>()
                                                       : arrays.rows.as<std::int32_t>(),
                       .average = average,
                       .tokens = true,
                       .unit = config.row_unit()}};
}

struct MatrixShape {
  Extent rows;
  Extent columns;
  bool transposed = false;  // op T
};

struct ProductShape {
  MatrixShape a;
  MatrixShape b;
  MatrixShape d;
  Extent reduction;
};

/// Column-major: `lines` is the leading dimension of a copy whose lines are rows of the operand.
MatrixShape matrix(const Extent& lines, const Extent& others, bool transposed) {
  return {.rows = lines, .columns = others, .transposed = transposed};
}

ProductShape shape_of(const ProductSources& sources, const Extents& e) {
  const auto& [n, k, m, padded_m] = e;
  switch (sources.product) {
    case Product::Fprop:
      return {.a = matrix(k, n, true),
              .b = matrix(k, m, false),
              .d = matrix(n, m, false),
              .reduction = k};
    case Product::Dgrad:
      return {.a = sources.a.transposed ? matrix(n, k, true) : matrix(k, n, false),
              .b = matrix(n, m, false),
              .d = matrix(k, m, false),
              .reduction = n};
    case Product::Wgrad:
      break;
  }
  return {.a = sources.a.transposed ? matrix(padded_m, k, true) : matrix(k, m, false),
          .b = sources.b.transposed ? matrix(padded_m, n, false) : matrix(n, m, true),
          .d = matrix(k, n, false),
          .reduction = m};
}

cudaDataType_t output_type(const StepConfig& config, Product product) {
  switch (product == Product::Wgrad ? config.wgrad_type() : config.output_type()) {
    case ElementType::Fp32:
      return CUDA_R_32F;
    case ElementType::Fp16:
      return CUDA_R_16F;
    case ElementType::Bf16:
      break;
  }
  return CUDA_R_16BF;
}

ProductMatrix describe_matrix(const MatrixShape& shape, const OperandSource& source) {
  return {.type = source.type,
          .transposed = shape.transposed,
          .scaling = source.scaling,
          .rows = shape.rows.device,
          .columns = shape.columns.device};
}

HostMatrix host_matrix(const StepConfig& config, const MatrixShape& shape,
                       const GroupAddresses& values, const GroupAddresses* scales) {
  HostMatrix host;
  for (const std::int64_t rows : config.host_splits) {
    host.rows.push_back(shape.rows.of(rows));
    host.columns.push_back(shape.columns.of(rows));
  }
  host.values = resolve(values, config.host_splits);
  if (scales != nullptr && *scales) host.scales = resolve(*scales, config.host_splits);
  return host;
}

/// What a backend's product is made of.
struct Ingredients {
  std::shared_ptr<const CublasLt> library;
  const StepConfig& config;
  const StepArrays& arrays;
  PointerArrays& pointers;
  const ProductSources& sources;
  const ProductShape& shape;
  const ProductConfig& product;
  bool accumulates;
  cudaStream_t stream;
};

Result<std::unique_ptr<GroupedProduct>> per_expert_product(const Ingredients& of) {
  const OperandSource& a = of.sources.a;
  const OperandSource& b = of.sources.b;
  return make_cublaslt_per_expert(of.library,
                                  {.product = of.product,
                                   .a = host_matrix(of.config, of.shape.a, a.values, &a.scales),
                                   .b = host_matrix(of.config, of.shape.b, b.values, &b.scales),
                                   .d = host_matrix(of.config, of.shape.d, of.sources.d, nullptr),
                                   .streams = of.config.streams,
                                   .beta = of.accumulates ? 1.0F : 0.0F});
}

Result<std::unique_ptr<GroupedProduct>> one_grouped_product(const Ingredients& of) {
  const OperandSource& a = of.sources.a;
  const OperandSource& b = of.sources.b;
  ProductConfig product = of.product;
  if (of.config.scalars_per_group) {
    const auto pointers = [](const DeviceBuffer& array) { return array.as<void*>(); };
    product.alphas =
        of.sources.alphas != nullptr ? of.sources.alphas : pointers(of.arrays.one_pointers);
    product.betas = pointers(of.accumulates ? of.arrays.one_pointers : of.arrays.zero_pointers);
  }
  const auto fill = [&](void* const*& target, ProductArray which,
                        const GroupAddresses& addresses) -> Status {
    if (!addresses) return {};
    ENGINE_ASSIGN(target, of.pointers.add(of.sources.index, which, addresses, of.stream));
    return {};
  };
  ENGINE_TRY(fill(product.a.values, ProductArray::A, a.values));
  ENGINE_TRY(fill(product.b.values, ProductArray::B, b.values));
  ENGINE_TRY(fill(product.d.values, ProductArray::D, of.sources.d));
  ENGINE_TRY(fill(product.a.scales, ProductArray::ScalesA, a.scales));
  ENGINE_TRY(fill(product.b.scales, ProductArray::ScalesB, b.scales));
  return make_cublaslt_grouped(of.library, product);
}

kernels::ScaledCodes scaled_codes(const OperandSource& source) {
  return {.codes = reinterpret_cast<const std::uint8_t*>(source.values.rule.base),
          .scale_inv = reinterpret_cast<const float*>(source.scales.rule.base),
          .format =
              source.type == CUDA_R_8F_E5M2 ? kernels::Fp8Format::E5m2 : kernels::Fp8Format::E4m3};
}

Result<std::unique_ptr<GroupedProduct>> own_product(const Ingredients& of) {
  const StepConfig& config = of.config;
  if (!config.own_products()) return one_grouped_product(of);
  if (of.sources.product != Product::Wgrad) {
    const bool forward = of.sources.product == Product::Fprop;
    return make_expertscope_m_grouped({.x = scaled_codes(of.sources.b),
                                       .w = scaled_codes(of.sources.a),
                                       .row_offsets = of.arrays.row_offsets.as<std::int64_t>(),
                                       .num_groups = config.num_groups(),
                                       .capacity_rows = config.capacity_rows(),
                                       .columns = forward ? config.n() : config.k(),
                                       .reduction = forward ? config.k() : config.n(),
                                       .output = of.sources.d.rule.base,
                                       .type = config.output_type(),
                                       .tickets = of.arrays.tickets_of(of.sources.index)});
  }
  return make_expertscope_wgrad({.y = scaled_codes(of.sources.b),
                                 .x = scaled_codes(of.sources.a),
                                 .row_offsets = of.arrays.row_offsets.as<std::int64_t>(),
                                 .first_columns = of.arrays.padded_offsets.as<std::int64_t>(),
                                 .num_groups = config.num_groups(),
                                 .capacity_rows = config.padded_capacity(),
                                 .n = config.n(),
                                 .k = config.k(),
                                 .gradient = of.sources.d.rule.base,
                                 .type = config.wgrad_type(),
                                 .accumulate = of.accumulates});
}

Result<std::unique_ptr<GroupedProduct>> no_product(const Ingredients& of) {
  return Error{ErrorCode::Internal,
               fmt::format("{} has no product on a device", traits_of(of.config.backend).label)};
}

/// By GemmBackend.
constexpr std::array<Result<std::unique_ptr<GroupedProduct>> (*)(const Ingredients&),
                     kBackendTraits.size()>
    kMakers = {one_grouped_product, no_product, per_expert_product, own_product};

}  // namespace

Stage stage_of(Product product) {
  switch (product) {
    case Product::Fprop:
      return Stage::Fprop;
    case Product::Dgrad:
      return Stage::Dgrad;
    case Product::Wgrad:
      break;
  }
  return Stage::Wgrad;
}

std::string product_recipe_name(const StepConfig& config) {
  const char* high = config.recipe.high_precision == ElementType::Fp16 ? "FP16" : "BF16";
  if (!config.quantized()) return high;
  const std::string_view recipe = traits_of(config.recipe).title;
  return config.emulated ? fmt::format("{} emulated in {}", recipe, high) : std::string(recipe);
}

Result<std::unique_ptr<GroupedProduct>> make_product(
    std::shared_ptr<const CublasLt> library, const StepConfig& config, const StepArrays& arrays,
    PointerArrays& pointers, const ProductSources& sources, cudaStream_t stream) {
  const bool accumulates = sources.product == Product::Wgrad && config.products.accumulate_wgrad;
  const ProductShape shape = shape_of(sources, extents_of(config, arrays));
  const ProductConfig product{.product = sources.product,
                              .recipe = product_recipe_name(config),
                              .num_groups = config.num_groups(),
                              .a = describe_matrix(shape.a, sources.a),
                              .b = describe_matrix(shape.b, sources.b),
                              .d = {.type = output_type(config, sources.product),
                                    .rows = shape.d.rows.device,
                                    .columns = shape.d.columns.device},
                              .average_rows = shape.d.rows.average,
                              .average_columns = shape.d.columns.average,
                              .average_reduction = shape.reduction.average,
                              .fast_accumulation = config.scaled_products() &&
                                                   traits_of(config.recipe).split_accumulator &&
                                                   !config.recipe.split_accumulator,
                              .alpha = arrays.one(),
                              .beta = accumulates ? arrays.one() : arrays.zero()};
  return kMakers[static_cast<std::size_t>(config.backend)]({.library = std::move(library),
                                                            .config = config,
                                                            .arrays = arrays,
                                                            .pointers = pointers,
                                                            .sources = sources,
                                                            .shape = shape,
                                                            .product = product,
                                                            .accumulates = accumulates,
                                                            .stream = stream});
}

}  // namespace engine
