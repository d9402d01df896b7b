// What the fuzz targets of tensor files do with a file that opens: read it as a run would.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "engine/input/tensor_source.h"
#include "tests/fuzz/fuzz_target.h"

namespace fuzz {

inline constexpr std::int64_t kMostValues = 1 << 14;  // read of one tensor

inline void read_values(const engine::TensorSource& source) {
  const std::int64_t rows = source.rows();
  const std::int64_t columns = source.columns();
  if (columns == 0 || columns > kMostValues) return;
  const std::int64_t count = std::min(rows, kMostValues / columns);  // none of an empty operand
  const auto values = static_cast<std::size_t>(count * columns);
  std::vector<float> wide(values);
  std::vector<std::uint16_t> narrow(values);
  source.read_f32(rows - count, count, wide);
  source.read_bf16(0, count, narrow);
  source.read_fp16(rows - count, count, narrow);
}

/// Whether everything that is wrong with a tensor is seen when the file is listed.
enum class Listing { Complete, ContentIsCheckedWhenOpened };

/// Lists the file's tensors, then opens every usable one as each operand that it can be.
inline void read_tensors(const std::string& path, Listing listing = Listing::Complete) {
  const auto entries = engine::inspect_file(path);
  if (!accepted(entries)) return;
  require(!entries.value().empty(), "a tensor file holds a tensor");
  for (const engine::TensorEntry& entry : entries.value()) {
    require(entry.usable == entry.reason.empty(), "what cannot be used says why", entry.name);
    if (!entry.usable) continue;
    const std::vector<std::int64_t>& shape = entry.shape;
    require(shape.size() == 2 || shape.size() == 3, "a usable tensor has 2 or 3 dimensions");
    const engine::FileInput file{.path = path, .tensor = entry.name};
    const bool matrix = shape.size() == 2;
    // Larger dimensions are refused before a file is opened.
    if (std::ranges::any_of(shape, [](std::int64_t d) { return d > engine::kMaxDimension; })) {
      continue;
    }
    engine::RunRequest request;
    request.activations = request.weights = request.products.gradients = file;
    request.shape = {.preset = "",
                     .num_experts = matrix ? 1 : static_cast<int>(shape[0]),
                     .rows = shape[0],
                     .n = matrix ? shape[0] : shape[1],
                     .k = shape.back()};
    const auto weights = engine::open_source(request, engine::OperandRole::Weights, 0);
    if (accepted(weights)) read_values(*weights.value());
    if (!matrix) {
      require(weights.ok() || shape[0] == 0 || listing != Listing::Complete,
              "a usable tensor opens", weights.ok() ? "" : weights.error().message);
      continue;
    }
    const auto rows = engine::open_source(request, engine::OperandRole::Activations, 0);
    // Two tensors may have one name; the first of them is found.
    if (accepted(rows)) read_values(*rows.value());
    request.shape.n = shape[1];
    const auto gradients = engine::open_source(request, engine::OperandRole::Gradients, 0);
    if (accepted(gradients)) read_values(*gradients.value());
  }
}

}  // namespace fuzz
