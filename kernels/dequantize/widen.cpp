#include "kernels/dequantize/widen.h"

#include "kernels/common/input_elements.h"

namespace kernels {
namespace {

template <InputType kType>
void widen_all(const WidenArgs& args) {
  const auto* const input = static_cast<const std::uint16_t*>(args.input);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < args.count; ++i) {
    args.output[i] = InputElement<kType>::value(input[i]);
  }
}

}  // namespace

void widen_cpu(const WidenArgs& args) {
  if (args.type == InputType::Fp16) {
    widen_all<InputType::Fp16>(args);
  } else {
    widen_all<InputType::Bf16>(args);
  }
}

}  // namespace kernels
