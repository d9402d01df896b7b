#include "engine/backend/cpu/recipe_comparison.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "engine/backend/cpu/machine.h"
#include "engine/input/operand_store.h"
#include "engine/model/out_of_memory.h"
#include "engine/quantize/compare_recipes.h"
#include "engine/quantize/compared_source.h"
#include "engine/quantize/quantize_cpu.h"

namespace engine {
namespace {

class CpuSide final : public ComparisonSide {
 public:
  bool loads_parts() const override { return true; }

  Result<kernels::GroupedInput> load(const RunRequest& request, const ComparedOperand& operand,
                                     RunProgress&) override {
    role_ = operand.role;
    seed_ = request.seed;
    ENGINE_ASSIGN(std::unique_ptr<TensorSource> source,
                  open_compared_source(request, operand.role, operand.splits));
    const std::int64_t elements = operand.elements();
    const std::int64_t element = element_bytes(source->element());
    // The operand and its copy; codes and scales of one recipe, packed and as plain arrays.
    const std::int64_t wanted = elements * (2 * element + 1 + 1 + 4 + 4 + 4);
    const std::int64_t available = available_memory_bytes();
    if (available != 0 && wanted > available) {
      return out_of_memory("comparing recipes on this operand needs", wanted, available,
                           "choose fewer tokens, or a smaller k");
    }
    // Not kept: only the rows that are read are in memory.
    store_.emplace(std::move(source), /*keep=*/false);
    input_ = {.input = store_->rows(operand.first_row, operand.all_rows()),
              .type = store_->element(),
              .row_offsets = operand.row_offsets.data(),
              .num_groups = static_cast<int>(operand.rows.size()),
              .capacity_rows = operand.all_rows(),
              .columns = operand.columns};
    operand_bytes_ = elements * element;
    copy_.reserve(std::max<std::int64_t>(operand_bytes_, 1));
    return input_;
  }

  Status make_quantizer(const Recipe& recipe, kernels::Direction direction) override {
    quantizer_.emplace(CpuQuantizer::Setup{
        .recipe = recipe, .role = role_, .direction = direction, .input = input_, .seed = seed_});
    return {};
  }

  Status quantize() override {
    quantizer_->quantize();
    return {};
  }

  Result<HostQuantized> download() override {
    const std::vector<float>& amax = quantizer_->amax();
    return HostQuantized{.layout = quantizer_->layout(),
                         .view = quantizer_->view(),
                         .amax = amax.empty() ? nullptr : amax.data()};
  }

  Result<Times> time() override {
    const std::int64_t copy_start = steady_ns();
    copy_in_parallel(copy_.get(), static_cast<const std::byte*>(input_.input), operand_bytes_);
    const std::int64_t start = steady_ns();
    quantizer_->quantize();
    return Times{.copy_ns = start - copy_start, .quantize_ns = steady_ns() - start};
  }

  std::string time_method() const override {
    return "steady clock around each call, a copy of the operand on all cores between";
  }

 private:
  OperandRole role_ = OperandRole::Activations;
  std::uint64_t seed_ = 0;
  std::optional<OperandStore> store_;
  kernels::GroupedInput input_;
  std::int64_t operand_bytes_ = 0;
  Buffer<std::byte> copy_;
  std::optional<CpuQuantizer> quantizer_;
};

}  // namespace

Result<RecipeComparison> compare_on_cpu(const ComparisonRequest& request, const DeviceFacts& device,
                                        RunContext context) {
  CpuSide side;
  return compare_recipes(request, device, side, context.progress);
}

}  // namespace engine
