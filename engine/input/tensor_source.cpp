// From a request to the source of one operand: the place where sizes are checked and refusals say
// which control to change.
#include "engine/input/tensor_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "engine/input/element_rounding.h"
#include "engine/input/synthetic.h"
#include "engine/input/tensor_file.h"
#include "engine/input/tensor_list.h"

namespace engine {
namespace {

bool is_operand(StoredType type) {
  return type == StoredType::F32 || type == StoredType::F16 || type == StoredType::Bf16;
}

std::string integer_reason() { return "it holds integers; operands are F32, F16 or BF16"; }

/// Index of the tensor that the request names.
Result<std::size_t> pick_tensor(const TensorFile& file, const FileInput& input) {
  for (std::size_t index = 0; index < file.tensors.size(); ++index) {
    if (file.tensors[index].name == input.tensor) return index;
  }
  if (file.tensors.size() == 1 && input.tensor.empty()) return std::size_t{0};
  return Error{ErrorCode::NotFound,
               fmt::format("{} has no tensor '{}'; it holds {}, the first is '{}'", input.path,
                           input.tensor, file.tensors.size(), file.tensors.front().name)};
}

struct OperandShape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::string wanted;  // as text, for the refusal
  std::string way_out;
};

OperandShape operand_shape(const ShapeSpec& shape, OperandRole role) {
  if (role == OperandRole::Gradients) {
    return {.rows = shape.tokens,
            .columns = shape.n,
            .wanted = fmt::format("gradients need [tokens = {}, n = {}]", shape.tokens, shape.n),
            .way_out = "set tokens and n to the tensor's"};
  }
  if (role == OperandRole::Activations) {
    return {.rows = shape.tokens,
            .columns = shape.k,
            .wanted = fmt::format("activations need [tokens = {}, k = {}]", shape.tokens, shape.k),
            .way_out = "set tokens and k to the tensor's"};
  }
  return {.rows = shape.num_experts * shape.n,
          .columns = shape.k,
          .wanted = fmt::format("weights need [{}, {}, {}] (experts, n, k) or [{}, {}]",
                                shape.num_experts, shape.n, shape.k, shape.num_experts * shape.n,
                                shape.k),
          .way_out = "set experts, n and k to the tensor's"};
}

bool fits(const std::vector<std::int64_t>& dimensions, const OperandShape& wanted,
          const ShapeSpec& shape, OperandRole role) {
  if (dimensions.size() == 2) {
    return dimensions[0] == wanted.rows && dimensions[1] == wanted.columns;
  }
  return role == OperandRole::Weights && dimensions.size() == 3 &&
         dimensions[0] == shape.num_experts && dimensions[1] == shape.n && dimensions[2] == shape.k;
}

Result<std::unique_ptr<TensorSource>> open_file_source(const FileInput& input,
                                                       const ShapeSpec& shape, OperandRole role) {
  Result<TensorFile> opened = open_tensor_file(input.path);
  if (!opened.ok()) return opened.error();
  const auto file = std::make_shared<const TensorFile>(std::move(opened).value());
  if (role == OperandRole::Weights && input.tensor.find(kExpertPlace) != std::string::npos) {
    return open_listed_source(file, input, shape);
  }
  const Result<std::size_t> index = pick_tensor(*file, input);
  if (!index.ok()) return index.error();
  const StoredTensor& tensor = file->tensors[index.value()];
  const std::string label =
      tensor.name.empty() ? input.path : fmt::format("{}: '{}'", input.path, tensor.name);
  if (!is_operand(tensor.type)) {
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("{} cannot be an operand: {}", label,
                    tensor.type == StoredType::Unusable ? tensor.reason : integer_reason())};
  }
  const OperandShape wanted = operand_shape(shape, role);
  if (!fits(tensor.shape, wanted, shape, role)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{} is {} but {}: {}, or pick another tensor", label,
                             shape_text(tensor.shape), wanted.wanted, wanted.way_out)};
  }
  return make_file_source(
      {.file = file, .index = index.value(), .rows = wanted.rows, .columns = wanted.columns});
}

}  // namespace

const InputSpec& input_of(const RunRequest& request, OperandRole role) {
  switch (role) {
    case OperandRole::Weights:
      return request.weights;
    case OperandRole::Gradients:
      return request.linear.gradients;
    case OperandRole::Activations:
      break;
  }
  return request.activations;
}

void TensorSource::read_fp16(std::int64_t first_row, std::int64_t count,
                             std::span<std::uint16_t> out) const {
  std::vector<float> row(static_cast<std::size_t>(columns()));
  std::uint16_t* target = out.data();
  for (std::int64_t i = 0; i < count; ++i) {
    read_f32(first_row + i, 1, row);
    target = std::transform(row.begin(), row.end(), target, fp16_bits);
  }
}

Result<std::unique_ptr<TensorSource>> open_source(const RunRequest& request, OperandRole role,
                                                  int layer) {
  const InputSpec& input = input_of(request, role);
  if (const auto* file = std::get_if<FileInput>(&input)) {
    return open_file_source(*file, request.shape, role);
  }
  const OperandShape shape = operand_shape(request.shape, role);
  return make_synthetic_source({.input = std::get<SyntheticInput>(input),
                                .role = role,
                                // All layers read the same X and the same dY.
                                .layer = role == OperandRole::Weights ? layer : 0,
                                .seed = request.seed,
                                .rows = shape.rows,
                                .columns = shape.columns});
}

Result<std::vector<TensorEntry>> inspect_file(const std::string& path) {
  const Result<TensorFile> file = open_tensor_file(path);
  if (!file.ok()) return file.error();
  std::vector<TensorEntry> entries;
  for (const StoredTensor& tensor : file.value().tensors) {
    TensorEntry entry;
    entry.name = tensor.name;
    entry.dtype = tensor.dtype;
    entry.shape = tensor.shape;
    entry.usable = is_operand(tensor.type);
    if (tensor.type == StoredType::Unusable) {
      entry.reason = tensor.reason;
    } else if (!entry.usable) {
      entry.reason = integer_reason();
    } else if (tensor.shape.size() != 2 && tensor.shape.size() != 3) {
      entry.usable = false;
      entry.reason = fmt::format(
          "it has {} dimensions; operands have 2, or 3 for weights by expert", tensor.shape.size());
    }
    entries.push_back(std::move(entry));
  }
  std::vector<TensorEntry> lists = tensor_lists(file.value());
  std::move(lists.begin(), lists.end(), std::back_inserter(entries));
  return entries;
}

}  // namespace engine
