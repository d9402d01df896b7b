// Weights stored as one tensor per expert, as in checkpoints of mixture-of-experts models:
// "layers.0.experts.{}.up.weight" names all of their tensors.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "engine/input/tensor_file.h"
#include "engine/input/tensor_source.h"

namespace engine {

/// Where the expert's number stands in the name of a list.
inline constexpr std::string_view kExpertPlace = "{}";

/// Experts 0..num_experts-1 below one another, [num_experts * n, k]. NotFound, or InvalidArgument
/// that names the first expert whose type or shape is not expert 0's or not the request's.
Result<std::unique_ptr<TensorSource>> open_listed_source(std::shared_ptr<const TensorFile> file,
                                                         const FileInput& input,
                                                         const ShapeSpec& shape);

/// The lists formed by a file's tensors: names that differ only in their last number, counting from
/// 0. Shape [experts, n, k]; a list whose tensors differ is not usable and says where.
std::vector<TensorEntry> tensor_lists(const TensorFile& file);

}  // namespace engine
