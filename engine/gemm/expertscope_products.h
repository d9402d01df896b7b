// The products that our own kernels compute.
#pragma once

#include <memory>

#include "engine/gemm/grouped_product.h"
#include "kernels/product/m_grouped_block.h"
#include "kernels/product/wgrad_block.h"

namespace engine {

// One launch for all groups, without a workspace; the device reads the splits, so a captured launch
// follows new ones. Its tiles can leave stamps. The arguments are device memory that outlives the
// product; their stamps are ignored. InvalidArgument for a shape that the kernel cannot address.

/// fprop, or dgrad from the weights' columnwise copy.
Result<std::unique_ptr<GroupedProduct>> make_expertscope_m_grouped(
    const kernels::MGroupedBlockArgs& args);
Result<std::unique_ptr<GroupedProduct>> make_expertscope_wgrad(const kernels::WgradBlockArgs& args);

}  // namespace engine
