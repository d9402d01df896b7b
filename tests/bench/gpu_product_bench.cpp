// What the engine's grouped product adds to cuBLASLt called by itself: fprop of the presets' shapes
// with the exact averages as hints, by turns in one run. And what the operands' codes cost: the
// card is at its power limit, so codes of few bits run at a higher clock than those of real
// tensors.
//
// One line of JSON a contender. Run: gpu_product_bench [SECONDS A CASE] [libcublasLt.so.13]
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/device/buffer.h"
#include "engine/device/device_facts.h"
#include "engine/device/handles.h"
#include "engine/gemm/cublaslt_products.h"
#include "engine/gemm/support.h"
#include "kernels/common/fp8_codes.h"

namespace {

using engine::DeviceBuffer;
using engine::MatrixScaling;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kPoolBytes = std::int64_t{8} << 20;  // of codes, repeated in a tensor
constexpr int kLaunches = 3;  // timed in a turn, after one that is not
constexpr int kFewestRounds = 7;

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

void check(cudaError_t error) {
  if (error != cudaSuccess) fail(cudaGetErrorString(error));
}

void check(const engine::Status& status) {
  if (!status.ok()) fail(status.error().message);
}

template <class T>
T take(engine::Result<T> result) {
  if (!result.ok()) fail(result.error().message);
  return std::move(result).value();
}

struct Shape {
  const char* name;
  int experts;
  std::int64_t tokens, n, k;
};

struct Recipe {
  const char* name;
  bool fp8;
  MatrixScaling weights, activations;
  bool fast;
};

/// Bytes of a tensor as a person makes them up, or as quantizing a normal distribution does.
enum class Codes { FewBits, Normal };

std::vector<std::uint8_t> code_pool(bool fp8, Codes codes, unsigned seed) {
  std::vector<std::uint8_t> pool(static_cast<std::size_t>(kPoolBytes));
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  const auto value = [&] { return codes == Codes::Normal ? normal(random) : uniform(random); };
  if (!fp8) {
    for (std::size_t i = 0; i < pool.size(); i += 2) {
      const std::uint32_t bits = std::bit_cast<std::uint32_t>(value());
      pool[i] = static_cast<std::uint8_t>(bits >> 16);
      pool[i + 1] = static_cast<std::uint8_t>(bits >> 24);
    }
    return pool;
  }
  // The largest of a few million normal numbers is some 5 standard deviations; it becomes 448.
  constexpr float kScale = 448.0F / 5.0F;
  for (std::uint8_t& code : pool) {
    code = codes == Codes::Normal
               ? kernels::fp8_encode<kernels::Fp8Format::E4m3>(kScale * normal(random))
               : static_cast<std::uint8_t>(0x28U | (random() & 0x97U));
  }
  return pool;
}

DeviceBuffer tensor_of(const std::vector<std::uint8_t>& pool, std::int64_t bytes) {
  DeviceBuffer buffer = take(DeviceBuffer::allocate(bytes, {}));
  for (std::int64_t at = 0; at < bytes; at += kPoolBytes) {
    check(cudaMemcpy(buffer.data() + at, pool.data(),
                     static_cast<std::size_t>(std::min(kPoolBytes, bytes - at)),
                     cudaMemcpyHostToDevice));
  }
  return buffer;
}

template <class T>
DeviceBuffer array_of(const std::vector<T>& values) {
  const auto bytes = static_cast<std::int64_t>(values.size() * sizeof(T));
  DeviceBuffer buffer = take(DeviceBuffer::allocate(bytes, {}));
  check(cudaMemcpy(buffer.data(), values.data(), static_cast<std::size_t>(bytes),
                   cudaMemcpyHostToDevice));
  return buffer;
}

/// Y = X Wᵀ of equal groups, everything a launch reads.
class Operands {
 public:
  Operands(const Shape& shape, const Recipe& recipe, Codes codes) {
    const std::int64_t element = recipe.fp8 ? 1 : 2;
    const std::int64_t rows = shape.tokens / shape.experts;
    const std::vector<std::uint8_t> pool = code_pool(recipe.fp8, codes, 1);
    w_ = tensor_of(pool, shape.experts * shape.n * shape.k * element);
    x_ = tensor_of(code_pool(recipe.fp8, codes, 2), shape.tokens * shape.k * element);
    y_ = take(DeviceBuffer::allocate(shape.tokens * shape.n * 2, {}));
    const auto groups = static_cast<std::size_t>(shape.experts);
    const auto lines = [&](std::int64_t value) {
      return array_of(std::vector<std::int32_t>(groups, static_cast<std::int32_t>(value)));
    };
    k_ = lines(shape.k);
    n_ = lines(shape.n);
    m_ = lines(rows);
    const auto pointers = [&](const DeviceBuffer& base, std::int64_t stride) {
      std::vector<void*> all(groups);
      for (std::size_t g = 0; g < groups; ++g) {
        all[g] = base.data() + static_cast<std::int64_t>(g) * stride;
      }
      return array_of(all);
    };
    w_pointers_ = pointers(w_, shape.n * shape.k * element);
    x_pointers_ = pointers(x_, rows * shape.k * element);
    y_pointers_ = pointers(y_, rows * shape.n * 2);
    // All scales are one value, so their layout does not matter; enough of them for 1x128.
    const std::int64_t scales = (shape.k / 128 + 4) * (std::max(rows, shape.n) + 4);
    scale_values_ = array_of(std::vector<float>(static_cast<std::size_t>(scales), 1.0F / 64));
    scale_pointers_ = pointers(scale_values_, 0);
    scalars_ = array_of(std::vector<float>{1.0F, 0.0F});
    check(cudaDeviceSynchronize());
    const cudaDataType_t type = recipe.fp8 ? CUDA_R_8F_E4M3 : CUDA_R_16BF;
    const auto scale = [&](MatrixScaling scaling) {
      return scaling == MatrixScaling::None ? nullptr : scale_pointers_.as<void*>();
    };
    config = {.product = engine::Product::Fprop,
              .recipe = recipe.name,
              .num_groups = shape.experts,
              .a = {.type = type,
                    .transposed = true,
                    .scaling = recipe.weights,
                    .rows = k_.as<std::int32_t>(),
                    .columns = n_.as<std::int32_t>(),
                    .values = w_pointers_.as<void*>(),
                    .scales = scale(recipe.weights)},
              .b = {.type = type,
                    .transposed = false,
                    .scaling = recipe.activations,
                    .rows = k_.as<std::int32_t>(),
                    .columns = m_.as<std::int32_t>(),
                    .values = x_pointers_.as<void*>(),
                    .scales = scale(recipe.activations)},
              .d = {.type = CUDA_R_16BF,
                    .rows = n_.as<std::int32_t>(),
                    .columns = m_.as<std::int32_t>(),
                    .values = y_pointers_.as<void*>()},
              .average_rows = shape.n,
              .average_columns = rows,
              .average_reduction = shape.k,
              .fast_accumulation = recipe.fast,
              .alpha = scalars_.as<float>(),
              .beta = scalars_.as<float>() + 1};
  }

  engine::ProductConfig config;

 private:
  DeviceBuffer w_, x_, y_, k_, n_, m_, w_pointers_, x_pointers_, y_pointers_;
  DeviceBuffer scale_values_, scale_pointers_, scalars_;
};

/// cuBLASLt as its documentation has it: the heuristic's first algorithm, nothing of the engine's.
class Bare {
 public:
  Bare(const engine::CublasLt& library, const engine::ProductConfig& config)
      : library_(library), config_(config) {
    check(library.matmul_desc_create(&desc_, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    set_desc(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
    set_desc(CUBLASLT_MATMUL_DESC_POINTER_MODE, CUBLASLT_POINTER_MODE_DEVICE);
    if (config.a.scaling != MatrixScaling::None) {
      set_desc(CUBLASLT_MATMUL_DESC_FAST_ACCUM, static_cast<std::int8_t>(config.fast_accumulation));
      set_desc(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, mode_of(config.a.scaling));
      set_desc(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, mode_of(config.b.scaling));
      set_desc(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, config.a.scales);
      set_desc(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, config.b.scales);
    }
    a_ = layout(config.a);
    b_ = layout(config.b);
    d_ = layout(config.d);
    cublasLtMatmulPreference_t wanted = nullptr;
    check(library.preference_create(&wanted));
    const auto want = [&](cublasLtMatmulPreferenceAttributes_t which, std::int64_t value) {
      check(library.preference_set_attribute(wanted, which, &value, sizeof value));
    };
    want(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, engine::kWorkspaceBytes);
    want(CUBLASLT_MATMUL_PREF_GROUPED_DESC_D_AVERAGE_ROWS, config.average_rows);
    want(CUBLASLT_MATMUL_PREF_GROUPED_DESC_D_AVERAGE_COLS, config.average_columns);
    want(CUBLASLT_MATMUL_PREF_GROUPED_AVERAGE_REDUCTION_DIM, config.average_reduction);
    int found = 0;
    cublasLtMatmulHeuristicResult_t result{};
    check(library.algo_get_heuristic(library.handle(), desc_, a_, b_, d_, d_, wanted, 1, &result,
                                     &found));
    if (found == 0) fail("cuBLASLt has no algorithm");
    algorithm_ = result.algo;
  }

  void launch(void* workspace, cudaStream_t stream) const {
    check(library_.matmul(library_.handle(), desc_, config_.alpha, config_.a.values, a_,
                          config_.b.values, b_, config_.beta, config_.d.values, d_,
                          const_cast<void**>(config_.d.values), d_, &algorithm_, workspace,
                          static_cast<std::size_t>(engine::kWorkspaceBytes), stream));
  }

 private:
  static void check(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS)
      fail(fmt::format("cuBLASLt: {}", static_cast<int>(status)));
  }
  template <class T>
  void set_desc(cublasLtMatmulDescAttributes_t which, T value) {
    check(library_.matmul_desc_set_attribute(desc_, which, &value, sizeof value));
  }
  static cublasLtMatmulMatrixScale_t mode_of(MatrixScaling scaling) {
    if (scaling == MatrixScaling::Block1x128) return CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F;
    if (scaling == MatrixScaling::Block128x128) return CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
    return CUBLASLT_MATMUL_MATRIX_SCALE_PER_BATCH_SCALAR_32F;
  }
  cublasLtMatrixLayout_t layout(const engine::ProductMatrix& matrix) {
    cublasLtMatrixLayout_t made = nullptr;
    check(library_.grouped_matrix_layout_create(&made, matrix.type, config_.num_groups, matrix.rows,
                                                matrix.columns, matrix.rows));
    return made;
  }

  const engine::CublasLt& library_;
  const engine::ProductConfig config_;
  cublasLtMatmulDesc_t desc_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, d_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_{};
};

struct Contender {
  const char* who;
  const char* codes;
  std::function<void()> launch;
  std::vector<double> times_us = {};

  double median() {
    std::sort(times_us.begin(), times_us.end());
    return times_us[times_us.size() / 2];
  }
};

/// What was measured where, as every line has it.
std::string conditions(const engine::CublasLt& library) {
  const engine::FoundDevice device = take(engine::find_device());
  return fmt::format(R"("date": "{:%FT%TZ}", "device": "{}", "driver": "{}", "cublaslt": "{}")",
                     fmt::gmtime(std::time(nullptr)), device.facts.name, device.facts.driver,
                     engine::cublaslt_version_text(library.version()));
}

void bench(const std::shared_ptr<const engine::CublasLt>& library, const Shape& shape,
           const Recipe& recipe, double seconds, const std::string& where) {
  const engine::Stream stream = take(engine::make_stream());
  const engine::Event begin = take(engine::make_timing_event());
  const engine::Event end = take(engine::make_timing_event());
  const DeviceBuffer workspace = take(DeviceBuffer::allocate(engine::kWorkspaceBytes, {}));
  const Operands few(shape, recipe, Codes::FewBits);
  const Operands normal(shape, recipe, Codes::Normal);
  const Bare bare_few(*library, few.config);
  const Bare bare_normal(*library, normal.config);
  const auto product = take(engine::make_cublaslt_grouped(library, normal.config));
  engine::StepObserver unobserved;
  (void)take(product->try_candidates({}, workspace.data(), stream.get()));
  std::vector<Contender> contenders = {
      {"cuBLASLt", "few bits", [&] { bare_few.launch(workspace.data(), stream.get()); }},
      {"cuBLASLt", "normal", [&] { bare_normal.launch(workspace.data(), stream.get()); }},
      {"engine", "normal",
       [&] { check(product->launch(workspace.data(), stream.get(), {unobserved, {}})); }}};
  const auto start = Clock::now();
  for (int round = -2; round < kFewestRounds ||
                       std::chrono::duration<double>(Clock::now() - start).count() < seconds;
       ++round) {
    // The order turns too: who comes behind the coolest neighbour has an advantage.
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      Contender& contender =
          contenders[(i + static_cast<std::size_t>(round + 2)) % contenders.size()];
      contender.launch();
      check(cudaEventRecord(begin.get(), stream.get()));
      for (int launch = 0; launch < kLaunches; ++launch) contender.launch();
      check(cudaEventRecord(end.get(), stream.get()));
      check(cudaEventSynchronize(end.get()));
      float ms = 0;
      check(cudaEventElapsedTime(&ms, begin.get(), end.get()));
      if (round >= 0) contender.times_us.push_back(1e3 * static_cast<double>(ms) / kLaunches);
    }
  }
  const double flop = 2.0 * static_cast<double>(shape.tokens) * static_cast<double>(shape.n) *
                      static_cast<double>(shape.k);
  const double reference = contenders[1].median();
  for (Contender& contender : contenders) {
    const double us = contender.median();
    std::printf(
        "{%s, \"shape\": \"%s\", \"recipe\": \"%s\", \"who\": \"%s\", \"codes\": \"%s\", "
        "\"median_us\": %.1f, \"tflops\": %.0f, \"of_cublaslt_normal\": %.3f, \"rounds\": %zu}\n",
        where.c_str(), shape.name, recipe.name, contender.who, contender.codes, us,
        flop / us * 1e-6, reference / us, contender.times_us.size());
  }
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** words) {
  const double seconds = count > 1 ? std::atof(words[1]) : 1.0;
  const auto library = take(engine::CublasLt::load(count > 2 ? words[2] : ""));
  const std::string where = conditions(*library);
  constexpr Shape kShapes[] = {{"Mixtral 8x7B up", 8, 16384, 28672, 4096},
                               {"DeepSeek-V3 up", 32, 32768, 4096, 7168},
                               {"Qwen3-30B up", 128, 65536, 1536, 2048}};
  constexpr auto kNone = MatrixScaling::None;
  constexpr auto kTensor = MatrixScaling::PerTensor;
  constexpr Recipe kRecipes[] = {
      {"bf16", false, kNone, kNone, false},
      {"fp8-per-tensor", true, kTensor, kTensor, false},
      {"fp8-per-tensor-fast", true, kTensor, kTensor, true},
      {"fp8-block", true, MatrixScaling::Block128x128, MatrixScaling::Block1x128, false}};
  for (const Shape& shape : kShapes) {
    for (const Recipe& recipe : kRecipes) bench(library, shape, recipe, seconds, where);
  }
  return 0;
}
