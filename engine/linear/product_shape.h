// Maps operands to the matrices of a grouped product: which copy is A, which is B, with which op
// and dimensions (table in engine/gemm/grouped_product.h).
#pragma once

#include "engine/gemm/cublaslt_library.h"
#include "engine/gemm/grouped_product.h"
#include "engine/linear/step_arrays.h"
#include "engine/linear/step_config.h"
#include "engine/linear/step_operand.h"

namespace engine {

/// One product of the step: what it reads and where its output goes.
struct ProductSources {
  Product product = Product::Fprop;
  int index = 0;  // of the step's products
  OperandSource a = {};
  OperandSource b = {};
  GroupAddresses d = {};
  void* const* alphas = nullptr;  // device [num_groups]; null = 1 for all
};

/// Builds the product on the backend that the configuration names. Synchronises.
Result<std::unique_ptr<GroupedProduct>> make_product(
    std::shared_ptr<const CublasLt> library, const StepConfig& config, const StepArrays& arrays,
    PointerArrays& pointers, const ProductSources& sources, cudaStream_t stream);

Stage stage_of(Product product);

/// What the recipe's products read, for display: "FP8 block", "MXFP8 emulated in BF16".
std::string product_recipe_name(const StepConfig& config);

}  // namespace engine
