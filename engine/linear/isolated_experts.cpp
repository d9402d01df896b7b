#include "engine/linear/isolated_experts.h"

#include "engine/linear/batch_clock.h"
#include "engine/linear/product_shape.h"
#include "engine/linear/timing_summary.h"

namespace engine {
namespace {

constexpr int kSamples = 5;
constexpr int kLaunchesASample = 4;

std::vector<Product> products_of(const StepConfig& config) {
  std::vector<Product> products;
  if (config.forward()) products.push_back(Product::Fprop);
  if (config.backward()) products.insert(products.end(), {Product::Dgrad, Product::Wgrad});
  return products;
}

class IsolatedExperts {
 public:
  IsolatedExperts(GroupedStep& step, std::span<const std::int64_t> splits, cudaStream_t stream,
                  const BatchClock& clock)
      : step_(step), splits_(splits), stream_(stream), clock_(clock) {}

  Status time(int expert, std::vector<ExpertTiming>& timings) {
    const bool grouped = traits_of(step_.config().backend).one_launch;
    std::vector<std::int64_t> alone(splits_.size(), 0);
    alone[static_cast<std::size_t>(expert)] = splits_[static_cast<std::size_t>(expert)];
    ENGINE_TRY(step_.write_splits(alone, stream_));
    StepObserver unobserved;
    // Arrays and operands for these splits. A backend that bakes the splits in would read them
    // where they are not: it launches its one matmul on the operands of all experts.
    if (grouped) ENGINE_TRY(step_.launch(stream_, unobserved));
    if (!grouped) ENGINE_TRY(step_.launch_setup(stream_));
    if (step_.config().quantized()) {
      ENGINE_TRY(add(Stage::Quantize, expert, timings,
                     [&] { return step_.quantize_activations(stream_); }));
    }
    if (!grouped) {
      ENGINE_TRY(step_.write_splits(splits_, stream_));
      ENGINE_TRY(step_.launch(stream_, unobserved));
    }
    for (const Product product : products_of(step_.config())) {
      ENGINE_TRY(add(stage_of(product), expert, timings, [&] {
        return grouped ? step_.launch_product(product, stream_, unobserved)
                       : step_.launch_expert(product, expert, stream_);
      }));
    }
    return {};
  }

 private:
  template <class Launch>
  Status add(Stage stage, int expert, std::vector<ExpertTiming>& timings, Launch&& launch) {
    std::vector<double> durations;
    for (int sample = -1; sample < kSamples; ++sample) {  // the first is a warm-up
      const Result<double> elapsed = clock_.time(kLaunchesASample, stream_, launch);
      if (!elapsed.ok()) return elapsed.error();
      if (sample >= 0) durations.push_back(elapsed.value());
    }
    ExpertTiming& timing = timings.emplace_back();
    timing.method = ExpertMethod::Isolated;
    timing.stage = stage;
    timing.expert = expert;
    summarize_into(timing, std::move(durations));
    return {};
  }

  GroupedStep& step_;
  std::span<const std::int64_t> splits_;
  cudaStream_t stream_;
  const BatchClock& clock_;
};

}  // namespace

Result<std::vector<ExpertTiming>> time_isolated_experts(GroupedStep& step,
                                                        std::span<const std::int64_t> splits,
                                                        cudaStream_t stream,
                                                        const std::function<bool()>& cancelled) {
  const Result<BatchClock> clock = BatchClock::create();
  if (!clock.ok()) return clock.error();
  IsolatedExperts isolated(step, splits, stream, clock.value());
  std::vector<ExpertTiming> timings;
  for (std::size_t expert = 0; expert < splits.size(); ++expert) {
    if (cancelled()) return Error{ErrorCode::Cancelled, "The run was cancelled"};
    if (splits[expert] > 0) ENGINE_TRY(isolated.time(static_cast<int>(expert), timings));
  }
  ENGINE_TRY(step.write_splits(splits, stream));
  return timings;
}

}  // namespace engine
