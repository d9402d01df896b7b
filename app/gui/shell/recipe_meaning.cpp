#include "app/gui/shell/recipe_meaning.h"

namespace app::recipe_meaning {

using engine::Scaling;

const char* no_quantization(const engine::Recipe& recipe) {
  return recipe.scaling == Scaling::None ? "BF16 quantizes nothing: choose another recipe"
                                         : nullptr;
}

const char* no_format(const engine::Recipe& recipe) {
  if (recipe.scaling == Scaling::Nvfp4) return "NVFP4 has one element format, E2M1";
  return no_quantization(recipe);
}

const char* no_epsilon(const engine::Recipe& recipe) {
  if (recipe.scaling == Scaling::Mxfp8) {
    return "MXFP8 takes its scale from the block's exponent alone";
  }
  if (recipe.scaling == Scaling::Nvfp4) return "NVFP4 has no smallest amax: a zero block is zero";
  return no_quantization(recipe);
}

const char* no_pow2(const engine::Recipe& recipe) {
  if (recipe.scaling == Scaling::Mxfp8) return "The scale is a power of two already";
  if (recipe.scaling == Scaling::Nvfp4) return "The scale of 16 elements is an E4M3 number";
  return no_quantization(recipe);
}

const char* no_split_accumulator(const engine::Recipe& recipe) {
  if (recipe.scaling == Scaling::Block) {
    return "Block scaling always promotes partial sums to FP32";
  }
  if (recipe.scaling == Scaling::Mxfp8 || recipe.scaling == Scaling::Nvfp4) {
    return "The emulated product of micro-scaled operands always sums in FP32";
  }
  return no_quantization(recipe);
}

const char* no_history(const engine::Recipe& recipe) {
  return recipe.scaling == Scaling::PerTensorDelayed
             ? nullptr
             : "Only delayed scaling remembers amax of earlier steps: choose FP8 delayed, or "
               "show Numerics, Recipes";
}

const char* no_weight_blocks(const engine::Recipe& recipe) {
  const bool blocks = recipe.scaling == Scaling::Block || recipe.scaling == Scaling::Mxfp8 ||
                      recipe.scaling == Scaling::Nvfp4;
  return blocks ? nullptr : "Only FP8 block, MXFP8 and NVFP4 have a choice of weight blocks";
}

const char* no_square_blocks(const engine::Recipe& recipe) {
  return recipe.scaling == Scaling::Block
             ? nullptr
             : "Only FP8 block scaling has a choice of blocks for this operand";
}

const char* not_nvfp4(const engine::Recipe& recipe) {
  return recipe.scaling == Scaling::Nvfp4
             ? nullptr
             : "Part of NVFP4 only: choose it, or show Numerics, Recipes";
}

const char* meaningless(std::string_view control, const engine::RunRequest& request) {
  const auto is = [control](std::string_view id) { return control.starts_with(id); };
  if (request.linear.passes == engine::StepPasses::Forward) {
    for (const std::string_view id : {"gradients.", "recipe.gradient_format", "recipe.square_dy",
                                      "step.wgrad_type", "step.accumulate", "step.delayed_wgrad"}) {
      if (is(id)) return "The step has no backward pass: choose Backward or Both under Step";
    }
  }
  if (is("engine.setup_arrays") && request.backend != engine::GemmBackend::CublasLtGrouped) {
    return "Only grouped products read pointers and dimensions from arrays: choose cuBLASLt "
           "grouped";
  }
  if (is("engine.try_algorithms") && request.backend != engine::GemmBackend::CublasLtGrouped) {
    return "Only grouped products have a heuristic's list to try: choose cuBLASLt grouped";
  }
  if (is("engine.programmatic") && request.backend != engine::GemmBackend::CublasLtGrouped) {
    return request.backend == engine::GemmBackend::CublasLtPerExpert
               ? "The experts' products join from several streams, and a programmatic launch "
                 "overlaps with one stream only: choose cuBLASLt grouped"
               : "The CPU reference launches no kernels: choose cuBLASLt grouped";
  }
  if ((is("engine.markers") || is("engine.deadline_factor")) &&
      (request.launch.kind != engine::LaunchKind::GraphReplay ||
       !engine::runs_on_cuda(request.backend))) {
    return "Only replays of a graph have a deadline and markers: choose a cuBLASLt backend and "
           "Launch, Graph";
  }
  if (is("engine.splits") && !engine::runs_on_cuda(request.backend)) {
    return "The CPU reference reads the splits on the host: choose a cuBLASLt backend";
  }
  if (is("engine.workspace") && !engine::runs_on_cuda(request.backend)) {
    return "The CPU reference needs no workspace: choose cuBLASLt grouped";
  }
  const engine::Recipe& recipe = request.recipe;
  if (is("recipe.format") || is("recipe.gradient_format")) return no_format(recipe);
  if (is("recipe.algorithm")) return no_history(recipe);
  if (is("recipe.pow2")) return no_pow2(recipe);
  if (is("recipe.split_accumulator")) return no_split_accumulator(recipe);
  if (is("recipe.square_x") || is("recipe.square_dy")) return no_square_blocks(recipe);
  if (is("recipe.square")) return no_weight_blocks(recipe);
  if (is("recipe.hadamard") || is("recipe.stochastic")) return not_nvfp4(recipe);
  return nullptr;
}

}  // namespace app::recipe_meaning
