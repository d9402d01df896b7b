// The file that a program in the background prints to, kept bounded: its beginning and its end
// stay, and a line says that the middle was left out. The program appends to the file by itself, so
// that it goes on when nobody watches it.
#pragma once

#include <cstdint>
#include <string>

#include "engine/model/error.h"

namespace app {

struct OutputLimits {
  std::uint64_t head = std::uint64_t{8} << 20;  // of the beginning; a multiple of 4096
  std::uint64_t tail = std::uint64_t{8} << 20;  // of the end
};

/// Gives the middle of a file back that has outgrown both parts; nothing to do otherwise. While the
/// program runs, its place in the file stays, so that no byte that it prints meanwhile is lost: the
/// file keeps its length, with a hole where the file system has them. `ended`: nobody appends any
/// more, and the file becomes as short as it reads.
engine::Status bound_output(const std::string& path, bool ended, const OutputLimits& limits = {});

/// Whether bound_output() has left something of this file out.
bool output_is_cut(const std::string& path, const OutputLimits& limits = {});

}  // namespace app
