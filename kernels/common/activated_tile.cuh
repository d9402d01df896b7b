// Tiles of what an activation makes of its parts: gate and up, and for gradients dY. The parts pass
// through registers into the tile.
#pragma once

#include "kernels/common/activated_step.cuh"
#include "kernels/common/tile.cuh"

namespace kernels::tiles {

/// A read of what is needed once: it leaves the L1 cache to others.
__device__ __forceinline__ uint4 load_streamed(const uint4* source) {
  uint4 value;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(source));
  return value;
}

/// Where the parts of an operand are. All have activated_columns() columns, from which on the
/// columns of the operand begin again at the first: what follows are gradients of up. In vectors of
/// 16 bytes.
template <InputType kType>
struct Parts {
  static constexpr int kVectors = RawStep<kType>::kVectors;

  __device__ __forceinline__ explicit Parts(const GroupedInput& input)
      : wrap(static_cast<int>(input.activated_columns() / kStep)),
        gates(static_cast<const uint4*>(input.input)),
        gate_pitch(static_cast<int>(input.input_columns() / kStep) * kVectors),
        gradients(static_cast<const uint4*>(input.output_gradient)),
        gradient_pitch(wrap * kVectors) {}

  int wrap;  // steps
  const uint4* gates;
  int gate_pitch;  // of up's too, which follow gates in a row
  const uint4* gradients;
  int gradient_pitch;
};

/// What one thread reads of a tile: step threadIdx.x % 16 of every sixteenth line, two lines of a
/// segment at a time, which lie in one block of columns.
template <InputType kType>
class PartReader {
 public:
  static constexpr int kLinesPerPass = kThreads / kLanesPerRow;
  static constexpr int kSegmentPasses = kSegmentRows / kLinesPerPass;

  /// `end_step`: where the tile's columns end.
  __device__ __forceinline__ PartReader(const GroupedInput& input, const Tile& tile, int end_step)
      : parts_(input),
        row_bits_(tile.row_bits),
        rows_left_(tile.in_rows - first_line()),
        step_(tile.bx * kLanesPerRow + step()),
        end_step_(end_step) {
    const std::int64_t row = tile.in_first + first_line();
    parts_.gates += row * parts_.gate_pitch;
    parts_.gradients += row * parts_.gradient_pitch;
  }

  __device__ __forceinline__ static int step() {
    return static_cast<int>(threadIdx.x) % kLanesPerRow;
  }
  __device__ __forceinline__ static int first_line() {
    return static_cast<int>(threadIdx.x) / kLanesPerRow;
  }
  /// From first_line().
  __device__ __forceinline__ static int further(int segment, int pass) {
    return segment * kSegmentRows + pass * kLinesPerPass;
  }

  /// The thread's step in the lines of a segment: what is read of it.
  struct Place {
    const uint4* gates;
    const uint4* gradients;
    int rows_left;  // from the first of the lines
    bool of_up;     // the operand's columns are gradients of up
  };
  __device__ __forceinline__ Place place(int segment) const {
    const int line = segment * kSegmentRows;
    const int row = line & ((1 << row_bits_) - 1);
    const int at = step_ + (line >> row_bits_) * kLanesPerRow;
    const bool of_up = at >= parts_.wrap;
    const int column = (of_up ? at - parts_.wrap : at) * RawStep<kType>::kVectors;
    return {.gates = parts_.gates + (row * parts_.gate_pitch + column),
            .gradients = parts_.gradients + (row * parts_.gradient_pitch + column),
            .rows_left = at < end_step_ ? rows_left_ - row : 0,
            .of_up = of_up};
  }

  /// Zeros outside the tile's columns and rows, which stay zeros: every f(0) is 0, and so is the
  /// gradient of y.
  __device__ __forceinline__ RawStep<kType> gate(const Place& place, int pass) const {
    return load(place, place.gates + pass * kLinesPerPass * parts_.gate_pitch, pass);
  }
  __device__ __forceinline__ RawStep<kType> up(const Place& place, int pass) const {
    return load(place,
                place.gates + (pass * kLinesPerPass * parts_.gate_pitch + parts_.gradient_pitch),
                pass);
  }
  __device__ __forceinline__ RawStep<kType> gradient(const Place& place, int pass) const {
    return load(place, place.gradients + pass * kLinesPerPass * parts_.gradient_pitch, pass);
  }

 private:
  __device__ __forceinline__ static RawStep<kType> load(const Place& place, const uint4* from,
                                                        int pass) {
    if (pass * kLinesPerPass >= place.rows_left) return zero_step<kType>();
    return step_of_vectors<kType>([&](int i) { return load_streamed(from + i); });
  }

  // Copied: the tile's description is in shared memory, which is written between the reads.
  Parts<kType> parts_;
  int row_bits_;
  int rows_left_;
  int step_;
  int end_step_;
};

/// What a pass over a tile makes.
enum class Made {
  Value,      // y
  Gradient,   // of x; or of gate or up, by the column
  Gradients,  // of gate, and of up in a second tile (pairs_gradients())
};

/// What reads a tile's parts. Its columns end where those of the tiles that are dealt do
/// (dealt_columns()): not asked of the tile, as a number from constant memory takes no register.
template <InputType kType, Made kMade>
__device__ __forceinline__ PartReader<kType> part_reader(const GroupedInput& input,
                                                         const Tile& tile) {
  const std::int64_t end = kMade == Made::Gradients ? input.activated_columns() : input.columns;
  return PartReader<kType>(input, tile, static_cast<int>(end / kStep));
}

template <InputType kType>
__device__ __forceinline__ void write_step(RawTile<kType>& target, int segment, int pass,
                                           const RawStep<kType>& values) {
  using Reader = PartReader<kType>;
  uint4* const at = target.row(Reader::first_line(), Reader::further(segment, pass)) +
                    Reader::step() * RawStep<kType>::kVectors;
#pragma unroll
  for (int i = 0; i < RawStep<kType>::kVectors; ++i) at[i] = values.vector(i);
}

/// Reads one step again and makes it by the long way. Called, so that the short way keeps its
/// registers. `place` and `pass` are the reader's.
template <InputType kType, ActivationFunction kFunction, bool kGated, bool kClamped, Made kMade>
__device__ __noinline__ void make_step_again(const GroupedInput& input, const Tile& tile,
                                             RawTile<kType>& raw, RawTile<kType>& of_up,
                                             int segment, int pass) {
  constexpr bool kGradient = kMade != Made::Value;
  const PartReader<kType> reader = part_reader<kType, kMade>(input, tile);
  const auto place = reader.place(segment);
  const RawStep<kType> gate = reader.gate(place, pass);
  RawStep<kType> up = gate;
  RawStep<kType> gradient = gate;
  if constexpr (kGated) up = reader.up(place, pass);
  if constexpr (kGradient) gradient = reader.gradient(place, pass);
  if constexpr (kMade == Made::Gradients) {
    write_step(of_up, segment, pass,
               activated_step_of_any<kFunction, kGated, kClamped>(input.activation, gate, up,
                                                                  gradient, Taken::GradientOfUp));
  }
  write_step(raw, segment, pass,
             activated_step_of_any<kFunction, kGated, kClamped>(
                 input.activation, gate, up, gradient,
                 taken(kGradient, kMade == Made::Gradient && place.of_up)));
}

/// Every read of a few lines comes before the first use: what is in flight hides the latency.
template <InputType kType, ActivationFunction kFunction, bool kGated, bool kClamped, Made kMade,
          class A>
__device__ __forceinline__ void activate_steps(const A& activation, const GroupedInput& input,
                                               const Tile& tile, RawTile<kType>& raw,
                                               RawTile<kType>& of_up) {
  using Reader = PartReader<kType>;
  constexpr bool kGradient = kMade != Made::Value;
  constexpr int kTogether = kGradient || kType == InputType::Fp32 ? 1 : 2;  // segments
  constexpr int kReads = kTogether * Reader::kSegmentPasses;
  const Reader reader = part_reader<kType, kMade>(input, tile);
#pragma unroll 1
  for (int first = 0; first < kSegments; first += kTogether) {
    RawStep<kType> gates[kReads];
    RawStep<kType> ups[kReads];
    RawStep<kType> gradients[kReads];
    bool columns_of_up[kTogether];
#pragma unroll
    for (int i = 0; i < kReads; ++i) {
      const int pass = i % Reader::kSegmentPasses;
      const typename Reader::Place place = reader.place(first + i / Reader::kSegmentPasses);
      gates[i] = ups[i] = gradients[i] = reader.gate(place, pass);
      if constexpr (kGated) ups[i] = reader.up(place, pass);
      if constexpr (kGradient) gradients[i] = reader.gradient(place, pass);
      columns_of_up[i / Reader::kSegmentPasses] = kMade == Made::Gradient && place.of_up;
    }
    if (first == 0) {
      sync_workers();  // the tile before this one is no longer read
    } else {
      __syncwarp();  // the assembler moves no read behind it
    }
    bool right[kReads];
#pragma unroll
    for (int i = 0; i < kReads; ++i) {
      const int segment = first + i / Reader::kSegmentPasses;
      const int pass = i % Reader::kSegmentPasses;
      RawStep<kType> made;
      if constexpr (kMade == Made::Gradients) {
        RawStep<kType> made_of_up;
        right[i] = make_ordinary_gradients<kFunction, kClamped>(activation, gates[i], ups[i],
                                                                gradients[i], made, made_of_up);
        write_step(of_up, segment, pass, made_of_up);
      } else {
        right[i] = make_ordinary_step<kFunction, kGated, kClamped, kGradient>(
            activation, gates[i], ups[i], gradients[i], columns_of_up[i / Reader::kSegmentPasses],
            made);
      }
      write_step(raw, segment, pass, made);
    }
#pragma unroll
    for (int i = 0; i < kReads; ++i) {
      if (right[i]) continue;
      make_step_again<kType, kFunction, kGated, kClamped, kMade>(
          input, tile, raw, of_up, first + i / Reader::kSegmentPasses, i % Reader::kSegmentPasses);
    }
  }
}

/// Fills a tile through registers. All consumer warps call, and a barrier must follow.
template <InputType kType>
__device__ __forceinline__ void swiglu_tile(const GroupedInput& input, const Tile& tile,
                                            RawTile<kType>& raw) {
  activate_steps<kType, ActivationFunction::Silu, true, false, Made::Value>(Swiglu(), input, tile,
                                                                            raw, raw);
}

/// The same for its gradients, and where they come in pairs the tile of up's.
template <InputType kType>
__device__ __forceinline__ void swiglu_gradient_tile(const GroupedInput& input, const Tile& tile,
                                                     RawTile<kType>& raw, RawTile<kType>& of_up) {
  if (pairs_gradients(input)) {
    activate_steps<kType, ActivationFunction::Silu, true, false, Made::Gradients>(Swiglu(), input,
                                                                                  tile, raw, of_up);
  } else {
    activate_steps<kType, ActivationFunction::Silu, true, false, Made::Gradient>(Swiglu(), input,
                                                                                 tile, raw, of_up);
  }
}

/// Either, of any activation. One copy of all of them, called.
template <InputType kType>
__device__ __noinline__ void activate_tile(const GroupedInput& input, const Tile& tile,
                                           RawTile<kType>& raw, RawTile<kType>& of_up) {
  const Activation& activation = input.activation;
  dispatch_activation(activation, [&]<ActivationFunction kFunction, bool kGated, bool kClamped>() {
    if (input.output_gradient == nullptr) {
      activate_steps<kType, kFunction, kGated, kClamped, Made::Value>(activation, input, tile, raw,
                                                                      of_up);
    } else if (kGated && pairs_gradients(input)) {
      activate_steps<kType, kFunction, kGated, kClamped, Made::Gradients>(activation, input, tile,
                                                                          raw, of_up);
    } else {
      activate_steps<kType, kFunction, kGated, kClamped, Made::Gradient>(activation, input, tile,
                                                                         raw, of_up);
    }
  });
}

}  // namespace kernels::tiles
