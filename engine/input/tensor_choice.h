// Which tensor of a file a name means: one rule for whoever reads a file and for whoever asks first
// whether it can be read.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace engine {

/// Index of the tensor with this name. The only tensor of a file needs none: then an empty name
/// means it, whatever it is called. Nothing: the file has no such tensor, or has several to choose
/// from. `tensors`: a list of StoredTensor or of TensorEntry.
template <class Tensors>
std::optional<std::size_t> chosen_tensor(const Tensors& tensors, std::string_view name) {
  for (std::size_t index = 0; index < tensors.size(); ++index) {
    if (tensors[index].name == name) return index;
  }
  if (tensors.size() == 1 && name.empty()) return std::size_t{0};
  return std::nullopt;
}

}  // namespace engine
