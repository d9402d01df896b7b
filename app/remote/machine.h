// What a machine is found to have before a worker is sent there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/error.h"

namespace app {

struct GpuFacts {
  int index = 0;  // as nvidia-smi counts
  std::string name;
  std::string memory;  // "143771 MiB"
  std::string driver;
};

struct MachineFacts {
  std::string architecture;  // "x86_64"
  std::string system;        // "Ubuntu 24.04.1 LTS"
  std::string glibc;         // "2.39"; empty = another C library
  std::string glibcxx;  // newest "3.4.33" that its libstdc++ has; empty = no libstdc++ and libgcc_s
  int cores = 0;
  std::vector<GpuFacts> gpus;
  std::string driver;                 // of NVIDIA, also where nvidia-smi is missing; empty = none
  std::string toolkit;                // CUDA, "13.0"; empty = none
  std::string python;                 // "3.12"; empty = none
  std::string cache;                  // absolute: where bundles and libraries are kept
  std::string cannot;                 // why nothing can be kept or started there; empty = it can
  std::int64_t free_bytes = -1;       // negative = not known
  bool has_bundle = false;            // the bundle that was looked for, complete and unchanged
  std::vector<std::string> cublaslt;  // versions in the cache
  std::vector<std::string> bundles;   // hashes in the cache
  std::vector<std::string> in_use;    // hashes of bundles whose worker runs
};

/// A script for `sh -s -- HASH`: prints what parse_machine() reads. HASH: 64 digits of the bundle
/// whose presence is checked.
extern const std::string_view kLookScript;

/// Protocol if the text is not complete: something else answered.
engine::Result<MachineFacts> parse_machine(std::string_view text);

/// Whether a bundle built for x86-64 and glibc 2.35 runs there, and how it gets its C++ library.
struct BundleFit {
  std::string refused;           // why it does not run; empty = it does
  bool own_cxx_library = false;  // start it with the C++ library of the bundle
};
BundleFit bundle_fit(const MachineFacts& machine);

/// "2 x NVIDIA H200, driver 580.95, Ubuntu 24.04.1 LTS, glibc 2.39, 16 cores, 118 GiB free"
std::string machine_words(const MachineFacts& machine);

}  // namespace app
