// The global maxima of NVFP4 as a worker of the tile pipeline.
#pragma once

#include "kernels/common/tile_deal.cuh"
#include "kernels/quantize/nvfp4_columns.cuh"

namespace kernels::tiles {

struct Nvfp4AmaxParameters {
  Nvfp4AmaxArgs args;
  __host__ __device__ TileOperand operand() const {
    return {.input = args.input, .output_rows = {}, .controls = {.noop = args.noop}};
  }
};

template <InputType kInput>
class Nvfp4AmaxWorker {
 public:
  static constexpr InputType kType = kInput;
  static constexpr TileInput kTileInput = TileInput::Plain;
  static constexpr bool kStamped = false;
  static constexpr bool kBackwards = false;
  static constexpr bool kSecondOfInput = true;
  using Parameters = Nvfp4AmaxParameters;
  struct Shared {};

  __device__ static int first_units(int) { return 0; }
  __device__ static int second_units(int) { return 0; }

  __device__ Nvfp4AmaxWorker(const Parameters& parameters, Shared&, bool)
      : args_(parameters.args) {}

  __device__ __forceinline__ void work(const Tile& tile, const RawTile<kType>& raw, std::uint32_t) {
    if (tile.group != group_) flush();
    group_ = tile.group;
    const int lane = static_cast<int>(threadIdx.x) & 31;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int column = warp * 2 * kWarpPairs + lane % kWarpPairs * 2;
    const bool transforms = args_.hadamard && args_.columnwise_amax != nullptr;
#pragma unroll
    for (int block = 0; block < 2; ++block) {
      const ColumnPair<kType> columns(raw, lane / kWarpPairs * kSegmentRows + block * kNvElements,
                                      column);
      const float2 amax = columns.amax();
      plain_ = fmaxf(plain_, fmaxf(amax.x, amax.y));
      if (!transforms) continue;
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        float values[kNvElements];
        columns.load_transformed(side, values);
        transformed_ = fmaxf(transformed_, block_amax(values));
      }
    }
  }

  __device__ void finish() { flush(); }

 private:
  __device__ void flush() {
    if (group_ < 0) return;
    raise(args_.rowwise_amax, plain_);
    raise(args_.columnwise_amax, args_.hadamard ? transformed_ : plain_);
    plain_ = transformed_ = 0.0F;
  }
  __device__ void raise(float* amax, float candidate) const {
    const unsigned largest = __reduce_max_sync(kFullWarp, __float_as_uint(candidate));
    if (amax == nullptr || threadIdx.x % 32 != 0) return;
    // Read first: most candidates are below the current value, and atomics on one address
    // serialize.
    auto* target = reinterpret_cast<unsigned*>(amax + group_);
    if (largest > __ldcg(target)) atomicMax(target, largest);
  }

  const Nvfp4AmaxArgs& args_;
  int group_ = -1;
  float plain_ = 0.0F;
  float transformed_ = 0.0F;
};

}  // namespace kernels::tiles
