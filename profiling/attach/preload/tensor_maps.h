// Tensor maps (CUtensorMap) that the program has encoded, by their content: a program copies them
// by value into the arguments of kernels, where their 128 bytes do not show the address.
#pragma once

#include <cstddef>
#include <cstdint>

namespace attach {

/// What a map was encoded for.
struct MappedTensor {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;  // up to its end; 0 = not known
};

/// Of an encoding that succeeded. The last few tens of thousands of different maps are kept. `map`
/// may be aligned less than the type demands.
void note_tensor_map(const void* map, MappedTensor tensor);

/// False: not seen, or too long ago.
bool find_tensor_map(const void* map, MappedTensor& tensor);

/// The node whose frame was just written: of a graph that is being read, by its number, or of an
/// executable one that was changed.
struct MapHolder {
  std::uint64_t graph = 0;
  std::uint64_t exec = 0;
  std::uint64_t node = 0;
};
/// A frame for each known map in these argument bytes.
void write_tensor_maps(MapHolder holder, const std::byte* arguments, std::uint32_t bytes);

/// In a forked child, where another thread of the parent may have been at work.
void unlock_tensor_maps_of_parent();

}  // namespace attach
