// Differences are checked in the order in which they would break a launch: inaccessible memory,
// then layout, then quantization.
#include "engine/model/caller_tensor.h"

#include <fmt/format.h>
#include <utility>

#include "engine/model/recipe_traits.h"

namespace engine {

namespace {

constexpr std::uintptr_t kAlignment = 16;  // cuBLASLt's and the kernels' vector accesses

std::string device_name(int device) {
  return device == kHostMemory ? "host memory" : fmt::format("device {}", device);
}

/// One mismatching attribute.
struct Difference {
  std::string attribute;  // empty = none found
  std::string found;
  std::string wanted;
  std::string remedy;
};

class Comparison {
 public:
  /// Keeps the first difference.
  Comparison& same(const char* attribute, bool equal, std::string found, std::string wanted,
                   const char* remedy) {
    if (!equal && first_.attribute.empty()) {
      first_ = {attribute, std::move(found), std::move(wanted), remedy};
    }
    return *this;
  }
  Comparison& count(const char* attribute, std::int64_t found, std::int64_t wanted,
                    const char* remedy) {
    return same(attribute, found == wanted, fmt::to_string(found), fmt::to_string(wanted), remedy);
  }
  Comparison& flag(const char* attribute, bool found, bool wanted, const char* remedy) {
    const auto text = [](bool on) { return std::string(on ? "on" : "off"); };
    return same(attribute, found == wanted, text(found), text(wanted), remedy);
  }
  /// `what` begins the sentence: "Weight of expert 3 in layer 0".
  Status status(const std::string& what) const {
    if (first_.attribute.empty()) return {};
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{}: {} is {} where {} is needed; {}", what, first_.attribute,
                             first_.found, first_.wanted, first_.remedy)};
  }

 private:
  Difference first_;
};

void compare_place(Comparison& compare, const CallerTensor& tensor, int device) {
  const auto address = reinterpret_cast<std::uintptr_t>(tensor.values);
  compare
      .same("address", tensor.values != nullptr, "null", "a tensor",
            "allocate it before the step is made")
      .same("device", tensor.device == device, device_name(tensor.device), device_name(device),
            "copy the tensor there, or make the step on its device")
      .same("alignment", address % kAlignment == 0,
            fmt::format("{} bytes past a multiple of 16", address % kAlignment),
            "a multiple of 16 bytes", "start the tensor at an aligned address");
}

/// Size of the demanded tensor, not of what the tensor claims, which may be absurd.
void compare_bytes(Comparison& compare, const CallerTensor& tensor, std::int64_t elements) {
  const std::int64_t needed = elements * element_bytes(tensor.type);
  const bool enough = tensor.capacity_bytes == 0 || tensor.capacity_bytes >= needed;
  compare.same("size", enough, fmt::format("{} bytes", tensor.capacity_bytes),
               fmt::format("at least {} bytes", needed), "allocate as much as the shape needs");
}

const char* form_name(ScaleForm form) {
  return form == ScaleForm::Swizzled ? "swizzled" : "row-major";
}

void compare_quantizer(Comparison& compare, const ListedWeight& weight,
                       const WeightDemand& demand) {
  constexpr const char* kRemedy = "quantize every expert with the step's recipe";
  const Recipe& found = weight.recipe;
  const Recipe& wanted = demand.recipe;
  compare.same("recipe", found.scaling == wanted.scaling, std::string(name_of(found.scaling)),
               std::string(name_of(wanted.scaling)), kRemedy);
  const RecipeTraits& traits = traits_of(wanted);
  if (!traits.quantizes()) return;
  if (traits.chooses_pow2()) {
    compare.flag("power-of-two scales", found.pow2_scales, wanted.pow2_scales, kRemedy);
  }
  if (traits.amax_epsilon) {
    compare.same("amax epsilon", found.amax_epsilon == wanted.amax_epsilon,
                 fmt::to_string(found.amax_epsilon), fmt::to_string(wanted.amax_epsilon), kRemedy);
  }
  if (traits.square_weights) {
    compare.flag("square blocks", found.square_weight_blocks, wanted.square_weight_blocks, kRemedy);
  }
  if (traits.remembers_amax()) {
    compare
        .count("history length", found.delayed.history_length, wanted.delayed.history_length,
               kRemedy)
        .count("margin", found.delayed.margin, wanted.delayed.margin, kRemedy)
        .flag("scale from the most recent amax",
              found.delayed.algorithm == kernels::AmaxAlgorithm::MostRecent,
              wanted.delayed.algorithm == kernels::AmaxAlgorithm::MostRecent, kRemedy);
  }
  if (traits.hadamard) {
    compare.flag("Hadamard transform", found.hadamard, wanted.hadamard, kRemedy);
  }
  compare.same("scale form", weight.scale_form == demand.scale_form, form_name(weight.scale_form),
               form_name(demand.scale_form), "write the scales in the form that the products read");
}

}  // namespace

const char* element_name(ElementType type) {
  switch (type) {
    case ElementType::Bf16:
      return "BF16";
    case ElementType::Fp16:
      return "FP16";
    case ElementType::Fp32:
      return "FP32";
  }
  return "unknown";
}

Status check_weight_list(const WeightDemand& demand, std::span<const ListedWeight> weights) {
  if (weights.size() != static_cast<std::size_t>(demand.num_groups)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("The list of weights of layer {} has {} tensors and the step {} "
                             "experts; give one tensor per expert",
                             demand.layer, weights.size(), demand.num_groups)};
  }
  for (std::size_t expert = 0; expert < weights.size(); ++expert) {
    const ListedWeight& weight = weights[expert];
    const CallerTensor& tensor = weight.tensor;
    Comparison compare;
    compare_place(compare, tensor, demand.device);
    compare
        .same("element type", tensor.type == demand.recipe.high_precision,
              element_name(tensor.type), element_name(demand.recipe.high_precision),
              "convert the tensor, or choose that high-precision type")
        .count("rows (n)", tensor.rows, demand.n, "give every expert an [n, k] tensor")
        .count("columns (k)", tensor.columns, demand.k, "give every expert an [n, k] tensor")
        .count("row stride (layout)", tensor.stride(), demand.k,
               "make the tensor contiguous, row-major");
    compare_bytes(compare, tensor, demand.n * demand.k);
    compare_quantizer(compare, weight, demand);
    ENGINE_TRY(
        compare.status(fmt::format("Weight of expert {} in layer {}", expert, demand.layer)));
  }
  return {};
}

Status check_output(const OutputDemand& demand, const CallerTensor& tensor) {
  Comparison compare;
  compare_place(compare, tensor, demand.device);
  compare
      .same("element type", tensor.type == demand.type, element_name(tensor.type),
            element_name(demand.type), "give a tensor of that type")
      .same("rows", tensor.rows >= demand.rows, fmt::to_string(tensor.rows),
            fmt::format("at least {}", demand.rows), "give a tensor for the step's whole capacity")
      .count("columns", tensor.columns, demand.columns, "give a tensor of the output's width")
      .count("row stride (layout)", tensor.stride(), demand.columns,
             "make the tensor contiguous, row-major");
  compare_bytes(compare, tensor, demand.rows * demand.columns);
  return compare.status(demand.name);
}

// Which output a pass writes, and how large it is.
namespace {

/// One output of a layer, if it was given.
Status take(const std::optional<CallerTensor>& given, const OutputDemand& demand, bool written,
            void*& target) {
  if (!given) return {};
  if (!written) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{}: a tensor was given but this step does not write it; leave it "
                             "out, or choose the passes and the bias that write it",
                             demand.name)};
  }
  ENGINE_TRY(check_output(demand, *given));
  target = given->values;
  return {};
}

}  // namespace

Result<std::vector<LayerOutputs>> take_outputs(const OutputShape& shape,
                                               const std::vector<CallerOutputs>& outputs) {
  const auto layers = static_cast<std::size_t>(shape.layers);
  if (!outputs.empty() && outputs.size() != layers) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("Outputs of {} layers were given but the step has {}; give one entry "
                             "per layer, or none",
                             outputs.size(), layers)};
  }
  std::vector<LayerOutputs> taken(layers);
  for (std::size_t layer = 0; layer < outputs.size(); ++layer) {
    const CallerOutputs& given = outputs[layer];
    LayerOutputs& to = taken[layer];
    const auto demand = [&](const char* name, ElementType type, std::int64_t rows,
                            std::int64_t columns) -> OutputDemand {
      return {.name = fmt::format("{}, layer {}", name, layer),
              .type = type,
              .rows = rows,
              .columns = columns,
              .device = shape.device};
    };
    // Every layer reads the same dY, so there is one db.
    const bool writes_bias = shape.backward && shape.bias && layer == 0;
    for (const Status& status :
         {take(given.y, demand("Y", shape.type, shape.capacity_rows, shape.n), shape.forward, to.y),
          take(given.dx, demand("dX", shape.type, shape.capacity_rows, shape.k), shape.backward,
               to.dx),
          take(given.dw, demand("dW", shape.wgrad_type, shape.num_groups * shape.n, shape.k),
               shape.backward, to.dw),
          take(given.bias_gradient, demand("db", shape.bias_type, shape.num_groups, shape.n),
               writes_bias, to.bias_gradient)}) {
      if (!status.ok()) return status.error();
    }
  }
  return taken;
}

}  // namespace engine
