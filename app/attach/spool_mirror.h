// Copies of spools that grow on another machine, in a folder of this one, where they are read like
// any others. Nothing that arrives is trusted: names and sizes are checked.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "app/attach/attach_stream.h"
#include "engine/model/error.h"
#include "engine/model/unique_fd.h"

namespace app {

class SpoolMirror {
 public:
  /// `most`: bytes of each file.
  SpoolMirror(std::string folder, std::uint64_t most) : folder_(std::move(folder)), most_(most) {}

  engine::Status take(const SpoolPiece& piece);

 private:
  struct Copy {
    engine::UniqueFd file;
    std::uint64_t size = 0;
  };
  std::string folder_;
  std::uint64_t most_;
  std::map<std::string, Copy> copies_;  // by name
};

}  // namespace app
