// Outputs of the CPU step in a caller's memory: the same bits as in its own buffers, nothing
// written past them, and a mismatch refused by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tests/numerics/backend/cpu_step_bench.h"

namespace engine {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

constexpr std::uint8_t kPoison = 0xA5;
constexpr std::int64_t kSpareRows = 3;

RunRequest request_of(Scaling scaling, bool accumulate) {
  RunRequest request;
  request.shape = {.preset = "", .num_experts = 4, .rows = 75, .n = 48, .k = 144};
  request.routing.distribution = RoutingDistribution::HalfEmpty;
  request.recipe.scaling = scaling;
  request.products.passes = StepPasses::ForwardBackward;
  request.products.bias = true;
  request.products.wgrad_type = ElementType::Fp32;
  request.products.accumulate_wgrad = accumulate;
  request.layers = 2;
  return request;
}

/// 16-byte aligned memory with spare rows behind, all poison at first.
class HostTensor {
 public:
  HostTensor(std::int64_t rows, std::int64_t columns, ElementType type)
      : type_(type),
        rows_(rows),
        columns_(columns),
        used_(static_cast<std::size_t>(rows * columns * (type == ElementType::Fp32 ? 4 : 2))),
        bytes_((rows + kSpareRows) * columns * (type == ElementType::Fp32 ? 4 : 2)),
        memory_(static_cast<std::size_t>(bytes_ + 15) / 16) {
    std::memset(memory_.data(), kPoison, static_cast<std::size_t>(bytes_));
  }
  CallerTensor tensor() {
    return {.values = memory_.data(),
            .type = type_,
            .rows = rows_ + kSpareRows,
            .columns = columns_,
            .capacity_bytes = bytes_,
            .device = kHostMemory};
  }
  const std::uint8_t* bytes() const {
    return reinterpret_cast<const std::uint8_t*>(memory_.data());
  }
  void clear() { std::memset(memory_.data(), 0, used_); }
  std::vector<std::uint8_t> tail() const {
    return {bytes() + used_, bytes() + static_cast<std::size_t>(bytes_)};
  }

 private:
  struct alignas(16) Vector {
    std::byte bytes[16];
  };
  ElementType type_;
  std::int64_t rows_;
  std::int64_t columns_;
  std::size_t used_;
  std::int64_t bytes_;
  std::vector<Vector> memory_;
};

struct Owned {
  explicit Owned(const RunRequest& request)
      : y(request.shape.rows, request.shape.n, ElementType::Bf16),
        dx(request.shape.rows, request.shape.k, ElementType::Bf16),
        dw(request.shape.num_experts * request.shape.n, request.shape.k, ElementType::Fp32),
        db(request.shape.num_experts, request.shape.n, ElementType::Bf16) {}
  HostTensor y, dx, dw, db;
};

TEST(CpuCallerOutputs, HaveTheBitsOfTheStepsOwnBuffersAndTheirTailsAreUntouched) {
  for (const Scaling scaling : {Scaling::None, Scaling::Block, Scaling::Mxfp8}) {
    const RunRequest request = request_of(scaling, false);
    std::vector<Owned> owned(2, Owned(request));
    std::vector<CallerOutputs> given(2);
    for (std::size_t layer = 0; layer < 2; ++layer) {
      given[layer] = {.y = owned[layer].y.tensor(),
                      .dx = owned[layer].dx.tensor(),
                      .dw = owned[layer].dw.tensor(),
                      .bias_gradient = std::nullopt};
    }
    given[0].bias_gradient = owned[0].db.tensor();
    const auto outputs = take_cpu_outputs(request, resolve_shape(request).value(), given);
    ASSERT_TRUE(outputs.ok()) << outputs.error().message;
    CpuStepBench callers(request, outputs.value());
    ASSERT_TRUE(callers.step.run(WeightCast::Make).ok());
    CpuStepBench plain(request);
    const std::int64_t n = request.shape.n;
    const std::int64_t k = request.shape.k;
    const auto same = [](const void* wanted, const HostTensor& tensor, std::int64_t offset,
                         std::int64_t bytes) {
      return std::memcmp(wanted, tensor.bytes() + offset, static_cast<std::size_t>(bytes)) == 0;
    };
    for (int layer = 0; layer < 2; ++layer) {
      const Owned& got = owned[static_cast<std::size_t>(layer)];
      for (int expert = 0; expert < 4; ++expert) {
        SCOPED_TRACE(testing::Message() << "layer " << layer << ", expert " << expert);
        const std::int64_t first = plain.projection.first_row(expert);
        const std::int64_t rows = plain.projection.rows(expert);
        const auto run = [&](ProgramPass pass, bool wgrad) {
          for (const ProgramPart& part : plain.step.program().parts) {
            for (const Operation& operation : part.operations) {
              const bool last = operation.kind == OperationKind::Wgrad;
              if (part.pass != pass || operation.layer != layer || last != wgrad) continue;
              plain.projection.run_operation(operation, expert);
            }
          }
        };
        run(ProgramPass::Forward, false);
        EXPECT_TRUE(rows == 0 || same(plain.projection.output_of(layer, expert), got.y,
                                      2 * first * n, 2 * rows * n));
        run(ProgramPass::Backward, false);
        EXPECT_TRUE(rows == 0 || same(plain.projection.input_gradient_of(layer, expert), got.dx,
                                      2 * first * k, 2 * rows * k));
        run(ProgramPass::Backward, true);
        EXPECT_TRUE(same(plain.projection.weight_gradient_of(layer, expert), got.dw,
                         4 * expert * n * k, 4 * n * k));
      }
      EXPECT_THAT(got.y.tail(), Each(kPoison));
      EXPECT_THAT(got.dx.tail(), Each(kPoison));
      EXPECT_THAT(got.dw.tail(), Each(kPoison));
    }
    EXPECT_TRUE(same(plain.projection.bias_gradient(), owned[0].db, 0, 2 * 4 * n));
    EXPECT_THAT(owned[0].db.tail(), Each(kPoison));
  }
}

TEST(CpuCallerOutputs, AnAccumulatingDwIsAddedToWhatTheCallerHas) {
  const RunRequest request = request_of(Scaling::None, true);
  std::vector<Owned> owned(2, Owned(request));
  std::vector<CallerOutputs> given(2);
  for (std::size_t layer = 0; layer < 2; ++layer) {
    owned[layer].dw.clear();
    given[layer].dw = owned[layer].dw.tensor();
  }
  const auto outputs = take_cpu_outputs(request, resolve_shape(request).value(), given);
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  CpuStepBench bench(request, outputs.value());
  const std::int64_t values = request.shape.num_experts * request.shape.n * request.shape.k;
  const auto* dw = reinterpret_cast<const float*>(owned[1].dw.bytes());
  ASSERT_TRUE(bench.step.run(WeightCast::Make).ok());
  const std::vector<float> once(dw, dw + values);
  ASSERT_TRUE(bench.step.run(WeightCast::Make).ok());
  bool any = false;
  for (std::int64_t i = 0; i < values; ++i) {
    const float first = once[static_cast<std::size_t>(i)];
    any = any || first != 0.0F;
    ASSERT_NEAR(dw[i], 2.0F * first, 1e-5F + 1e-5F * std::abs(first)) << i;
  }
  EXPECT_TRUE(any);
}

TEST(CpuCallerOutputs, MismatchedOutputsAreRefusedByName) {
  RunRequest request = request_of(Scaling::None, false);
  Owned owned(request);
  const auto refused = [&](auto&& spoil, const char* name, const char* word) {
    std::vector<CallerOutputs> given(2);
    given[1].y = owned.y.tensor();
    given[1].dw = owned.dw.tensor();
    spoil(given[1]);
    const auto taken = take_cpu_outputs(request, resolve_shape(request).value(), given);
    ASSERT_FALSE(taken.ok()) << word;
    EXPECT_THAT(taken.error().message, AllOf(HasSubstr(name), HasSubstr(word)));
  };
  refused([](auto& o) { o.y->type = ElementType::Fp16; }, "Y, layer 1", "FP16 where BF16");
  refused([](auto& o) { o.dw->type = ElementType::Bf16; }, "dW, layer 1", "BF16 where FP32");
  refused([](auto& o) { o.y->rows = 74; }, "Y, layer 1", "74 where at least 75");
  refused([](auto& o) { o.dw->capacity_bytes = 64; }, "dW, layer 1", "64 bytes");
  refused([](auto& o) { o.y->device = 0; }, "Y, layer 1", "host memory");
  refused([&](auto& o) { o.bias_gradient = owned.db.tensor(); }, "db, layer 1",
          "does not write it");
  request.products.passes = StepPasses::Forward;
  refused([](auto&) {}, "dW, layer 1", "does not write it");
}

}  // namespace
}  // namespace engine
